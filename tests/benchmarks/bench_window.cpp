// The window's three figures as JSON (SPEC.md 4): the first paint after exec, the longest pause of the event loop while
// torch loads and a menu, a file dialog and an icon are opened, frame times while a weight is dragged during a decode.
// Usage: bench_window PROGRAM SESSION (offscreen or on a display). Never fails a test run.

#include <QApplication>
#include <QElapsedTimer>
#include <QFileDialog>
#include <QMenu>
#include <QProcess>
#include <QSettings>
#include <QSlider>
#include <QTemporaryDir>
#include <QTimer>
#include <algorithm>
#include <cstdio>
#include <vector>

#include "app/mainwindow.h"
#include "widgets/palette.h"

using namespace counterpoint;

namespace {

constexpr int kStarts = 5;
constexpr double kFrameLimitMs = 33;

/// Gaps between turns of the event loop: a timer of 0 ms asks for a turn again and again.
class Heartbeat {
  public:
    Heartbeat() {
        QObject::connect(&m_timer, &QTimer::timeout, &m_timer, [this] {
            m_gaps.push_back(static_cast<double>(m_clock.nsecsElapsed()) * 1e-6);
            m_clock.restart();
        });
        m_clock.start();
        m_timer.start(0);
    }
    double longest() const { return m_gaps.empty() ? 0 : *std::max_element(m_gaps.begin(), m_gaps.end()); }

  private:
    QTimer m_timer;
    QElapsedTimer m_clock;
    std::vector<double> m_gaps;
};

void turnFor(int ms) {
    QElapsedTimer clock;
    for (clock.start(); clock.elapsed() < ms;) QCoreApplication::processEvents(QEventLoop::AllEvents, 5);
}

double firstPaintMs(const QString& program) {
    double best = 1e9;
    for (int i = 0; i < kStarts; ++i) {
        QProcess process;
        process.start(program, {QStringLiteral("--first-paint")});
        process.waitForFinished();
        const QByteArray out = process.readAllStandardOutput();
        bool ok = false;
        const double ms = out.mid(out.indexOf(':') + 1).trimmed().chopped(1).toDouble(&ok);
        if (ok) best = std::min(best, ms);
    }
    return best;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) return std::fprintf(stderr, "bench_window PROGRAM SESSION\n"), 2;
    QApplication application(argc, argv);
    const double paint = firstPaintMs(QString::fromLocal8Bit(argv[1]));
    widgets::applyTheme(application, widgets::ThemeKind::Light);
    QTemporaryDir folder;
    QSettings settings(folder.filePath("bench.ini"), QSettings::IniFormat);
    model::Document document;
    app::MainWindow window(document, settings);
    window.restore({});
    window.show();
    turnFor(200);
    window.warmUp();
    double loadGap = 0;
    {
        Heartbeat beat;
        window.openFiles({argv[2]});
        QMenu* menu = window.actions().menu(QStringLiteral("File"));
        menu->popup(window.mapToGlobal(QPoint(10, 40)));
        turnFor(200);
        menu->close();
        window.fileDialog().show();
        turnFor(200);
        window.fileDialog().hide();
        widgets::lineIcon(widgets::Glyph::Open).pixmap(64, 64);
        while (!document.ready() && document.busy()) turnFor(20);
        loadGap = beat.longest();
    }
    std::vector<double> frames;
    model::Session session = document.session();
    session.decoding.maxNewTokens = 400;
    document.setSession(session);
    document.generate();
    QSlider* slider = window.findChild<QSlider*>(QStringLiteral("slider"));
    slider->setSliderDown(true);
    QElapsedTimer frame;
    for (int i = 0; document.busy() && i < 2000; ++i) {
        frame.restart();
        slider->setSliderPosition(i % (slider->maximum() + 1));
        QCoreApplication::processEvents();
        frames.push_back(static_cast<double>(frame.nsecsElapsed()) * 1e-6);
        turnFor(8);
    }
    slider->setSliderDown(false);
    std::sort(frames.begin(), frames.end());
    const auto at = [&](double q) {
        return frames.empty() ? 0 : frames[static_cast<std::size_t>(q * static_cast<double>(frames.size() - 1))];
    };
    const auto slow = std::count_if(frames.begin(), frames.end(), [](double ms) { return ms > kFrameLimitMs; });
    std::printf(
        "{\"first_paint_ms\": %.0f, \"load_longest_gap_ms\": %.1f, \"frames\": %zu, \"frame_p50_ms\": %.2f, "
        "\"frame_p99_ms\": %.2f, "
        "\"frames_over_33_ms\": %td}\n",
        paint, loadGap, frames.size(), at(0.5), at(0.99), slow);
    return 0;
}
