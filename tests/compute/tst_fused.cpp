// The fused pass against the plain formula in float64, on random racks: every sum of R5, stage rows, truncation, top
// tokens and the draw. ctest runs this once for each instruction set (COUNTERPOINT_KERNELS).
#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <random>

#include "compute/composition/compose.h"
#include "compute/composition/fusedrow.h"
#include "tests/support/fixture.h"
#include "tests/support/plainsums.h"
#include "tests/support/priors.h"
#include "tests/support/rows.h"

using namespace counterpoint::compute;
using namespace counterpoint::tests;

namespace {

/// What a case is made of.
struct Shape {
    const char* name;
    std::size_t vocabulary;
    int sources;
    double temperature;
    bool excluding;  ///< rows hold −∞
    bool mixed;      ///< weights of both signs, other references, intervals, a low floor; else all weights 1
    double topP;
    double rise = 0;  ///< what each block of 512 lies above the one before it
};
const Shape kShapes[] = {
    {"the base alone", 600, 1, 0.7, false, false, 1},
    {"one token", 1, 2, 1.0, false, false, 1},
    {"default weights", 1500, 4, 0.7, false, false, 1},
    {"at temperature 1", 1024, 3, 1.0, false, true, 1},
    {"cold", 1537, 4, 0.05, false, true, 1},
    {"hot", 511, 4, 3.0, false, true, 1},
    {"greedy", 513, 4, 0.0, false, true, 1},
    {"nine specialists", 700, 10, 0.8, false, true, 1},
    {"excluded tokens", 900, 4, 0.7, true, true, 1},
    {"excluded tokens at temperature 1", 513, 5, 1.0, true, true, 1},
    {"excluded tokens, default weights", 800, 4, 0.7, true, false, 1},
    {"top-p", 1300, 4, 0.9, false, true, 0.9},
    {"top-p and excluded tokens", 1300, 4, 0.9, true, true, 0.8},
    {"nine specialists, default weights", 700, 10, 0.8, false, false, 1},
    {"more blocks than listed tokens", 11000, 3, 0.7, false, true, 1},
    {"more blocks, few tokens left", 11000, 2, 0.7, true, true, 0.5},
    {"each block far above the one before", 1500, 4, 1.0, false, true, 1, 60},
    {"each block far above, excluded tokens", 1500, 4, 0.7, true, true, 1, 60},
    {"each block a little above", 2000, 4, 0.7, false, true, 1, 25},
    {"the base alone at temperature 1", 600, 1, 1.0, false, false, 1},
    {"three parts", 66'000, 3, 0.7, false, true, 1},
    {"two parts, excluded tokens", 34'000, 4, 0.7, true, true, 0.9},
    {"two parts, each block above the one before", 34'000, 5, 0.8, false, true, 1, 2},
};

struct Case {
    Recipe recipe;
    std::vector<std::vector<double>> rows;
    SpecialistTerm& term(std::size_t i) { return recipe.specialists[i]; }
    /// The rest stays as it was: the row no longer sums to 1.
    void exclude(std::size_t source) {
        for (std::size_t v = 5; v < rows[source].size(); v += 7) rows[source][v] = kOut;
    }
};

Case caseOf(const Shape& shape, unsigned seed) {
    std::mt19937 gen(seed * 977 + static_cast<unsigned>(shape.vocabulary));
    const auto chance = [&](double p) { return std::uniform_real_distribution<>(0, 1)(gen) < p; };
    std::normal_distribution<> normal;
    Case c;
    // Sources that agree but for a few tokens, as specialists do: differences are small against the rows.
    std::vector<double> common(shape.vocabulary);
    for (std::size_t v = 0; v < common.size(); ++v)
        common[v] = 3 * normal(gen) + shape.rise * static_cast<double>(v / 512);
    const double spread = seed % 3 == 0 ? 0.01 : seed % 3 == 1 ? 0.5 : 3;
    std::vector<double> weights;
    for (int i = 1; i < shape.sources; ++i)
        weights.push_back(!shape.mixed ? 1.0 : chance(0.3) ? -0.5 * std::abs(normal(gen)) : std::abs(normal(gen)));
    for (int i = 0; i < shape.sources; ++i) {
        std::vector<double> logits = common;
        for (std::size_t v = 0; v < logits.size(); ++v) {
            logits[v] += spread * normal(gen);
            if (shape.excluding && v > 0 && chance(0.05)) logits[v] = kOut;
        }
        c.rows.push_back(logSoftmaxRow(logits));
    }
    c.recipe = recipeOf(weights);
    Recipe& r = c.recipe;
    r.temperature = shape.temperature;
    r.topP = shape.topP;
    r.seed = seed;
    r.stopIds = {0};
    if (!shape.mixed) return c;
    r.floor = chance(0.5) ? 1.0 : 30;
    for (SpecialistTerm& s : r.specialists) {
        if (chance(0.25))
            s.reference = chance(0.4) ? kReferenceNone : std::uniform_int_distribution<>(0, shape.sources - 1)(gen);
        s.enabled = !chance(0.1);
        if (chance(0.15)) s.mask.positions = std::vector<Interval>{{0, 3}};
        if (chance(0.3)) s.weight = 1;
    }
    return c;
}

/// The step of the pass beside the plain formula in float64. `kept`: with facts as a trace keeps them.
void compareWithPlain(const Case& c, Position position, bool kept, unsigned seed) {
    Stages<float> stages;
    Stages<double> plain;
    Storage<float> in(c.rows, position);
    std::vector<std::vector<double>> stored;
    for (const auto& row : in.data) stored.emplace_back(row.begin(), row.end());
    const Storage<double> exact(stored, position);
    compose<double>(c.recipe, {}, exact.source, plain);
    const Diagnostics wanted = diagnose<double>(c.recipe, {}, exact.source, plain);
    if (kept)
        for (const auto& row : in.source.rows) in.source.facts.push_back(factsOf(row, in.source.rows[0]));
    const Step step = makeStep(c.recipe, {}, in.source, stages);
    QVERIFY2(stages.priors.empty(), "this case did not go through the fused pass");

    compareSums(step.diagnostics, wanted, stages, plain, seed);
    if (QTest::currentTestFailed()) return;
    const Diagnostics& d = step.diagnostics;
    QCOMPARE(d.scale, 1.0);
    for (const double x : {d.drift, d.driftComposed, d.driftDrawn, d.klFromBase, d.js, d.tv, d.entropy})
        QVERIFY2(x >= 0, "rounding took it below 0");
    for (std::size_t i = 0; i < wanted.activity.size(); ++i) NEAR(d.activity[i], wanted.activity[i], "activity");
    QCOMPARE(d.winnerSource, wanted.winnerSource);
    QCOMPARE(step.greedy, plain.greedy);
    if (c.recipe.topP >= 1) QCOMPARE(step.keptCount, plain.keptCount);
    QCOMPARE(step.drawn, draw<double>(c.recipe, plain, position));
    std::vector<TokenId> top;
    topTokens(std::span<const float>(stages.temperature), 20, top);
    QCOMPARE(step.top.size(), top.size());
    for (std::size_t i = 0; i < top.size(); ++i) QCOMPARE(step.top[i].token, top[i]);
    QCOMPARE(step.top[0].priors, step.top[0].composed);
}

}  // namespace

class TestFused : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void init() { failOnAnyWarning(); }

    void againstThePlainFormula_data() {
        QTest::addColumn<int>("shape");
        for (std::size_t i = 0; i < std::size(kShapes); ++i) QTest::newRow(kShapes[i].name) << static_cast<int>(i);
    }
    void againstThePlainFormula() {
        QFETCH(int, shape);
        const unsigned seeds = kShapes[shape].vocabulary > 30'000 ? 5 : 30;
        for (unsigned seed = 0; seed < seeds && !QTest::currentTestFailed(); ++seed)
            compareWithPlain(caseOf(kShapes[shape], seed), seed % 6, seed % 2 == 1, seed);
    }

    /// What random racks do not have.
    void otherRacks_data() {
        QTest::addColumn<std::function<void(Case&)>>("set");
        const auto row = [](const char* name, std::function<void(Case&)> set) { QTest::newRow(name) << set; };
        row("sources in another order", [](Case& c) { std::swap(c.term(0).source, c.term(1).source); });
        row("one source twice", [](Case& c) { c.term(1).source = 1, c.term(1).weight = 0.5; });
        row("only the first excludes", [](Case& c) { c.exclude(1); });
        row("only the last excludes", [](Case& c) { c.exclude(3); });
        row("only a reference excludes", [](Case& c) {
            c.exclude(3), c.term(2).enabled = false, c.term(0).reference = 3, c.term(1).reference = kReferenceNone;
        });
        row("only the first of two excludes, with its own reference",
            [](Case& c) { c.exclude(1), c.term(2).enabled = false, c.term(0).reference = 3; });
    }
    void otherRacks() {
        QFETCH(std::function<void(Case&)>, set);
        for (unsigned seed = 0; seed < 4 && !QTest::currentTestFailed(); ++seed) {
            Case c = caseOf(kShapes[2], 3 * seed + 1);
            c.term(0).weight = 0.8, c.term(2).weight = -0.3;
            set(c);
            compareWithPlain(c, 1, seed % 2 == 1, seed);
        }
    }

    /// Who has no say sends no row to the plain formula, and need not even have one.
    void whoHasNoSay() {
        Case c = caseOf(kShapes[2], 1);
        c.term(0).enabled = false, c.term(1).weight = 0;
        c.term(0).mask.tokens = c.term(1).mask.tokens = {{1, 2}};
        compareWithPlain(c, 1, false, 1);
        Storage<float> in(c.rows, 1);
        in.source.rows[1] = in.source.rows[2] = {};
        Stages<float> stages;
        (void)makeStep(c.recipe, {}, in.source, stages);
        QVERIFY(stages.priors.empty());
    }

    /// The number of threads that a long row is shared out to changes no bit.
    void threads_data() {
        QTest::addColumn<int>("vocabulary");
        QTest::addColumn<bool>("excluding");
        for (const int vocabulary : {1500, 32'768, 32'769, 100'000, 256'000})
            for (const bool excluding : {false, true})
                QTest::addRow("%d%s", vocabulary, excluding ? ", excluded" : "") << vocabulary << excluding;
    }
    void threads() {
        QFETCH(int, vocabulary);
        QFETCH(bool, excluding);
        const Shape shape{"", static_cast<std::size_t>(vocabulary), 4, 0.7, excluding, true, 0.95};
        Case c = caseOf(shape, 3);
        if (excluding)  // a part without anything left, and one that nobody hears
            for (std::size_t v = 0; v + 9 < c.rows[0].size() && v < 33'000; ++v) c.rows[0][v] = kOut;
        const Storage<float> in(c.rows, 1);
        Stages<float> stages, alone;
        FusedRow row, one;
        QVERIFY(fuse(c.recipe, {}, in.source, alone, one));
        const std::vector<float> bounds(one.blockTop.begin(), one.blockTop.end());
        const Diagnostics wanted = diagnose(c.recipe, in.source, alone, one);
        for (const int threads : {2, 3, 7}) {
            QVERIFY(fuse(c.recipe, {}, in.source, stages, row, threads));
            QCOMPARE(stages.composed, alone.composed);
            QCOMPARE(stages.temperature, alone.temperature);
            QCOMPARE(stages.kept, alone.kept);
            QVERIFY(std::ranges::equal(row.blockTop, bounds));
            const Diagnostics d = diagnose(c.recipe, in.source, stages, row);
            for (double Diagnostics::*field :
                 {&Diagnostics::drift, &Diagnostics::driftComposed, &Diagnostics::driftDrawn, &Diagnostics::klFromBase,
                  &Diagnostics::js, &Diagnostics::tv, &Diagnostics::entropy, &Diagnostics::interference,
                  &Diagnostics::logNormaliser})
                QCOMPARE(std::bit_cast<std::uint64_t>(d.*field), std::bit_cast<std::uint64_t>(wanted.*field));
            QCOMPARE(d.noSay, wanted.noSay);
        }
    }

    /// Parts of a long row put together: two without anything left before the first that has something, and each part
    /// above the one before it.
    void partsOfALongRow_data() {
        QTest::addColumn<double>("rise");
        QTest::addColumn<std::function<void(Case&)>>("set");
        const auto row = [](const char* name, double rise, std::function<void(Case&)> set) {
            QTest::newRow(name) << rise << set;
        };
        row("nothing in the first two", 0, [](Case& c) { std::fill_n(c.rows[0].begin(), 66'000, kOut); });
        row("each above the one before", 0.03, [](Case&) {});
        row("only the last excludes", 0, [](Case& c) {
            for (std::size_t v = 66'000; v < 70'000; v += 7) c.rows[1][v] = c.rows[3][v + 1] = kOut;
        });
    }
    void partsOfALongRow() {
        QFETCH(double, rise);
        QFETCH(std::function<void(Case&)>, set);
        Case c = caseOf({"", 70'000, 4, 0.7, false, false, 1, rise}, 5);
        c.term(0).weight = 0.8, c.term(1).weight = 0.6, c.term(2).weight = -0.3;
        set(c);
        compareWithPlain(c, 1, false, 5);
    }

    /// What only a later part loses is lost all the same.
    void lostInALaterPart() {
        std::vector<std::vector<double>> rows(2, std::vector<double>(33'000, -std::log(33'000.0)));
        Stages<float> stages;
        const Recipe r = recipeOf({1});
        QVERIFY(std::isfinite(makeStep(r, {}, Storage<float>(rows).source, stages).diagnostics.klFromBase));
        rows[1][32'900] = kOut;
        QVERIFY(std::isinf(makeStep(r, {}, Storage<float>(rows).source, stages).diagnostics.klFromBase));
    }

    /// What an earlier recipe left in the stages is gone.
    void afterABudget() {
        Case c = caseOf(kShapes[2], 1);
        const Storage<float> in(c.rows, 1);
        Stages<float> stages;
        c.recipe.klBudget = 1e-3;
        QVERIFY(makeStep(c.recipe, {}, in.source, stages).diagnostics.scale < 1);
        c.recipe.klBudget.reset();
        QCOMPARE(makeStep(c.recipe, {}, in.source, stages).diagnostics.scale, 1.0);
    }

    /// Z of a source alone is not its own sum where the base excludes what it says.
    void onlyTheBaseExcludes() {
        Case c = caseOf(kShapes[2], 1);
        for (std::size_t v = 5; v < 50; ++v) c.rows[0][v] = kOut;
        const Storage<float> in(c.rows, 1);
        const Storage<double> exact(c.rows, 1);
        Stages<float> stages;
        Stages<double> plain;
        compose<double>(c.recipe, {}, exact.source, plain);
        const double wanted = diagnose<double>(c.recipe, {}, exact.source, plain).interference;
        const double got = makeStep(c.recipe, {}, in.source, stages).diagnostics.interference;
        QVERIFY2(std::abs(got - wanted) < 1e-4, qPrintable(QStringLiteral("got %1, wanted %2").arg(got).arg(wanted)));
    }

    /// What was measured when a row was kept gives the same bits as measuring it now.
    void factsKeptWithTheRows() {
        Stages<float> stages;
        for (unsigned seed = 0; seed < 6; ++seed) {
            const Case c = caseOf(kShapes[8], seed);
            Storage<float> in(c.rows, 1);
            const Step now = makeStep(c.recipe, {}, in.source, stages);
            const std::vector<float> row = stages.temperature;
            for (const auto& r : in.source.rows) in.source.facts.push_back(factsOf(r, in.source.rows[0]));
            const Step kept = makeStep(c.recipe, {}, in.source, stages);
            QCOMPARE(stages.temperature, row);
            QCOMPARE(kept.diagnostics.drift, now.diagnostics.drift);
            NEAR(kept.diagnostics.interference, now.diagnostics.interference, "interference");
            NEAR(kept.diagnostics.activity[1], now.diagnostics.activity[1], "activity");
            QCOMPARE(kept.drawn, now.drawn);
        }
    }

    /// They are believed, where there is one for each row.
    void factsAreNotMeasuredAgain() {
        Stages<float> stages;
        Storage<float> in(caseOf(kShapes[2], 1).rows, 1);
        const Recipe r = recipeOf({1, 1, 1});
        const double own = makeStep(r, {}, in.source, stages).diagnostics.interference;
        for (const auto& row : in.source.rows) in.source.facts.push_back(factsOf(row, in.source.rows[0]));
        in.source.facts[1].logMass += 1;
        const double told = makeStep(r, {}, in.source, stages).diagnostics.interference;
        QVERIFY(std::abs(told - (own - 1)) < 1e-4);
        in.source.facts.emplace_back();
        QVERIFY(std::abs(makeStep(r, {}, in.source, stages).diagnostics.interference - own) < 1e-4);
        in.source.facts[0].best = 3;
        in.source.facts[0].proper = true;
        Recipe alone = r;
        alone.specialists.clear();
        QCOMPARE(makeStep(alone, {}, in.source, stages).diagnostics.winner, WinnerKind::Base);
        in.source.facts.pop_back();
        QCOMPARE(makeStep(alone, {}, in.source, stages).diagnostics.winner, WinnerKind::Nobody);
        in.source.facts[1].logMass -= 1;
        in.source.facts[0].logMass += 1;  // of nobody: once for all together, once less for each
        QVERIFY(std::abs(makeStep(r, {}, in.source, stages).diagnostics.interference - (own + 2)) < 1e-4);
        in.source.facts[0].logMass -= 1;
        // Those of its own source, also behind one that is switched off.
        Recipe two = r;
        two.specialists[0].enabled = false;
        const double ofTwo = makeStep(two, {}, in.source, stages).diagnostics.interference;
        in.source.facts[3].logMass += 1;
        QVERIFY(std::abs(makeStep(two, {}, in.source, stages).diagnostics.interference - (ofTwo - 1)) < 1e-4);
    }

    /// Recipes that the pass is not for are computed by the plain formula, and wrong ones are refused as they are
    /// there.
    void whatItLeavesToThePlainFormula() {
        const Case c = caseOf(kShapes[2], 1);
        const Storage<float> in(c.rows, 1);
        Stages<float> stages;
        const auto plainly = [&](void (*change)(Recipe&)) {
            Recipe r = c.recipe;
            change(r);
            (void)makeStep(r, {}, in.source, stages);
            return !stages.priors.empty();
        };
        QVERIFY(!plainly([](Recipe&) {}));
        QVERIFY(plainly([](Recipe& r) { r.commonShift = true; }));
        QVERIFY(plainly([](Recipe& r) { r.klBudget = 0.1; }));
        QVERIFY(plainly([](Recipe& r) { r.rule = Rule::Mixture; }));
        QVERIFY(plainly([](Recipe& r) { r.eosPolicy = EosPolicy::Mean; }));
        QVERIFY(plainly([](Recipe& r) { r.plausibility = Plausibility{}; }));
        QVERIFY(plainly([](Recipe& r) { r.specialists[0].mask.tokens = std::vector<TokenId>{1, 2}; }));
        QVERIFY(plainly([](Recipe& r) { r.specialists[0].weight = 17; }));
        QVERIFY(plainly([](Recipe& r) { r.specialists[0].weight = r.specialists[1].weight = 9; }));
        QVERIFY(plainly([](Recipe& r) { r.specialists[0].weight = -(r.specialists[1].weight = 9); }));
        QVERIFY(plainly([](Recipe& r) { r.temperature = 9e-4; }));
        QVERIFY(plainly([](Recipe& r) {
            r.specialists[0].weight = 0.1;
            r.specialists.assign(fused::kMostTerms + 1, r.specialists[0]);
        }));
        QVERIFY(!plainly([](Recipe& r) { r.eosPolicy = EosPolicy::Mean, r.stopIds.clear(); }));
        for (void (*const wrong)(Recipe&) : std::initializer_list<void (*)(Recipe&)>{
                 [](Recipe& r) { r.temperature = -1; }, [](Recipe& r) { r.topP = 1.5; },
                 [](Recipe& r) { r.minP = -0.1; }, [](Recipe& r) { r.floor = -1; }})
            QVERIFY_EXCEPTION_THROWN((void)plainly(wrong), std::exception);
        const Priors priors{{"p", 1, {3}, {2}}};
        (void)makeStep(c.recipe, priors, in.source, stages);
        QVERIFY(stages.priors.empty());  // see tst_fusedpriors
        Storage<float> bad = in;
        bad.data[1][7] = NAN;
        bad.source.rows[1] = bad.data[1];
        for (std::size_t i : {0u, 2u, 3u}) bad.source.rows[i] = bad.data[i];
        QVERIFY_EXCEPTION_THROWN((void)makeStep(c.recipe, {}, bad.source, stages), std::exception);
    }
};

QTEST_GUILESS_MAIN(TestFused)
#include "tst_fused.moc"
