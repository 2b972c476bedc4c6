// Priors in the fused pass (R1, R2, R5, R8): what touched tokens add to the sums, against the plain formula in float64.
// ctest runs this once for each instruction set (COUNTERPOINT_KERNELS).
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

struct Case {
    Recipe recipe;
    std::vector<std::vector<double>> rows;
    Priors priors;
    std::mt19937 gen;

    explicit Case(unsigned seed, std::size_t vocabulary = 1500, double excluded = 0) : gen(seed) {
        std::normal_distribution<> normal;
        std::vector<double> common(vocabulary);
        for (double& x : common) x = 2 * normal(gen);
        for (int i = 0; i < 4; ++i) {
            std::vector<double> logits = common;
            for (std::size_t v = 0; v < vocabulary; ++v) {
                logits[v] += 0.7 * normal(gen);
                if (v > 0 && std::uniform_real_distribution<>(0, 1)(gen) < excluded) logits[v] = kOut;
            }
            rows.push_back(logSoftmaxRow(logits));
        }
        recipe = recipeOf({0.8, 1.0, -0.3});
        recipe.temperature = 0.7;
        recipe.seed = seed;
        recipe.stopIds = {0};
    }
    std::size_t vocabulary() const { return rows[0].size(); }
    std::size_t best() const {
        return static_cast<std::size_t>(std::max_element(rows[0].begin(), rows[0].end()) - rows[0].begin());
    }
    /// A prior over n random tokens.
    void add(std::size_t n, double eta, double spread) {
        std::normal_distribution<> normal;
        OwnedPrior p{"p" + std::to_string(priors.size()), eta, {}, {}};
        std::vector<TokenId> ids(vocabulary());
        for (std::size_t v = 0; v < ids.size(); ++v) ids[v] = static_cast<TokenId>(v);
        std::shuffle(ids.begin(), ids.end(), gen);
        ids.resize(std::min(n, ids.size()));
        std::sort(ids.begin(), ids.end());
        p.tokens = ids;
        for (std::size_t j = 0; j < ids.size(); ++j) p.delta.push_back(spread * normal(gen));
        priors.push_back(p);
    }
    void push(std::size_t token, double by) { priors.push_back({"one", 1, {static_cast<TokenId>(token)}, {by}}); }
};

/// The step of the pass beside the plain formula in float64.
void compareWithPlain(const Case& c, bool fused = true) {
    const std::uint64_t seed = c.recipe.seed;
    Stages<float> stages;
    Stages<double> plain;
    const Storage<float> in(c.rows, 1);
    std::vector<std::vector<double>> stored;
    for (const auto& row : in.data) stored.emplace_back(row.begin(), row.end());
    const Storage<double> exact(stored, 1);
    compose<double>(c.recipe, c.priors, exact.source, plain);
    const Diagnostics wanted = diagnose<double>(c.recipe, c.priors, exact.source, plain);
    const Step step = makeStep(c.recipe, c.priors, in.source, stages);
    QCOMPARE(stages.priors.empty(), fused);  // else it did not go the way it should

    compareSums(step.diagnostics, wanted, stages, plain, seed);
    if (QTest::currentTestFailed()) return;
    QCOMPARE(step.drawn, draw<double>(c.recipe, plain, 1));
    std::vector<TokenId> top;
    topTokens(std::span<const float>(stages.temperature), 20, top);
    QCOMPARE(step.top.size(), top.size());
    for (std::size_t i = 0; i < top.size(); ++i) {
        QCOMPARE(step.top[i].token, top[i]);
        NEAR(step.top[i].priors, plain.priors[static_cast<std::size_t>(top[i])], "stage priors of a listed token");
    }
    QCOMPARE(step.matchedPriors.size(), c.priors.size());
    compose<float>(c.recipe, c.priors, in.source, stages);
    for (std::size_t v = 0; v < plain.priors.size(); ++v) NEAR(stages.priors[v], plain.priors[v], "stage priors");
}

using Set = std::function<void(Case&)>;

}  // namespace

