// R5 diagnostic by diagnostic, and the stages of R2 that they read: each row has what SPEC.md says and what would come
// out without one of its terms, both by hand and at least ten float32 tolerances apart.
#include "compute/composition/compose.h"
#include "tests/support/fixture.h"
#include "tests/support/naivecompose.h"
#include "tests/support/termcase.h"

using namespace counterpoint::compute;
using namespace counterpoint::tests;
using naive::klOf;

namespace {

double tolerance(double x) { return 2e-5 + 2e-5 * std::abs(x); }

/// What a row looks at.
struct Seen {
    Stages<double> stages;
    Diagnostics d;
};

struct ValueRow {
    const char* name;
    std::function<void(Case&)> set;
    std::function<double(const Seen&)> get;
    std::function<double()> wanted, dropped;  ///< with the term and without it
};

const auto nothing = [](Case&) {};
constexpr double kCool = 0.6;
void cool(Case& c) { c.recipe.temperature = kCool; }
/// A prior on token 1 of η·δ = 0.9.
void withPrior(Case& c) { c.priors = {{"p", 1.5, {1}, {0.6}}}; }
void coolWithPrior(Case& c) { cool(c), withPrior(c); }

Row base() { return kRows[0]; }
Row composed() { return composedOf(Case(), sumOf({kA, kB, kC})); }
Row prior() {
    Row s = composed();
    s[1] += 0.9;
    return logSoftmaxRow(s);
}
Row atTemperature(Row p, double tau) {
    for (double& x : p) x /= tau;
    return logSoftmaxRow(p);
}
Row cooled() { return atTemperature(composed(), kCool); }
/// The two most probable, renormalised or not.
Row topTwo(Row p, bool renormalised) {
    Row sorted = p;
    std::sort(sorted.begin(), sorted.end());
    for (double& x : p)
        if (x < sorted[4]) x = kOut;
    return renormalised ? logSoftmaxRow(p) : p;
}
double sumOver(const Row& p, const Row& q, double (*of)(double p, double q)) {
    double sum = 0;
    for (std::size_t v = 0; v < p.size(); ++v) sum += of(std::exp(p[v]), std::exp(q[v]));
    return sum;
}
double entropyOf(const Row& p) {
    return sumOver(p, p, [](double x, double) { return -x * std::log(x); });
}
double absolute(double p, double q) { return std::abs(p - q); }
double towardsTheMean(double p, double q) { return p * std::log(2 * p / (p + q)); }
/// log Z of the base with D.
double logZ(const Says& says) {
    double sum = 0;
    for (int v = 0; v < 6; ++v) sum += std::exp(kRows[0][v] + says(v));
    return std::log(sum);
}
double interferenceOf(const std::vector<int>& sources) {
    double x = logZ(sumOf(sources));
    for (int i : sources) x -= logZ(sumOf({i}));
    return x;
}
double scaledLogZ(const std::vector<int>& sources, double scale) {
    return logZ([&](int v) { return scale * sumOf(sources)(v); });
}
double scaledInterference(double scale) {
    return scaledLogZ({kA, kB}, scale) - scaledLogZ({kA}, scale) - scaledLogZ({kB}, scale);
}
/// λ at which a and b together drift by `budget`, by halving.
double budgetScale(double budget = 0.05) {
    double low = 0, high = 1;
    for (int i = 0; i < 60; ++i) {
        const double scale = (low + high) / 2;
        const Row p = composedOf(Case(), [scale](int v) { return scale * sumOf({kA, kB})(v); });
        (klOf(p, base()) <= budget ? low : high) = scale;
    }
    return low;
}
double winnerCode(const Seen& s) { return 10 * double(s.d.winner) + s.d.winnerSource; }
double code(WinnerKind kind, int source) { return 10 * double(kind) + source; }
/// λ of the budget that is met at half the weights of a alone.
double halfDrift() {
    return klOf(composedOf(Case(), [](int v) { return term(kA, v) / 2; }), base());
}
void halfBudget(Case& c) { c.leave({kA}), c.recipe.klBudget = halfDrift(); }

#define SEEN(...) [](const Seen& s) -> double { return __VA_ARGS__; }
#define IS(...) []() -> double { return __VA_ARGS__; }

const std::vector<ValueRow> kValues = {
    {"stage composed is without priors", withPrior, SEEN(s.stages.composed[1]), IS(composed()[1]), IS(prior()[1])},
    {"stage composed is at τ = 1", cool, SEEN(s.stages.composed[1]), IS(composed()[1]), IS(cooled()[1])},
    {"stage priors has the priors", withPrior, SEEN(s.stages.priors[1]), IS(prior()[1]), IS(composed()[1])},
    {"stage priors is at τ = 1", coolWithPrior, SEEN(s.stages.priors[1]), IS(prior()[1]),
     IS(atTemperature(prior(), kCool)[1])},
    {"the temperature divides the priors too", coolWithPrior, SEEN(s.stages.temperature[2]),
     IS(atTemperature(prior(), kCool)[2]), IS([] {
         Row p = cooled();
         p[1] += 0.9;
         return logSoftmaxRow(p)[2];
     }())},
    {"normaliser: of stage temperature", coolWithPrior, SEEN(s.d.logNormaliser), IS([] {
         double sum = 0;
         for (int v = 0; v < 6; ++v)
             sum += std::exp((kRows[0][v] + sumOf({kA, kB, kC})(v) + (v == 1 ? 0.9 : 0)) / kCool);
         return std::log(sum);
     }()),
     IS(logZ(sumOf({kA, kB, kC})))},
    {"drift: at stage temperature", cool, SEEN(s.d.drift), IS(klOf(cooled(), base())), IS(klOf(composed(), base()))},
    {"drift: the base stays at τ = 1", cool, SEEN(s.d.drift), IS(klOf(cooled(), base())),
     IS(klOf(cooled(), atTemperature(base(), kCool)))},
    {"drift: with priors", withPrior, SEEN(s.d.drift), IS(klOf(prior(), base())), IS(klOf(composed(), base()))},
    {"drift: before truncation", [](Case& c) { c.recipe.topK = 2; }, SEEN(s.d.drift), IS(klOf(composed(), base())),
     IS(klOf(topTwo(composed(), true), base()))},
    {"drift: to the base, not from it", nothing, SEEN(s.d.drift), IS(klOf(composed(), base())),
     IS(klOf(base(), composed()))},
    {"kl_from_base: from the base", cool, SEEN(s.d.klFromBase), IS(klOf(base(), cooled())),
     IS(klOf(cooled(), base()))},
    {"kl_from_base: at stage temperature", cool, SEEN(s.d.klFromBase), IS(klOf(base(), cooled())),
     IS(klOf(base(), composed()))},
    {"drift_composed: at τ = 1", cool, SEEN(s.d.driftComposed), IS(klOf(composed(), base())),
     IS(klOf(cooled(), base()))},
    {"drift_composed: with priors", coolWithPrior, SEEN(s.d.driftComposed), IS(klOf(prior(), base())),
     IS(klOf(composed(), base()))},
    {"drift_drawn: after truncation", [](Case& c) { c.recipe.topK = 2; }, SEEN(s.d.driftDrawn),
     IS(klOf(topTwo(composed(), true), base())), IS(klOf(composed(), base()))},
    {"drift_drawn: renormalised", [](Case& c) { c.recipe.topK = 2; }, SEEN(s.d.driftDrawn),
     IS(klOf(topTwo(composed(), true), base())), IS(klOf(topTwo(composed(), false), base()))},
    {"js: half", cool, SEEN(s.d.js),
     IS((sumOver(cooled(), base(), towardsTheMean) + sumOver(base(), cooled(), towardsTheMean)) / 2),
     IS(sumOver(cooled(), base(), towardsTheMean) + sumOver(base(), cooled(), towardsTheMean))},
    {"js: both ways", cool, SEEN(s.d.js),
     IS((sumOver(cooled(), base(), towardsTheMean) + sumOver(base(), cooled(), towardsTheMean)) / 2),
     IS(sumOver(cooled(), base(), towardsTheMean))},
    {"tv: half", cool, SEEN(s.d.tv), IS(sumOver(cooled(), base(), absolute) / 2),
     IS(sumOver(cooled(), base(), absolute))},
    {"tv: at stage temperature", cool, SEEN(s.d.tv), IS(sumOver(cooled(), base(), absolute) / 2),
     IS(sumOver(composed(), base(), absolute) / 2)},
    {"entropy: at stage temperature", cool, SEEN(s.d.entropy), IS(entropyOf(cooled())), IS(entropyOf(composed()))},
    {"activity: against the base by default", nothing, SEEN(s.d.activity[kA]), IS(klOf(kRows[kA], kRows[0])),
     IS(klOf(kRows[kA], kRows[kB]))},
    {"activity: against the reference", [](Case& c) { c.specialist(kA).reference = kB; }, SEEN(s.d.activity[kA]),
     IS(klOf(kRows[kA], kRows[kB])), IS(klOf(kRows[kA], kRows[0]))},
    {"activity: against the base where the reference is none",
     [](Case& c) { c.specialist(kA).reference = kReferenceNone; }, SEEN(s.d.activity[kA]), IS(klOf(kRows[kA], kRows[0])),
     IS(-entropyOf(kRows[kA]))},
    {"activity: to the reference, not from it", nothing, SEEN(s.d.activity[kB]), IS(klOf(kRows[kB], kRows[0])),
     IS(klOf(kRows[0], kRows[kB]))},
    {"eos: summed over the stop set", [](Case& c) { c.recipe.stopIds = {1, kStop}; }, SEEN(s.d.eos[kA]),
     IS(std::exp(kRows[kA][1]) + std::exp(kRows[kA][kStop])), IS(std::exp(kRows[kA][kStop]))},
    {"eos: of each source", nothing, SEEN(s.d.eos[kA]), IS(std::exp(kRows[kA][kStop])), IS(std::exp(kRows[0][kStop]))},
    {"eos: composed, summed over the stop set", [](Case& c) { c.recipe.stopIds = {1, kStop}; }, SEEN(s.d.eosComposed),
     IS(std::exp(composed()[1]) + std::exp(composed()[kStop])), IS(std::exp(composed()[kStop]))},
    {"eos: composed, at stage temperature", cool, SEEN(s.d.eosComposed), IS(std::exp(cooled()[kStop])),
     IS(std::exp(composed()[kStop]))},
    {"winner: only who has w ≠ 0",  // b and c both have 2 on top, and so has p̂
     [](Case& c) { c.specialist(kC).weight = 0, c.rows[kC] = kRows[kB]; }, winnerCode,
     IS(code(WinnerKind::Specialist, kB)), IS(code(WinnerKind::Several, 0))},
    {"winner: only who is enabled", [](Case& c) { c.leave({kA, kB}), c.rows[kC] = kRows[kB]; }, winnerCode,
     IS(code(WinnerKind::Specialist, kB)), IS(code(WinnerKind::Several, 0))},
    {"winner: the base first", [](Case& c) { c.leave({kB}), c.specialist(kB).weight = 0.1, c.rows[kB] = kRows[0]; },
     winnerCode, IS(code(WinnerKind::Base, 0)), IS(code(WinnerKind::Specialist, kB))},
    {"winner: at stage temperature, with priors",
     [](Case& c) {
         c.leave({kA}), c.priors = {{"p", 1, {3}, {9.0}}};
     },
     winnerCode, IS(code(WinnerKind::Nobody, 0)), IS(code(WinnerKind::Specialist, kA))},
    {"interference: minus each alone", nothing, SEEN(s.d.interference), IS(interferenceOf({kA, kB, kC})),
     IS(logZ(sumOf({kA, kB, kC})))},
    {"interference: of all together", nothing, SEEN(s.d.interference), IS(interferenceOf({kA, kB, kC})),
     IS(interferenceOf({kA, kB}))},
    {"interference: of the enabled", [](Case& c) { c.leave({kA, kB}); }, SEEN(s.d.interference),
     IS(interferenceOf({kA, kB})), IS(interferenceOf({kA, kB, kC}))},
    {"interference: without τ", cool, SEEN(s.d.interference), IS(interferenceOf({kA, kB, kC})), IS([] {
         double sum = 0;
         for (int v = 0; v < 6; ++v) sum += std::exp((kRows[0][v] + sumOf({kA, kB, kC})(v)) / kCool);
         return interferenceOf({kA, kB, kC}) - logZ(sumOf({kA, kB, kC})) + std::log(sum);
     }())},
    {"interference: without priors", withPrior, SEEN(s.d.interference), IS(interferenceOf({kA, kB, kC})), IS([] {
         return interferenceOf({kA, kB, kC}) - logZ(sumOf({kA, kB, kC})) +
                logZ([](int v) { return sumOf({kA, kB, kC})(v) + (v == 1 ? 0.9 : 0); });
     }())},
    {"interference: without shift", [](Case& c) { c.leave({kA, kB}), c.recipe.commonShift = true; },
     SEEN(s.d.interference), IS(interferenceOf({kA, kB})), IS([] {
         return interferenceOf({kA, kB}) - logZ(sumOf({kA, kB})) + logZ([](int v) {
                    const double a = delta(kA, v), b = delta(kB, v);
                    const double least = a > 0 && b > 0 ? std::min(a, b) : a < 0 && b < 0 ? std::max(a, b) : 0;
                    return term(kA, v) + term(kB, v) - least;
                });
     }())},
    {"interference: without EOS policy", [](Case& c) { c.recipe.eosPolicy = EosPolicy::Base; }, SEEN(s.d.interference),
     IS(interferenceOf({kA, kB, kC})), IS([] {
         return interferenceOf({kA, kB, kC}) - logZ(sumOf({kA, kB, kC})) +
                logZ([](int v) { return v == kStop ? 0 : sumOf({kA, kB, kC})(v); });
     }())},
    {"interference: without plausibility",
     [](Case& c) {
         c.recipe.plausibility = {{PlausibilityKind::Relative, 0.5}};
     },
     SEEN(s.d.interference), IS(interferenceOf({kA, kB, kC})), IS([] {
         return interferenceOf({kA, kB, kC}) - logZ(sumOf({kA, kB, kC})) +
                logZ([](int v) { return v < 2 ? sumOf({kA, kB, kC})(v) : kOut; });
     }())},
    {"interference: with the budget's λ", [](Case& c) { c.leave({kA, kB}), c.recipe.klBudget = 0.05; },
     SEEN(s.d.interference), IS(scaledInterference(budgetScale())), IS(interferenceOf({kA, kB}))},
    {"interference: with the budget's λ in each alone", [](Case& c) { c.leave({kA, kB}), c.recipe.klBudget = 0.05; },
     SEEN(s.d.interference), IS(scaledInterference(budgetScale())), IS([] {
         return scaledInterference(budgetScale()) + scaledLogZ({kA}, budgetScale()) - logZ(sumOf({kA}));
     }())},
    {"interference: with the budget's λ, beside plausibility",
     [](Case& c) { c.leave({kA, kB}), c.recipe.klBudget = 0.01, c.recipe.plausibility = {{PlausibilityKind::Relative, 1e-6}}; },
     SEEN(s.d.interference), IS(scaledInterference(budgetScale(0.01))), IS(interferenceOf({kA, kB}))},
    {"interference: 0 where the budget silences all", [](Case& c) { c.leave({kA, kB}), c.recipe.klBudget = 0; },
     SEEN(s.d.interference), IS(0), IS(interferenceOf({kA, kB}))},
    {"interference: with the masks",
     [](Case& c) {
         c.leave({kA, kB}), c.specialist(kB).mask.tokens = {{2, 3}};
     },
     SEEN(s.d.interference), IS([] {
         const Says b = [](int v) { return v == 2 || v == 3 ? term(kB, v) : 0; };
         return logZ([&](int v) { return term(kA, v) + b(v); }) - logZ(sumOf({kA})) - logZ(b);
     }()),
     IS(interferenceOf({kA, kB}))},
    {"interference: nobody beside a masked one",
     [](Case& c) {
         c.leave({kA, kB}), c.specialist(kB).mask.positions = {{{0, 3}}};
     },
     SEEN(s.d.interference), IS(0), IS(interferenceOf({kA, kB}))},
    {"interference: 0 where one alone leaves nothing",
     [](Case& c) { c.rows[kA] = Row(6, kOut), c.rows[kA][3] = 0, c.rows[0][3] = kOut, c.recipe.klBudget = 0.1; },
     SEEN(s.d.interference), IS(0), IS(interferenceOf({kB, kC}))},
    {"interference: 0 where a silenced one would exclude",
     [](Case& c) { c.leave({kA, kB}), c.rows[kA][3] = kOut, c.recipe.klBudget = 0; }, SEEN(s.d.interference), IS(0),
     IS(interferenceOf({kA, kB}))},
    {"budget: λ is what meets it", halfBudget, SEEN(s.d.scale), IS(0.5), IS(1)},
    {"budget: scales the weights", halfBudget, SEEN(s.stages.composed[1]),
     IS(composedOf(Case(), [](int v) { return term(kA, v) / 2; })[1]), IS(composedOf(Case(), sumOf({kA}))[1])},
    {"budget: of the composed drift, without priors and τ", [](Case& c) { halfBudget(c), coolWithPrior(c); },
     SEEN(s.d.scale), IS(0.5), IS(0)},
    {"no say: the reference only", [](Case& c) { c.specialist(kA).reference = kB, c.rows[kB][3] = kOut; },
     SEEN(s.d.noSay), IS(1), IS(0)},
    {"no say: source and reference",
     [](Case& c) { c.leave({kA}), c.specialist(kA).reference = kB, c.rows[kB][3] = c.rows[kA][3] = kOut; },
     SEEN(s.d.noSay), IS(1), IS(0)},
    {"no say: the source, w < 0", [](Case& c) { c.specialist(kA).weight = -1, c.rows[kA][3] = kOut; },
     SEEN(s.d.noSay), IS(1), IS(0)},
    {"no say: every pair of source and token",
     [](Case& c) {
         c.specialist(kA).weight = c.specialist(kB).weight = -1;
         c.rows[kA][3] = c.rows[kA][4] = c.rows[kB][3] = kOut;
     },
     SEEN(s.d.noSay), IS(3), IS(2)},
    {"no say: under a mask of tokens",
     [](Case& c) {
         c.specialist(kA).weight = -1, c.rows[kA][3] = c.rows[kA][4] = kOut, c.specialist(kA).mask.tokens = {{1, 3}};
     },
     SEEN(s.d.noSay), IS(1), IS(0)},
    {"no say: not what the base excludes, under a mask too",
     [](Case& c) {
         c.specialist(kA).weight = -1, c.rows[0][3] = c.rows[kA][3] = kOut, c.specialist(kA).mask.tokens = {{1, 3}};
     },
     SEEN(s.d.noSay), IS(0), IS(1)},
    {"no say: nobody's outside the positions",
     [](Case& c) {
         c.specialist(kA).weight = -1, c.rows[kA][3] = kOut, c.specialist(kA).mask = {{{1, 3}}, {{{0, 3}}}};
     },
     SEEN(s.d.noSay), IS(0), IS(1)},
    {"no say: nobody's at λ = 0",
     [](Case& c) { c.specialist(kA).weight = -1, c.rows[kA][3] = kOut, c.recipe.klBudget = 0.0; }, SEEN(s.d.noSay),
     IS(0), IS(1)},
};

}  // namespace

