// The fused pass against the plain formula in float64, on random racks: every sum of R5, stage rows, truncation, top
// tokens and the draw. ctest runs this once for each instruction set (COUNTERPOINT_KERNELS).
#include <algorithm>
#include <bit>
#include <cmath>
#include <random>

#include "compute/composition/compose.h"
#include "compute/composition/fusedrow.h"
#include "tests/support/fixture.h"
#include "tests/support/near.h"
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
    {"three parts", 70'000, 3, 0.7, false, true, 1},
    {"two parts, excluded tokens", 32'769, 4, 0.7, true, true, 0.9},
    {"two parts, each block above the one before", 40'000, 3, 0.8, false, true, 1, 2},
};

struct Case {
    Recipe recipe;
    std::vector<std::vector<double>> rows;
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
        Stages<float> stages;
        Stages<double> plain;
        const unsigned seeds = kShapes[shape].vocabulary > 30'000 ? 2 : 30;
        for (unsigned seed = 0; seed < seeds; ++seed) {
            const Case c = caseOf(kShapes[shape], seed);
            const Position position = seed % 6;
            Storage<float> in(c.rows, position);
            std::vector<std::vector<double>> stored;
            for (const auto& row : in.data) stored.emplace_back(row.begin(), row.end());
            const Storage<double> exact(stored, position);
            compose<double>(c.recipe, {}, exact.source, plain);
            const Diagnostics wanted = diagnose<double>(c.recipe, {}, exact.source, plain);
            if (seed % 2 == 1)  // as a trace keeps them
                for (const auto& row : in.source.rows) in.source.facts.push_back(factsOf(row, in.source.rows[0]));
            const Step step = makeStep(c.recipe, {}, in.source, stages);
            QVERIFY2(stages.priors.empty(), "this case did not go through the fused pass");

            const Diagnostics& d = step.diagnostics;
            NEAR(d.drift, wanted.drift, "drift");
            NEAR(d.driftComposed, wanted.driftComposed, "drift_composed");
            NEAR(d.driftDrawn, wanted.driftDrawn, "drift_drawn");
            NEAR(d.klFromBase, wanted.klFromBase, "kl_from_base");
            NEAR(d.js, wanted.js, "js");
            NEAR(d.tv, wanted.tv, "tv");
            NEAR(d.entropy, wanted.entropy, "entropy");
            NEAR(d.interference, wanted.interference, "interference");
            NEAR(d.logNormaliser, wanted.logNormaliser, "log_normaliser");
            NEAR(d.eosComposed, wanted.eosComposed, "eos");
            for (std::size_t i = 0; i < wanted.activity.size(); ++i)
                NEAR(d.activity[i], wanted.activity[i], "activity");
            QCOMPARE(d.noSay, wanted.noSay);
            QCOMPARE(static_cast<int>(d.winner), static_cast<int>(wanted.winner));
            QCOMPARE(d.winnerSource, wanted.winnerSource);
            QCOMPARE(step.greedy, plain.greedy);
            if (c.recipe.topP >= 1) QCOMPARE(step.keptCount, plain.keptCount);
            QCOMPARE(step.drawn, draw<double>(c.recipe, plain, position));
            for (std::size_t v = 0; v < plain.composed.size(); ++v) {
                NEAR(stages.composed[v], plain.composed[v], "composed");
                NEAR(stages.temperature[v], plain.temperature[v], "temperature");
            }
            std::vector<TokenId> top;
            topTokens(std::span<const float>(stages.temperature), 20, top);
            QCOMPARE(step.top.size(), top.size());
            for (std::size_t i = 0; i < top.size(); ++i) QCOMPARE(step.top[i].token, top[i]);
            QCOMPARE(step.top[0].priors, step.top[0].composed);
        }
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

    /// A first block without anything left, at every temperature: R5 stays what it is.
    void nothingInTheFirstBlock() {
        std::vector<double> row(600, kOut);
        row[550] = row[580] = std::log(0.5);
        const Storage<float> in({row});
        Recipe r = recipeOf({});
        Stages<float> stages;
        for (r.temperature = 2e-3; r.temperature < 0.02; r.temperature += 1e-5) {
            const Diagnostics d = makeStep(r, {}, in.source, stages).diagnostics;
            QVERIFY2(d.tv < 1e-5 && d.js < 1e-5 && d.klFromBase < 1e-5, qPrintable(QString::number(r.temperature)));
        }
    }

    /// The listed tokens are the first of their blocks, so that the list reaches down to a block's own bound.
    void oneListedTokenInEachBlock() {
        Case c = caseOf(kShapes[2], 1);
        std::mt19937 gen(4);
        std::normal_distribution<> normal;
        std::vector<double> logits(22 * 512);
        for (auto& row : c.rows) {
            for (double& x : logits) x = normal(gen);
            for (std::size_t b = 0; b < 22; ++b)
                logits[b * 512 + b * 37 % 512] = 30 - 0.3 * static_cast<double>(b * 7 % 22);
            row = logSoftmaxRow(logits);
        }
        const Storage<float> in(c.rows, 1);
        Stages<float> stages;
        const Step step = makeStep(c.recipe, {}, in.source, stages);
        std::vector<TokenId> top;
        topTokens(std::span<const float>(stages.temperature), 20, top);
        QCOMPARE(step.top.size(), top.size());
        for (std::size_t i = 0; i < top.size(); ++i) QCOMPARE(step.top[i].token, top[i]);
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
    }

    void factsOfARow() {
        std::vector<float> row{-2, kExcluded, -0.25f, -0.25f, -3}, base{-1, -1, -1, kExcluded, -1};
        RowFacts f = factsOf(row, base);
        QCOMPARE(f.best, 2);
        QCOMPARE(f.top, -0.25f);
        QCOMPARE(f.excluded, std::int64_t{1});
        QVERIFY(f.proper && std::isinf(f.activity));
        QVERIFY(std::abs(f.logMass - std::log(std::exp(-2.0) + 2 * std::exp(-0.25) + std::exp(-3.0))) < 1e-6);
        base[1] = kExcluded, base[3] = -2;  // excluded by both: nothing is lost
        double kl = 0;
        for (std::size_t v : {0u, 2u, 3u, 4u}) kl += std::exp(double(row[v])) * double(row[v] - base[v]);
        QVERIFY(std::abs(factsOf(row, base).activity - kl) < 1e-6);
        row[4] = NAN;
        QVERIFY(!factsOf(row, base).proper);
        row[4] = INFINITY;
        QVERIFY(!factsOf(row, base).proper);
        QVERIFY(!factsOf(std::vector<float>(5, kExcluded), base).proper);
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
        const std::vector<PriorTerm> priors{{"p", 1, {3}, {2}}};
        (void)makeStep(c.recipe, priors, in.source, stages);
        QVERIFY(stages.priors[3] != stages.composed[3]);
        Storage<float> bad = in;
        bad.data[1][7] = NAN;
        bad.source.rows[1] = bad.data[1];
        for (std::size_t i : {0u, 2u, 3u}) bad.source.rows[i] = bad.data[i];
        QVERIFY_EXCEPTION_THROWN((void)makeStep(c.recipe, {}, bad.source, stages), std::exception);
    }
};

QTEST_GUILESS_MAIN(TestFused)
#include "tst_fused.moc"
