// `counterpoint render`: a recipe becomes the figure, its table and a recipe of the same bytes; what is not one is
// refused.

#include <QTemporaryDir>

#include "model/figure.h"
#include "tests/app/program.h"

using namespace counterpoint;
using namespace counterpoint::tests;

class TestRender : public QObject {
    Q_OBJECT
    QTemporaryDir m_scratch;
    model::PlotData m_plot;
    QByteArray m_recipe;

    QString path(const char* name) const { return m_scratch.filePath(QLatin1String(name)); }
    static Finished render(const QString& recipe, const QStringList& more = {}) {
        return runProgram(QStringList{QStringLiteral("render"), recipe} + more);
    }

  private Q_SLOTS:
    void initTestCase() {
        m_plot.id = "toy";
        m_plot.title = "Toy";
        m_plot.x.title = "ρ";
        m_plot.y.title = "Distinct experts";
        model::Series points;
        points.name = "mean, ± one error";
        points.kind = model::SeriesKind::Points;
        points.x = {0, 0.5, 1};
        points.y = {5, 3.25, 2};
        points.low = {4.9, 3, 2};
        points.high = {5.1, 3.5, 2};
        m_plot.series = {points};
        m_recipe = QByteArray::fromStdString(toJson(m_plot, model::FigureStyle()).dump(2) + "\n");
    }
    void init() {
        failOnAnyWarning();
        write(path("toy.json"), m_recipe);
    }

    void everyFormat_data() {
        QTest::addColumn<QByteArray>("begins");
        QTest::newRow("pdf") << QByteArray("%PDF-");
        QTest::newRow("svg") << QByteArray("<?xml");
        QTest::newRow("png") << QByteArray("\x89PNG");
    }
    void everyFormat() {
        QFETCH(QByteArray, begins);
        const QString figure = path("toy.") + QLatin1String(QTest::currentDataTag());
        COMPARE_CODE(render(path("toy.json"), {QStringLiteral("--out"), figure}), 0);
        const QByteArray bytes = contents(figure);
        QVERIFY(bytes.startsWith(begins));
        QCOMPARE(contents(path("toy.csv")).toStdString(), toCsv(m_plot));
        QCOMPARE(contents(path("toy.json")), m_recipe);
        COMPARE_CODE(render(path("toy.json"), {QStringLiteral("--out"), figure}), 0);
        QCOMPARE(contents(figure), bytes);
    }

    void withoutAName() {
        COMPARE_CODE(render(path("toy.json")), 0);
        QVERIFY(contents(path("toy.pdf")).startsWith("%PDF-"));
    }

    /// Under another name the recipe goes along, and draws the same.
    void anotherName() {
        COMPARE_CODE(render(path("toy.json"), {QStringLiteral("--out"), path("other.svg")}), 0);
        const QByteArray bytes = contents(path("other.svg"));
        COMPARE_CODE(render(path("other.json"), {QStringLiteral("--out"), path("third.svg")}), 0);
        QCOMPARE(contents(path("third.svg")), bytes);
        QCOMPARE(contents(path("third.json")), contents(path("other.json")));
    }

    void refusals() {
        const auto says = [&](const QByteArray& recipe, const char* words) {
            write(path("bad.json"), recipe);
            const Finished finished = render(path("bad.json"));
            QCOMPARE(finished.code, 1);
            QCOMPARE(finished.errorLines(), 1);
            QVERIFY2(finished.err.contains("bad.json") && finished.err.contains(words), finished.err.constData());
            QVERIFY(!QFile::exists(path("bad.pdf")));
        };
        says("{", "bad.json");
        says("{\"format\":\"counterpoint.session/1\"}", "it is not a figure recipe");
        says(QByteArray(m_recipe).replace("\"points\"", "\"pie\""), "the kind of a series is not known");
        QCOMPARE(render(path("nowhere.json")).code, 1);
    }
};

QTEST_GUILESS_MAIN(TestRender)
#include "tst_render.moc"
