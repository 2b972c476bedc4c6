// Figures about banks (R8, R9, R10): their numbers against the rules written out here, on a scripted trace.
#include <QTemporaryDir>
#include <QTest>
#include <cmath>

#include "compute/composition/compose.h"
#include "compute/files/atomicfile.h"
#include "model/bankfigures.h"
#include "model/banks.h"
#include "model/runner.h"
#include "tests/model/scripted.h"
#include "tests/support/fixture.h"

using namespace counterpoint;
using namespace counterpoint::model;
using namespace counterpoint::tests;

namespace {

/// Two alike, one of two magnitudes, one above the cap, one that is off; another task.
constexpr const char* kBank = R"({"format":"counterpoint.bank/1","name":"letters","priors":[
 {"name":"a","task":"t","quality":0.8,"delta":{"110":1.0,"111":0.5,"112":-1.5},"when":{"kind":"always"}},
 {"name":"b","task":"t","quality":0.7,"delta":{"110":0.7,"111":0.7,"112":-0.7},"when":{"kind":"always"}},
 {"name":"c","task":"u","quality":0.999,"promote":[120,121],"demote":[122],"delta_plus":2,"delta_minus":0.5,"when":{"kind":"always"}},
 {"name":"off","task":"u","quality":0.2,"promote":[130],"when":{"kind":"always"}}]})";

struct Run {
    QTemporaryDir dir;
    Trace trace;
    explicit Run(bool enabled = true, double temperature = 0.6) {
        const std::filesystem::path folder = dir.path().toStdString();
        compute::writeFile(folder / "letters.bank.json", kBank);
        Session s = threeSession(10);
        s.file = folder / "s.session.json";
        s.decoding.temperature = temperature;
        BankEntry entry;
        entry.bank = "letters.bank.json";
        entry.enabled = enabled;
        s.priors.push_back(entry);
        RunOptions options;
        options.opener = opener(three());
        trace = runSession(s, options).trace;
    }
    PlotData figure(std::string_view id) const {
        for (const BankFigureRow& row : bankFigures())
            if (row.id == id) return makeBankFigure(row, trace);
        return {};
    }
};

const Series& named(const PlotData& plot, const std::string& name) {
    for (const Series& s : plot.series)
        if (s.name == name) return s;
    static const Series none;
    return none;
}
double yAt(const Series& s, double x) {
    for (std::size_t i = 0; i < s.x.size(); ++i)
        if (std::abs(s.x[i] - x) < 1e-9) return s.y[i];
    return NAN;
}

}  // namespace

