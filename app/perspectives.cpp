#include "app/perspectives.h"

#include <QApplication>
#include <QDockWidget>
#include <QScreen>
#include <algorithm>
#include <array>

namespace counterpoint::app {
namespace {

constexpr int kStateVersion = 1;  // of saveState: raise when docks change their names
constexpr QSize kFirstSize{1440, 900};
constexpr std::array kTrace = {"dock.drift", "dock.entropy",      "dock.activity",   "dock.interference",
                               "dock.eos",   "dock.drift_stages", "dock.divergences"};

struct Row {
    const char* name;
    const char* purpose;
};
constexpr std::array kRows = {
    Row{"Compose", "Rack, text, distribution and dials: decode and weigh"},
    Row{"Priors", "Text beside distribution and ledger: what moved each token"},
    Row{"Routing", "Text above activity, drift and interference: who speaks when"},
    Row{"Paper", "The plots alone, large, for export"},
};

}  // namespace

Perspectives::Perspectives(QMainWindow& window, std::map<QString, QDockWidget*> docks)
    : m_window(window), m_docks(std::move(docks)) {}

QStringList Perspectives::names() {
    QStringList names;
    for (const Row& row : kRows) names << QString::fromLatin1(row.name);
    return names;
}

QString Perspectives::purpose(const QString& name) {
    for (const Row& row : kRows)
        if (name == QLatin1String(row.name)) return QString::fromUtf8(row.purpose);
    return {};
}

void Perspectives::layOut(const QString& name) {
    const auto dock = [this](const char* id) { return m_docks.at(QLatin1String(id)); };
    for (const auto& [id, d] : m_docks) {
        d->setFloating(false);
        m_window.removeDockWidget(d);
    }
    QDockWidget *rack = dock("dock.rack"), *text = dock("dock.text"), *dials = dock("dock.dials");
    QDockWidget *distribution = dock("dock.distribution"), *ledger = dock("dock.ledger");
    // A dock must be visible before the next is split from it: Qt nests nothing into a column whose docks are all
    // hidden.
    const auto add = [this](QDockWidget* d) {
        m_window.addDockWidget(Qt::LeftDockWidgetArea, d);
        d->show();
    };
    const auto split = [this](QDockWidget* of, QDockWidget* d, Qt::Orientation way) {
        m_window.splitDockWidget(of, d, way);
        d->show();
    };
    const auto tab = [this](QDockWidget* onto, QDockWidget* d) {
        m_window.tabifyDockWidget(onto, d);
        d->show();
    };
    const auto width = [this](int percent) { return m_window.width() * percent / 100; };
    const auto height = [this](int percent) { return m_window.height() * percent / 100; };
    const auto tabTrace = [&](QDockWidget* first) {
        for (const char* id : kTrace)
            if (QDockWidget* d = dock(id); d != first) {
                tab(first, d);
            }
        first->raise();
    };
    QDockWidget* front = dock("dock.drift");
    if (name == QLatin1String("Paper")) {
        add(distribution);
        split(distribution, ledger, Qt::Horizontal);
        split(distribution, front, Qt::Vertical);
        split(ledger, text, Qt::Vertical);
        m_window.resizeDocks({distribution, ledger}, {width(55), width(45)}, Qt::Horizontal);
        m_window.resizeDocks({distribution, front}, {height(50), height(50)}, Qt::Vertical);
    } else {
        add(rack);
        split(rack, text, Qt::Horizontal);
        split(text, dials, Qt::Horizontal);
        if (name == QLatin1String("Priors")) {
            split(text, ledger, Qt::Horizontal);
            split(text, distribution, Qt::Vertical);
            split(ledger, front, Qt::Vertical);
            m_window.resizeDocks({rack, text, ledger, dials}, {width(20), width(33), width(26), width(21)},
                                 Qt::Horizontal);
            m_window.resizeDocks({ledger, front}, {height(60), height(40)}, Qt::Vertical);
        } else if (name == QLatin1String("Routing")) {
            QDockWidget* activity = dock("dock.activity");
            split(text, activity, Qt::Vertical);
            split(activity, front, Qt::Horizontal);
            tab(activity, distribution);
            tab(distribution, ledger);
            activity->raise();
            m_window.resizeDocks({rack, activity, front, dials}, {width(20), width(30), width(29), width(21)},
                                 Qt::Horizontal);
            for (const char* id : kTrace)
                if (QDockWidget* d = dock(id); d != activity && d != front) {
                    tab(front, d);
                }
            front->raise();
        } else {
            split(text, distribution, Qt::Vertical);
            split(distribution, front, Qt::Vertical);
            split(distribution, ledger, Qt::Horizontal);
            m_window.resizeDocks({rack, text, dials}, {width(21), width(58), width(21)}, Qt::Horizontal);
            m_window.resizeDocks({distribution, ledger}, {width(34), width(24)}, Qt::Horizontal);
            m_window.resizeDocks({text, distribution, front}, {height(32), height(40), height(28)}, Qt::Vertical);
        }
    }
    if (name != QLatin1String("Routing")) tabTrace(front);
    if (name == QLatin1String("Routing")) {
        dock("dock.activity")->raise();
        front->raise();
    }
}

void Perspectives::select(const QString& name) {
    const QString wanted = names().contains(name) ? name : names().first();
    if (wanted == m_current) return;
    if (!m_current.isEmpty()) m_states[m_current] = m_window.saveState(kStateVersion);
    m_current = wanted;
    const auto state = m_states.find(wanted);
    if (state == m_states.end() || !m_window.restoreState(state->second, kStateVersion)) layOut(wanted);
}

void Perspectives::reset() {
    m_states.erase(m_current);
    layOut(m_current);
}

void Perspectives::save(QSettings& settings) {
    m_states[m_current] = m_window.saveState(kStateVersion);
    for (const auto& [name, state] : m_states) settings.setValue(QStringLiteral("perspectives/") + name, state);
    settings.setValue(QStringLiteral("window/perspective"), m_current);
    settings.setValue(QStringLiteral("window/geometry"), m_window.saveGeometry());
}

void Perspectives::restore(QSettings& settings, const QString& name) {
    const QByteArray geometry = settings.value(QStringLiteral("window/geometry")).toByteArray();
    if (geometry.isEmpty() || !m_window.restoreGeometry(geometry)) m_window.resize(kFirstSize);
    bringOnScreen(m_window);
    for (const QString& known : names()) {
        const QByteArray state = settings.value(QStringLiteral("perspectives/") + known).toByteArray();
        if (!state.isEmpty()) m_states[known] = state;
    }
    m_current.clear();
    select(name.isEmpty() ? settings.value(QStringLiteral("window/perspective")).toString() : name);
    for (const auto& [id, dock] : m_docks)
        if (dock->isFloating()) bringOnScreen(*dock);
}

bool bringOnScreen(QWidget& window) {
    const QScreen* screen = QGuiApplication::screenAt(window.frameGeometry().center());
    if (screen == nullptr) screen = QGuiApplication::primaryScreen();
    if (screen == nullptr) return false;
    const QRect room = screen->availableGeometry();
    QRect place = window.geometry();
    place.setSize(place.size().boundedTo(room.size()));
    place.moveLeft(std::clamp(place.left(), room.left(), room.right() - place.width() + 1));
    place.moveTop(std::clamp(place.top(), room.top(), room.bottom() - place.height() + 1));
    if (place == window.geometry()) return false;
    window.setGeometry(place);
    return true;
}

}  // namespace counterpoint::app
