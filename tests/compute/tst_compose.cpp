// R1, R2, R5 against golden/compose.json (float64 1e-9, float32 2e-5 + 2e-5·|x|) and against the plain reference of
// tests/support/naivecompose.h on random rows with excluded tokens.
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "compute/composition/compose.h"
#include "compute/composition/divergence.h"
#include "compute/error.h"
#include "tests/support/fixture.h"
#include "tests/support/naivecompose.h"
#include "tests/support/rows.h"

using namespace counterpoint::compute;
using namespace counterpoint::tests;
using nlohmann::json;

namespace {

double number(const json& x) { return x.is_string() ? (x == "-inf" ? -INFINITY : INFINITY) : x.get<double>(); }
std::vector<double> numbers(const json& list) {
    std::vector<double> out;
    for (const json& x : list) out.push_back(number(x));
    return out;
}
template <class Real>
bool near(double got, double wanted) {
    if (got == wanted) return true;
    return std::abs(got - wanted) <=
           (std::is_same_v<Real, double> ? 1e-9 * (1 + std::abs(wanted)) : 2e-5 + 2e-5 * std::abs(wanted));
}

#define NEAR(Real, got, wanted, what)                                                    \
    QVERIFY2(near<Real>(got, wanted), qPrintable(QStringLiteral("%1: got %2, wanted %3") \
                                                     .arg(QString::fromStdString(what))  \
                                                     .arg(double(got), 0, 'g', 12)       \
                                                     .arg(double(wanted), 0, 'g', 12)))

template <class Real>
void golden(const json& c) {
    Recipe r = recipeOf(numbers(c["weights"]));
    r.temperature = c["tau"];
    Priors priors;
    for (const json& p : c["priors"])
        priors.push_back({"prior", p["eta"], p["tokens"].get<std::vector<TokenId>>(), numbers(p["delta"])});
    const json& e = c["expect"];
    Stages<Real> stages;
    for (std::size_t t = 0; t < c["base_logits"].size(); ++t) {
        std::vector<std::vector<double>> rows{logSoftmaxRow(numbers(c["base_logits"][t]))};
        for (const json& x : c["expert_logits"]) rows.push_back(logSoftmaxRow(numbers(x[t])));
        const Storage<Real> in(rows);
        compose<Real>(r, priors, in.source, stages);
        const auto wanted = numbers(e["log_prob"][t]);
        for (std::size_t v = 0; v < wanted.size(); ++v)
            NEAR(Real, double(stages.temperature[v]), wanted[v], "log_prob");
        const Diagnostics d = diagnose<Real>(r, priors, in.source, stages);
        NEAR(Real, d.drift, number(e["kl_to_base"][t]), "kl_to_base");
        if (!e["kl_from_base"].is_null()) NEAR(Real, d.klFromBase, number(e["kl_from_base"][t]), "kl_from_base");
        NEAR(Real, d.entropy, number(e["entropy"][t]), "entropy");
        NEAR(Real, d.js, number(e["js_to_base"][t]), "js_to_base");
        NEAR(Real, d.tv, number(e["tv_to_base"][t]), "tv_to_base");
        for (std::size_t i = 0; i < c["expert_logits"].size(); ++i)
            NEAR(Real, divergence::kl(stages.temperature.data(), in.source.rows[i + 1].data(), wanted.size()),
                 number(e["kl_to_expert"][i][t]), "kl_to_expert");
    }
}

/// A random rack: weights of both signs and zero, masks, references, exclusions, every clause now and then.
struct RandomCase {
    Recipe recipe;
    Priors priors;
    std::vector<std::vector<double>> rows;
};

RandomCase randomCase(unsigned seed) {
    std::mt19937 gen(seed);
    const auto chance = [&](double p) { return std::uniform_real_distribution<>(0, 1)(gen) < p; };
    const auto below = [&](int n) { return std::uniform_int_distribution<>(0, n - 1)(gen); };
    std::normal_distribution<> normal;
    const int size = 2 + below(40), k = below(5);
    RandomCase c;
    std::vector<double> weights;
    for (int i = 0; i < k; ++i)
        weights.push_back(chance(0.1) ? 0.0 : chance(0.2) ? -std::abs(normal(gen)) : std::abs(normal(gen)));
    c.recipe = recipeOf(weights);
    for (int i = 0; i <= k; ++i) {
        std::vector<double> logits;
        for (int v = 0; v < size; ++v) logits.push_back(v > 0 && chance(0.12) ? kOut : 2.5 * normal(gen));
        c.rows.push_back(logSoftmaxRow(logits));
    }
    const auto someTokens = [&](double p) {
        std::vector<TokenId> ids;
        for (int v = 0; v < size; ++v)
            if (chance(p)) ids.push_back(v);
        return ids;
    };
    for (auto& s : c.recipe.specialists) {
        s.enabled = !chance(0.1);
        if (chance(0.2)) s.reference = chance(0.3) ? kReferenceNone : below(k + 1);
        if (chance(0.2)) s.mask.tokens = someTokens(0.6);
        if (chance(0.2)) s.mask.positions = std::vector<Interval>{{0, 2}, {5, 9}};
    }
    Recipe& r = c.recipe;
    r.stopIds = someTokens(0.1);
    r.eosPolicy = static_cast<EosPolicy>(below(5));
    r.commonShift = chance(0.4);
    r.floor = chance(0.5) ? 1.0 : 30;
    if (chance(0.3))
        r.plausibility =
            Plausibility{chance(0.5) ? PlausibilityKind::Relative : PlausibilityKind::TopP, 0.05 + 0.3 * chance(0.5)};
    if (chance(0.3)) r.klBudget = 0.05 + 0.3 * std::abs(normal(gen));
    r.temperature = chance(0.3) ? 1.0 : chance(0.1) ? 0.0 : 0.3 + std::abs(normal(gen));
    if (chance(0.3)) r.topK = 1 + below(size);
    if (chance(0.3)) r.topP = 0.1 + 0.8 * below(2);
    if (chance(0.3)) r.minP = 0.1;
    for (int m = below(3); m > 0; --m) {
        OwnedPrior p{"p", std::abs(normal(gen)), someTokens(0.3), {}};
        for (std::size_t j = 0; j < p.tokens.size(); ++j) p.delta.push_back(normal(gen));
        c.priors.push_back(p);
    }
    return c;
}

template <class Real>
void againstNaive(unsigned seed) {
    const RandomCase c = randomCase(seed);
    const Position t = seed % 8;
    const Storage<Real> in(c.rows, t);
    std::vector<std::vector<double>> stored;  // the reference sees what the storage type holds
    for (const auto& row : in.data) stored.emplace_back(row.begin(), row.end());
    naive::Row probe = naive::score(c.recipe, stored, t, 1, true, {}, nullptr);
    Stages<Real> stages;
    if (*std::max_element(probe.begin(), probe.end()) == kOut) {
        if (c.recipe.klBudget) {  // a budget falls back to λ = 0, where nobody excludes
            compose<Real>(c.recipe, c.priors, in.source, stages);
            QCOMPARE(stages.scale, 0.0);
            return;
        }
        QVERIFY_THROWS_EXCEPTION(Error, compose<Real>(c.recipe, c.priors, in.source, stages));
        return;
    }
    compose<Real>(c.recipe, c.priors, in.source, stages);
    const Diagnostics d = diagnose<Real>(c.recipe, c.priors, in.source, stages);
    const naive::Result n = naive::compose(c.recipe, c.priors, stored, t);
    const std::string at = "case " + std::to_string(seed) + " ";
    for (std::size_t v = 0; v < probe.size(); ++v) {
        NEAR(Real, double(stages.composed[v]), n.composed[v], at + "composed");
        NEAR(Real, double(stages.priors[v]), n.priors[v], at + "priors");
        NEAR(Real, double(stages.temperature[v]), n.temperature[v], at + "temperature");
        QVERIFY2((stages.kept[v] != 0) == n.kept[v], qPrintable(QString::fromStdString(at + "kept")));
    }
    NEAR(Real, d.drift, n.d.drift, at + "drift");
    NEAR(Real, d.klFromBase, n.d.klFromBase, at + "kl_from_base");
    NEAR(Real, d.driftComposed, n.d.driftComposed, at + "drift_composed");
    NEAR(Real, d.driftDrawn, n.d.driftDrawn, at + "drift_drawn");
    NEAR(Real, d.js, n.d.js, at + "js");
    NEAR(Real, d.tv, n.d.tv, at + "tv");
    NEAR(Real, d.entropy, n.d.entropy, at + "entropy");
    NEAR(Real, d.interference, n.d.interference, at + "interference");
    NEAR(Real, d.eosComposed, n.d.eosComposed, at + "eos composed");
    NEAR(Real, d.scale, n.d.scale, at + "scale");
    QCOMPARE(d.noSay, n.d.noSay);
    QCOMPARE(d.winner, n.d.winner);
    QCOMPARE(d.winnerSource, n.d.winnerSource);
    for (std::size_t i = 0; i < in.data.size(); ++i) {
        NEAR(Real, d.activity[i], n.d.activity[i], at + "activity");
        NEAR(Real, d.eos[i], n.d.eos[i], at + "eos");
    }
    for (std::size_t v = 0; v < probe.size(); ++v) {
        const Ledger l = ledger<Real>(c.recipe, c.priors, in.source, stages, TokenId(v));
        if (n.temperature[v] == kOut) {
            QVERIFY(l.total == kOut && !l.excludedBy.empty());
            continue;
        }
        double sum = l.base + l.shift + l.eos + l.clamp - l.logNormaliser;
        for (double x : l.source) sum += x;
        for (double x : l.prior) sum += x;
        QVERIFY(std::abs(sum - l.total) <= 1e-9);
        if constexpr (std::is_same_v<Real, double>)
            QVERIFY(std::abs(l.total - stages.temperature[v]) <= 1e-9);
        else
            QVERIFY(std::abs(l.total - double(stages.temperature[v])) <= 2e-5 + 2e-7 * std::abs(l.total));
    }
}

}  // namespace

class TestCompose : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void init() { failOnAnyWarning(); }

    void goldenValues_data() {
        QTest::addColumn<QByteArray>("text");
        std::ifstream file(shared("golden/compose.json"));
        if (!file) {
            QTest::newRow("no golden file") << QByteArray();
            return;
        }
        const json all = json::parse(file);
        for (const json& c : all["cases"])
            QTest::newRow(c["name"].get<std::string>().c_str()) << QByteArray::fromStdString(c.dump());
    }
    void goldenValues() {
        REQUIRE_SHARED("golden/compose.json");
        QFETCH(QByteArray, text);
        const json c = json::parse(text.toStdString());
        golden<double>(c);
        golden<float>(c);
    }

    void randomRows_data() {
        QTest::addColumn<int>("from");
        for (int from = 0; from < 2000; from += 500) QTest::addRow("cases %d..", from) << from;
    }
    void randomRows() {
        QFETCH(int, from);
        for (int seed = from; seed < from + 500; ++seed) {
            againstNaive<double>(seed);
            againstNaive<float>(seed);
            if (QTest::currentTestFailed()) return;
        }
    }
};

QTEST_GUILESS_MAIN(TestCompose)
#include "tst_compose.moc"