class TestFusedPriors : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void init() { failOnAnyWarning(); }

    void againstThePlainFormula_data() {
        QTest::addColumn<std::size_t>("vocabulary");
        QTest::addColumn<double>("excluded");
        QTest::addColumn<Set>("set");
        const auto row = [](const char* name, Set set, std::size_t vocabulary = 1500, double excluded = 0) {
            QTest::newRow(name) << vocabulary << excluded << set;
        };
        const Set few = [](Case& c) { c.add(30, 0.8, 1), c.add(50, 1.5, 0.5); };
        row("two priors", few);
        row("temperature 1", [=](Case& c) { few(c), c.recipe.temperature = 1; });
        row("cold", [=](Case& c) { few(c), c.recipe.temperature = 0.05; });
        row("hot", [=](Case& c) { few(c), c.recipe.temperature = 4; });
        row("greedy", [=](Case& c) { few(c), c.recipe.temperature = 0; });
        row("the base alone", [=](Case& c) { few(c), c.recipe.specialists.clear(); });
        row("excluded tokens", few, 1500, 0.1);
        row(
            "excluded tokens, temperature 1", [=](Case& c) { few(c), c.recipe.temperature = 1; }, 900, 0.2);
        row("every token", [](Case& c) { c.add(c.vocabulary(), 1, 1); });
        row(
            "every token, some excluded", [](Case& c) { c.add(c.vocabulary(), 1, 1); }, 1300, 0.1);
        row("fifty priors on the same tokens", [](Case& c) {
            for (int i = 0; i < 50; ++i) c.add(200, 0.3, 0.3);
        });
        row("nothing but zeros", [](Case& c) { c.add(40, 0, 1); });
        row("the most probable, far up", [](Case& c) { c.push(c.best(), 25); });
        row("the most probable, far down", [](Case& c) { c.push(c.best(), -25); });
        row("another, far above", [](Case& c) { c.push((c.best() + 700) % c.vocabulary(), 35); });
        row("another, far above, cold", [](Case& c) {
            c.push((c.best() + 700) % c.vocabulary(), 30);
            c.recipe.temperature = 0.05;
        });
        row("two in one block, one above the other", [](Case& c) { c.push(600, 28), c.push(601, 34); });
        row("top-p", [=](Case& c) { few(c), c.recipe.topP = 0.8; });
        row(
            "one token", [](Case& c) { c.push(0, 3); }, 1);
        row("three parts", few, 66'000);
        row("three parts, excluded tokens", few, 66'000, 0.05);
        row(
            "where one part ends",
            [](Case& c) {
                for (const std::size_t v : {32'767, 32'768, 32'769, 65'535, 65'536}) c.push(v, 9);
            },
            66'000);
    }
    void againstThePlainFormula() {
        QFETCH(std::size_t, vocabulary);
        QFETCH(double, excluded);
        QFETCH(Set, set);
        for (unsigned seed = 0; seed < (vocabulary > 30'000 ? 2u : 12u) && !QTest::currentTestFailed(); ++seed) {
            Case c(seed, vocabulary, excluded);
            set(c);
            compareWithPlain(c);
        }
    }

    /// What float32 would no longer hold beside the rest goes to the plain formula.
    void whatItLeavesToThePlainFormula() {
        Case up(1), down(2);
        up.push(7, 60);
        compareWithPlain(up, false);
        for (std::size_t v = 0; v < down.vocabulary(); ++v) down.push(v, -80);
        compareWithPlain(down, false);
    }

    /// The number of threads changes no bit.
    void threads() {
        Case c(3, 100'000);
        c.add(5000, 1, 1);
        const Storage<float> in(c.rows, 1);
        Stages<float> alone, shared;
        FusedRow one, many;
        QVERIFY(fuse(c.recipe, c.priors, in.source, alone, one));
        const Diagnostics wanted = diagnose(c.recipe, in.source, alone, one);
        for (const int threads : {2, 5}) {
            QVERIFY(fuse(c.recipe, c.priors, in.source, shared, many, threads));
            QCOMPARE(shared.composed, alone.composed);
            QCOMPARE(shared.temperature, alone.temperature);
            const Diagnostics d = diagnose(c.recipe, in.source, shared, many);
            QCOMPARE(std::bit_cast<std::uint64_t>(d.drift), std::bit_cast<std::uint64_t>(wanted.drift));
            QCOMPARE(std::bit_cast<std::uint64_t>(d.js), std::bit_cast<std::uint64_t>(wanted.js));
        }
    }

    /// What acted before is gone, and a prior of no effect leaves the base exactly (R8: q = 0.5 is η = 0).
    void withoutPriors() {
        Case c(4);
        const Storage<float> in(c.rows, 1);
        Stages<float> stages, bare;
        const Step without = makeStep(c.recipe, {}, in.source, bare);
        c.push(5, 4);
        (void)makeStep(c.recipe, c.priors, in.source, stages);
        (void)makeStep(c.recipe, {}, in.source, stages);
        QCOMPARE(stages.temperature, bare.temperature);
        QVERIFY(stages.touched.empty());
        c.priors.clear();
        c.recipe.specialists.clear();
        c.recipe.temperature = 1;
        (void)makeStep(c.recipe, {}, in.source, bare);
        c.add(20, 0, 1);
        const Step zero = makeStep(c.recipe, c.priors, in.source, stages);
        QVERIFY(zero.diagnostics.drift < 1e-7);
        QCOMPARE(stages.temperature, bare.temperature);
        QVERIFY(zero.diagnostics.drift == 0 && zero.diagnostics.klFromBase == 0 && zero.diagnostics.js == 0);
    }

    /// M = 0 and η = 0 give the base exactly, in one pass and by the plain formula; at τ = 1 and when greedy all of it.
    void theBaseToTheLastBit() {
        for (const double tau : {1.0, 0.0, 0.7})
            for (const bool zero : {false, true}) {
                Case c(4);
                c.priors.clear();
                if (zero) c.add(20, 0, 1);
                for (auto& term : c.recipe.specialists) term.weight = 0;
                c.recipe.temperature = tau;
                const Storage<float> in(c.rows, 1);
                const std::vector<float> base(in.source.rows[0].begin(), in.source.rows[0].end());
                Stages<float> fused, plain;
                compose<float>(c.recipe, c.priors, in.source, fused);
                Recipe by = c.recipe;
                by.klBudget = 100;  // a dial that the one pass leaves to the formula
                compose<float>(by, c.priors, in.source, plain);
                for (const Stages<float>* stages : {&fused, &plain}) {
                    QCOMPARE(stages->composed, base);
                    QCOMPARE(stages->priors, base);
                    QCOMPARE(stages->temperature == base, tau != 0.7);
                    QVERIFY(stages->logNormaliserComposed == 0 && stages->logNormaliserPriors == 0);
                    const Diagnostics d = diagnose<float>(c.recipe, c.priors, in.source, *stages);
                    QVERIFY(tau == 0.7 || (d.drift == 0 && d.klFromBase == 0 && d.js == 0 && d.tv == 0));
                    QVERIFY(d.driftComposed == 0);
                }
            }
    }
};

QTEST_GUILESS_MAIN(TestFusedPriors)
#include "tst_fusedpriors.moc"
