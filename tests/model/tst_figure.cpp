// Figures as data: the table and the recipe, there and back.
#include "compute/error.h"
#include "tests/support/fixture.h"
#include "tests/support/plots.h"

#include <limits>

using namespace counterpoint;
using namespace counterpoint::model;

class TestFigure : public QObject {
    Q_OBJECT
    static PlotData heatPlot(bool whole) {
        PlotData plot = tests::linePlot({});
        plot.series.clear();
        Heat& heat = plot.heat.emplace();
        heat.rows = heat.columns = 2;
        heat.values = {0.1F, NAN, 1e-30F, -0.5F};
        heat.low = -0.5;
        heat.high = 0.75;
        heat.diverging = true;
        if (!whole) return plot;
        plot.heat->rowNames = {"a", "b"};
        plot.heat->marked = {true, false, false, true};
        plot.heat->firstX = 3;
        plot.heat->unit = "inclusion probability";
        return plot;
    }
    static PlotData barred() {
        PlotData plot = tests::linePlot({1, 2});
        plot.series[0].low = {0.5, 1.5};
        plot.series[0].high = {1.5, 2.5};
        return plot;
    }
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
    void csvOfAHeatMap() {
        PlotData plot = tests::linePlot({});
        plot.series.clear();
        plot.heat = Heat{.rows = 2,
                         .columns = 3,
                         .values = {0.1F, NAN, 1, 0.25F, 0, -0.5F},
                         .rowNames = {"expert 0", "expert, 1"},
                         .firstX = 4,
                         .unit = "p",
                         .marked = {true, false, false, false, true, true}};
        QCOMPARE(QString::fromStdString(toCsv(plot)),
                 QString("Position,expert 0,expert 0 marked,\"expert, 1\",\"expert, 1 marked\"\r\n"
                         "4,0.1,1,0.25,0\r\n5,nan,0,0,1\r\n6,1,0,-0.5,1\r\n"));
        plot.heat->marked.clear();
        plot.heat->rowNames.clear();
        plot.series = {tests::series("line", SeriesKind::Line, 1, {7, 8}, 6)};
        QCOMPARE(QString::fromStdString(toCsv(plot)),
                 QString("Position,line,0,1\r\n4,,0.1,0.25\r\n5,,nan,0\r\n6,7,1,-0.5\r\n7,8,,\r\n"));
    }
    void csvOfErrorBars() {
        PlotData plot = tests::linePlot({1, 2});
        plot.series[0].low = {0.5, 1.5};
        plot.series[0].high = {1.5, 2.5};
        QCOMPARE(QString::fromStdString(toCsv(plot)),
                 QString("Position,drift,drift low,drift high\r\n0,1,0.5,1.5\r\n1,2,1.5,2.5\r\n"));
    }
    void recipeGoesThereAndBack_data() {
        QTest::addColumn<int>("which");
        QTest::newRow("trace") << 0;
        QTest::newRow("activity") << 1;
        QTest::newRow("bars") << 2;
        QTest::newRow("waterfall") << 3;
        QTest::newRow("not finite") << 4;
        QTest::newRow("heat") << 5;
        QTest::newRow("a bare heat map") << 6;
        QTest::newRow("error bars") << 7;
    }
    void recipeGoesThereAndBack() {
        QFETCH(int, which);
        const PlotData plots[] = {tests::tracePlot(20),
                                  tests::activityPlot(20),
                                  tests::barsPlot(),
                                  tests::waterfallPlot(),
                                  tests::linePlot({INFINITY, -INFINITY, NAN, -0.0, 5e-324}),
                                  heatPlot(true),
                                  heatPlot(false),
                                  barred()};
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
        QTest::newRow("half an error bar")
            << R"({"format":"counterpoint.figure/1","series":[{"x":[1],"y":[1],"high":[2]}]})"
            << "'low'";
        QTest::newRow("band without interval") << R"({"format":"counterpoint.figure/1","series":[{"kind":"band","x":[1],"y":[1]}]})"
                                               << "'low'";
    }
    void aHeatMapOfAWrongShapeIsRefused_data() {
        QTest::addColumn<QString>("heat");
        QTest::addColumn<QString>("says");
        QTest::newRow("values") << R"({"rows":2,"columns":2,"values":[1,2,3]})"
                                << "'values' does not fit 'rows' and 'columns' (expected 4 values, found 3)";
        QTest::newRow("names") << R"({"rows":2,"columns":1,"values":[1,2],"row_names":["a"]})"
                               << "'row_names'";
        QTest::newRow("marks") << R"({"rows":2,"columns":1,"values":[1,2],"marked":[true]})"
                               << "'marked'";
        QTest::newRow("rows") << R"({"rows":-1,"columns":1,"values":[]})"
                              << "'rows'";
        QTest::newRow("many columns") << R"({"rows":1,"columns":2000000000,"values":[]})"
                                      << "'columns'";
        QTest::newRow("no map") << "[]"
                                << "it is not a heat map";
        QTest::newRow("a word") << R"({"rows":1,"columns":1,"values":["x"]})"
                                << "'values'";
    }
    void aHeatMapOfAWrongShapeIsRefused() {
        QFETCH(QString, heat);
        QFETCH(QString, says);
        PlotData plot;
        FigureStyle style;
        try {
            fromJson(compute::OrderedJson::parse(
                         (R"({"format":"counterpoint.figure/1","heat":)" + heat + "}").toStdString()),
                     "figure.json", plot, style);
            QFAIL("accepted");
        } catch (const compute::Error& error) {
            QVERIFY2(QString::fromStdString(error.sentence()).contains(says), error.what());
            QVERIFY(QString::fromStdString(error.sentence()).contains("figure.json, 'heat'"));
        }
        QVERIFY(!plot.heat);
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
