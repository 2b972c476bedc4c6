#include "app/mainwindow.h"

#include <QApplication>
#include <QCloseEvent>
#include <QComboBox>
#include <QFileDialog>
#include <QHeaderView>
#include <QImageReader>
#include <QMessageBox>
#include <QPainter>
#include <QStatusBar>
#include <QTimer>
#include <QToolBar>
#include <QTreeView>

#include "app/lanefacts.h"
#include "widgets/attempt.h"
#include "widgets/dialpanel.h"
#include "widgets/invariancetable.h"
#include "widgets/noticepanel.h"
#include "widgets/palette.h"
#include "widgets/routingdials.h"
#include "widgets/shortname.h"

namespace counterpoint::app {

namespace fs = std::filesystem;
using model::Document;
using widgets::attempt;

constexpr int kStatusLetters = 100;

MainWindow::MainWindow(Document& document, QSettings& settings) : m_document(document), m_settings(settings) {
    setObjectName(QStringLiteral("mainWindow"));
    setAcceptDrops(true);
    setDockNestingEnabled(true);
    setDockOptions(AnimatedDocks | AllowNestedDocks | AllowTabbedDocks);
    setTabPosition(Qt::AllDockWidgetAreas, QTabWidget::North);
    m_facts = std::make_unique<LaneFacts>(document);
    // Not of this window: the document may outlive it.
    m_document.setCodeIsNew([&settings](const std::string& sha256) { return isNewCode(settings, sha256); });
    m_actions = std::make_unique<Actions>(document, this, *menuBar());
    buildDocks();
    m_perspectives = std::make_unique<Perspectives>(*this, m_docks);
    buildActions();
    buildToolBar();
    buildStatusBar();
    connect(&m_document, &Document::statusChanged, this, &MainWindow::refreshStatus);
    connect(&m_document, &Document::statusChanged, this, &MainWindow::watchOpening);
    connect(&m_document, &Document::viewChanged, this, &MainWindow::refreshStatus);
    connect(&m_document, &Document::traceChanged, this, &MainWindow::refreshStatus);
    connect(&m_document, &Document::traceSelected, this, &MainWindow::refreshStatus);
    connect(&m_document, &Document::sessionChanged, this, &MainWindow::refreshStatus);
    connect(&m_document, &Document::sessionChanged, this, &MainWindow::refreshTitle);
    // Devices are asked for when the module is in: the sources brought it.
    connect(&m_document, &Document::statusChanged, this, [this] {
        if (m_document.ready()) m_facts->ask();
    });
    connect(m_facts.get(), &LaneFacts::answered, this, [this] {
        for (const compute::DeviceInfo& device : m_facts->devices())
            if (const QString id = QString::fromStdString(device.id); m_device->findData(id) < 0)
                m_device->addItem(
                    QString::fromStdString(device.name.empty() ? device.id : device.id + " · " + device.name), id);
    });
    refreshTitle();
    refreshStatus();
}

MainWindow::~MainWindow() {
    // A dock that goes with the window says that it is not seen any more, to a window that is half gone.
    for (const auto& [id, dock] : m_docks) dock->disconnect(this);
}

void MainWindow::buildDocks() {
    const auto dock = [this](const QString& id, const QString& title, QWidget* content) {
        auto* d = new QDockWidget(title, this);
        d->setObjectName(QStringLiteral("dock.") + id);
        d->setWidget(content);
        m_docks[d->objectName()] = d;
        return d;
    };
    m_rack = new widgets::RackPanel(m_document);
    m_text = new widgets::TextPanel(m_document);
    dock(QStringLiteral("rack"), tr("Rack"), m_rack);
    dock(QStringLiteral("text"), tr("Text"), m_text);
    dock(QStringLiteral("dials"), tr("Dials"), new widgets::DialPanel(m_document));
    m_priors = new widgets::PriorsPanel(m_document);
    dock(QStringLiteral("priors"), tr("Priors"), m_priors);
    m_prior = new widgets::PriorDetail(m_document, *m_priors);
    dock(QStringLiteral("prior"), tr("Prior"), m_prior);
    dock(QStringLiteral("routing"), tr("Routing"), new widgets::RoutingDials(m_document));
    QDockWidget* invariance =
        dock(QStringLiteral("routing_invariance"), tr("Invariance"), new widgets::InvarianceTable(m_document));
    invariance->setToolTip(tr("Whether a position's own law is what it is without coupling   (R15)"));
    watchRouting(invariance);
    m_plots = widgets::makePlotDocks(m_document, this);
    for (widgets::PlotDock* plot : m_plots) {
        m_docks[plot->objectName()] = plot;
        plot->askFile = [this, plot](widgets::FigureFormat format, const QString& suggestion) {
            const std::string_view extension = widgets::extensionOf(format);
            ask(true, false, tr("Export figure"),
                {tr("Figure (*.%1)")
                     .arg(QString::fromUtf8(extension.data(), static_cast<qsizetype>(extension.size())))},
                [plot, format](const fs::path& file) { plot->panel().exportTo(format, file); });
            m_dialog->selectFile(suggestion);
            return fs::path();  // the dialog answers later; nothing waits for it
        };
        connect(plot, &QDockWidget::visibilityChanged, this, [this, plot](bool visible) {
            if (visible) m_lastPlot = plot;
        });
        if (plot->row().dock == "routing") watchRouting(plot);
    }
    connect(qApp, &QApplication::focusChanged, this, [this](QWidget*, QWidget* now) {
        for (widgets::PlotDock* plot : m_plots)
            if (now != nullptr && plot->isAncestorOf(now)) m_lastPlot = plot;
    });
    auto* notices = new widgets::NoticePanel(m_document);
    auto* strip = new QToolBar(tr("Notices"), this);
    strip->setObjectName(QStringLiteral("bar.notices"));
    strip->setMovable(false);
    strip->setContextMenuPolicy(Qt::PreventContextMenu);
    strip->toggleViewAction()->setVisible(false);
    notices->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
    QAction* shown = strip->addWidget(notices);  // a tool bar shows and hides its widgets through their actions
    addToolBar(Qt::BottomToolBarArea, strip);
    const auto occupy = [strip, shown](bool any) {
        shown->setVisible(any);
        strip->setVisible(any);
    };
    connect(notices, &widgets::NoticePanel::occupied, strip, occupy);
    occupy(!m_document.notices().empty());
    connect(m_rack, &widgets::RackPanel::addRequested, this,
            [this] { m_actions->action(QStringLiteral("rack.add"))->trigger(); });
    connect(m_rack, &widgets::RackPanel::addBankRequested, this,
            [this] { m_actions->action(QStringLiteral("priors.open"))->trigger(); });
    connect(&m_text->prompt(), &widgets::PromptEdit::decodeRequested, this,
            [this] { m_actions->action(QStringLiteral("decode.generate"))->trigger(); });
}

void MainWindow::watchRouting(QDockWidget* dock) {
    connect(dock, &QDockWidget::visibilityChanged, this, [this, dock](bool visible) {
        if (visible)
            m_routing.insert(dock);
        else
            m_routing.erase(dock);
        // Later: one tab goes before the next one comes, and estimates under way need not begin anew for that.
        QTimer::singleShot(0, this, [this] { m_document.setRoutingWanted(!m_routing.empty()); });
    });
}

void MainWindow::buildToolBar() {
    auto* bar = addToolBar(tr("Main toolbar"));
    bar->setObjectName(QStringLiteral("bar.main"));
    bar->setMovable(false);
    bar->setContextMenuPolicy(Qt::PreventContextMenu);
    bar->toggleViewAction()->setVisible(false);
    bar->setIconSize({16, 16});
    const auto add = [&](const char* id, bool words) {
        bar->addAction(m_actions->action(QLatin1String(id)));
        auto* button = qobject_cast<QToolButton*>(bar->widgetForAction(m_actions->action(QLatin1String(id))));
        button->setObjectName(QLatin1String("button.") + QLatin1String(id));
        button->setAccessibleName(m_actions->action(QLatin1String(id))->text());
        if (words) button->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    };
    add("file.open", false);
    add("file.save", false);
    bar->addSeparator();
    add("edit.undo", false);
    add("edit.redo", false);
    bar->addSeparator();
    add("decode.generate", true);
    add("decode.step", false);
    add("decode.pause", false);
    add("decode.stop", false);
    bar->addSeparator();
    m_device = new QComboBox;
    m_device->setObjectName(QStringLiteral("device"));
    m_device->setAccessibleName(tr("Device"));
    m_device->setToolTip(tr("Where the sources compute; changing it loads them again"));
    m_device->addItem(QStringLiteral("cpu"), QStringLiteral("cpu"));
    connect(m_device, &QComboBox::activated, this, [this](int row) {
        attempt(m_document, [&] { m_document.setDevice(m_device->itemData(row).toString().toStdString()); });
    });
    bar->addWidget(m_device);
    auto* space = new QWidget;
    space->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
    bar->addWidget(space);
    for (const QString& name : Perspectives::names())
        add(qPrintable(QStringLiteral("view.perspective.") + name), false);
    bar->addSeparator();
    add("view.theme", false);
    add("view.palette", false);
}

void MainWindow::buildStatusBar() {
    m_activity = new QLabel;
    m_activity->setObjectName(QStringLiteral("status.activity"));
    m_progress = new QProgressBar;
    m_progress->setObjectName(QStringLiteral("status.progress"));
    m_progress->setFixedWidth(140);
    m_progress->setTextVisible(false);
    m_progress->setAccessibleName(tr("Progress"));
    m_stop = new QToolButton;
    m_stop->setObjectName(QStringLiteral("status.stop"));
    m_stop->setDefaultAction(m_actions->action(QStringLiteral("decode.stop")));
    m_stop->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    m_stop->setIconSize({12, 12});
    m_stop->setAccessibleName(tr("Stop"));
    m_place = new QLabel;
    m_place->setObjectName(QStringLiteral("status.place"));
    m_place->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    // Of one size: a label that could grow would lay out the whole window at every token.
    m_place->setFixedSize(m_place->fontMetrics().horizontalAdvance(tr("position %1 of %1").arg(888888)),
                          widgets::spacing::row);
    statusBar()->setSizeGripEnabled(false);
    statusBar()->setContentsMargins(widgets::spacing::normal, 0, widgets::spacing::normal, 0);
    statusBar()->addWidget(m_stop);
    statusBar()->addWidget(m_progress);
    statusBar()->addWidget(m_activity, 1);
    statusBar()->addPermanentWidget(m_place);
}

void MainWindow::refreshStatus() {
    const bool busy = m_document.busy();
    const bool measured = m_document.progress() >= 0, loading = busy && !m_document.ready() && !m_document.running();
    m_progress->setVisible(busy && (measured || loading));
    m_progress->setRange(0, measured ? 1000 : 0);  // 0 to 0: it moves, and says nothing of how far it is
    if (measured) m_progress->setValue(static_cast<int>(1000 * m_document.progress()));
    m_stop->setVisible(busy);
    QString activity = QString::fromStdString(m_document.activity());
    if (m_document.paused()) activity = tr("Paused");
    if (activity.isEmpty())
        activity = m_document.running() ? tr("Decoding")
                   : busy               ? tr("Working")
                   : m_document.ready() ? tr("Ready")
                                        : QString();
    // Names in it may be long: the status bar must not widen the window.
    m_activity->setToolTip(widgets::shortened(activity, widgets::kHoverLetters));
    m_activity->setText(widgets::shortened(activity, kStatusLetters));
    const model::Trace* trace = m_document.trace();
    m_place->setText(trace == nullptr || trace->steps.empty()
                         ? QString()
                         : tr("position %1 of %2").arg(m_document.view().cursor).arg(trace->steps.back()->position));
    const auto enable = [this](const char* id, bool on) { m_actions->action(QLatin1String(id))->setEnabled(on); };
    const bool running = m_document.running(), ready = m_document.ready();
    enable("decode.generate", ready);
    enable("decode.continue", ready && trace != nullptr && !running);
    enable("decode.step", ready && !running);
    enable("decode.pause", running);
    enable("decode.stop", busy);
    enable("decode.restart", m_document.stuck());
    enable("edit.undo", m_document.canUndo());
    enable("edit.redo", m_document.canRedo());
    m_actions->action(QStringLiteral("decode.pause"))->setChecked(m_document.paused());
    if (const int row = m_device->findData(QString::fromStdString(m_document.device())); row >= 0)
        m_device->setCurrentIndex(row);
}

void MainWindow::showPerspective(const QString& name) {
    m_perspectives->select(name);
    markPerspective();
}

void MainWindow::restore(const QString& perspective) {
    m_perspectives->restore(m_settings, perspective);
    markPerspective();
}

void MainWindow::markPerspective() {
    for (const QString& name : Perspectives::names())
        m_actions->action(QStringLiteral("view.perspective.") + name)->setChecked(name == m_perspectives->current());
}

void MainWindow::refreshTitle() {
    const fs::path& file = m_document.session().file;
    QString name = QString::fromStdString(file.filename().string());
    name.remove(QStringLiteral(".session.json"));
    name = name.isEmpty() ? tr("untitled") : widgets::shortened(name, kStatusLetters);
    setWindowTitle(name + QStringLiteral("[*] – Counterpoint"));
    setWindowModified(m_document.modified());
    setWindowFilePath(QString());
}

QFileDialog& MainWindow::fileDialog() {
    if (m_dialog == nullptr) {
        m_dialog = new QFileDialog(this);
        m_dialog->setObjectName(QStringLiteral("fileDialog"));
        m_dialog->setOption(QFileDialog::DontUseNativeDialog);
        QHeaderView* columns = m_dialog->findChild<QTreeView*>(QStringLiteral("treeView"))->header();
        columns->setStretchLastSection(false);
        columns->setResizeContentsPrecision(40);
        columns->setSectionResizeMode(QHeaderView::ResizeToContents);
        columns->setSectionResizeMode(0, QHeaderView::Stretch);  // the names have what the others leave
    }
    return *m_dialog;
}

void MainWindow::warmUp(std::function<void()> then) {
    // No winId() here: it would make every dock of the window a window of its own, that Qt raises at each layout.
    inSlices({[] { QImageReader::supportedImageFormats(); }, [this] { fileDialog(); },
              [this] {
                  m_dialog->setNameFilter(tr("Sessions (*.session.json *.json)"));
                  m_dialog->ensurePolished();
              },
              std::move(then)});
}

void MainWindow::inSlices(std::vector<std::function<void()>> slices) {
    QTimer::singleShot(0, this, [this, slices = std::move(slices)]() mutable {
        slices.front()();
        slices.erase(slices.begin());
        if (!slices.empty()) inSlices(std::move(slices));
    });
}

void MainWindow::exportPlot(const char* action) {
    widgets::PlotDock* plot = m_lastPlot;
    if (plot == nullptr || !plot->isVisible())
        for (widgets::PlotDock* p : m_plots)
            if (p->isVisible()) plot = p;
    if (plot == nullptr)
        return m_document.notify(model::Notice::Level::Info, "No plot is open to export; open one from the View menu.");
    for (QAction* a : plot->panel().menu().actions())
        if (a->objectName() == QLatin1String(action)) {
            if (!a->isEnabled())
                return m_document.notify(model::Notice::Level::Info, "The plot '" + std::string(plot->row().title) +
                                                                         "' has nothing to export yet.");
            a->trigger();
        }
}

void MainWindow::applyTheme(bool dark) {
    widgets::applyTheme(*qApp, dark ? widgets::ThemeKind::Dark : widgets::ThemeKind::Light);
    m_settings.setValue(QStringLiteral("window/theme"), dark ? QStringLiteral("dark") : QStringLiteral("light"));
}

void MainWindow::afterUnsaved(std::function<void()> then) {
    if (!m_document.modified()) return then();
    auto* box =
        new QMessageBox(QMessageBox::NoIcon, tr("Counterpoint"),
                        m_document.modifiedBanks().empty()
                            ? tr("The session has changes that are not saved.")
                            : tr("The session's banks of priors have changes that are not saved. Save writes the session "
                                 "and each of these banks."),
                        QMessageBox::Save | QMessageBox::Discard | QMessageBox::Cancel, this);
    box->setObjectName(QStringLiteral("unsavedQuestion"));
    box->setAttribute(Qt::WA_DeleteOnClose);
    connect(box, &QMessageBox::finished, this, [this, then = std::move(then)](int answer) {
        if (answer == QMessageBox::Save) {
            widgets::attempt(m_document, [this] {
                for (const std::size_t bank : m_document.modifiedBanks()) m_document.saveBank(bank);
            });
            m_actions->action(QStringLiteral("file.save"))->trigger();
        }
        // A save that asks for a name first, or fails, leaves the changes: the person asks again.
        if (answer == QMessageBox::Discard || (answer == QMessageBox::Save && !m_document.modified())) then();
    });
    box->open();
}

void MainWindow::closeEvent(QCloseEvent* event) {
    if (m_document.modified() && !m_discard) {
        event->ignore();
        return afterUnsaved([this] {
            m_discard = true;
            close();
        });
    }
    m_document.stop();
    m_perspectives->save(m_settings);
    m_settings.sync();  // leaving may wait for a source
    event->accept();
}

void MainWindow::childEvent(QChildEvent* event) {
    QMainWindow::childEvent(event);
    if (event->polished() && qobject_cast<QTabBar*>(event->child()) != nullptr)
        event->child()->installEventFilter(&m_tabEnds);  // Qt makes a bar when docks are tabbed
}

void MainWindow::paintEvent(QPaintEvent* event) {
    QMainWindow::paintEvent(event);
    if (m_painted) return;
    m_painted = true;
    QTimer::singleShot(0, this, &MainWindow::firstPaint);
}

}  // namespace counterpoint::app