class TestDiagnose : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void init() { failOnAnyWarning(); }

    void value_data() {
        QTest::addColumn<int>("index");
        for (std::size_t i = 0; i < kValues.size(); ++i) QTest::newRow(kValues[i].name) << int(i);
    }
    void value() {
        QFETCH(int, index);
        const ValueRow& row = kValues[std::size_t(index)];
        const double wanted = row.wanted(), dropped = row.dropped();
        QVERIFY2(std::abs(wanted - dropped) >= 10 * tolerance(wanted), "the row does not notice this term");
        Case c;
        row.set(c);
        const auto check = [&](const Diagnostics& d, auto composed, auto priors, auto temperature, double allowed) {
            Seen seen;
            seen.d = d;
            seen.stages.composed.assign(composed.begin(), composed.end());
            seen.stages.priors.assign(priors.begin(), priors.end());
            seen.stages.temperature.assign(temperature.begin(), temperature.end());
            const double got = row.get(seen);
            QVERIFY2(std::abs(got - wanted) <= allowed,
                     qPrintable(QStringLiteral("got %1, wanted %2").arg(got, 0, 'g', 12).arg(wanted, 0, 'g', 12)));
        };
        const Storage<double> wide(c.rows, c.position);
        Stages<double> wideStages;
        compose<double>(c.recipe, c.priors, wide.source, wideStages);
        check(diagnose<double>(c.recipe, c.priors, wide.source, wideStages), wideStages.composed, wideStages.priors,
              wideStages.temperature, 1e-9);
        const Storage<float> narrow(c.rows, c.position);
        Stages<float> stages;
        compose<float>(c.recipe, c.priors, narrow.source, stages);
        check(diagnose<float>(c.recipe, c.priors, narrow.source, stages), stages.composed, stages.priors,
              stages.temperature, tolerance(wanted));
    }
};

QTEST_GUILESS_MAIN(TestDiagnose)
#include "tst_diagnose.moc"
