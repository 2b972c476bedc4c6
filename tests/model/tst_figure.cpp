// Figures as data: the table and the recipe, there and back.
#include "compute/error.h"
#include "tests/support/fixture.h"
#include "tests/support/plots.h"

#include <limits>

using namespace counterpoint;
using namespace counterpoint::model;

class TestFigure : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void init() { tests::failOnAnyWarning(); }

    void csvIsExactAndQuoted() {
        PlotData plot = tests::linePlot({0.1, std::numeric_limits<double>::infinity(), std::nan(""), -0.0, 5e-324});
        plot.series[0].name = "drift, \"exact\"";
        plot.series.push_back(tests::series("late", SeriesKind::Line, 1, {1.0 / 3}, 4));
        QCOMPARE(QString::fromStdString(toCsv(plot)), QString("Position,\"drift, \"\"exact\"\"\",late\r\n"
                                                              "0,0.1,\r\n1,inf,\r\n2,nan,\r\n3,-0,\r\n"
                                                              "4,5e-324,0.3333333333333333\r\n"));
    }
    void csvNamesCategoriesAndIntervals() {
        const QString csv = QString::fromStdString(toCsv(tests::waterfallPlot()));
        QVERIFY(csv.startsWith("x,log p(␣dog),log p(␣dog) low,log p(␣dog) high\r\nbase,-3.2,0,-3.2\r\n"));
        QVERIFY(csv.endsWith("total,-2.2,0,-2.2\r\n"));
    }
    void recipeGoesThereAndBack_data() {
        QTest::addColumn<int>("which");
        QTest::newRow("trace") << 0;
        QTest::newRow("activity") << 1;
        QTest::newRow("bars") << 2;
        QTest::newRow("waterfall") << 3;
        QTest::newRow("not finite") << 4;
    }
    void recipeGoesThereAndBack() {
        QFETCH(int, which);
        const PlotData plots[] = {tests::tracePlot(20), tests::activityPlot(20), tests::barsPlot(), tests::waterfallPlot(),
                                  tests::linePlot({INFINITY, -INFINITY, NAN, -0.0, 5e-324})};
        FigureStyle style, readStyle;
        style.widthMm = 123.4;
        style.pngDpi = 600;
        style.fontFamily = "DejaVu Serif";
        const std::string text = toJson(plots[which], style).dump();
        PlotData read;
        fromJson(compute::OrderedJson::parse(text), "figure.json", read, readStyle);
        QVERIFY(readStyle == style);
        QCOMPARE(toJson(read, readStyle).dump(), text);
        QCOMPARE(toCsv(read), toCsv(plots[which]));
    }
    void aWrongRecipeIsRefusedInOneSentence_data() {
        QTest::addColumn<QString>("json");
        QTest::addColumn<QString>("says");
        QTest::newRow("list") << "[]" << "not a figure recipe";
        QTest::newRow("other format") << R"({"format":"counterpoint.session/1"})" << "counterpoint.session/1";
        QTest::newRow("kind") << R"({"format":"counterpoint.figure/1","series":[{"kind":"pie"}]})" << "pie";
        QTest::newRow("lengths") << R"({"format":"counterpoint.figure/1","series":[{"x":[1,2],"y":[1]}]})" << "2 values, found 1";
        QTest::newRow("text for number") << R"({"format":"counterpoint.figure/1","series":[{"x":["a"],"y":[1]}]})" << "figure.json";
        QTest::newRow("band without interval") << R"({"format":"counterpoint.figure/1","series":[{"kind":"band","x":[1],"y":[1]}]})"
                                               << "'low'";
    }
    void aWrongRecipeIsRefusedInOneSentence() {
        QFETCH(QString, json);
        QFETCH(QString, says);
        PlotData plot;
        plot.title = "kept";
        FigureStyle style;
        try {
            fromJson(compute::OrderedJson::parse(json.toStdString()), "figure.json", plot, style);
            QFAIL("accepted");
        } catch (const compute::Error& error) {
            QVERIFY2(QString::fromStdString(error.sentence()).contains(says), error.what());
            QVERIFY(QString::fromStdString(error.sentence()).contains("figure.json"));
        }
        QCOMPARE(plot.title, std::string("kept"));
    }
};

QTEST_GUILESS_MAIN(TestFigure)
#include "tst_figure.moc"
