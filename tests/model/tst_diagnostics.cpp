// The table of diagnostics over a small trace whose numbers are written here: what every row says of itself, its data, what
// is infinite, what an empty trace says, and tokens as people see them.

#include "tests/model/traces.h"
#include "tests/support/fixture.h"
#include "tests/support/scratch.h"

#include <limits>

using namespace counterpoint;
using namespace counterpoint::model;
using namespace counterpoint::tests;
using compute::kNoToken;
using compute::Step;

namespace {

using Values = std::vector<double>;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

class TestDiagnostics : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void init() { failOnAnyWarning(); }

    void everyRow_data() {
        QTest::addColumn<int>("index");
        for (std::size_t i = 0; i < diagnostics().size(); ++i)
            if (diagnostics()[i].dock != "routing")  // tst_routingdiagnostics
                QTest::newRow(std::string(diagnostics()[i].id).c_str()) << static_cast<int>(i);
    }
    void everyRow() {
        QFETCH(int, index);
        const DiagnosticRow& row = diagnostics()[static_cast<std::size_t>(index)];
        QVERIFY(!row.title.empty() && !row.dock.empty() && !row.equation.empty());
        QVERIFY2(row.source.starts_with("R"), "the rule's number");
        QCOMPARE(&diagnostic(row.id), &row);
        for (std::size_t i = 0; i < static_cast<std::size_t>(index); ++i) QVERIFY(diagnostics()[i].id != row.id);

        const PlotData plot = row.make(priorTrace(), nudged(1));
        QCOMPARE(plot.id, std::string(row.id));
        QCOMPARE(plot.title, std::string(row.title));
        QVERIFY2(plot.empty.empty(), plot.empty.c_str());
        QVERIFY(!plot.series.empty() || row.id == "distribution");
        QVERIFY(!plot.x.title.empty() && !plot.y.title.empty());
        const bool second = std::any_of(plot.series.begin(), plot.series.end(), [](const Series& s) { return s.secondAxis; });
        QCOMPARE(plot.y2.title.empty(), !second);
        // A quantity in nats says so on its axis; probabilities and total variation have no unit.
        for (const Axis* axis : {&plot.y, &plot.y2}) {
            const QString title = QString::fromStdString(axis->title);
            const bool unitless = title.isEmpty() || title == "Probability" || title == "P(end of text)" || title == "Total variation";
            QCOMPARE(title.endsWith("(nats)"), !unitless);
        }
        for (const Series& s : plot.series) {
            QVERIFY(!s.name.empty());
            QCOMPARE(s.x.size(), s.y.size());
        }

        const PlotData nothing = row.make(Trace(), View());
        QVERIFY2(nothing.series.empty() && QString::fromStdString(nothing.empty).endsWith('.'), nothing.empty.c_str());
        QCOMPARE(nothing.title, std::string(row.title));
        QVERIFY(!nothing.x.title.empty() && !nothing.y.title.empty());
    }

    void unknownRow() {
        try {
            (void)diagnostic("flux");
            QFAIL("found");
        } catch (const compute::Error& e) {
            QVERIFY(e.sentence().find("flux") != std::string::npos);
        }
    }

