// The fused pass block by block: what a block's bound, its largest token and its facts decide. ctest runs this once for
// each instruction set (COUNTERPOINT_KERNELS).
#include <cmath>
#include <random>

#include "compute/composition/compose.h"
#include "tests/support/fixture.h"
#include "tests/support/rows.h"

using namespace counterpoint::compute;
using namespace counterpoint::tests;

class TestFusedRows : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void init() { failOnAnyWarning(); }

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
        std::mt19937 gen(4);
        std::normal_distribution<> normal;
        std::vector<double> logits(22 * 512);
        std::vector<std::vector<double>> rows(4);
        for (auto& row : rows) {
            for (double& x : logits) x = normal(gen);
            for (std::size_t b = 0; b < 22; ++b)
                logits[b * 512 + b * 37 % 512] = 30 - 0.3 * static_cast<double>(b * 7 % 22);
            row = logSoftmaxRow(logits);
        }
        const Storage<float> in(rows);
        Recipe r = recipeOf({1, 1, 1});
        r.temperature = 0.7;
        Stages<float> stages;
        const Step step = makeStep(r, {}, in.source, stages);
        std::vector<TokenId> top;
        topTokens(std::span<const float>(stages.temperature), 20, top);
        QCOMPARE(step.top.size(), top.size());
        for (std::size_t i = 0; i < top.size(); ++i) QCOMPARE(step.top[i].token, top[i]);
    }

    /// Largest tokens that differ by the last digit only, one in each block: a bound is no less than its block.
    void nearTiesBetweenBlocks() {
        Stages<float> stages, again;
        std::mt19937 gen(5);
        std::normal_distribution<> normal;
        for (int seed = 0; seed < 60; ++seed) {
            std::vector<double> logits(22 * 512);
            for (double& x : logits) x = normal(gen) - 3;
            for (std::size_t b = 0; b < 22; ++b) logits[b * 512 + gen() % 512] = 5 + 4e-7 * normal(gen);
            const Storage<float> in({logSoftmaxRow(logits), logSoftmaxRow(logits)});
            Recipe r = recipeOf({0.5});
            r.temperature = seed % 2 == 0 ? 1.0 : 0.7;
            const Step step = makeStep(r, {}, in.source, stages);
            std::vector<TokenId> top;
            topTokens(std::span<const float>(stages.temperature), 20, top);
            for (std::size_t i = 0; i < top.size(); ++i) QCOMPARE(step.top[i].token, top[i]);
            compose<float>(r, {}, in.source, again);
            QCOMPARE(step.diagnostics.winner, diagnose<float>(r, {}, in.source, again).winner);
        }
    }

    /// Blocks without a token say nothing about the list.
    void mostBlocksExcluded() {
        std::vector<double> logits(22 * 512, kOut);
        for (std::size_t v : {3u, 4000u, 4001u, 9000u}) logits[v] = 1e-4 * static_cast<double>(v);
        const Storage<float> in({logSoftmaxRow(logits)});
        Stages<float> stages;
        const Step step = makeStep(recipeOf({}), {}, in.source, stages);
        QCOMPARE(step.top.size(), std::size_t{4});
        QCOMPARE(step.top[0].token, 9000);
        QCOMPARE(step.keptCount, std::int64_t{4});
    }

    /// Sums that leave float32 are the plain formula's: here log p/τ of a token.
    void beyondFloat32() {
        std::vector<std::vector<double>> rows(3, logSoftmaxRow({0.5, 1, 3, 2.9}));
        rows[1] = logSoftmaxRow({0.5, 1, 2.99, 3});
        for (auto& row : rows) row.push_back(-1e37);
        Recipe r = recipeOf({0.7, 0.2});
        r.temperature = 1e-3;
        const Storage<float> in(rows);
        const Storage<double> exact(rows);
        Stages<float> stages;
        Stages<double> plain;
        compose<double>(r, {}, exact.source, plain);
        const double wanted = diagnose<double>(r, {}, exact.source, plain).drift;
        const double got = makeStep(r, {}, in.source, stages).diagnostics.drift;
        QVERIFY2(std::abs(got - wanted) < 2e-4 * std::abs(wanted),
                 qPrintable(QStringLiteral("got %1, wanted %2").arg(got).arg(wanted)));
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
        f = factsOf(row, base);
        QVERIFY(f.best == kNoToken && f.top == kExcluded && f.logMass == 0);
        std::mt19937 gen(3);
        std::normal_distribution<> normal;
        for (int seed = 0; seed < 50; ++seed) {  // almost the base: rounding takes no activity below 0
            std::vector<double> logits(600);
            for (double& x : logits) x = normal(gen);
            const std::vector<double> one = logSoftmaxRow(logits);
            for (double& x : logits) x += 1e-6 * normal(gen);
            const Storage<float> in({one, logSoftmaxRow(logits)});
            QVERIFY(factsOf(in.source.rows[1], in.source.rows[0]).activity >= 0);
        }
    }
};

QTEST_GUILESS_MAIN(TestFusedRows)
#include "tst_fusedrows.moc"
