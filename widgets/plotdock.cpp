#include "widgets/plotdock.h"

#include <QLabel>
#include <atomic>
#include <memory>

#include "widgets/distributionview.h"
#include "widgets/ledgerview.h"

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
    : QDockWidget(text(row.title), parent), m_document(document), m_row(row) {
    setObjectName(QStringLiteral("dock.") + text(row.id));
    setToolTip(text(row.equation) + QStringLiteral("   (") + text(row.source) + QLatin1Char(')'));
    if (row.id == "distribution") {
        m_distribution = new DistributionView(this);
        m_panel = &m_distribution->panel();
        setWidget(m_distribution);
        connect(m_distribution, &DistributionView::tokenSelected, this, [this](compute::TokenId token) {
            model::View view = m_document.view();
            view.token = token;
            m_document.setView(view);
        });
        connect(m_distribution, &DistributionView::branchRequested, this,
                [this](compute::Position position, compute::TokenId token) { m_document.branch(position, token); });
    } else if (row.id == "ledger") {
        m_ledger = new LedgerView(this);
        m_panel = &m_ledger->panel();
        setWidget(m_ledger);
    } else {
        m_panel = new PlotPanel(this);
        m_panel->view().setObjectName(text(row.id) + QStringLiteral(".plot"));
        setWidget(m_panel);
        connect(&m_panel->view(), &PlotView::positionPicked, this,
                [this](compute::Position position) { m_document.setCursor(position); });
    }
    m_panel->writer = [this](std::vector<FigureFile> files) { write(std::move(files)); };
    m_watch.setInterval(kWatchMs);
    connect(&m_watch, &QTimer::timeout, this, &PlotDock::watch);
    for (auto changed : {&model::Document::traceChanged, &model::Document::traceSelected, &model::Document::viewChanged,
                         &model::Document::recomposed})
        connect(&m_document, changed, this, &PlotDock::markStale);
    connect(this, &QDockWidget::visibilityChanged, this, [this](bool visible) {
        if (visible && m_stale) refresh();
    });
    refresh();
}

PlotDock::~PlotDock() = default;

void PlotDock::markStale() {
    m_stale = true;
    if (widget()->isVisible()) refresh();
}

void PlotDock::refresh() {
    m_stale = false;
    model::PlotData plot = m_document.plot(m_row.id);
    if (m_distribution != nullptr)
        m_distribution->show(m_document.trace(), m_document.view(), std::move(plot));
    else if (m_ledger != nullptr)
        m_ledger->show(std::move(plot));
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
                              "Beside it: the numbers (.csv) and the recipe (.json).");
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