    void lines_data() {
        QTest::addColumn<QString>("row");
        QTest::addColumn<int>("series");
        QTest::addColumn<QString>("name");
        QTest::addColumn<bool>("second");
        QTest::addColumn<Values>("y");
        const auto from = [](double a) { return Values{a + .01, a + .02, a + .03, a + .04}; };
        const auto add = [](const char* row, int series, const char* name, bool second, Values y) {
            QTest::addRow("%s: %s", row, name) << QString(row) << series << QString(name) << second << y;
        };
        add("drift", 0, "drift", false, from(.5));
        add("drift", 1, "running sum", true, {.51, 1.03, 1.56, 2.1});
        add("entropy", 0, "entropy", false, from(2));
        add("entropy", 1, "surprise of the token", false, {1.5, 3, 4.5, std::nan("")});
        add("activity", 1, "math", false, {.21, .05, .23, .24});
        add("activity", 3, "poetry", false, from(.15));
        add("activity", 4, "ε", false, {.1, .1, .1, .1});
        add("interference", 0, "interference", false, from(-.4));
        add("eos", 0, "base", false, from(.11));
        add("eos", 1, "math", false, from(.22));
        add("eos", 2, "poetry", false, from(.33));
        add("eos", 3, "composed", false, from(.44));
        add("drift_stages", 0, "stage priors, τ = 1", false, from(.6));
        add("drift_stages", 1, "stage temperature", false, from(.5));
        add("drift_stages", 2, "after truncation", false, from(.7));
        add("divergences", 0, "KL from base", false, from(.8));
        add("divergences", 1, "Jensen–Shannon", false, from(.3));
        add("divergences", 2, "total variation", true, from(.2));
    }
    void lines() {
        QFETCH(QString, row);
        QFETCH(int, series);
        QFETCH(QString, name);
        QFETCH(bool, second);
        QFETCH(Values, y);
        const PlotData plot = diagnostic(row.toStdString()).make(smallTrace(), at(2));
        QVERIFY(static_cast<std::size_t>(series) < plot.series.size());
        const Series& s = plot.series[static_cast<std::size_t>(series)];
        QCOMPARE(QString::fromStdString(s.name), name);
        QCOMPARE(s.secondAxis, second);
        QVERIFY(same(s.x, {1, 2, 3, 4}));
        QVERIFY(same(s.y, y));
        QCOMPARE(plot.cursorX, 2.0);
        QCOMPARE(plot.flipX, 3.0);
        QVERIFY(plot.cursorIsPosition);
        QCOMPARE(plot.x.title, std::string("Position"));
    }

    void activeBandsAboveEpsilonOnly() {
        const PlotData plot = diagnostic("activity").make(smallTrace(), at(1));
        const Series& band = plot.series[0];
        QCOMPARE(band.name, std::string("math active"));
        QCOMPARE(band.kind, SeriesKind::Band);
        QVERIFY(same(band.x, {1, 3, 4}) && same(band.low, {.1, .1, .1}) && same(band.high, {.21, .23, .24}));
    }

    void tooFewSources() {
        Trace trace = smallTrace();
        trace.sources = {"base", "math"};
        QVERIFY(!diagnostic("interference").make(trace, at(1)).empty.empty());
        QVERIFY(diagnostic("activity").make(trace, at(1)).empty.empty());
        trace.sources = {"base"};
        QVERIFY(!diagnostic("activity").make(trace, at(1)).empty.empty());
    }

    // +∞ is kept as such, and so is the sum from there on; it reaches the table of the figure.
    void infiniteDriftIsKept() {
        Trace trace = smallTrace();
        auto step = std::make_shared<Step>(*trace.steps[1]);
        step->diagnostics.drift = kInfinity;
        trace.steps[1] = step;
        const PlotData plot = diagnostic("drift").make(trace, at(1));
        QVERIFY(same(plot.series[0].y, {.51, kInfinity, .53, .54}));
        QVERIFY(same(plot.series[1].y, {.51, kInfinity, kInfinity, kInfinity}));
        QVERIFY(toCsv(plot).find("2,inf,inf\r\n") != std::string::npos);
    }

