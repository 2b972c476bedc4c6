#include "app/window.h"

#include <sys/resource.h>
#include <unistd.h>

#include <QApplication>
#include <QBuffer>
#include <QComboBox>
#include <QElapsedTimer>
#include <QEventLoop>
#include <QFile>
#include <QTemporaryDir>
#include <QTimer>
#include <clocale>
#include <cstdio>
#include <ctime>

#include "app/interrupt.h"
#include "app/mainwindow.h"
#include "compute/error.h"
#include "compute/files/atomicfile.h"
#include "compute/version.h"
#include "model/driftwithout.h"
#include "widgets/attempt.h"
#include "widgets/numbertable.h"
#include "widgets/palette.h"

namespace counterpoint::app {
namespace {

/// Milliseconds since this process was started, by the kernel's clock (10 ms steps at a HZ of 100).
double sinceExecMs() {
    QFile stat(QStringLiteral("/proc/self/stat"));
    if (!stat.open(QIODevice::ReadOnly)) return -1;
    const QByteArray line = stat.readAll();
    constexpr int kStartTime = 22 - 3;  // proc(5): field 22; the fields after the name begin with the third
    const QList<QByteArray> fields = line.mid(line.lastIndexOf(')') + 2).split(' ');
    timespec now{};
    clock_gettime(CLOCK_BOOTTIME, &now);
    const double started = fields.value(kStartTime).toDouble() / static_cast<double>(sysconf(_SC_CLK_TCK));
    return 1000.0 * (static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec) - started);
}

/// What is thrown past every action ends here and becomes a notice too.
class Application final : public QApplication {
  public:
    using QApplication::QApplication;
    model::Document* document = nullptr;
    bool shown = false;
    bool notify(QObject* receiver, QEvent* event) override {
        // A combo box makes its list when the style changes; before it has been shown the list reads the style anyway.
        // Those of all of them together took 4 % of the time to the first paint.
        if (!shown && event->type() == QEvent::StyleChange && qobject_cast<QComboBox*>(receiver) != nullptr)
            return true;
        if (document == nullptr) return QApplication::notify(receiver, event);
        bool handled = false;
        widgets::attempt(*document, [&] { handled = QApplication::notify(receiver, event); });
        return handled;
    }
};

/// Waits without spinning until `done` says so after one of the document's changes.
void waitFor(model::Document& document, const std::function<bool()>& done) {
    using model::Document;
    QEventLoop loop;
    const auto check = [&] {
        if (done()) loop.quit();
    };
    for (auto changed :
         {&Document::statusChanged, &Document::traceChanged, &Document::recomposed, &Document::noticesChanged})
        QObject::connect(&document, changed, &loop, check);
    if (!done()) loop.exec();
}

void throwFailure(const model::Document& document) {
    for (const model::Notice& notice : document.notices())
        if (notice.level == model::Notice::Level::Failure)
            throw compute::Error({.where = {},
                                  .what = notice.sentence,
                                  .expected = {},
                                  .found = {},
                                  .advice = {},
                                  .details = notice.details});
}

/// The device first, so that the files are loaded once.
void openAll(MainWindow& window, const WindowOptions& options) {
    widgets::attempt(window.document(), [&] { window.document().setDevice(options.device); });
    window.openFiles(options.files);
}

/// A size that the docks do not fit into is refused, not changed.
void resizeTo(MainWindow& window, const QSize& size) {
    const auto shown = [](const QSize& s) { return std::to_string(s.width()) + "x" + std::to_string(s.height()); };
    const QSize least = window.minimumSizeHint().expandedTo(window.minimumSize());
    if (size.width() < least.width() || size.height() < least.height())
        throw compute::Error({.where = "--size " + shown(size),
                              .what = "the window does not fit into it",
                              .expected = "at least " + shown(least),
                              .found = {},
                              .advice = {},
                              .details = {}});
    window.resize(size);
}

/// Of a picture where none is asked for: there is no screen whose size it could take.
constexpr QSize kPictureSize(1600, 1000);
constexpr int kSignalMs = 100;
constexpr std::chrono::seconds kMostAnalysis{60};  // a picture without it is better than none

/// As `run` does: a signal stops what decodes or loads; of a call that does not return the notice is the failure.
void throwIfAsked(const Interrupt& interrupt, const model::Document& document) {
    if (!interrupt.asked()) return;
    for (const model::Notice& notice : document.notices())
        if (notice.restarts) throw compute::Error({.what = "stopped by a signal; " + notice.sentence});
    throw compute::Error({.what = "stopped by a signal, before the picture was there"});
}

int screenshot(MainWindow& window, const WindowOptions& options) {
    const Interrupt interrupt;
    model::Document& document = window.document();
    document.setCodeIsNew([](const std::string&) { return false; });  // the same picture, the first time too
    QTimer watch;  // nothing but the event loop may touch the document
    QObject::connect(&watch, &QTimer::timeout, &window, [&] {
        if (interrupt.asked()) document.stop();
    });
    watch.start(kSignalMs);
    openAll(window, options);
    waitFor(document, [&] { return document.ready() || !document.busy() || document.stuck(); });
    throwIfAsked(interrupt, document);
    throwFailure(document);
    document.generate();
    waitFor(document, [&] {
        return document.stuck() || (!document.busy() && !document.estimating() &&
                                    (document.trace() != nullptr || !document.notices().empty()));
    });
    throwIfAsked(interrupt, document);
    throwFailure(document);
    const QSize asked = options.size.isEmpty() ? kPictureSize : options.size;
    const std::vector<model::Notice> said = document.notices();
    for (const model::Notice& notice : said)  // they go by themselves, sooner or later: not in some of the pictures
        if (notice.level == model::Notice::Level::Info) document.dismiss(notice.id);
    for (int pass = 0; pass < 3; ++pass) QApplication::processEvents();  // layouts settle, then plots draw
    waitForAnalysis(document, kMostAnalysis, [&] { return interrupt.asked(); });
    throwIfAsked(interrupt, document);
    throwFailure(document);
    widgets::fitColumnsAnew(window);
    window.resize(asked);  // notices that were shown meanwhile may have needed more
    QElapsedTimer drawn;
    for (drawn.start(); drawn.elapsed() < 100;) QApplication::processEvents(QEventLoop::WaitForMoreEvents, 20);
    QBuffer png;
    png.open(QIODevice::WriteOnly);
    window.grab().save(&png, "PNG");
    compute::writeFile(options.screenshot,
                       std::string_view(png.data().constData(), static_cast<std::size_t>(png.size())));
    return 0;
}

}  // namespace

