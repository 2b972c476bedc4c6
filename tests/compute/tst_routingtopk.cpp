// R12: the routing law on logits and noise; HAZARDS A5, A15, A26; Plackett-Luce probabilities of golden/routing.json.
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>

#include "compute/error.h"
#include "compute/routing/copula.h"
#include "compute/routing/route.h"
#include "tests/support/fixture.h"

using namespace counterpoint::compute;

namespace {

constexpr float kOff = -std::numeric_limits<float>::infinity();
using Ids = std::vector<ExpertId>;

Routed routed(const RouterLaw& law, const std::vector<float>& logits, const std::vector<double>& gamma = {}) {
    RouteMemory memory;
    Routed found;
    route(law, logits, gamma, {0, 0}, memory, found);
    return found;
}

Ids chosenOf(const RouterLaw& law, const std::vector<float>& logits, const std::vector<double>& gamma = {}) {
    return routed(law, logits, gamma).experts;
}

std::string refusalOf(const RouterLaw& law, const std::vector<float>& logits) {
    try {
        (void)chosenOf(law, logits);
    } catch (const Error& e) {
        return e.sentence();
    }
    return "nothing was refused";
}

}  // namespace

class TestRoutingTopK : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void init() { counterpoint::tests::failOnAnyWarning(); }

    void inOrder() {
        QCOMPARE(chosenOf({.chosen = 3, .bias = {}}, {1, 5, 3, 4, 2}), (Ids{1, 3, 2}));
        QCOMPARE(chosenOf({.chosen = 5, .bias = {}}, {1, 5, 3, 4, 2}), (Ids{1, 3, 2, 4, 0}));
        QCOMPARE(chosenOf({.chosen = 1, .bias = {}}, {-7}), (Ids{0}));  // one expert
        QCOMPARE(chosenOf({.chosen = 2, .bias = {}}, {1, 5, 3}, {9, 0, 1}), (Ids{0, 1}));
    }

    /// HAZARDS A26.
    void tiesGoToTheLowerIndex() {
        QCOMPARE(chosenOf({.chosen = 2, .bias = {}}, {1, 1, 1, 1}), (Ids{0, 1}));
        QCOMPARE(chosenOf({.chosen = 3, .bias = {}}, {0, 2, 1, 2, 1, 1}), (Ids{1, 3, 2}));
        QCOMPARE(chosenOf({.chosen = 1, .bias = {}}, {10.00f, 10.03f}), (Ids{1}));  // both are 10.0 in bfloat16
        QCOMPARE(chosenOf({.chosen = 2, .bias = {}}, {3, 2, 1}, {0, 1, 2}), (Ids{0, 1}));
    }

    /// Against a full sort, with many ties.
    void likeASort() {
        std::mt19937 gen(3);
        for (int trial = 0; trial < 2000; ++trial) {
            const std::size_t E = 1 + gen() % 20, K = 1 + gen() % E;
            std::vector<double> scores(E);
            for (double& s : scores) s = static_cast<double>(gen() % 7);
            Ids order(E), found(K);
            std::iota(order.begin(), order.end(), 0);
            std::stable_sort(order.begin(), order.end(),
                             [&](int a, int b) { return scores[size_t(a)] > scores[size_t(b)]; });
            order.resize(K);
            topK(scores, found);
            QCOMPARE(found, order);
        }
    }

    /// HAZARDS A15: what is off stays off whatever the noise.
    void offStaysOff() {
        const std::vector<float> logits{0, kOff, kOff, 1};
        const RouterLaw law{.chosen = 2, .bias = {}};
        GroupMemory memory;
        std::vector<double> gamma(4);
        for (Position t = 0; t < 10'000; ++t) {
            routingNoise({7, 0, 0}, {.group = t, .first = t, .rho = 0.5, .alpha = 0}, t, memory, gamma);
            Ids ids = chosenOf(law, logits, gamma);
            std::sort(ids.begin(), ids.end());
            QCOMPARE(ids, (Ids{0, 3}));
        }
        const double off = -std::numeric_limits<double>::infinity();
        QCOMPARE(chosenOf({.chosen = 2, .bias = {off, 0, 0, off}}, {9, 1, 2, 9}), (Ids{2, 1}));
        QCOMPARE(chosenOf({.chosen = 2, .bias = {0, 5, 0, 0}}, {9, 5, 2, 8}), (Ids{1, 0}));
    }

    /// The temperature divides the logits before the noise, and the weights are those of the logits.
    void temperature() {
        const RouterLaw hot{.chosen = 1, .temperature = 4, .bias = {}};
        QCOMPARE(chosenOf({.chosen = 1, .bias = {}}, {2, 0}, {0, 1}), (Ids{0}));
        QCOMPARE(chosenOf(hot, {2, 0}, {0, 1}), (Ids{1}));
        const Routed found = routed({.chosen = 2, .temperature = 4, .bias = {}}, {2, 1, 0, -1});
        QVERIFY(std::abs(found.weights[0] - 0.7310585786300049) < 1e-15);
    }

    /// HAZARDS A5: logits [2,1,0,-1], K = 2.
    void weights() {
        const std::vector<float> logits{2, 1, 0, -1};
        const double all = std::exp(2) + std::exp(1) + 1 + std::exp(-1);
        Routed found = routed({.chosen = 2, .normTopkProb = false, .bias = {}}, logits, {});
        QVERIFY(std::abs(found.weights[0] - std::exp(2) / all) < 1e-15 && std::abs(found.weights[0] - 0.6439) < 5e-5);
        QVERIFY(std::abs(found.weights[1] - std::exp(1) / all) < 1e-15 && std::abs(found.weights[1] - 0.2369) < 5e-5);
        found = routed({.chosen = 2, .bias = {}}, logits, {});
        QVERIFY(std::abs(found.weights[0] - 0.7310585786300049) < 1e-15);
        QVERIFY(std::abs(found.weights[1] - 0.2689414213699951) < 1e-15);
        QCOMPARE(routed({.chosen = 1, .bias = {}}, logits, {}).weights, (std::vector<double>{1.0}));
        // The noise chooses and does not weigh; a bias is part of the logits; what is off has no mass.
        found = routed({.chosen = 2, .normTopkProb = false, .bias = {0, 0, kOff, 1}}, logits,
                       std::vector<double>{0, 50, 0, 50});
        QCOMPARE(found.experts, (Ids{1, 3}));
        QVERIFY(std::abs(found.weights[1] - 1 / (std::exp(2) + std::exp(1) + 1)) < 1e-15);
    }

    /// Chosen far below the top, where a softmax over all has nothing left to renormalise.
    void weightsOfUnlikelyExperts() {
        const std::vector<float> logits{0, -2000, -2001};
        const Routed found = routed({.chosen = 2, .bias = {}}, logits, std::vector<double>{0, 5000, 5000});
        QCOMPARE(found.experts, (Ids{1, 2}));
        QVERIFY(std::abs(found.weights[0] - 0.7310585786300049) < 1e-15);
    }

    /// Deterministic is without noise, independent has ρ = 0, coupled is R11's; draw 0, the layer's own addresses, no
    /// memory of what was routed before.
    void modes() {
        RoutingSettings settings{.mode = RoutingMode::Coupled, .coupling = {}, .seed = 9};
        settings.coupling.groups = windowsOf(3);
        settings.coupling.rhoOfGroup = {0.2, 0.9};
        settings.coupling.alpha = 0.8;
        Coupling independent = settings.coupling;
        independent.rho = 0;
        independent.rhoOfGroup.clear();
        const RouterLaw law{.chosen = 3, .normTopkProb = false, .temperature = 1.5, .bias = {}};
        RouteMemory memory, fresh;
        Routed found, wanted;
        std::vector<double> gamma(16);
        int differ = 0;
        for (const Position t : {0, 1, 2, 3, 4, 5, 6, 2, 4}) {
            std::vector<float> logits(16);
            for (std::size_t e = 0; e < 16; ++e)
                logits[e] = static_cast<float>((e * 7 + static_cast<std::size_t>(t)) % 5);
            const auto check = [&](RoutingMode mode, std::span<const double> noise) {
                settings.mode = mode;
                routePosition(settings, law, logits, {4, t}, memory, found);
                route(law, logits, noise, {4, t}, fresh, wanted);
                return found.experts == wanted.experts && found.weights == wanted.weights;
            };
            QVERIFY(check(RoutingMode::Deterministic, {}));
            const Ids published = found.experts;
            GroupMemory group;
            routingNoise({9, 0, 4}, placementAt(settings.coupling, t), t, group, gamma);
            QVERIFY(check(RoutingMode::Coupled, gamma));
            differ += found.experts != published;
            const Ids coupled = found.experts;
            routingNoise({9, 0, 4}, placementAt(independent, t), t, group, gamma);
            QVERIFY(check(RoutingMode::Independent, gamma));
            differ += found.experts != coupled;
        }
        QVERIFY(differ > 9);
    }

    void refusals() {
        const float nan = std::numeric_limits<float>::quiet_NaN(), inf = -kOff;
        const std::vector<float> four{1, 2, 3, 4};
        const std::string asLogit =
            ": the router's logit is no finite number (expected a finite number, or minus infinity for an expert that "
            "is off, found ";
        QCOMPARE(refusalOf({.chosen = 5, .bias = {}}, four),
                 std::string("routing, \"experts_per_token\": a position chooses among the experts that there are "
                             "(expected 1 to 4, found 5)."));
        QCOMPARE(refusalOf({.chosen = 0, .bias = {}}, four),
                 std::string("routing, \"experts_per_token\": a position chooses among the experts that there are "
                             "(expected 1 to 4, found 0)."));
        QCOMPARE(refusalOf({.chosen = 3, .bias = {}}, {0, kOff, kOff, 1}),
                 std::string("routing, layer 0, position 0: too few experts are left to choose from (expected 3 or "
                             "more, found 2)."));
        QCOMPARE(refusalOf({.chosen = 4, .bias = {0, 0, double(kOff), 0}}, four),
                 std::string("routing, layer 0, position 0: too few experts are left to choose from (expected 4 or "
                             "more, found 3)."));
        QCOMPARE(refusalOf({.bias = {}}, {1, nan, 3, 4}), "routing, layer 0, position 0, expert 1" + asLogit + "nan).");
        QCOMPARE(refusalOf({.bias = {}}, {1, 2, inf, 4}), "routing, layer 0, position 0, expert 2" + asLogit + "inf).");
        QCOMPARE(refusalOf({.temperature = 1e-300, .bias = {}}, {1, 2, 3, 3e38f}),
                 "routing, layer 0, position 0, expert 3" + asLogit + "inf).");
        QCOMPARE(refusalOf({.temperature = 0, .bias = {}}, four),
                 std::string("routing, \"temperature\": the router's temperature is outside its bounds (expected above "
                             "0, found 0)."));
        QCOMPARE(refusalOf({.temperature = NAN, .bias = {}}, four),
                 std::string("routing, \"temperature\": the router's temperature is outside its bounds (expected above "
                             "0, found nan)."));
        QCOMPARE(refusalOf({.bias = {1, 2}}, four),
                 std::string("routing, \"bias\": there is one bias for each expert (expected 4, found 2)."));
        QCOMPARE(refusalOf({.bias = {1, 2, double(inf), 4}}, four),
                 std::string("routing, \"bias\": a bias is a number, or minus infinity for an expert that is off "
                             "(expected below infinity, found inf)."));
    }

    /// The golden lists' frequencies over 100,000 draws of coupled noise, one position, within 4 standard errors.
    void listsOfTheGoldenFile() {
        REQUIRE_SHARED("golden/routing.json");
        std::ifstream in(counterpoint::tests::shared("golden/routing.json"));
        const auto golden = nlohmann::json::parse(in);
        constexpr std::uint32_t D = 100'000;
        for (const auto& row : golden["plackett_luce"]) {
            const auto logits = row["logits"].get<std::vector<double>>();
            const std::size_t E = logits.size();
            const int K = row["k"];
            std::map<Ids, int> seen;
            std::vector<int> included(E);
            GroupMemory memory;
            std::vector<double> gamma(E), scores(E);
            Ids ids(static_cast<std::size_t>(K));
            for (std::uint32_t d = 1; d <= D; ++d) {
                routingNoise({5, d, 0}, {.group = 1, .first = 4, .partnerFirst = 0, .rho = 0.6, .alpha = 0.5}, 6,
                             memory, gamma);
                routingScores({.chosen = K, .bias = {}}, logits, gamma, scores);
                topK(scores, ids);
                ++seen[ids];
                for (const ExpertId e : ids) ++included[static_cast<std::size_t>(e)];
            }
            const auto within = [&](int count, double p) {
                return std::abs(count - D * p) <= 4 * std::sqrt(D * p * (1 - p)) + 1;
            };
            for (const auto& list : row["lists"])
                QVERIFY2(within(seen[list["experts"].get<Ids>()], list["probability"]), list.dump().c_str());
            for (std::size_t e = 0; e < E; ++e) QVERIFY2(within(included[e], row["inclusion"][e]), row.dump().c_str());
        }
    }
};

QTEST_GUILESS_MAIN(TestRoutingTopK)
#include "tst_routingtopk.moc"