    void ledgerSumsToItsTotal_data() {
        QTest::addColumn<int>("token");
        for (int token = 0; token < 6; ++token) QTest::addRow("token %d", token) << token;
    }
    void ledgerSumsToItsTotal() {
        QFETCH(int, token);
        const Trace trace = storedTrace();
        const compute::Ledger l = ledgerAt(trace, 1, token).split;
        double sum = l.base + l.shift + l.eos + l.clamp - l.logNormaliser;
        for (const double x : l.source) sum += x;
        for (const double x : l.prior) sum += x;
        QVERIFY(std::abs(sum - l.total) <= 1e-9);
        // By hand: s(v)/τ from the stored rows.
        const auto score = [&](TokenId v) {
            const auto row = [&](std::size_t i) { return static_cast<double>(trace.store->row(1, i)[static_cast<std::size_t>(v)]); };
            const double a = 1.2 * (row(1) - row(0)), b = -0.8 * std::max(row(2) - row(0), -0.5);
            return (row(0) + (v == 2 ? (a + b) / 2 : a + b)) / 0.6;
        };
        double mass = 0;
        for (TokenId v = 0; v < 6; ++v) mass += std::exp(score(v));
        QVERIFY(std::abs(l.total - (score(token) - std::log(mass))) <= 2e-5);
        View view = at(1);
        view.token = token;
        const PlotData plot = diagnostic("ledger").make(trace, view);
        const Series& s = plot.series.at(0);
        QCOMPARE(plot.x.categories.size(), s.y.size());
        QCOMPARE(plot.x.categories.front(), std::string("base"));
        QCOMPARE(plot.x.categories[1], std::string("math"));
        QCOMPARE(plot.x.categories.back(), std::string("total"));
        QVERIFY(std::abs(s.high[s.high.size() - 2] - s.y.back()) <= 1e-9);  // the steps lead to the total
        const bool ends = std::find(plot.x.categories.begin(), plot.x.categories.end(), "end of text") != plot.x.categories.end();
        QCOMPARE(ends, token == 2);
    }

    void aMixtureIsOneTermOfTheLedger() {
        Trace trace = storedTrace();
        trace.session.rule = compute::Rule::Mixture;
        trace.session.specialists[1].weight = 0.5;  // a mixture has no negative weights
        View view = at(1);
        view.token = 3;
        const PlotData plot = diagnostic("ledger").make(trace, view);
        QVERIFY2(plot.empty.empty(), plot.empty.c_str());
        QCOMPARE(plot.x.categories.front(), std::string("mixture"));
        QVERIFY(std::find(plot.x.categories.begin(), plot.x.categories.end(), "math") == plot.x.categories.end());
        QVERIFY(std::find(plot.x.categories.begin(), plot.x.categories.end(), "base") == plot.x.categories.end());
    }

    void ledgerWithoutRows() {
        Trace trace = storedTrace();
        QVERIFY_EXCEPTION_THROWN(ledgerAt(trace, 2, 3), compute::Error);
        QVERIFY(diagnostic("ledger").make(trace, at(2)).empty.find("position 2") != std::string::npos);
        for (const compute::Position outside : {trace.store->first() - 1, trace.store->end()})
            QCOMPARE(errorOf([&] { ledgerAt(trace, outside, 3); }),
                     "position " + std::to_string(outside) +
                         ": no log-probabilities are stored there; decode the trace again.");
        trace.store.reset();
        QVERIFY_EXCEPTION_THROWN(ledgerAt(trace, 1, 3), compute::Error);
    }

    void distributionBars() {
        Trace trace = smallTrace();
        auto step = std::make_shared<Step>(*trace.steps[0]);
        step->keptCount = 1;
        const auto token = [](TokenId id, float base, float math, float composed, bool kept) {
            compute::TopToken t;
            t.token = id;
            t.kept = kept;
            t.source = {std::log(base), std::log(math)};  // poetry was not fed
            t.temperature = std::log(composed);
            return t;
        };
        step->top = {token(3, .5f, .25f, .6f, true), token(5, .25f, .5f, .3f, false)};
        trace.steps[0] = step;
        const PlotData plot = diagnostic("distribution").make(trace, at(1));
        QCOMPARE(plot.x.categories, (std::vector<std::string>{"␣dog", "x", "others"}));
        QCOMPARE(plot.series.size(), std::size_t{3});
        const auto near = [](const Values& a, const Values& b) {
            for (std::size_t i = 0; i < b.size(); ++i)
                if (std::abs(a.at(i) - b[i]) > 1e-6) return false;
            return a.size() == b.size();
        };
        QVERIFY(near(plot.series[0].y, {.5, .25, .25}) && near(plot.series[1].y, {.25, .5, .25}));
        QCOMPARE(plot.series[2].name, std::string("composed"));
        QVERIFY(near(plot.series[2].y, {.6, .3, .1}));
        QCOMPARE(plot.series[2].grey, (std::vector<bool>{false, true, true}));
        QCOMPARE(plot.cursorX, 0.0);
        QVERIFY2(plot.note.find(" '␣dog', p = ") != std::string::npos, plot.note.c_str());
        QVERIFY(diagnostic("distribution").make(trace, at(77)).empty.find("cursor") != std::string::npos);
    }

