// R1 clause by clause: small rows on which leaving the clause out moves the result by more than ten float32 tolerances,
// checked against the plain reference or by hand. HAZARDS A3.
#include <functional>

#include "compute/composition/compose.h"
#include "compute/composition/divergence.h"
#include "compute/error.h"
#include "tests/support/fixture.h"
#include "tests/support/naivecompose.h"
#include "tests/support/rows.h"

using namespace counterpoint::compute;
using namespace counterpoint::tests;

namespace {

struct Clause {
    const char* name;
    std::function<void(Recipe&, Priors&)> on,
        off;  ///< the recipe with the clause, and with it left out
};

/// base, a, b over 6 tokens; a leans to 1 and 2, b to 2 and 3; 5 is the stop id. δ of 2 is shared.
const std::vector<std::vector<double>> kRows = {
    logSoftmaxRow({1.0, 0.5, 0.0, -0.5, -1.5, 0.2}),
    logSoftmaxRow({0.0, 1.5, 1.2, -1.5, -3.5, 1.4}),
    logSoftmaxRow({-0.5, -0.3, 1.8, 0.9, -3.0, -0.6}),
};

Recipe plain() {
    Recipe r = recipeOf({1.2, 0.8});
    r.stopIds = {5};
    return r;
}

using R = Recipe;
using P = Priors;

const std::vector<Clause> kClauses = {
    {"weight", [](R&, P&) {}, [](R& r, P&) { r.specialists[0].weight = 1; }},
    {"a second specialist", [](R&, P&) {}, [](R& r, P&) { r.specialists[1].enabled = false; }},
    {"weight 0 is nobody", [](R& r, P&) { r.specialists[0].weight = 0; },
     [](R& r, P&) { r.specialists[0].weight = 1; }},
    {"switched off", [](R& r, P&) { r.specialists[0].enabled = false; }, [](R&, P&) {}},
    {"reference: another source", [](R& r, P&) { r.specialists[0].reference = 2; }, [](R&, P&) {}},
    {"reference: none", [](R& r, P&) { r.specialists[0].reference = kReferenceNone; }, [](R&, P&) {}},
    {"mask of tokens",
     [](R& r, P&) {
         r.specialists[0].mask.tokens = {{1, 3}};
     },
     [](R&, P&) {}},
    {"mask of positions, inside",
     [](R& r, P&) {
         r.specialists[0].mask.positions = {{{0, 2}, {3, 4}}};
     },
     [](R& r, P&) {
         r.specialists[0].mask.positions = {{{0, 3}, {4, 9}}};
     }},
    {"mask of positions, outside",
     [](R& r, P&) {
         r.specialists[0].mask.positions = {{{0, 3}, {4, 9}}};
     },
     [](R&, P&) {}},
    {"mask of both",
     [](R& r, P&) {
         r.specialists[0].mask = {{{1, 2}}, {{{3, 5}}}};
     },
     [](R& r, P&) {
         r.specialists[0].mask = {{}, {{{3, 5}}}};
     }},
    {"clamp of a negative weight", [](R& r, P&) { r.specialists[1].weight = -0.8, r.floor = 0.5; },
     [](R& r, P&) { r.specialists[1].weight = -0.8; }},
    {"plausibility, relative",
     [](R& r, P&) {
         r.plausibility = {{PlausibilityKind::Relative, 0.3}};
     },
     [](R&, P&) {}},
    {"plausibility, top-p",
     [](R& r, P&) {
         r.plausibility = {{PlausibilityKind::TopP, 0.7}};
     },
     [](R&, P&) {}},
    {"common shift", [](R& r, P&) { r.commonShift = true; }, [](R&, P&) {}},
    {"end of text: mean", [](R& r, P&) { r.eosPolicy = EosPolicy::Mean; }, [](R&, P&) {}},
    {"end of text: max", [](R& r, P&) { r.eosPolicy = EosPolicy::Max; }, [](R&, P&) {}},
    {"end of text: base", [](R& r, P&) { r.eosPolicy = EosPolicy::Base; }, [](R&, P&) {}},
    {"end of text: active", [](R& r, P&) { r.eosPolicy = EosPolicy::Active; }, [](R&, P&) {}},
    {"end of text: nobody active", [](R& r, P&) { r.eosPolicy = EosPolicy::Active, r.activeEpsilon = 9; },
     [](R& r, P&) { r.eosPolicy = EosPolicy::Active; }},
    {"no shift where the sum is replaced",
     [](R& r, P&) { r.stopIds = {2}, r.commonShift = true, r.eosPolicy = EosPolicy::Mean; },
     [](R& r, P&) { r.stopIds = {2}, r.commonShift = true; }},
    {"budget", [](R& r, P&) { r.klBudget = 0.1; }, [](R&, P&) {}},
    {"prior",
     [](R&, P& p) {
         p = {{"p", 1.5, {1, 4}, {1.0, -0.5}}};
     },
     [](R&, P&) {}},
    {"prior's η",
     [](R&, P& p) {
         p = {{"p", 1.5, {1}, {1.0}}};
     },
     [](R&, P& p) {
         p = {{"p", 1.0, {1}, {1.0}}};
     }},
    {"priors before the temperature",
     [](R& r, P& p) {
         r.temperature = 0.5, p = {{"p", 1, {1}, {1.0}}};
     },
     [](R& r, P& p) {
         r.temperature = 0.5, p = {{"p", 1, {1}, {0.5}}};
     }},
    {"temperature", [](R& r, P&) { r.temperature = 0.6; }, [](R&, P&) {}},
};

naive::Result wantedOf(const Recipe& r, const P& priors, Position t = 3) { return naive::compose(r, priors, kRows, t); }

}  // namespace

