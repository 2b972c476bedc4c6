// Every single term of R1 and R5 has a row here on which leaving it out moves the result by at least ten float32
// tolerances. Both numbers, with the term and without it, are written out by hand from the differences δ; float32,
// float64 and the ledger must give the first.
#include <functional>

#include "compute/composition/compose.h"
#include "tests/support/fixture.h"
#include "tests/support/termcase.h"

using namespace counterpoint::compute;
using namespace counterpoint::tests;

namespace {

struct ScoreRow {
    const char* name;
    std::function<void(Case&)> set;
    Says wanted, dropped;  ///< D(v) with the term and without it
};

const std::vector<ScoreRow> kScores = {
    {"weight", [](Case& c) { c.leave({kA}); }, sumOf({kA}), [](int v) { return delta(kA, v); }},
    {"difference to the reference", [](Case& c) { c.leave({kA}); }, sumOf({kA}),
     [](int v) { return 1.2 * kRows[kA][v]; }},
    {"positions of a mask", [](Case& c) { maskPositions(c, kA); }, sumOf({kB, kC}), kAll},
    {"positions of a mask that names tokens too",
     [](Case& c) {
         maskPositions(c, kA), c.specialist(kA).mask.tokens = {{0, 1, 2, 3, 4, 5}};
     },
     sumOf({kB, kC}), kAll},
    {"an interval ends before its end",
     [](Case& c) {
         c.specialist(kA).mask.positions = {{{1, 3}}};
     },
     sumOf({kB, kC}), kAll},
    {"an interval begins at its start",
     [](Case& c) {
         c.specialist(kA).mask.positions = {{{3, 4}}};
     },
     kAll, sumOf({kB, kC})},
    {"tokens of a mask",
     [](Case& c) {
         c.specialist(kA).mask.tokens = {{1, 5}};
     },
     [](int v) {
         return v == 1 || v == 5 ? kAll(v) : sumOf({kB, kC})(v);
     },
     kAll},
    {"shift: k − 1", [](Case& c) { c.recipe.commonShift = true; }, shifted(kAll, {kA, kB, kC}, 2, kMean),
     shifted(kAll, {kA, kB, kC}, 1, kMean)},
    {"shift: mean weight", [](Case& c) { c.recipe.commonShift = true; }, shifted(kAll, {kA, kB, kC}, 2, kMean),
     shifted(kAll, {kA, kB, kC}, 2, 1)},
    {"shift: the least, not the mean", [](Case& c) { c.recipe.commonShift = true; },
     shifted(kAll, {kA, kB, kC}, 2, kMean),
     [](int v) { return kAll(v) - 2 * kMean * (delta(kA, v) + delta(kB, v) + delta(kC, v)) / 3; }},
    {"shift: below 0 as above", [](Case& c) { c.recipe.commonShift = true; }, shifted(kAll, {kA, kB, kC}, 2, kMean),
     at(0, kAll, shifted(kAll, {kA, kB, kC}, 2, kMean))},
    {"shift: of those with w > 0", [](Case& c) { c.specialist(kC).weight = -0.5, c.recipe.commonShift = true; },
     shifted([](int v) { return term(kA, v) + term(kB, v) - term(kC, v); }, {kA, kB}, 1, 1.0),
     shifted([](int v) { return term(kA, v) + term(kB, v) - term(kC, v); }, {kA, kB, kC}, 2, 0.5)},
    {"shift: of those who speak at the position", [](Case& c) { maskPositions(c, kC), c.recipe.commonShift = true; },
     shifted(sumOf({kA, kB}), {kA, kB}, 1, 1.0), shifted(sumOf({kA, kB}), {kA, kB, kC}, 2, kMean)},
    {"shift: of those who speak of the token",
     [](Case& c) {
         c.specialist(kC).mask.tokens = {{1, 3, 4, 5}}, c.recipe.commonShift = true;
     },
     [](int v) {
         return v == 0 || v == 2 ? shifted(sumOf({kA, kB}), {kA, kB}, 1, 1.0)(v)
                                 : shifted(kAll, {kA, kB, kC}, 2, kMean)(v);
     },
     [](int v) {
         return shifted(v == 0 || v == 2 ? sumOf({kA, kB}) : kAll, {kA, kB, kC}, 2, kMean)(v);
     }},
    {"shift: one alone has nothing in common", [](Case& c) { c.leave({kA}), c.recipe.commonShift = true; }, sumOf({kA}),
     shifted(sumOf({kA}), {kA}, 1, 1.2)},
    {"shift: not of a replaced sum",
     [](Case& c) { c.recipe.stopIds = {2}, c.recipe.commonShift = true, c.recipe.eosPolicy = EosPolicy::Mean; },
     at(
         2, [](int v) { return kAll(v) / 3; }, shifted(kAll, {kA, kB, kC}, 2, kMean)),
     at(2, shifted([](int v) { return kAll(v) / 3; }, {kA, kB, kC}, 2, kMean), shifted(kAll, {kA, kB, kC}, 2, kMean))},
    {"end of text, mean: n of the enabled",
     [](Case& c) {
         c.leave({kA, kB}), c.recipe.eosPolicy = EosPolicy::Mean;
     },
     at(
         kStop,
         [](int v) {
             return sumOf({kA, kB})(v) / 2;
         },
         sumOf({kA, kB})),
     at(
         kStop,
         [](int v) {
             return sumOf({kA, kB})(v) / 3;
         },
         sumOf({kA, kB}))},
    {"end of text, mean: n without w = 0",
     [](Case& c) { c.specialist(kC).weight = 0, c.recipe.eosPolicy = EosPolicy::Mean; },
     at(
         kStop,
         [](int v) {
             return sumOf({kA, kB})(v) / 2;
         },
         sumOf({kA, kB})),
     at(
         kStop,
         [](int v) {
             return sumOf({kA, kB})(v) / 3;
         },
         sumOf({kA, kB}))},
    {"end of text, mean: n with the masked",
     [](Case& c) { maskPositions(c, kC), c.recipe.eosPolicy = EosPolicy::Mean; },
     at(
         kStop,
         [](int v) {
             return sumOf({kA, kB})(v) / 3;
         },
         sumOf({kA, kB})),
     at(
         kStop,
         [](int v) {
             return sumOf({kA, kB})(v) / 2;
         },
         sumOf({kA, kB}))},
    {"end of text, max: signed",
     [](Case& c) {
         c.leave({kA, kB}), c.recipe.eosPolicy = EosPolicy::Max;
     },
     at(kStop, sumOf({kA}), sumOf({kA, kB})), at(kStop, sumOf({kB}), sumOf({kA, kB}))},
    {"end of text, max: who is masked says 0",
     [](Case& c) {
         c.leave({kA, kB}), maskPositions(c, kA), c.recipe.eosPolicy = EosPolicy::Max;
     },
     at(kStop, constant(0), sumOf({kB})), at(kStop, sumOf({kA}), sumOf({kB}))},
    {"end of text, base", [](Case& c) { c.recipe.eosPolicy = EosPolicy::Base; }, at(kStop, constant(0), kAll), kAll},
    {"end of text, active: the largest activity", [](Case& c) { c.recipe.eosPolicy = EosPolicy::Active; },
     at(kStop, sumOf({kB}), kAll), at(kStop, sumOf({kA}), kAll)},
    {"end of text, active: above ε",
     [](Case& c) { c.recipe.eosPolicy = EosPolicy::Active, c.recipe.activeEpsilon = 9; }, at(kStop, constant(0), kAll),
     at(kStop, sumOf({kB}), kAll)},
    {"end of text, active: first of equals",
     [](Case& c) {
         c.leave({kA, kC}), c.rows[kC] = kRows[kA], c.recipe.eosPolicy = EosPolicy::Active;
     },
     at(kStop, sumOf({kA}), [](int v) { return (1.2 + 0.5) * delta(kA, v); }),
     at(
         kStop, [](int v) { return 0.5 * delta(kA, v); }, [](int v) { return (1.2 + 0.5) * delta(kA, v); })},
    {"end of text, active: without w = 0",
     [](Case& c) {
         c.specialist(kB).weight = 0, c.specialist(kC).enabled = false, c.recipe.eosPolicy = EosPolicy::Active;
     },
     at(kStop, sumOf({kA}), sumOf({kA})), at(kStop, constant(0), sumOf({kA}))},
    {"end of text: an excluded id stays so",
     [](Case& c) { c.rows[kA][kStop] = kOut, c.recipe.eosPolicy = EosPolicy::Base; }, at(kStop, constant(kOut), kAll),
     at(kStop, constant(0), kAll)},
    {"end of text, mean: nobody", [](Case& c) { c.leave({}), c.recipe.eosPolicy = EosPolicy::Mean; }, constant(0),
     at(kStop, constant(kOut), constant(0))},
    {"end of text, max: nobody", [](Case& c) { c.leave({}), c.recipe.eosPolicy = EosPolicy::Max; }, constant(0),
     at(kStop, constant(kOut), constant(0))},
    {"clamp: of w < 0", [](Case& c) { c.leave({kB}), c.specialist(kB).weight = -1, c.recipe.floor = 0.5; },
     [](int v) { return -std::max(delta(kB, v), -0.5); }, [](int v) { return -delta(kB, v); }},
    {"clamp: not of w > 0", [](Case& c) { c.leave({kB}), c.specialist(kB).weight = 1, c.recipe.floor = 0.5; },
     [](int v) { return delta(kB, v); }, [](int v) { return std::max(delta(kB, v), -0.5); }},
    {"plausibility: at λ = 0 too",
     [](Case& c) {
         c.recipe.klBudget = 0.0, c.recipe.plausibility = {{PlausibilityKind::Relative, 0.5}};
     },
     [](int v) { return v < 2 ? 0 : kOut; }, constant(0)},
    {"plausibility: the base decides",
     [](Case& c) {
         c.leave({kB}), c.recipe.plausibility = {{PlausibilityKind::Relative, 0.5}};
     },
     [](int v) { return v < 2 ? term(kB, v) : kOut; }, sumOf({kB})},
    {"plausibility: β of the largest",
     [](Case& c) {
         c.leave({kB}), c.recipe.plausibility = {{PlausibilityKind::Relative, 0.3}};
     },
     [](int v) { return v < 3 || v == 5 ? term(kB, v) : kOut; },
     [](int v) { return kRows[0][v] >= std::log(0.3) ? term(kB, v) : kOut; }},
    {"plausibility: top-p of the base",
     [](Case& c) {
         c.leave({kB}), c.recipe.plausibility = {{PlausibilityKind::TopP, 0.5}};
     },
     [](int v) { return v < 2 ? term(kB, v) : kOut; }, [](int v) { return v == 2 || v == 3 ? term(kB, v) : kOut; }},
};

/// A mixture's score by hand.
struct MixtureRow {
    const char* name;
    std::function<void(Case&)> set;
    std::function<double(int token)> wanted, dropped;  ///< up to a constant
};
double mixed(int v, double a, double all, double base = 1) {
    return std::log((base * std::exp(kRows[0][v]) + a * std::exp(kRows[kA][v])) / all);
}
void onlyA(Case& c) { c.leave({kA}); }
const std::vector<MixtureRow> kMixtures = {
    {"weight", onlyA, [](int v) { return mixed(v, 1.2, 1); }, [](int v) { return mixed(v, 1, 1); }},
    {"the base has weight 1", onlyA, [](int v) { return mixed(v, 1.2, 1); }, [](int v) { return mixed(v, 1.2, 1, 0); }},
    {"mask",
     [](Case& c) {
         onlyA(c), c.specialist(kA).mask.tokens = {{1, 2}};
     },
     [](int v) { return v == 1 || v == 2 ? mixed(v, 1.2, 2.2) : kRows[0][v]; },
     [](int v) { return mixed(v, 1.2, 2.2); }},
    {"mean of those who have a say",
     [](Case& c) {
         onlyA(c), c.specialist(kA).mask.tokens = {{1, 2}};
     },
     [](int v) { return v == 1 || v == 2 ? mixed(v, 1.2, 2.2) : kRows[0][v]; },
     [](int v) { return v == 1 || v == 2 ? mixed(v, 1.2, 1) : kRows[0][v]; }},
    {"positions", [](Case& c) { onlyA(c), maskPositions(c, kA); }, [](int v) { return kRows[0][v]; },
     [](int v) { return mixed(v, 1.2, 2.2); }},
    {"plausibility",
     [](Case& c) {
         onlyA(c), c.recipe.plausibility = {{PlausibilityKind::Relative, 0.5}};
     },
     [](int v) { return v < 2 ? mixed(v, 1.2, 2.2) : kOut; }, [](int v) { return mixed(v, 1.2, 2.2); }},
    {"what the base excludes and a specialist says", [](Case& c) { onlyA(c), c.rows[0][3] = kOut; },
     [](int v) { return v == 3 ? std::log(1.2) + kRows[kA][3] : mixed(v, 1.2, 1); },
     [](int v) { return v == 3 ? kOut : mixed(v, 1.2, 1); }},
    {"budget: infinite drift leaves nobody", [](Case& c) { onlyA(c), c.rows[0][3] = kOut, c.recipe.klBudget = 0.1; },
     [](int v) { return v == 3 ? kOut : kRows[0][v]; }, [](int v) { return mixed(v, 1.2, 1); }},
};

template <class Real>
void checkScores(const Case& c, const Row& wanted, double tolerance) {
    const Storage<Real> in(c.rows, c.position);
    Stages<Real> stages;
    compose<Real>(c.recipe, c.priors, in.source, stages);
    for (int v = 0; v < 6; ++v) {
        const double got = double(stages.composed[std::size_t(v)]);
        QVERIFY2(got == wanted[v] || std::abs(got - wanted[v]) <= tolerance,
                 qPrintable(QStringLiteral("token %1: got %2, wanted %3").arg(v).arg(got).arg(wanted[v])));
        const Ledger split = ledger<Real>(c.recipe, c.priors, in.source, stages, v);
        QVERIFY2(split.total == wanted[v] || std::abs(split.total - wanted[v]) <= tolerance,
                 qPrintable(QStringLiteral("ledger of %1: %2").arg(v).arg(split.total)));
    }
}

}  // namespace