std::unique_ptr<compute::Source> openBehindTheWindow(const std::filesystem::path& path,
                                                     const compute::OpenOptions& options, std::stop_token stop) {
    constexpr int kBehind = 5;
    const int behind =
        getpriority(PRIO_PROCESS, static_cast<id_t>(getpid())) + kBehind;  // the window's thread, and less
    setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), behind);
    return compute::openSource(path, options, std::move(stop));
}

bool waitForAnalysis(model::Document& document, std::chrono::milliseconds most, const std::function<bool()>& givenUp) {
    const auto answered = [&] {
        if (document.busy() || document.engine().analysing()) return false;
        const model::Trace* trace = document.trace();
        const compute::PriorSet::Member* prior =
            trace == nullptr ? nullptr : model::shownPrior(*trace, document.view());
        return prior == nullptr || !prior->acts || model::isOf(trace->driftWithout.get(), *trace, *prior);
    };
    constexpr int kLookMs = 20;
    QEventLoop loop;
    QElapsedTimer since;
    QTimer look;
    QObject::connect(&look, &QTimer::timeout, &loop, [&] {
        if (answered() || (givenUp && givenUp()) || since.hasExpired(most.count())) loop.quit();
    });
    since.start();
    look.start(kLookMs);
    if (!answered()) loop.exec();
    return answered();
}

int runWindow(const WindowOptions& options, int& argc, char** argv) {
    QCoreApplication::setOrganizationName(QStringLiteral("counterpoint"));
    QCoreApplication::setApplicationName(QStringLiteral("counterpoint"));
    QCoreApplication::setApplicationVersion(QLatin1String(compute::version()));
    QApplication::setHighDpiScaleFactorRoundingPolicy(Qt::HighDpiScaleFactorRoundingPolicy::PassThrough);
    Application application(argc, argv);
    std::setlocale(LC_NUMERIC, "C");  // QApplication took the user's; files always have a dot (HAZARDS A1)
    // A picture shows the program, not what its user did with it last: the same command, the same picture.
    QTemporaryDir nowhere;
    const auto kept =
        options.screenshot.empty()
            ? std::make_unique<QSettings>()
            : std::make_unique<QSettings>(nowhere.filePath(QStringLiteral("window.ini")), QSettings::IniFormat);
    QSettings& settings = *kept;
    const QString themeName = options.theme.empty() ? settings.value(QStringLiteral("window/theme")).toString()
                                                    : QString::fromStdString(options.theme);
    const auto theme = themeName == QLatin1String("dark") ? widgets::ThemeKind::Dark : widgets::ThemeKind::Light;
    widgets::setThemeColours(application, theme);
    QApplication::setWindowIcon(widgets::applicationIcon());
    model::Document document(nullptr, openBehindTheWindow);
    application.document = &document;
    MainWindow window(document, settings);
    window.restore(QString::fromStdString(options.perspective));
    const QSize ofPictures = options.screenshot.empty() ? QSize() : kPictureSize;
    if (const QSize size = options.size.isEmpty() ? ofPictures : options.size; !size.isEmpty()) resizeTo(window, size);
    widgets::applyTheme(application, theme);  // the sheet last: see palette.h
    int code = 0;
    QObject::connect(&window, &MainWindow::firstPaint, &window, [&] {
        if (options.reportFirstPaint) {
            timespec now{};
            clock_gettime(CLOCK_MONOTONIC, &now);
            std::printf("{\"first_paint_ms\": %.0f, \"monotonic_ns\": %lld}\n", sinceExecMs(),
                        static_cast<long long>(now.tv_sec) * 1'000'000'000 + now.tv_nsec);
            return QCoreApplication::quit();
        }
        if (!options.screenshot.empty()) return;
        window.warmUp([&] { openAll(window, options); });
    });
    application.shown = true;
    window.show();
    if (options.screenshot.empty())
        code = QApplication::exec();
    else
        code = screenshot(window, options);
    application.document = nullptr;
    return code;
}

}  // namespace counterpoint::app