class TestClauses : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void init() { failOnAnyWarning(); }

    void clause_data() {
        QTest::addColumn<int>("index");
        for (std::size_t i = 0; i < kClauses.size(); ++i) QTest::newRow(kClauses[i].name) << int(i);
    }
    void clause() {
        QFETCH(int, index);
        Recipe on = plain(), off = plain();
        P priorsOn, priorsOff;
        kClauses[index].on(on, priorsOn);
        kClauses[index].off(off, priorsOff);
        const naive::Result wanted = wantedOf(on, priorsOn), without = wantedOf(off, priorsOff);
        double moved = 0;
        for (std::size_t v = 0; v < 6; ++v)
            moved = std::max(moved, std::abs(wanted.temperature[v] - without.temperature[v]));
        QVERIFY2(moved >= 10 * (2e-5 + 2e-5 * 10), "the row does not notice this clause");
        const Storage<double> in(kRows, 3);
        Stages<double> stages;
        compose<double>(on, priorsOn, in.source, stages);
        for (std::size_t v = 0; v < 6; ++v) {
            if (wanted.temperature[v] == kOut)
                QVERIFY(stages.temperature[v] == kOut);
            else
                QVERIFY(std::abs(stages.temperature[v] - wanted.temperature[v]) <= 1e-9);
            const Ledger l = ledger<double>(on, priorsOn, in.source, stages, TokenId(v));
            QVERIFY(l.total == stages.temperature[v] || std::abs(l.total - stages.temperature[v]) <= 1e-9);
        }
    }

    // HAZARDS A3: −∞ − −∞ and 0·−∞, as base + expert − anti.
    void excludedIsAState() {
        const std::vector<std::vector<double>> rows = {
            logSoftmaxRow({2, 1, kOut, 0}), logSoftmaxRow({1, kOut, kOut, 3}), logSoftmaxRow({0, kOut, kOut, 1})};
        const Storage<double> in(rows);
        Stages<double> stages;
        // log p_b + (e − none) − (a − none): the hazard's plain sum of logits.
        Recipe r = recipeOf({1, -1});
        r.specialists[0].reference = r.specialists[1].reference = kReferenceNone;
        r.floor = 1000;
        compose<double>(r, {}, in.source, stages);
        QVERIFY(std::abs(std::exp(stages.composed[0]) - 0.7310585786300049) < 1e-9);
        QVERIFY(std::abs(std::exp(stages.composed[3]) - 0.2689414213699951) < 1e-9);
        QCOMPARE(stages.composed[1], kOut);
        QCOMPARE(stages.composed[2], kOut);
        QCOMPARE(stages.noSay, 1);  // anti about id 1
        QCOMPARE(ledger<double>(r, {}, in.source, stages, 1).excludedBy, std::string("a"));
        QCOMPARE(ledger<double>(r, {}, in.source, stages, 2).excludedBy, std::string("base"));
        // Weights (1, 0, −0.5): id 1 must not win through +∞, and the source with weight 0 is skipped.
        r.specialists[0].weight = 0;
        r.specialists[1].weight = -0.5;
        compose<double>(r, {}, in.source, stages);
        QVERIFY(std::isfinite(stages.composed[1]));
        QVERIFY(stages.composed[1] < stages.composed[0]);
        QCOMPARE(stages.composed[2], kOut);
        for (double x : stages.composed) QVERIFY(!std::isnan(x));
    }

    // Every sentence of "Excluded is a state": who excludes, with which weight, and what is counted.
    void exclusion_data() {
        QTest::addColumn<double>("base");
        QTest::addColumn<double>("own");
        QTest::addColumn<double>("reference");
        QTest::addColumn<double>("weight");
        QTest::addColumn<bool>("excluded");
        QTest::addColumn<int>("noSay");
        QTest::newRow("the base") << kOut << -1.0 << -1.0 << 1.0 << true << 0;
        QTest::newRow("the base, whoever else") << kOut << kOut << kOut << 1.0 << true << 0;
        QTest::newRow("source and reference") << -1.0 << kOut << kOut << 1.0 << false << 1;
        QTest::newRow("source and reference, w < 0") << -1.0 << kOut << kOut << -1.0 << false << 1;
        QTest::newRow("the reference only") << -1.0 << -1.0 << kOut << 1.0 << false << 1;
        QTest::newRow("the reference only, w < 0") << -1.0 << -1.0 << kOut << -1.0 << false << 1;
        QTest::newRow("the source, w < 0") << -1.0 << kOut << -1.0 << -1.0 << false << 1;
        QTest::newRow("the source, w > 0") << -1.0 << kOut << -1.0 << 1.0 << true << 0;
        QTest::newRow("the source, w = 0") << -1.0 << kOut << -1.0 << 0.0 << false << 0;
        QTest::newRow("nobody") << -1.0 << -1.0 << -1.0 << 1.0 << false << 0;
    }
    void exclusion() {
        QFETCH(double, base);
        QFETCH(double, own);
        QFETCH(double, reference);
        QFETCH(double, weight);
        QFETCH(bool, excluded);
        QFETCH(int, noSay);
        Recipe r = recipeOf({weight});
        r.specialists[0].reference = 2;
        const Storage<float> in({{base, -0.5}, {own, -0.5}, {reference, -0.5}});
        Stages<float> stages;
        compose<float>(r, {}, in.source, stages);
        QCOMPARE(stages.composed[0] == kExcluded, excluded);
        QCOMPARE(stages.noSay, noSay);
        if (!excluded && (noSay > 0 || weight == 0))
            QVERIFY(std::abs(double(stages.composed[0] - stages.composed[1]) - (base + 0.5)) < 1e-6);  // δ = 0
        r.specialists[0].mask.tokens = {{1}};  // c = 0: nobody excludes, nothing is counted
        compose<float>(r, {}, in.source, stages);
        QCOMPARE(stages.composed[0] == kExcluded, base == kOut);
        QCOMPARE(stages.noSay, 0);
    }

    void errorsNameSourceAndPosition_data() {
        QTest::addColumn<int>("source");
        QTest::addColumn<double>("value");
        QTest::addColumn<QString>("says");
        QTest::newRow("NaN in the base") << 0 << double(NAN) << "source 'base', position 9";
        QTest::newRow("NaN in a specialist") << 1 << double(NAN) << "source 'a', position 9";
        QTest::newRow("+infinity") << 1 << double(INFINITY) << "source 'a', position 9";
        QTest::newRow("nothing left") << 1 << kOut << "source 'a', position 9: no token is left";
    }
    void errorsNameSourceAndPosition() {
        QFETCH(int, source);
        QFETCH(double, value);
        QFETCH(QString, says);
        std::vector<std::vector<double>> rows = {{-0.7, -0.7}, {-0.7, kOut}};
        rows[source][0] = value;
        const Storage<float> in(rows, 9);
        Stages<float> stages;
        try {
            compose<float>(recipeOf({1}), {}, in.source, stages);
            QFAIL("composed");
        } catch (const Error& e) {
            QVERIFY2(QString::fromStdString(e.sentence()).startsWith(says), e.what());
        }
    }

    void refusedNumbers_data() {
        QTest::addColumn<double>("weight");
        QTest::addColumn<double>("eta");
        QTest::addColumn<double>("delta");
        QTest::addColumn<QString>("says");
        QTest::newRow("weight is NaN") << double(NAN) << 1.0 << 1.0 << "source 'a': its weight is not a number";
        QTest::newRow("weight is infinite")
            << double(INFINITY) << 1.0 << 1.0 << "source 'a': its weight is not a number";
        QTest::newRow("η is NaN") << 1.0 << double(NAN) << 1.0 << "prior 'p': its weight is not a number";
        QTest::newRow("η is infinite") << 1.0 << double(INFINITY) << 1.0
                                       << "prior 'p': its η times its bank's weight is too large for a number";
        QTest::newRow("factor is infinite") << 1.0 << 1.0 << kOut << "prior 'p': a factor is not a finite number";
    }
    void refusedNumbers() {
        QFETCH(double, weight);
        QFETCH(double, eta);
        QFETCH(double, delta);
        QFETCH(QString, says);
        Recipe r = plain();
        r.specialists[0].weight = weight;
        const Storage<double> in(kRows, 3);
        Stages<double> stages;
        try {
            compose<double>(r, P{{"p", eta, {1}, {delta}}}, in.source, stages);
            QFAIL("composed");
        } catch (const Error& e) {
            QVERIFY2(QString::fromStdString(e.sentence()).startsWith(says), e.what());
        }
    }

    void mixture() {
        Recipe r = recipeOf({0.5, 1.5});
        r.rule = Rule::Mixture;
        const Storage<double> in(kRows, 3);
        Stages<double> stages;
        compose<double>(r, {}, in.source, stages);
        for (std::size_t v = 0; v < 6; ++v) {
            const double p = (std::exp(kRows[0][v]) + 0.5 * std::exp(kRows[1][v]) + 1.5 * std::exp(kRows[2][v])) / 3;
            QVERIFY(std::abs(stages.composed[v] - std::log(p)) < 1e-9);
            const Ledger l = ledger<double>(r, {}, in.source, stages, TokenId(v));
            QVERIFY(std::abs(l.base - std::log(p)) < 1e-9 && std::abs(l.total - stages.temperature[v]) < 1e-9);
        }
        const Diagnostics d = diagnose<double>(r, {}, in.source, stages);
        QVERIFY(std::isnan(d.interference));  // R5 defines it for products
        QCOMPARE(d.noSay, 0);
        QVERIFY(d.drift > 0.01);
        r.temperature = 0.5;  // p̂ ∝ (Σ λ p)^{1/τ}
        compose<double>(r, {}, in.source, stages);
        QVERIFY(std::abs(stages.temperature[0] - stages.temperature[1] -
                         2 * (stages.composed[0] - stages.composed[1])) < 1e-9);
        r.klBudget = 0.01;
        compose<double>(r, {}, in.source, stages);
        QVERIFY(std::abs(divergence::kl(stages.composed.data(), kRows[0].data(), 6) - 0.01) < 1e-9);
        r.specialists[1].weight = -1;
        QVERIFY_THROWS_EXCEPTION(Error, compose<double>(r, {}, in.source, stages));
    }

    // The budget is kept, and is used up where it binds; a small one switches everybody off when somebody excludes.
    void budget() {
        Recipe r = plain();
        const Storage<double> in(kRows, 3);
        Stages<double> stages;
        for (double kappa : {1e-6, 0.01, 0.1}) {
            r.klBudget = kappa;
            compose<double>(r, {}, in.source, stages);
            const double drift = divergence::kl(stages.composed.data(), kRows[0].data(), 6);
            QVERIFY(drift <= kappa + 1e-12 && drift >= kappa * (1 - 1e-6));
            QVERIFY(stages.scale > 0 && stages.scale < 1);
        }
        r.klBudget = 50.0;
        compose<double>(r, {}, in.source, stages);
        QCOMPARE(stages.scale, 1.0);
        r.klBudget = 0.0;
        compose<double>(r, {}, in.source, stages);
        QCOMPARE(stages.scale, 0.0);
        std::vector<std::vector<double>> rows = kRows;
        rows[1][0] = kOut;  // excludes 40 % of the base: drift of at least 0.5 for every λ > 0
        const Storage<double> excluding(rows, 3);
        r.klBudget = 0.1;
        compose<double>(r, {}, excluding.source, stages);
        QCOMPARE(stages.scale, 0.0);
        for (std::size_t v = 0; v < 6; ++v) QVERIFY(std::abs(stages.composed[v] - kRows[0][v]) < 1e-12);
    }

    // What is recorded keeps the budget too, although the stored row is rounded to float32.
    void budgetOfTheStoredRow() {
        for (int seed = 0; seed < 40; ++seed) {
            std::vector<std::vector<double>> logits(3, std::vector<double>(300));
            for (std::size_t i = 0; i < 3; ++i)
                for (std::size_t v = 0; v < 300; ++v)
                    logits[i][v] = 3 * std::sin(0.7 * double(v + 1) * double(i + 1) + seed);
            std::vector<std::vector<float>> rows(3, std::vector<float>(300));
            SourceRows<float> source{{}, 5};
            for (std::size_t i = 0; i < 3; ++i) {
                const std::vector<float> raw(logits[i].begin(), logits[i].end());
                logSoftmax(raw, 1.0, rows[i], "a", 5);
                source.rows.emplace_back(rows[i]);
            }
            Recipe r = plain();
            r.specialists.resize(2);
            r.klBudget = 0.05;
            for (const double tau : {1.0, 0.7, 0.0}) {
                r.temperature = tau;
                Stages<float> stages;
                compose<float>(r, {}, source, stages);
                const double drift = diagnose<float>(r, {}, source, stages).driftComposed;
                QVERIFY2(drift <= 0.05, qPrintable(QString::number(drift - 0.05)));
                QVERIFY(drift > 0.05 - 1e-5 && stages.scale > 0);
            }
        }
    }

    // Scores beyond float64 are an error that names who makes them, whichever way they overflow.
    void scoresBeyondAllNumbers() {
        const Storage<double> in(kRows, 3);
        Stages<double> stages;
        for (const double weight : {1e308, -1e308, 1.7e308}) {
            Recipe r = plain();
            r.specialists[0].weight = weight;
            std::string said;
            try {
                compose<double>(r, {}, in.source, stages);
            } catch (const Error& e) {
                said = e.sentence();
            }
            QVERIFY2(said.find("source '" + r.specialists[0].name + "', position 3") == 0, said.c_str());
        }
    }
};

QTEST_GUILESS_MAIN(TestClauses)
#include "tst_clauses.moc"
