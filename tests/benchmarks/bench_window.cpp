// The window's figures as JSON (SPEC.md 4): the first paint after exec; the longest pause of the event loop while torch
// loads behind the window and a menu, a file dialog and an icon are opened; the time from frame to frame while a weight
// is dragged by mouse during a decode. Usage: bench_window PROGRAM SESSION [SECONDS of drag], offscreen or on a
// display.

#include <unistd.h>

#include <QFileDialog>
#include <QMenu>
#include <QMouseEvent>
#include <QProcess>
#include <QSettings>
#include <QStyle>
#include <QTemporaryDir>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "app/mainwindow.h"
#include "app/window.h"
#include "tests/benchmarks/frames.h"
#include "tests/benchmarks/heartbeat.h"
#include "widgets/palette.h"
#include "widgets/sourcerow.h"

using namespace counterpoint;
using namespace counterpoint::benchmarks;

namespace {

constexpr int kStarts = 12, kMoveMs = 8, kTokens = 480;
constexpr double kFrameLimitMs = 33;

Json firstPaint(const QString& program) {
    std::vector<double> times;
    for (int i = 0; i < kStarts; ++i) {
        QProcess process;
        const double before = monotonicMs();
        process.start(program, {QStringLiteral("--first-paint")});
        process.waitForFinished();
        const Json said = Json::parse(process.readAllStandardOutput().toStdString(), nullptr, false);
        if (said.is_object()) times.push_back(1e-6 * said.value("monotonic_ns", 0.0) - before);
    }
    return summary(times);
}

/// The measure measured: a loop that is blocked for 60 ms inside a turn, and one that is blocked as the beat is asked.
Json selfCheck() {
    Heartbeat beat;
    const auto block = [] { std::this_thread::sleep_for(std::chrono::milliseconds(60)); };
    QTimer::singleShot(5, block);
    turn(100);
    const double inside = beat.longestMs();
    beat.restart();
    turn(5);
    block();
    return {{"blocked_for_ms", 60},
            {"seen_inside_ms", std::round(inside)},
            {"seen_at_end_ms", std::round(beat.longestMs())}};
}

/// What a person does while torch loads, each with its own longest pause.
Json pausesOfLoading(app::MainWindow& window, const char* session) {
    model::Document& document = window.document();
    Heartbeat beat;
    Json pauses;
    double longest = 0;
    const auto after = [&](const char* what, int ms) {
        turn(ms);
        const double pause = beat.longestMs();
        pauses[what] = std::round(10 * pause) / 10;
        longest = std::max(longest, pause);
        beat.restart();
    };
    const double started = monotonicMs();
    window.warmUp([&] { window.openFiles({session}); });
    after("warm_up_and_open", 100);
    QMenu* menu = window.actions().menu(QStringLiteral("File"));
    menu->popup(window.mapToGlobal(QPoint(10, 40)));
    after("menu", 60);
    menu->close();
    window.fileDialog().open();
    after("file_dialog", 60);
    window.fileDialog().close();
    window.actions().action(QStringLiteral("help.about"))->trigger();  // an icon of 64 pixels, and a dialog
    after("icon", 60);
    if (auto* about = window.findChild<QDialog*>(QStringLiteral("about"))) about->close();
    const bool early = !document.ready();
    while (!document.ready() && document.busy()) turn(10);
    after("rest_of_loading", 300);
    return {{"longest_pause_ms", std::round(10 * longest) / 10},
            {"pauses_ms", pauses},
            {"all_opened_before_loaded", early},
            {"loading_ms", std::round(monotonicMs() - started - 300)}};
}

void mouse(QSlider& slider, QEvent::Type type, double fraction) {
    const int handle = slider.style()->pixelMetric(QStyle::PM_SliderLength, nullptr, &slider);
    const QPointF at(handle / 2.0 + fraction * (slider.width() - handle), slider.height() / 2.0);
    const Qt::MouseButton button = type == QEvent::MouseMove ? Qt::NoButton : Qt::LeftButton;
    QMouseEvent event(type, at, slider.mapToGlobal(at), button,
                      type == QEvent::MouseButtonRelease ? Qt::NoButton : Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(&slider, &event);
}

/// The handle goes to and fro, a move every kMoveMs, while one decode follows the other.
Json drag(Application& application, app::MainWindow& window, double seconds) {
    model::Document& document = window.document();
    model::Session session = document.session();
    session.decoding.maxNewTokens = kTokens;
    document.setSession(session);
    auto* row = window.findChild<widgets::SourceRow*>(QStringLiteral("source.") +
                                                      QString::fromStdString(session.specialists.at(0).name));
    auto* slider = row->findChild<QSlider*>(QStringLiteral("slider"));
    const auto place = [&] {
        return static_cast<double>(slider->value() - slider->minimum()) / (slider->maximum() - slider->minimum());
    };
    document.generate();
    turn(300);
    mouse(*slider, QEvent::MouseButtonPress, place());
    if (!slider->isSliderDown()) return {{"error", "the handle was not caught"}};
    int moves = 0, decodes = 1;
    std::size_t tokens = 0;
    std::vector<double> weights;
    QElapsedTimer clock;
    QEventLoop loop;
    QTimer mover;
    mover.setTimerType(Qt::PreciseTimer);
    QObject::connect(&mover, &QTimer::timeout, &loop, [&] {
        if (static_cast<double>(clock.elapsed()) > 1e3 * seconds) return loop.quit();
        const double phase = static_cast<double>(++moves % 200) / 100;
        mouse(*slider, QEvent::MouseMove, phase < 1 ? phase : 2 - phase);
        weights.push_back(document.session().specialists[0].weight);
        if (!document.running()) {
            tokens += document.trace()->steps.size();
            document.generate();
            ++decodes;
        }
    });
    const auto plots = window.findChildren<widgets::PlotView*>();
    std::vector<quint64> before;
    for (const widgets::PlotView* plot : plots) before.push_back(plot->replots());
    application.watched = &window;
    application.frames.clear();
    application.works.clear();
    Heartbeat beat;
    clock.start();
    mover.start(kMoveMs);
    loop.exec();
    const double took = static_cast<double>(clock.nsecsElapsed()) * 1e-9;
    application.watched = nullptr;
    const double longest = beat.longestMs();
    mouse(*slider, QEvent::MouseButtonRelease, place());
    document.stop();
    while (document.busy()) turn(10);
    Json replots;  // of each plot: those behind a tab draw nothing
    for (int i = 0; i < plots.size(); ++i)
        replots[plots[i]->objectName().toStdString()] = plots[i]->replots() - before[static_cast<std::size_t>(i)];
    const auto& frames = application.frames;
    const auto slow = std::count_if(frames.begin(), frames.end(), [](double ms) { return ms > kFrameLimitMs; });
    const auto [low, high] = std::minmax_element(weights.begin(), weights.end());
    return {{"seconds", std::round(10 * took) / 10},
            {"frames_ms", summary(frames)},
            {"paints_ms", summary(application.works)},
            {"frames_over_33_ms", slow},
            {"share_under_33_ms",
             1 - static_cast<double>(slow) / static_cast<double>(std::max<std::size_t>(1, frames.size()))},
            {"longest_turn_ms", std::round(10 * longest) / 10},
            {"moves", moves},
            {"weights", {*low, *high}},
            {"decodes", decodes},
            {"rows_decoded", tokens},
            {"replots", replots}};
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3) return std::fprintf(stderr, "bench_window PROGRAM SESSION [SECONDS]\n"), 2;
    setenv("OMP_WAIT_POLICY", "passive", 0);  // as the program does
    Application application(argc, argv);
    Json out;
    const double loadBefore = loadAverage();
    out["first_paint_ms"] = firstPaint(QString::fromLocal8Bit(argv[1]));
    widgets::applyTheme(application, widgets::ThemeKind::Light);
    QTemporaryDir folder;
    QSettings settings(folder.filePath("bench.ini"), QSettings::IniFormat);
    model::Document document(nullptr, app::openBehindTheWindow);
    app::MainWindow window(document, settings);
    window.restore({});
    window.resize(1440, 900);
    window.show();
    turn(200);
    out["heartbeat_check"] = selfCheck();
    out["loading"] = pausesOfLoading(window, argv[2]);
    out["drag"] = document.ready() ? drag(application, window, argc > 3 ? std::atof(argv[3]) : 20)
                                   : Json{{"error", "the session did not load"}};
    out["conditions"] = {{"platform", QApplication::platformName().toStdString()},
                         {"cores", sysconf(_SC_NPROCESSORS_ONLN)},
                         {"load_before", loadBefore},
                         {"load_after", loadAverage()},
                         {"qt", qVersion()},
                         {"window", {window.width(), window.height()}}};
    std::printf("%s\n", out.dump(2).c_str());
    return 0;
}