class TestBankFigures : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void init() { failOnAnyWarning(); }

    void everyRow() {
        const Run run;
        for (const BankFigureRow& row : bankFigures()) {
            const PlotData plot = makeBankFigure(row, run.trace);
            QVERIFY2(plot.empty.empty() && !plot.series.empty(), row.id.data());
            QCOMPARE(plot.id, std::string(row.id));
            QVERIFY(!plot.title.empty() && !plot.x.title.empty() && !plot.y.title.empty());
            for (const Series& s : plot.series) {
                QCOMPARE(s.x.size(), s.y.size());
                QVERIFY(!s.name.empty() && !s.x.empty());
                QVERIFY(std::is_sorted(s.x.begin(), s.x.end()));
            }
        }
        Trace bare;
        for (const BankFigureRow& row : bankFigures()) QVERIFY(!makeBankFigure(row, bare).empty.empty());
    }

    void etaAgainstQuality() {
        const Run run;
        const PlotData plot = run.figure("bank_eta");
        QVERIFY(std::abs(yAt(named(plot, "priors"), 0.8) - std::log(4)) < 1e-12);
        QCOMPARE(yAt(named(plot, "priors"), 0.2), 0.0);
        QVERIFY(std::abs(yAt(named(plot, "η at the cap"), 0.999) - std::log(99)) < 1e-12);
    }

    /// Σ(|Δ| − α)²/Σ Δ² of priors with both sides.
    void oneBitError() {
        const Run run;
        const PlotData plot = run.figure("bank_onebit_error");
        QCOMPARE(named(plot, "priors with both").x.size(), 3u);
        const double a = 1.0;  // (1 + 0.5 + 1.5)/3
        const double wanted = ((1 - a) * (1 - a) + (0.5 - a) * (0.5 - a) + (1.5 - a) * (1.5 - a)) / (1 + 0.25 + 2.25);
        QVERIFY(std::abs(yAt(named(plot, "priors with both"), 0.75 / 1.5) - wanted) < 1e-12);
        QVERIFY(std::abs(yAt(named(plot, "priors with both"), 1)) < 1e-12);
        // c: two of 2 and one of 0.5, α = 1.5
        QVERIFY(std::abs(yAt(named(plot, "priors with both"), 4) - (0.25 + 0.25 + 1) / (4 + 4 + 0.25)) < 1e-12);
        QVERIFY(std::abs(yAt(named(plot, "as many of each"), 1) - 0) < 2e-4);
    }

    /// KL(exact‖one-bit) of every step from the dense rows, and both bounds.
    void oneBitAndItsBounds() {
        for (const double temperature : {0.6, 1.0, 2.0}) {
            const Run run(true, temperature);
            const PlotData plot = run.figure("bank_kl_bounds");
            const Series &kl = named(plot, "measured"), &norm = named(plot, "¼‖d‖²"),
                         &range = named(plot, "(max d − min d)²/8");
            QCOMPARE(kl.x.size(), run.trace.steps.size());
            std::vector<double> d(300, 0.0);
            const auto say = [&](double eta, double alpha, std::initializer_list<std::pair<int, double>> deltas) {
                for (const auto& [v, x] : deltas)
                    d[static_cast<std::size_t>(v)] += eta * (x - (x < 0 ? -alpha : alpha)) / temperature;
            };
            say(std::log(4), 1.0, {{110, 1.0}, {111, 0.5}, {112, -1.5}});
            say(std::log(99), 1.5, {{120, 2.0}, {121, 2.0}, {122, -0.5}});
            double square = 0, low = 0, high = 0;
            for (const double x : d) square += x * x, low = std::min(low, x), high = std::max(high, x);
            for (std::size_t i = 0; i < kl.x.size(); ++i) {
                const auto p = static_cast<compute::Position>(kl.x[i]);
                compute::Stages<float> stages;
                PriorsAt priors;
                priors.look(run.trace.priors.get(), contextOf(run.trace), p);
                compute::compose<float>(toRecipe(run.trace.session, {2}, 0), priors.terms, run.trace.store->rows(p),
                                        stages);
                double mean = 0, mass = 0;
                for (std::size_t v = 0; v < d.size(); ++v) {
                    mean += std::exp(double(stages.temperature[v])) * d[v];
                    mass += std::exp(double(stages.temperature[v]) - d[v]);
                }
                QVERIFY(std::abs(kl.y[i] - (mean + std::log(mass))) < 1e-6);
                QVERIFY(std::abs(norm.y[i] - square / 4) < 1e-9);
                QVERIFY(std::abs(range.y[i] - (high - low) * (high - low) / 8) < 1e-9);
                QVERIFY(kl.y[i] <= norm.y[i] && kl.y[i] <= range.y[i]);
            }
        }
    }

    void mergingAndLevels() {
        const Run run;
        const PlotData merged = run.figure("bank_merging");
        QCOMPARE(named(merged, "banks of the session").x, (std::vector<double>{4}));
        QCOMPARE(named(merged, "banks of the session").y, (std::vector<double>{3}));
        const PlotData levels = run.figure("bank_levels");
        QCOMPARE(levels.series.size(), 4u);
        QCOMPARE(levels.series[0].y.front(), 0.0);
        QVERIFY(levels.series[1].y.front() > 0);
        QVERIFY(levels.series[1].x.front() < levels.series[0].x.front());
        QVERIFY(levels.series[2].x.front() < levels.series[1].x.front());
        QVERIFY2(levels.note.ends_with("priors at each level: 4, 4, 3, 3"), levels.note.c_str());
        // Level 1 on the trace is R9's measure of the same steps.
        const PlotData bounds = run.figure("bank_kl_bounds");
        double mean = 0;
        for (const double x : named(bounds, "measured").y) mean += x / static_cast<double>(run.trace.steps.size());
        QVERIFY(std::abs(levels.series[1].y.front() - mean) < 1e-6 * (1 + mean));
    }

    /// "b" is joined with "a" where the session has it act, as bank_levels counts it too.
    void whatTheSessionSaysOfAPriorCounts() {
        Run run;
        run.trace.session.priors[0].overrides = OrderedJson::parse(R"({"b":{"enabled":false}})");
        QCOMPARE(named(run.figure("bank_merging"), "banks of the session").y, (std::vector<double>{4}));
        const PlotData levels = run.figure("bank_levels");
        QVERIFY2(levels.note.ends_with("priors at each level: 4, 4, 4, 4"), levels.note.c_str());
        run.trace.session.priors[0].overrides = OrderedJson::parse(R"({"off":{"eta":1}})");
        QCOMPARE(named(run.figure("bank_merging"), "banks of the session").y, (std::vector<double>{3}));
    }

    /// A point for each prior with a support: bytes exact over bytes one-bit.
    void ratios() {
        const Run run;
        const PlotData plot = run.figure("bank_ratio");
        QCOMPARE(named(plot, "priors: bytes on disk").x, (std::vector<double>{1, 3, 3, 3}));
        QVERIFY(std::abs(yAt(named(plot, "paper: 32n/(n+32), no ids"), 100) - 3200.0 / 132) < 1e-12);
        const compute::Bank& bank = *run.trace.session.priors[0].content;
        const compute::IdSpace ids{run.trace.tokenizer.get(), 300, false};
        const double wanted =
            double(compute::bytesOf(bank, ids, true).prior[3]) / double(compute::bytesOf(bank, ids, false).prior[3]);
        QCOMPARE(named(plot, "priors: bytes on disk").y[0], wanted);
    }

    /// It acts with its texts read anew, but cannot be compressed: those figures say so, and the run has the others.
    void aBankOfAnotherTokenizer() {
        Run run;
        compute::Bank foreign = *run.trace.session.priors[0].content;
        foreign.tokenizer = "another";
        run.trace.session.priors[0].content = std::make_shared<const compute::Bank>(std::move(foreign));
        for (const char* id : {"bank_levels", "bank_merging"}) {
            const PlotData plot = run.figure(id);
            QVERIFY2(plot.empty.find("made for another tokenizer") != std::string::npos, plot.empty.c_str());
            QVERIFY(plot.series.empty() && plot.id == id && !plot.title.empty());
        }
        QVERIFY(run.figure("bank_eta").empty.empty());
    }

    void aBankThatIsOff() {
        const Run run(false);
        QVERIFY(!run.figure("bank_levels").empty.empty());
        QVERIFY(run.figure("bank_merging").empty.empty());
    }
};

QTEST_GUILESS_MAIN(TestBankFigures)
#include "tst_bankfigures.moc"
