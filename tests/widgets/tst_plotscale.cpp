// HAZARDS A23: one infinite, NaN or zero value must not ruin a plot; every small input is a row.
#include "tests/support/fixture.h"
#include "tests/support/plots.h"
#include "widgets/palette.h"
#include "widgets/plotscale.h"

#include <limits>

using namespace counterpoint;
using namespace counterpoint::widgets;
using tests::linePlot;

namespace {
constexpr double kInf = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN();
}
Q_DECLARE_METATYPE(std::vector<double>)

class TestPlotScale : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void init() { tests::failOnAnyWarning(); }

    void gapsAndRanges_data() {
        QTest::addColumn<std::vector<double>>("y");
        QTest::addColumn<bool>("log");
        QTest::addColumn<int>("gaps");
        QTest::addColumn<int>("alone");
        QTest::addColumn<double>("lowest");   // values that must lie inside the range
        QTest::addColumn<double>("highest");
        QTest::newRow("infinite and not a number") << std::vector<double>{0.1, kInf, kNaN, 0.2} << false << 2 << 2 << 0.1 << 0.2;
        QTest::newRow("minus infinity") << std::vector<double>{0.1, 0.3, -kInf, 0.2} << false << 1 << 1 << 0.1 << 0.3;
        QTest::newRow("nothing finite") << std::vector<double>{kNaN, kNaN} << false << 2 << 0 << 0.0 << 1.0;
        QTest::newRow("counts on log") << std::vector<double>{0, 3, 0, 7} << true << 2 << 2 << 3.0 << 7.0;
        QTest::newRow("only zeros on log") << std::vector<double>{0, 0} << true << 2 << 0 << 0.1 << 1.0;
        QTest::newRow("one value") << std::vector<double>{4.2} << false << 0 << 1 << 4.2 << 4.2;
        QTest::newRow("one zero") << std::vector<double>{0} << false << 0 << 1 << 0.0 << 0.0;
        QTest::newRow("one value on log") << std::vector<double>{4.2} << true << 0 << 1 << 4.2 << 4.2;
        QTest::newRow("all equal") << std::vector<double>{5, 5, 5} << false << 0 << 0 << 5.0 << 5.0;
        QTest::newRow("tiny to huge") << std::vector<double>{1e-300, 1e300} << false << 0 << 0 << 1e-300 << 1e300;
        QTest::newRow("tiny to huge on log") << std::vector<double>{1e-300, 1e300} << true << 0 << 0 << 1e-300 << 1e300;
        QTest::newRow("tiny only") << std::vector<double>{1e-300, 3e-300} << false << 0 << 0 << 1e-300 << 3e-300;
        QTest::newRow("denormal") << std::vector<double>{5e-324, 1e-320} << false << 0 << 0 << 5e-324 << 1e-320;
        QTest::newRow("negative") << std::vector<double>{-3, -1} << false << 0 << 0 << -3.0 << -1.0;
        QTest::newRow("none") << std::vector<double>{} << false << 0 << 0 << 0.0 << 1.0;
    }
    void gapsAndRanges() {
        QFETCH(std::vector<double>, y);
        QFETCH(bool, log);
        QFETCH(int, gaps);
        QFETCH(int, alone);
        QFETCH(double, lowest);
        QFETCH(double, highest);
        const Prepared p = prepare(linePlot(y), log);
        QCOMPARE(static_cast<int>(p.gaps.size()), gaps);
        QCOMPARE(static_cast<int>(p.series[0].alone.size()), alone);
        QCOMPARE(p.gapNote.isEmpty(), gaps == 0);
        QVERIFY(std::isfinite(p.y.range.lower) && std::isfinite(p.y.range.upper));
        QVERIFY(p.y.range.size() > 1e-12 && p.y.range.size() < 1e100);
        QVERIFY(p.y.toU(lowest) >= p.y.range.lower);
        QVERIFY(p.y.toU(highest) <= p.y.range.upper);
        const std::vector<Tick> t = ticks(p.y, p.y.range, 5);
        QVERIFY2(t.size() >= 2 && t.size() <= 20, qPrintable(QString::number(t.size())));
        for (const Tick& tick : t) QVERIFY(!tick.label.isEmpty() && !tick.label.contains("nan") && !tick.label.contains("inf"));
    }

    void gapNoteCountsEachKind() {
        QCOMPARE(prepare(linePlot({0.1, kInf, kInf, kNaN, -kInf}), false).gapNote,
                 QString("2 values are infinite; 1 value is −∞; 1 value is not a number"));
        QCOMPARE(prepare(linePlot({0, 3, -1, 7}), true).gapNote,
                 QString("2 values are not positive and have no place on a log axis"));
    }

    void logAndBackLosesNothing() {
        const model::PlotData plot = linePlot({0.1, kInf, kNaN, 0, 0.2});
        const Prepared before = prepare(plot, false);
        prepare(plot, true);
        const Prepared after = prepare(plot, false);
        QCOMPARE(after.y.range.lower, before.y.range.lower);
        QCOMPARE(after.y.range.upper, before.y.range.upper);
        QCOMPARE(after.gaps.size(), before.gaps.size());
        for (std::size_t i = 0; i < 5; ++i) {
            QCOMPARE(std::isnan(after.series[0].u[i]), std::isnan(before.series[0].u[i]));
            if (!std::isnan(before.series[0].u[i])) QCOMPARE(after.series[0].u[i], before.series[0].u[i]);
        }
    }

    void scaleGoesThereAndBack() {
        Scale log;
        log.logarithmic = true;
        QCOMPARE(log.toU(1000), 3.0);
        QCOMPARE(log.toValue(-2), 0.01);
        QVERIFY(std::isnan(log.toU(0)) && std::isnan(log.toU(-1)));
        const Scale huge = prepare(linePlot({0, 1e300}), false).y;
        QVERIFY(std::abs(huge.toValue(huge.toU(5e299)) / 5e299 - 1) < 1e-12);
    }

    void tickLabelsAreEvenAndLocaleFree() {
        Scale scale;
        scale.range = {0, 1.06};
        QStringList labels;
        for (const Tick& t : ticks(scale, scale.range, 5)) labels << t.label;
        QCOMPARE(labels, QStringList({"0.0", "0.2", "0.4", "0.6", "0.8", "1.0"}));
        // However low the plot: one number alone tells no scale.
        for (const double upper : {0.42, 0.9, 1.4, 3.1, 6.9, 9.4}) {
            scale.range = {0, upper};
            QVERIFY2(ticks(scale, scale.range, 2).size() >= 2, qPrintable(QString::number(upper)));
        }
        labels.clear();
        for (const Tick& t : positionTicks({-0.5, 7.5}, 20)) labels << t.label;
        QCOMPARE(labels, QStringList({"0", "1", "2", "3", "4", "5", "6", "7"}));
    }

    void barsStandOnZeroAndWaterfallsShowEveryStep() {
        QVERIFY(prepare(tests::barsPlot(), false).y.range.lower == 0);
        const Prepared p = prepare(tests::waterfallPlot(), true);  // a sum has no logarithm
        QVERIFY(!p.y.logarithmic);
        QVERIFY(p.y.range.lower < -3.2 && p.gaps.empty());
    }
};

QTEST_GUILESS_MAIN(TestPlotScale)
#include "tst_plotscale.moc"
