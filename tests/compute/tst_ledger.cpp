// R4 term by term: the split of log p̂ of one token, with a term's factor and without it, both by hand from the
// differences δ and at least ten float32 tolerances apart.
#include "compute/composition/compose.h"
#include "tests/support/fixture.h"
#include "tests/support/naivecompose.h"
#include "tests/support/termcase.h"

using namespace counterpoint::compute;
using namespace counterpoint::tests;

namespace {

constexpr double kTau = 0.6, kBudget = 0.02;

/// λ with which the drift of base + λ D meets kBudget.
double lambdaOf(const Says& says) {
    double lo = 0, hi = 1;
    for (int i = 0; i < 60; ++i) {
        const double mid = (lo + hi) / 2;
        const Row p = composedOf(Case(), [&](int v) { return mid * says(v); });
        (naive::klOf(p, kRows[0]) <= kBudget ? lo : hi) = mid;
    }
    return lo;
}
const Says kClamped = [](int v) { return -std::max(delta(kB, v), -0.5); };  // w = −1, floor 0.5
void clamped(Case& c) { c.leave({kB}), c.specialist(kB).weight = -1, c.recipe.floor = 0.5; }
void shifting(Case& c) { c.recipe.commonShift = true; }
void baseEnds(Case& c) { c.recipe.eosPolicy = EosPolicy::Base; }
/// `set` with a temperature, or with a budget that binds.
std::function<void(Case&)> warm(void (*set)(Case&)) {
    return [set](Case& c) { set(c), c.recipe.temperature = kTau; };
}
std::function<void(Case&)> bound(void (*set)(Case&)) {
    return [set](Case& c) { set(c), c.recipe.klBudget = kBudget; };
}
void asItIs(Case&) {}
double shiftAt2() { return shifted(kAll, {kA, kB, kC}, 2, kMean)(2) - kAll(2); }
double warmNormaliser() {
    double sum = 0;
    for (int v = 0; v < 6; ++v) sum += std::exp((kRows[0][v] + kAll(v)) / kTau);
    return std::log(sum);
}
double clampAt0() { return -(-0.5 - delta(kB, 0)); }

struct LedgerRow {
    const char* name;
    std::function<void(Case&)> set;
    int token;
    double (*get)(const Ledger&);
    std::function<double()> wanted, dropped;
};

#define TERM(expression) [](const Ledger& l) -> double { return expression; }
#define IS(...) []() -> double { return __VA_ARGS__; }

const std::vector<LedgerRow> kLedger = {
    {"base: 1/τ", warm(asItIs), 1, TERM(l.base), IS(kRows[0][1] / kTau), IS(kRows[0][1])},
    {"base: τ = 0 counts as 1", [](Case& c) { c.recipe.temperature = 0; }, 1, TERM(l.base), IS(kRows[0][1]),
     IS(-INFINITY)},
    {"source: 1/τ", warm(asItIs), 1, TERM(l.source[0]), IS(term(kA, 1) / kTau), IS(term(kA, 1))},
    {"source: λ", bound(asItIs), 1, TERM(l.source[0]), IS(lambdaOf(kAll) * term(kA, 1)), IS(term(kA, 1))},
    {"source: nobody at λ = 0", [](Case& c) { c.rows[kA][3] = kOut, c.recipe.klBudget = 0.0; }, 3, TERM(l.total),
     IS(kRows[0][3]), IS(-INFINITY)},
    {"prior: 1/τ",
     [](Case& c) {
         c.recipe.temperature = kTau, c.priors = {{"p", 1.5, {1}, {0.6}}};
     },
     1, TERM(l.prior[0]), IS(0.9 / kTau), IS(0.9)},
    {"prior: η",
     [](Case& c) {
         c.priors = {{"p", 1.5, {1}, {0.6}}};
     },
     1, TERM(l.prior[0]), IS(0.9), IS(0.6)},
    {"shift", shifting, 2, TERM(l.shift), IS(shiftAt2()), IS(0)},
    {"shift: 1/τ", warm(shifting), 2, TERM(l.shift), IS(shiftAt2() / kTau), IS(shiftAt2())},
    {"shift: λ", bound(shifting), 2, TERM(l.shift), IS(lambdaOf(shifted(kAll, {kA, kB, kC}, 2, kMean)) * shiftAt2()),
     IS(shiftAt2())},
    {"eos", baseEnds, kStop, TERM(l.eos), IS(-kAll(kStop)), IS(0)},
    {"eos: 1/τ", warm(baseEnds), kStop, TERM(l.eos), IS(-kAll(kStop) / kTau), IS(-kAll(kStop))},
    {"eos: λ", bound(baseEnds), kStop, TERM(l.eos), IS(lambdaOf(at(kStop, constant(0), kAll)) * -kAll(kStop)),
     IS(-kAll(kStop))},
    {"eos: nothing for an excluded id", [](Case& c) { c.rows[kA][kStop] = kOut, baseEnds(c); }, kStop, TERM(l.eos),
     IS(0), IS(INFINITY)},
    {"clamp", clamped, 0, TERM(l.clamp), IS(clampAt0()), IS(0)},
    {"clamp: 1/τ", warm(clamped), 0, TERM(l.clamp), IS(clampAt0() / kTau), IS(clampAt0())},
    {"clamp: λ", bound(clamped), 0, TERM(l.clamp), IS(lambdaOf(kClamped) * clampAt0()), IS(clampAt0())},
    {"normaliser: with a minus", warm(asItIs), 1, TERM(l.total), IS((kRows[0][1] + kAll(1)) / kTau - warmNormaliser()),
     IS((kRows[0][1] + kAll(1)) / kTau + warmNormaliser())},
};

}  // namespace

class TestLedger : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void init() { failOnAnyWarning(); }

    void ledgerTerm_data() {
        QTest::addColumn<int>("index");
        for (std::size_t i = 0; i < kLedger.size(); ++i) QTest::newRow(kLedger[i].name) << int(i);
    }
    void ledgerTerm() {
        QFETCH(int, index);
        const LedgerRow& row = kLedger[std::size_t(index)];
        const double wanted = row.wanted();
        QVERIFY2(std::abs(wanted - row.dropped()) >= 10 * kTolerance, "the row does not notice this term");
        Case c;
        row.set(c);
        const Storage<double> in(c.rows, c.position);
        Stages<double> stages;
        compose<double>(c.recipe, c.priors, in.source, stages);
        const double got = row.get(ledger<double>(c.recipe, c.priors, in.source, stages, row.token));
        QVERIFY2(std::abs(got - wanted) <= 1e-9, qPrintable(QStringLiteral("got %1, wanted %2").arg(got).arg(wanted)));
    }
};

QTEST_GUILESS_MAIN(TestLedger)
#include "tst_ledger.moc"
