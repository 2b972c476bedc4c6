// What makes the window fast, as structure and not as time: plots that nobody sees are neither made nor drawn, and the
// warm-up makes no windows within the window.

#include <QApplication>
#include <QDockWidget>
#include <QEventLoop>
#include <QFileDialog>
#include <QLabel>

#include "tests/app/opened.h"
#include "widgets/framelimiter.h"
#include "widgets/palette.h"
#include "widgets/plotdock.h"

using namespace counterpoint;
using namespace counterpoint::tests;
using widgets::PlotDock;

namespace {

int canvases(const QWidget& in) {
    int n = 0;
    for (const QWidget* widget : in.findChildren<QWidget*>()) n += widget->inherits("QCustomPlot") ? 1 : 0;
    return n;
}

/// Until every frame that was asked for has been drawn.
void settle() { QTest::qWait(3 * widgets::FrameLimiter::kFrameMs); }

}  // namespace

class TestWindowSpeed : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void initTestCase() { widgets::applyTheme(*qApp, widgets::ThemeKind::Light); }
    void init() { failOnAnyWarning(); }

    void noPlotIsMadeBeforeThereIsSomethingToDraw() {
        Opened o;
        settle();
        QCOMPARE(canvases(*o.window), 0);
        for (const PlotDock* dock : o.window->findChildren<PlotDock*>()) {
            QVERIFY2(!dock->made(), qPrintable(dock->objectName()));
            const auto* note = dock->findChild<QLabel*>("plot.empty");
            QVERIFY2(note != nullptr && !note->text().isEmpty(), qPrintable(dock->objectName()));
        }
    }

    void aPlotBehindATabIsMadeAndDrawnWhenItIsShown() {
        Opened o;
        o.decode();
        auto *front = o.find<PlotDock>("dock.drift"), *behind = o.find<PlotDock>("dock.entropy");
        WAIT_UNTIL(front->made());
        QVERIFY(!behind->made());
        QCOMPARE(canvases(*behind), 0);
        behind->raise();
        WAIT_UNTIL(behind->made());
        const widgets::PlotView& view = behind->panel().view();
        QCOMPARE(view.plot().series.front().y.size(), o.document.trace()->steps.size());
        WAIT_UNTIL(view.replots() > 0);
        QVERIFY(behind->findChild<QLabel*>("plot.empty") == nullptr ||
                !behind->findChild<QLabel*>("plot.empty")->isVisible());

        settle();
        const quint64 drawn = front->panel().view().replots(), seen = view.replots();
        o.document.setCursor(5);
        WAIT_UNTIL(view.replots() > seen);
        settle();
        QCOMPARE(front->panel().view().replots(), drawn);
        front->raise();
        WAIT_UNTIL(front->panel().view().replots() > drawn);
        QCOMPARE(front->panel().view().plot().cursorX, 5.0);
    }

    void anExportOfAPlotThatIsNotThereMakesIt() {
        Opened o;
        o.decode();
        auto* dock = o.find<PlotDock>("dock.entropy");
        QVERIFY(!dock->made());
        QCOMPARE(dock->panel().view().plot().series.front().y.size(), o.document.trace()->steps.size());
    }

    void theWarmUpMakesNoWindowsWithinTheWindow() {
        Opened o;
        QEventLoop loop;
        bool done = false;
        o.window->warmUp([&] {
            done = true;
            loop.quit();
        });
        QVERIFY(!done);  // a slice a turn of the loop, not all at once
        loop.exec();
        o.window->fileDialog().open();
        for (const QDockWidget* dock : o.window->findChildren<QDockWidget*>())
            QVERIFY2(!dock->testAttribute(Qt::WA_NativeWindow), qPrintable(dock->objectName()));
        o.window->fileDialog().close();
    }

    void thePositionInTheStatusBarLaysNothingOut() {
        Opened o;
        o.decode();
        const auto* place = o.find<QLabel>("status.place");
        QVERIFY(place->text().contains(QString::number(o.document.view().cursor)));
        QCOMPARE(place->minimumSize(), place->maximumSize());
        QVERIFY(place->sizeHint().width() <= place->width());
    }
};

QTEST_MAIN(TestWindowSpeed)
#include "tst_windowspeed.moc"
