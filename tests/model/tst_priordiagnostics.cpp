// What the diagnostics say of one prior: what it added where it matched, the drift with it and without it, why it does
// nothing, and that the view keeps which one it is.

#include "model/bankedit.h"
#include "model/driftwithout.h"
#include "tests/model/traces.h"
#include "tests/support/fixture.h"

using namespace counterpoint;
using namespace counterpoint::model;
using namespace counterpoint::tests;

class TestPriorDiagnostics : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void init() { failOnAnyWarning(); }

    /// η·Δ/τ where it matched; drift with it and without it, each as the session with it and without it composes.
    void aPriorOverThePositions() {
        const Trace trace = priorTrace();
        const DiagnosticRow& row = diagnostic("prior_effect");
        const PlotData plot = row.make(trace, nudged(1));
        QVERIFY2(plot.empty.empty(), plot.empty.c_str());
        QVERIFY(same(plot.series.at(0).x, {1, 2, 3, 4}));
        QVERIFY(same(plot.series[0].y, {2 * std::log(3.0) / 0.6, 0, 0, 0}));  // at position 3 stands another token
        QVERIFY2(plot.note.find("matched 2 of 4") != std::string::npos, plot.note.c_str());
        const auto drift = [](const Trace& of) {
            const auto rows = of.store->rows(1);
            const compute::Recipe recipe = toRecipe(of.session, of.stopIds, 0);
            PriorsAt priors;
            priors.look(of.priors.get(), contextOf(of), 1);
            compute::Stages<float> stages;
            compute::compose<float>(recipe, priors.terms, rows, stages);
            return compute::diagnose<float>(recipe, priors.terms, rows, stages).drift;
        };
        const WithAndWithout both = withAndWithout(trace, *shownPrior(trace, nudged(1)), 1, 3);
        QVERIFY(both.matches);
        QCOMPARE(both.with, drift(trace));
        QCOMPARE(both.without, drift(storedTrace()));
        QVERIFY(both.with != both.without && both.token > both.tokenWithout);
    }

    /// Drift without the prior, of every position: where it matched as the rows composed without it, else the same.
    void driftWithoutIt() {
        Trace trace = priorTrace();
        const compute::PriorSet::Member& prior = *shownPrior(trace, nudged(1));
        const DiagnosticRow& row = diagnostic("prior_effect");
        QCOMPARE(row.make(trace, nudged(1)).series.size(), std::size_t{2});  // until it is known
        int compositions = 0;
        trace.driftWithout = driftWithout(driftQuestion(trace, prior), [&] { ++compositions; }, {});
        QCOMPARE(compositions, 1);
        const PlotData plot = row.make(trace, nudged(1));
        QCOMPARE(plot.series.size(), std::size_t{3});
        QVERIFY(plot.series[1].name == "drift without it" && plot.series[2].name == "drift with it");
        for (std::size_t i = 0; i < trace.steps.size(); ++i) {
            const compute::Step& step = *trace.steps[i];
            QCOMPARE(plot.series[2].y[i], step.diagnostics.drift);
            const bool here = matched(step, prior);
            if (here && trace.store->row(step.position, 0).empty()) {
                QVERIFY(std::isnan(plot.series[1].y[i]));
                continue;
            }
            const double wanted =
                here ? withAndWithout(trace, prior, step.position, 3).without : step.diagnostics.drift;
            QVERIFY2(std::abs(plot.series[1].y[i] - wanted) < 1e-6 * (1 + std::abs(wanted)),
                     qPrintable(QString::number(i)));
        }
        QVERIFY(isOf(trace.driftWithout.get(), trace, prior));
        trace.steps[1] = std::make_shared<compute::Step>(*trace.steps[1]);  // composed again
        QVERIFY(!isOf(trace.driftWithout.get(), trace, prior));
        QCOMPARE(row.make(trace, nudged(1)).series.size(), std::size_t{2});
        std::stop_source stop;
        stop.request_stop();
        QVERIFY(driftWithout(
                    driftQuestion(trace, prior), [] {}, stop.get_token()) == nullptr);
    }

    /// Two banks with a prior of one name: each is shown where it matched itself.
    void namesakes() {
        Trace trace = priorTrace();
        BankEntry second = trace.session.priors[0];
        second.bank = "second.bank.json";
        trace.session.priors.push_back(second);
        trace.priors = priorSetOf(trace.session, trace.tokenizer.get(), 6);
        auto step = std::make_shared<compute::Step>(*trace.steps[2]);
        step->matchedPriors = {{1, "nudge"}};
        trace.steps[2] = step;
        View view = nudged(1);
        const auto note = [&] { return QString::fromStdString(diagnostic("prior_effect").make(trace, view).note); };
        QVERIFY2(note().contains("matched 1 of 4"), qPrintable(note()));
        QVERIFY(matched(*trace.steps[0], *shownPrior(trace, view)));
        QVERIFY(!matched(*trace.steps[2], *shownPrior(trace, view)));
        view.priorBank = 1;
        QVERIFY(!matched(*trace.steps[0], *shownPrior(trace, view)));
        QVERIFY(matched(*trace.steps[2], *shownPrior(trace, view)));
    }

    void aPriorThatDoesNothingSaysWhy() {
        const DiagnosticRow& row = diagnostic("prior_effect");
        Trace trace = priorTrace();
        const auto why = [&](const View& view) { return QString::fromStdString(row.make(trace, view).empty); };
        QVERIFY(why(at(1)).contains("Select a prior"));
        View other = nudged(1);
        other.prior = "other";
        QVERIFY(why(other).contains("'other' was not in the rack"));
        other.prior = "o\n\u202Er";
        QVERIFY(why(other).contains("'o \\u202er' was not in the rack"));
        trace.steps = storedTrace().steps;
        QVERIFY(why(nudged(1)).contains("matches nowhere"));
        trace.session.priors[0].enabled = false;
        trace.priors = priorSetOf(trace.session, trace.tokenizer.get(), 6);
        QVERIFY(why(nudged(1)).contains("does not act: it is off"));
        trace.session.priors[0].enabled = true;
        compute::Prior bare = *trace.session.priors[0].content->priors.at(0);
        bare.promote = {{.text = {}, .id = 600}};  // no such token
        bare.demote.clear();
        bare.delta.clear();
        trace.session = withPrior(trace.session, 0, 0, bare);
        trace.priors = priorSetOf(trace.session, trace.tokenizer.get(), 6);
        QCOMPARE(why(nudged(1)), QString("The prior 'nudge' does not act: it has no tokens that act."));
    }

    void thePriorLookedAtIsSavedInTheView() {
        const OrderedJson json = viewToJson(nudged(3), {});
        QCOMPARE(viewFromJson(json).priorBank, 0);
        QCOMPARE(viewFromJson(json).prior, std::string("nudge"));
        QVERIFY(!viewToJson(at(3), json).contains("prior"));
        for (const char* bad : {R"({"prior":{"bank":-1,"name":"x"}})", R"({"prior":{"bank":0}})", R"({"prior":7})",
                                R"({"prior":{"bank":1e30,"name":"x"}})", R"({"prior":{"bank":18446744073709551615,"name":"x"}})"})
            QCOMPARE(viewFromJson(OrderedJson::parse(bad)).priorBank, -1);
    }
};

QTEST_GUILESS_MAIN(TestPriorDiagnostics)
#include "tst_priordiagnostics.moc"
