#include "widgets/plotdock.h"

#include <atomic>
#include <memory>

#include "widgets/distributionview.h"
#include "widgets/ledgerview.h"
#include "widgets/plotscale.h"
#include "widgets/routingmap.h"
#include "widgets/shortname.h"
#include "widgets/sourcecolours.h"

namespace counterpoint::widgets {
namespace {

constexpr int kWatchMs = 50;

QString text(std::string_view s) { return QString::fromUtf8(s.data(), static_cast<qsizetype>(s.size())); }

}  // namespace

/// One export on its way: the lane sets `done`; a throw there is the engine's Failure and leaves it unset.
struct PlotDock::Pending {
    enum State { Writing, Done, Gone };
    std::atomic<int> state = Writing;
    std::string path;
};

PlotDock::PlotDock(model::Document& document, const model::DiagnosticRow& row, QWidget* parent)
    : QDockWidget(text(row.title), parent), m_document(document), m_row(row), m_note(new EmptyNote(this)) {
    setObjectName(QStringLiteral("dock.") + text(row.id));
    setToolTip(text(row.equation) + QStringLiteral("   (") + text(row.source) + QLatin1Char(')'));
    m_note->setText(QString::fromStdString(document.plot(row.id).empty));
    m_note->setContextMenuPolicy(Qt::CustomContextMenu);
    setWidget(m_note);
    connect(m_note, &QWidget::customContextMenuRequested, this, [this](const QPoint& at) {
        const QPoint place = m_note->mapToGlobal(at);
        panel().menu().popup(place);
    });
    m_watch.setInterval(kWatchMs);
    connect(&m_watch, &QTimer::timeout, this, &PlotDock::watch);
    for (auto changed : {&model::Document::traceChanged, &model::Document::traceSelected, &model::Document::viewChanged,
                         &model::Document::recomposed})
        connect(&m_document, changed, this, &PlotDock::markStale);
    connect(&m_document, &model::Document::statusChanged, this, [this] {
        if (m_document.trace() == nullptr) markStale();  // what is empty says why
    });
    connect(this, &QDockWidget::visibilityChanged, this, [this](bool visible) {
        if (visible && m_stale) refresh();
    });
}

PlotDock::~PlotDock() = default;

QWidget* PlotDock::make() {
    QWidget* content = nullptr;
    if (m_row.id == "distribution") {
        content = m_distribution = new DistributionView(this);
        m_panel = &m_distribution->panel();
        connect(m_distribution, &DistributionView::tokenSelected, this, [this](compute::TokenId token) {
            model::View view = m_document.view();
            view.token = token;
            m_document.setView(view);
        });
        connect(m_distribution, &DistributionView::branchRequested, this,
                [this](compute::Position position, compute::TokenId token) { m_document.branch(position, token); });
    } else if (m_row.id == "ledger") {
        content = m_ledger = new LedgerView(this);
        m_panel = &m_ledger->panel();
    } else {
        if (m_row.id == "routing_heat") {
            content = m_map = new RoutingMap(m_document, this);
            m_panel = &m_map->panel();
        } else {
            content = m_panel = new PlotPanel(this);
            m_panel->view().setObjectName(text(m_row.id) + QStringLiteral(".plot"));
        }
        connect(&m_panel->view(), &PlotView::positionPicked, this,
                [this](compute::Position position) { m_document.setCursor(position); });
    }
    m_panel->writer = [this](std::vector<FigureFile> files) { write(std::move(files)); };
    if (askFile) m_panel->askFile = askFile;
    return content;
}

PlotPanel& PlotDock::panel() {
    if (!made()) {
        QWidget* content = make();
        refresh();  // before it is shown: it never stands there blank
        setWidget(content);
        content->show();
        m_note->deleteLater();  // its menu may be what asked
        m_note = nullptr;
    } else if (m_stale) {
        refresh();
    }
    return *m_panel;
}

void PlotDock::markStale() {
    m_stale = true;
    // A dock behind a tab is visible to Qt, only not within its window.
    if (isVisible() && !visibleRegion().isEmpty()) refresh();
}

void PlotDock::refresh() {
    model::PlotData plot = m_document.plot(m_row.id);
    const model::Trace* trace = m_document.trace();
    SourceColours& colours = SourceColours::of(m_document);
    if (trace != nullptr) colours.recolour(plot, *trace);
    const bool nothing = !plot.empty.empty() || !hasDrawing(plot);
    if (!made() && nothing) return m_note->setText(told(plot.empty));
    if (!made()) return void(panel());
    m_stale = false;
    if (m_distribution != nullptr)
        m_distribution->show(trace, m_document.view(), std::move(plot),
                             trace == nullptr ? std::vector<int>() : colours.coloursOf(*trace));
    else if (m_ledger != nullptr)
        m_ledger->show(std::move(plot));
    else if (m_map != nullptr)
        m_map->show(std::move(plot));
    else
        m_panel->setPlot(std::move(plot));
}

void PlotDock::write(std::vector<FigureFile> files) {
    m_pending.push_back(std::make_shared<Pending>());
    m_pending.back()->path = files.front().path.string();
    // Gone when the job object dies without having written: failed (the engine says why) or dropped at the end.
    const std::shared_ptr<Pending> pending = m_pending.back();
    const std::shared_ptr<void> guard(nullptr, [pending](void*) {
        int writing = Pending::Writing;
        pending->state.compare_exchange_strong(writing, Pending::Gone);
    });
    m_document.engine().run(
        [files = std::move(files), pending, guard](std::stop_token) {
            writeFigureFiles(files);
            pending->state = Pending::Done;
        },
        "Exporting " + pending->path);
    m_watch.start();
}

void PlotDock::watch() {
    std::erase_if(m_pending, [this](const std::shared_ptr<Pending>& pending) {
        if (pending->state == Pending::Done)
            m_document.notify(model::Notice::Level::Info, "Saved " + pending->path + ".",
                              "Beside it: the numbers (.csv) and the recipe (.json).", "Exporting");
        return pending->state != Pending::Writing;
    });
    if (m_pending.empty()) m_watch.stop();
}

std::vector<PlotDock*> makePlotDocks(model::Document& document, QWidget* parent) {
    std::vector<PlotDock*> docks;
    for (const model::DiagnosticRow& row : model::diagnostics()) docks.push_back(new PlotDock(document, row, parent));
    return docks;
}

}  // namespace counterpoint::widgets