    void measuresOfTheStrip() {
        const Trace trace = smallTrace();
        const Step& first = *trace.steps[0];
        const Values wanted{.51, 2.01, 1.5, -.39, 0};
        QCOMPARE(stripMeasures().size(), wanted.size());
        for (std::size_t i = 0; i < wanted.size(); ++i) {
            const StripMeasure& m = stripMeasures()[i];
            QVERIFY(!m.title.empty());
            QCOMPARE(m.unit == "nats", !m.categorical);
            QVERIFY(std::abs(m.value(first) - wanted[i]) < 1e-12);
        }
        QVERIFY(std::isnan(stripMeasures()[2].value(*trace.steps[3])));
        Step step;
        const auto won = [&](compute::WinnerKind kind, int source) {
            step.diagnostics.winner = kind;
            step.diagnostics.winnerSource = source;
            return stripMeasures()[4].value(step);
        };
        QCOMPARE(won(compute::WinnerKind::Specialist, 2), 2.0);
        QCOMPARE(won(compute::WinnerKind::Several, 0), -1.0);
        QCOMPARE(won(compute::WinnerKind::Nobody, 0), -2.0);
    }

    void labels_data() {
        QTest::addColumn<QByteArray>("bytes");
        QTest::addColumn<QString>("label");
        QTest::newRow("a space") << QByteArray(" dog") << "␣dog";
        QTest::newRow("only spaces") << QByteArray("  ") << "␣␣";
        QTest::newRow("a line end") << QByteArray("\n\n") << "↵↵";
        QTest::newRow("a tab") << QByteArray("\tx") << "⇥x";
        QTest::newRow("a control byte") << QByteArray("a\x07") << "a<0x07>";
        QTest::newRow("the byte 0") << QByteArray("\0", 1) << "<0x00>";
        QTest::newRow("a return") << QByteArray("\r\n") << "<0x0D>↵";
        QTest::newRow("delete") << QByteArray("\x7F") << "<0x7F>";
        QTest::newRow("half a character") << QByteArray("\xE2\x82") << "<0xE2><0x82>";
        QTest::newRow("a whole character") << QByteArray("\xE2\x82\xAC") << "€";
        QTest::newRow("text and half a character") << QByteArray("a\xC3") << "<0x61><0xC3>";
    }
    void labels() {
        QFETCH(QByteArray, bytes);
        QFETCH(QString, label);
        const Pieces tokenizer({"", "", "", bytes.toStdString()});
        QCOMPARE(QString::fromStdString(tokenLabel(&tokenizer, 3)), label);
    }

    void labelsWithoutText() {
        const Pieces tokenizer({"", "", "", "x"});
        QCOMPARE(tokenLabel(&tokenizer, kNoToken), std::string("–"));
        QCOMPARE(tokenLabel(nullptr, 310), std::string("id 310"));
        QCOMPARE(tokenLabel(&tokenizer, 310), std::string("id 310"));
        QCOMPARE(tokenLabel(&tokenizer, 2), std::string("c2"));  // a control token by its name
    }
};

QTEST_GUILESS_MAIN(TestDiagnostics)
#include "tst_diagnostics.moc"
