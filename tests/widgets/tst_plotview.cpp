// The plot under mouse and keys, offscreen; pictures of every kind in both themes ($COUNTERPOINT_PICTURES: where to
// keep them).
#include <QApplication>
#include <QClipboard>
#include <QLabel>
#include <QSignalSpy>
#include <QWheelEvent>
#include <limits>

#include "tests/support/fixture.h"
#include "tests/support/patience.h"
#include "tests/support/plots.h"
#include "widgets/framelimiter.h"
#include "widgets/palette.h"
#include "widgets/plotpanel.h"
#include "widgets/plotscene.h"

using namespace counterpoint;
using namespace counterpoint::widgets;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN();

QWidget* canvasOf(PlotView& view) { return view.childAt(view.rect().center()); }

void shown(QWidget& widget, const QSize& size = {640, 300}) {
    widget.resize(size);
    widget.show();
    QVERIFY(QTest::qWaitForWindowExposed(&widget));
}

/// Waits until the frame limiter has nothing left to draw.
void drawn(PlotView& view, quint64 before) { WAIT_UNTIL(view.replots() > before); }

void put(PlotView& view, const model::PlotData& plot) {
    const quint64 before = view.replots();
    view.setPlot(plot);
    drawn(view, before);
}

int distinctColours(const QImage& image) {
    QSet<QRgb> seen;
    for (int y = 0; y < image.height(); ++y)
        for (int x = 0; x < image.width(); ++x) seen.insert(image.pixel(x, y));
    return static_cast<int>(seen.size());
}

}  // namespace
Q_DECLARE_METATYPE(counterpoint::model::PlotData)
Q_DECLARE_METATYPE(std::vector<double>)