class TestTerms : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void init() { failOnAnyWarning(); }

    void score_data() {
        QTest::addColumn<int>("index");
        for (std::size_t i = 0; i < kScores.size(); ++i) QTest::newRow(kScores[i].name) << int(i);
    }
    void score() {
        QFETCH(int, index);
        Case c;
        kScores[std::size_t(index)].set(c);
        const Row wanted = composedOf(c, kScores[std::size_t(index)].wanted);
        const Row dropped = composedOf(c, kScores[std::size_t(index)].dropped);
        double moved = 0;
        for (int v = 0; v < 6; ++v)
            if (wanted[v] != dropped[v]) moved = std::max(moved, std::abs(wanted[v] - dropped[v]));
        QVERIFY2(moved >= 10 * kTolerance, "the row does not notice this term");
        checkScores<double>(c, wanted, 1e-9);
        checkScores<float>(c, wanted, 2e-5);
    }

    void mixture_data() {
        QTest::addColumn<int>("index");
        for (std::size_t i = 0; i < kMixtures.size(); ++i) QTest::newRow(kMixtures[i].name) << int(i);
    }
    void mixture() {
        QFETCH(int, index);
        const MixtureRow& row = kMixtures[std::size_t(index)];
        Case c;
        c.recipe.rule = Rule::Mixture;
        row.set(c);
        Row wanted, dropped;
        for (int v = 0; v < 6; ++v) wanted.push_back(row.wanted(v)), dropped.push_back(row.dropped(v));
        wanted = logSoftmaxRow(wanted), dropped = logSoftmaxRow(dropped);
        double moved = 0;
        for (int v = 0; v < 6; ++v)
            if (wanted[v] != dropped[v]) moved = std::max(moved, std::abs(wanted[v] - dropped[v]));
        QVERIFY2(moved >= 10 * kTolerance, "the row does not notice this term");
        checkScores<double>(c, wanted, 1e-9);
        checkScores<float>(c, wanted, 2e-5);
    }
};

QTEST_GUILESS_MAIN(TestTerms)
#include "tst_terms.moc"
