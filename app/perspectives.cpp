#include "app/perspectives.h"

#include <QApplication>
#include <QDockWidget>
#include <QEvent>
#include <QScreen>
#include <algorithm>
#include <array>

namespace counterpoint::app {
namespace {

constexpr int kStateVersion = 5;  // of saveState: raise when docks change their names or one is added
constexpr QSize kFirstSize{1440, 900};
constexpr int kRackWidth = 272, kDialsWidth = 324, kRoomy = 1440, kLeastRack = 248;
constexpr std::array kSides = {"dock.rack", "dock.dials", "dock.prior", "dock.routing"};
constexpr std::array kTrace = {"dock.drift", "dock.entropy",      "dock.activity",    "dock.interference",
                               "dock.eos",   "dock.drift_stages", "dock.divergences", "dock.prior_effect"};

constexpr std::array kRouting = {"dock.routing_coherence", "dock.routing_distinct", "dock.routing_load",
                                 "dock.routing_variance",  "dock.routing_overflow", "dock.routing_ends",
                                 "dock.routing_invariance"};

struct Row {
    const char* name;
    const char* purpose;
};
constexpr std::array kRows = {
    Row{"Compose", "Rack, text, distribution and dials: decode and weigh"},
    Row{"Priors", "Banks above distribution and ledger: what moved each token"},
    Row{"Routing", "Experts by position above coherence, load and drift: where every token went"},
    Row{"Paper", "The plots alone, large, for export"},
};

/// Seen: of docks in one place only the one in front, which Qt leaves visible but outside the window.
bool stands(const QDockWidget& dock) { return dock.isVisible() && !dock.isFloating() && dock.x() >= 0; }

}  // namespace

Perspectives::Perspectives(QMainWindow& window, std::map<QString, QDockWidget*> docks)
    : m_window(window), m_docks(std::move(docks)) {
    m_window.installEventFilter(this);
    for (const char* id : kSides) m_docks.at(QLatin1String(id))->installEventFilter(this);
}

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

void Perspectives::takeOut() {
    for (const auto& [id, d] : m_docks) {
        d->setFloating(false);
        m_window.removeDockWidget(d);
    }
}

void Perspectives::layOut(const QString& name) {
    const auto dock = [this](const char* id) { return m_docks.at(QLatin1String(id)); };
    takeOut();
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
    QDockWidget* front = dock("dock.drift");
    if (name == QLatin1String("Paper")) {
        add(distribution);
        split(distribution, ledger, Qt::Horizontal);
        split(distribution, front, Qt::Vertical);
        split(ledger, text, Qt::Vertical);
    } else {
        add(rack);
        split(rack, text, Qt::Horizontal);
        split(text,
              name == QLatin1String("Priors")    ? dock("dock.prior")
              : name == QLatin1String("Routing") ? dock("dock.routing")
                                                 : dials,
              Qt::Horizontal);
        if (name == QLatin1String("Priors")) {
            split(text, dock("dock.priors"), Qt::Vertical);
            split(dock("dock.priors"), distribution, Qt::Vertical);
            split(distribution, ledger, Qt::Horizontal);
            tab(ledger, dock("dock.prior_effect"));
            tab(ledger, front);
            tab(dock("dock.prior"), dials);
        } else if (name == QLatin1String("Routing")) {
            split(text, dock("dock.routing_heat"), Qt::Vertical);
            split(dock("dock.routing_heat"), dock(kRouting[0]), Qt::Vertical);
            split(dock(kRouting[0]), front, Qt::Horizontal);
            for (std::size_t i = 1; i < kRouting.size(); ++i) tab(dock(kRouting[i - 1]), dock(kRouting[i]));
            tab(dock("dock.routing"), dials);
        } else {
            split(text, distribution, Qt::Vertical);
            split(distribution, front, Qt::Vertical);
            split(distribution, ledger, Qt::Horizontal);
        }
    }
    for (const char* id : kTrace)
        if (QDockWidget* d = dock(id);
            d != front && (name != QLatin1String("Priors") || id != std::string_view("dock.prior_effect")))
            tab(front, d);
    // Every dock has a place in every layout, if a hidden one: of a dock that a stored layout does not know Qt makes up
    // a place, over the others.
    for (const auto& [id, d] : m_docks) {
        if (!d->isHidden()) continue;
        if (rack->isHidden() || d == rack || d == dials)
            m_window.addDockWidget(Qt::LeftDockWidgetArea, d, Qt::Horizontal);
        else
            m_window.splitDockWidget(rack, d, Qt::Vertical);
        d->hide();
    }
    // Of docks in one place the first stays in front.
    if (name == QLatin1String("Priors")) dock("dock.prior_effect")->raise();
    if (name == QLatin1String("Routing")) {
        dock("dock.routing")->raise();
        dock(kRouting[0])->raise();
        front->raise();
    }
    m_first = true;
    proportion();
}

void Perspectives::proportion() {
    const auto dock = [this](const char* id) { return m_docks.at(QLatin1String(id)); };
    QDockWidget *rack = dock("dock.rack"), *text = dock("dock.text"), *dials = dock("dock.dials");
    QDockWidget *distribution = dock("dock.distribution"), *ledger = dock("dock.ledger"), *front = dock("dock.drift");
    const auto height = [this](int percent) { return m_window.height() * percent / 100; };
    const auto columns = [this](const QList<QDockWidget*>& docks, const QList<int>& widths) {
        m_window.resizeDocks(docks, widths, Qt::Horizontal);
    };
    const auto rows = [this](const QList<QDockWidget*>& docks, const QList<int>& heights) {
        m_window.resizeDocks(docks, heights, Qt::Vertical);
    };
    if (m_current == QLatin1String("Paper")) {
        columns({distribution, ledger}, {m_window.width() * 55 / 100, m_window.width() * 45 / 100});
        rows({distribution, front}, {height(50), height(50)});
        rows({ledger, text}, {height(55), height(45)});
        return;
    }
    // On a small screen the sides are as narrow as they can be, so that the tables' numbers fit beside each other.
    const bool roomy = m_window.width() >= kRoomy;
    const int rackWidth = roomy ? kRackWidth : std::max(kLeastRack, rack->minimumSizeHint().width());
    const int dialsWidth = roomy ? kDialsWidth : dials->minimumSizeHint().width();
    m_widths = {
        {rack, rackWidth}, {dials, dialsWidth}, {dock("dock.prior"), dialsWidth}, {dock("dock.routing"), dialsWidth}};
    const int middle = std::max(100, m_window.width() - rackWidth - dialsWidth);
    const auto part = [middle](int percent) { return middle * percent / 100; };
    if (m_current == QLatin1String("Priors")) {
        columns({rack, text, dials}, {rackWidth, middle, dialsWidth});
        columns({distribution, ledger}, {part(61), part(39)});
        rows({text, dock("dock.priors"), distribution}, {height(14), height(30), height(56)});
    } else if (m_current == QLatin1String("Routing")) {
        columns({rack, text, dock("dock.routing")}, {rackWidth, middle, dialsWidth});
        columns({dock(kRouting[0]), front}, {part(58), part(42)});
        rows({text, dock("dock.routing_heat"), front}, {height(14), height(50), height(36)});
    } else {
        columns({rack, text, dials}, {rackWidth, middle, dialsWidth});
        columns({distribution, ledger}, {part(61), part(39)});
        rows({text, distribution, front}, {height(28), height(45), height(27)});
    }
}

void Perspectives::rememberWidths() {
    for (const char* id : kSides)
        if (const QDockWidget* d = m_docks.at(QLatin1String(id)); stands(*d)) m_widths[d] = d->width();
}

void Perspectives::keepWidths() {
    // Qt shares a new width out among all columns; what is beside the plots keeps its own. Only where the columns stand
    // as they were first laid out: of another order nothing is known.
    const auto column = [this](const char* id) {
        QDockWidget* d = m_docks.at(QLatin1String(id));
        return stands(*d) ? d : nullptr;
    };
    QDockWidget *text = column("dock.text"), *ledger = column("dock.ledger");
    if (text == nullptr) return;
    const bool beside = ledger != nullptr && ledger->x() > text->geometry().right();
    QList<QDockWidget*> docks = {text};
    if (beside) docks << ledger;
    const int middle = text->width() + (beside ? ledger->width() : 0);
    int sides = 0, all = middle;
    for (const char* id : kSides)
        if (QDockWidget* d = column(id); d != nullptr && m_widths.contains(d)) {
            docks << d;
            sides += m_widths.at(d);
            all += d->width();
        }
    constexpr int kBorders = 8;  // the lines between the columns
    const int room = m_window.width() - sides;
    if (sides == 0 || room < middle / 8 || std::abs(all - m_window.width()) > kBorders) return;
    QList<int> widths;
    for (const QDockWidget* d : docks)
        widths << (d == text || d == ledger ? std::max(1, d->width() * room / std::max(1, middle)) : m_widths.at(d));
    m_window.resizeDocks(docks, widths, Qt::Horizontal);
}

bool Perspectives::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() == QEvent::Show && watched == &m_window) {
        m_size = m_window.size();
        if (m_first)
            proportion();
        else
            rememberWidths();
    }
    if (event->type() != QEvent::Resize) return QObject::eventFilter(watched, event);
    if (watched != &m_window) {  // a person moved a border, or a layout was chosen
        if (m_window.size() == m_size) rememberWidths();
        return QObject::eventFilter(watched, event);
    }
    m_size = m_window.size();
    keepWidths();
    return QObject::eventFilter(watched, event);
}

void Perspectives::select(const QString& name) {
    const QString wanted = names().contains(name) ? name : names().first();
    if (wanted == m_current) return;
    if (!m_current.isEmpty()) m_states[m_current] = m_window.saveState(kStateVersion);
    m_current = wanted;
    const auto state = m_states.find(wanted);
    m_first = false;
    if (state == m_states.end() || !m_window.restoreState(state->second, kStateVersion)) layOut(wanted);
    rememberWidths();
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