class TestPlotView : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void initTestCase() { applyTheme(*qApp, ThemeKind::Light); }
    void init() { tests::failOnAnyWarning(); }

    void everyKindIsDrawnInBothThemes_data() {
        QTest::addColumn<model::PlotData>("plot");
        QTest::addColumn<bool>("log");
        QTest::newRow("trace") << tests::tracePlot(80) << false;
        QTest::newRow("trace-log") << tests::tracePlot(80) << true;
        QTest::newRow("activity") << tests::activityPlot(80) << false;
        QTest::newRow("bars") << tests::barsPlot() << false;
        QTest::newRow("bars-log") << tests::barsPlot() << true;
        QTest::newRow("waterfall") << tests::waterfallPlot() << false;
        QTest::newRow("gaps") << tests::linePlot({0.1, kInf, kNaN, 0.2, 0.3, -kInf, 0.25, 0.4}) << false;
        QTest::newRow("zeros-log") << tests::linePlot({0, 3, 0, 7}) << true;
        QTest::newRow("one") << tests::linePlot({4.2}) << false;
        QTest::newRow("huge") << tests::linePlot({1e-300, 1e300}) << false;
        QTest::newRow("huge-log") << tests::linePlot({1e-300, 1, 1e300}) << true;
        QTest::newRow("nothing finite") << tests::linePlot({kNaN, kNaN}) << false;
    }
    void everyKindIsDrawnInBothThemes() {
        QFETCH(model::PlotData, plot);
        QFETCH(bool, log);
        plot.y.logarithmic = log;
        PlotView view;
        shown(view);
        view.setPlot(plot);
        for (const ThemeKind kind : {ThemeKind::Light, ThemeKind::Dark}) {
            const quint64 before = view.replots();
            applyTheme(*qApp, kind);
            if (before > 0)
                drawn(view, before);
            else
                WAIT_UNTIL(view.replots() > 0);
            QCoreApplication::processEvents();
            const QImage image = view.grab().toImage();
            QVERIFY2(distinctColours(image) > 8, "the picture is blank");
            QCOMPARE(QColor(image.pixel(2, 2)), theme(kind).surface);
            const QString folder = qEnvironmentVariable("COUNTERPOINT_PICTURES");
            if (!folder.isEmpty())
                image.save(folder + "/plot-" + QTest::currentDataTag() +
                           (kind == ThemeKind::Dark ? "-dark.png" : "-light.png"));
        }
        applyTheme(*qApp, ThemeKind::Light);
    }

    void whatDoesNotFitGivesWay() {
        const QFontMetricsF metrics(qApp->font());
        const auto fitted = [&](double room) { return fittingTitle("Drift (nats)", room, metrics); };
        QCOMPARE(fitted(metrics.horizontalAdvance("Drift (nats)")), QString("Drift (nats)"));
        QCOMPARE(fitted(metrics.horizontalAdvance("Drift (nat")), QString("nats"));
        QCOMPARE(fitted(metrics.horizontalAdvance("na")), QString());
        QCOMPARE(fittingTitle("Probability", 1, metrics), QString());
        const auto bottom = [](const model::PlotData& plot, int width) {  // where y = 0 stands
            PlotView view;
            shown(view, {width, 300});
            put(view, plot);
            return view.toPixel(0, 0).y();
        };
        // Side by side the names take a line; where they would be cut they stand upright and take more.
        QVERIFY(bottom(tests::barsPlot(), 1600) > bottom(tests::barsPlot(), 500) + 20);
        QCOMPARE(bottom(tests::tracePlot(40), 1600), bottom(tests::tracePlot(40), 500));
    }

    /// On a small screen legend and names leave the data the larger part, and names of sources read unlike.
    void aLowPlotKeepsItsHeight() {
        model::PlotData plot = tests::barsPlot();
        const char* names[] = {"base-model-of-length", "dialogue-specialist1", "dialogue-specialist2", "composed"};
        for (std::size_t i = 0; i < 4; ++i) plot.series[i].name = names[i];
        PlotView view;
        shown(view, {423, 157});
        put(view, plot);
        const Range range = prepare(plot, false).y.range;
        const double area = view.toPixel(0, range.lower).y() - view.toPixel(0, range.upper).y();
        QVERIFY2(area >= 60, qPrintable(QString::number(area)));
        shown(view, {700, 136});
        put(view, tests::tracePlot(40));
        const Range line = prepare(tests::tracePlot(40), false).y.range;
        const double track = view.toPixel(0, line.lower).y() - view.toPixel(0, line.upper).y();
        QVERIFY2(track >= 60, qPrintable(QString::number(track)));
    }

    void theFlipsWordsStandAboveTheCurve() {
        const auto top = [](double flip) {
            PlotView view;
            shown(view);
            model::PlotData plot = tests::tracePlot(40);
            plot.flipX = flip;
            put(view, plot);
            return view.toPixel(0, prepare(plot, false).y.range.upper).y();
        };
        QVERIFY(top(20) >= top(-1) + QFontMetricsF(qApp->font()).height() - 1);
    }

    /// Among thin bars a whole line would be read as one of them.
    void theCursorIsNoBar() {
        const auto share = [](model::SeriesKind kind) {
            PlotView view;
            shown(view);
            model::PlotData plot = tests::linePlot(std::vector<double>(40, 0.0));
            plot.series.front().kind = kind;
            const QImage without = (put(view, plot), view.grab().toImage());
            plot.cursorX = 17;
            const QImage with = (put(view, plot), view.grab().toImage());
            const Range range = prepare(plot, false).y.range;
            const int x = qRound(view.toPixel(17, range.lower).x());
            const int top = qRound(view.toPixel(17, range.upper).y()) + 2;
            const int bottom = qRound(view.toPixel(17, range.lower).y()) - 4;
            int changed = 0;
            for (int y = top; y < bottom; ++y) {
                bool differs = false;
                for (int dx = -1; dx <= 1; ++dx) differs = differs || with.pixel(x + dx, y) != without.pixel(x + dx, y);
                changed += differs;
            }
            return static_cast<double>(changed) / (bottom - top);
        };
        const double line = share(model::SeriesKind::Line), bars = share(model::SeriesKind::Bars);
        QVERIFY2(line > 0.95, qPrintable(QString::number(line)));
        QVERIFY2(bars > 0.2 && bars < 0.8, qPrintable(QString::number(bars)));
    }

    void aClickPicksThePosition() {
        PlotView view;
        shown(view);
        put(view, tests::tracePlot(40));
        QSignalSpy picked(&view, &PlotView::positionPicked);
        QTest::mouseClick(canvasOf(view), Qt::LeftButton, {}, view.toPixel(17, 0.4).toPoint());
        QCOMPARE(picked.size(), 1);
        QCOMPARE(picked[0][0].toLongLong(), 17);
    }

    void keysMoveTheCursorAndZoom() {
        PlotView view;
        shown(view);
        model::PlotData plot = tests::tracePlot(40);
        plot.cursorX = 10;
        put(view, plot);
        QSignalSpy picked(&view, &PlotView::positionPicked);
        for (const Qt::Key key : {Qt::Key_Left, Qt::Key_Right, Qt::Key_Home, Qt::Key_End}) QTest::keyClick(&view, key);
        QCOMPARE(picked.size(), 4);
        QCOMPARE(picked[0][0].toLongLong(), 9);
        QCOMPARE(picked[1][0].toLongLong(), 11);
        QCOMPARE(picked[2][0].toLongLong(), 0);
        QCOMPARE(picked[3][0].toLongLong(), 39);
        QTest::keyClick(&view, Qt::Key_Plus);
        QVERIFY(view.zoomed());
        QTest::keyClick(&view, Qt::Key_0);
        QVERIFY(!view.zoomed());
    }

    void theWheelZoomsAndADoubleClickResets() {
        PlotView view;
        shown(view);
        put(view, tests::tracePlot(200));
        const QPointF at = view.toPixel(50, 0.4);
        const double under = view.xAt(at);
        QWheelEvent wheel(at, view.mapToGlobal(at), {}, {0, 240}, Qt::NoButton, Qt::NoModifier, Qt::NoScrollPhase,
                          false);
        const quint64 before = view.replots();
        QCoreApplication::sendEvent(canvasOf(view), &wheel);
        QVERIFY(view.zoomed());
        drawn(view, before);
        QVERIFY2(std::abs(view.xAt(at) - under) < 0.5,
                 qPrintable(QString("%1 for %2").arg(view.xAt(at)).arg(under)));  // what is under the mouse stays there
        view.setPlot(tests::tracePlot(201));                                      // a live trace grows: the zoom stays
        QVERIFY(view.zoomed());
        QTest::mouseDClick(canvasOf(view), Qt::LeftButton, {}, at.toPoint());
        QVERIFY(!view.zoomed());
    }

    void aBarIsPickedAndActivated() {
        PlotView view;
        shown(view);
        put(view, tests::barsPlot());
        QSignalSpy picked(&view, &PlotView::categoryPicked), activated(&view, &PlotView::categoryActivated);
        QTest::mouseClick(canvasOf(view), Qt::LeftButton, {}, view.toPixel(5, 0.01).toPoint());
        QCOMPARE(picked.size(), 1);
        QCOMPARE(picked[0][0].toInt(), 5);
        QTest::keyClick(&view, Qt::Key_Return);
        QCOMPARE(activated.size(), 1);
        QCOMPARE(activated[0][0].toInt(), 3);  // the selected one
    }

    void theReadOutTellsExactValues() {
        PlotView view;
        view.setPlot(tests::linePlot({0.1, 1.0 / 3, kInf}));
        QCOMPARE(view.readout(1.2), QString("Position 1\ndrift: 0.3333333333333333"));
        QCOMPARE(view.readout(2), QString("Position 2\ndrift: ∞"));
        QVERIFY(view.readout(9).isEmpty());
        view.setPlot(tests::barsPlot());
        QVERIFY(view.readout(7).startsWith("␣and\nbase: "));
        QVERIFY(view.readout(7).contains("(truncated)"));
    }

    void manyChangesAreOneFrameAndHiddenOnesWait() {
        PlotView view;
        view.setPlot(tests::tracePlot(20));
        QCOMPARE(view.replots(), quint64(0));
        shown(view);
        drawn(view, 0);
        QTest::qWait(2 * FrameLimiter::kFrameMs);
        const quint64 before = view.replots();
        for (int i = 0; i < 100; ++i) view.setPlot(tests::tracePlot(20 + i));
        QCOMPARE(view.replots(), before);
        drawn(view, before);
        QCOMPARE(view.replots(), before + 1);
        view.hide();
        view.setPlot(tests::tracePlot(30));
        QTest::qWait(3 * FrameLimiter::kFrameMs);
        QCOMPARE(view.replots(), before + 1);
        view.show();
        drawn(view, before + 1);
    }

    void anEmptyPlotSaysWhy() {
        PlotView view;
        shown(view);
        model::PlotData plot = tests::linePlot({});
        plot.series.clear();
        plot.empty = "Press Generate to decode from the prompt.";
        view.setPlot(plot);
        auto* label = view.findChild<QLabel*>("plot.empty");
        QVERIFY(label->isVisible());
        QCOMPARE(label->text(), QString("Press Generate to decode from the prompt."));
        QCOMPARE(view.accessibleDescription(), label->text());
        view.setPlot(tests::tracePlot(20));
        QVERIFY(!label->isVisible());
    }

    void theRightButtonOpensTheMenu() {
        PlotPanel panel;
        shown(panel);
        panel.setPlot(tests::tracePlot(20));
        const QPoint centre = panel.rect().center();
        QWidget* under = panel.childAt(centre);
        QVERIFY(under != nullptr && under != &panel.view());  // the canvas takes the mouse
        QContextMenuEvent click(QContextMenuEvent::Mouse, under->mapFrom(&panel, centre), panel.mapToGlobal(centre));
        QApplication::sendEvent(under, &click);
        QVERIFY(panel.menu().isVisible());
        QCOMPARE(panel.menu().pos(), panel.mapToGlobal(centre));
        panel.menu().close();
    }

    void theMenuExportsCopiesAndSwitches() {
        PlotPanel panel;
        shown(panel);
        panel.setPlot(tests::tracePlot(20));
        QTemporaryDir folder;
        panel.askFile = [&](FigureFormat, const QString& name) {
            return std::filesystem::path(folder.filePath(name).toStdString());
        };
        for (const char* name : {"exportPdf", "exportSvg", "exportPng", "exportCsv"}) {
            auto* action = panel.menu().findChild<QAction*>(name);
            QVERIFY2(action != nullptr, name);
            action->trigger();
        }
        for (const char* file : {"drift.pdf", "drift.svg", "drift.png", "drift.csv", "drift.json"})
            QVERIFY2(QFileInfo(folder.filePath(file)).size() > 100, file);
        for (const char* name : {"plain", "table.csv"}) {  // what was chosen in the menu is what is written
            panel.askFile = [&](FigureFormat, const QString&) {
                return std::filesystem::path(folder.filePath(name).toStdString());
            };
            panel.menu().findChild<QAction*>("exportPdf")->trigger();
            QVERIFY2(QFileInfo::exists(folder.filePath(QString(name) + ".pdf")), name);
        }
        panel.menu().findChild<QAction*>("copyData")->trigger();
        QVERIFY(QApplication::clipboard()->text().startsWith("Position,drift,running sum\r\n0,"));
        QSignalSpy log(&panel, &PlotPanel::logarithmicToggled);
        panel.menu().findChild<QAction*>("logScale")->trigger();
        QCOMPARE(log.size(), 1);
        QVERIFY(panel.view().logarithmic());
        panel.setPlot(tests::tracePlot(25));  // a person's choice outlives new data
        QVERIFY(panel.view().logarithmic());
        panel.setPlot({});
        QVERIFY(!panel.menu().findChild<QAction*>("exportPdf")->isEnabled());
    }

    void ticksOfCategoriesAreTheirNames() {
        Scene scene;
        scene.plot.x.categories = {"one", "two", "three"};
        scene.categoryRoom = 1000;
        const auto labels = [&](const Range& range) {
            QStringList names;
            for (const Tick& tick : axisTicks(scene, AxisKind::X, range, {300, 200})) names << tick.label;
            return names.join(' ');
        };
        QCOMPARE(labels({-0.5, 2.5}), QString("one two three"));
        QCOMPARE(labels({0.5, 2.5}), QString("two three"));
        scene.twoLines = true;
        QCOMPARE(labels({-0.5, 2.5}), QString("one \ntwo three"));
    }

    // Names are a person's own: none breaks the line it stands in or turns round what stands after it.
    void namesStayInTheirPlace() {
        const std::string name = "a\u202Eb\nc";
        const QString shown = QStringLiteral("a\\u202eb c");
        QCOMPARE(told(name), shown);
        QCOMPARE(shortened(name), shown);
        model::PlotData plot = tests::linePlot({0.25, 0.5});
        plot.series[0].name = name;
        plot.note = "prior " + name;
        PlotView view;
        view.setPlot(plot);
        QCOMPARE(view.readout(1), "Position 1\n" + shown + ": 0.5");
        QCOMPARE(view.accessibleDescription(), "prior " + shown);
        Scene scene;
        scene.plot.x.categories = {name};
        QCOMPARE(scene.category(0), shown);
    }
};

QTEST_MAIN(TestPlotView)
#include "tst_plotview.moc"
