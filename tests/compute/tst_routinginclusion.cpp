// R14: the closed form of independent routing against every ordered list, golden/routing.json and PAPERS.md 5.4.
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>

#include "compute/error.h"
#include "compute/routing/inclusion.h"
#include "tests/support/fixture.h"

using namespace counterpoint::compute;

namespace {

std::vector<double> inclusionOf(const std::vector<double>& scaled, int K) {
    std::vector<double> inclusion(scaled.size());
    inclusionProbabilities(scaled, K, inclusion);
    return inclusion;
}

/// Plackett-Luce, list by list: π_e = Σ over ordered lists that hold e.
void addLists(const std::vector<double>& rates, int left, double probability, std::vector<bool>& taken,
              std::vector<double>& inclusion) {
    if (left == 0) {
        for (std::size_t e = 0; e < rates.size(); ++e) inclusion[e] += taken[e] ? probability : 0.0;
        return;
    }
    double rest = 0;
    for (std::size_t e = 0; e < rates.size(); ++e) rest += taken[e] ? 0.0 : rates[e];
    for (std::size_t e = 0; e < rates.size(); ++e) {
        if (taken[e] || rates[e] == 0.0) continue;
        taken[e] = true;
        addLists(rates, left - 1, probability * rates[e] / rest, taken, inclusion);
        taken[e] = false;
    }
}
std::vector<double> byLists(const std::vector<double>& scaled, int K) {
    const double top = *std::max_element(scaled.begin(), scaled.end());
    std::vector<double> rates, inclusion(scaled.size());
    for (const double x : scaled) rates.push_back(std::exp(x - top));
    std::vector<bool> taken(scaled.size());
    addLists(rates, K, 1.0, taken, inclusion);
    return inclusion;
}

double distance(const std::vector<double>& a, const std::vector<double>& b) {
    double far = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
        far = std::max(far, std::isfinite(a[i]) ? std::abs(a[i] - b[i]) : INFINITY);
    return far;
}

constexpr double kOff = -std::numeric_limits<double>::infinity();

}  // namespace

class TestRoutingInclusion : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void init() { counterpoint::tests::failOnAnyWarning(); }

    /// From flat routers to ones that are sure of themselves, where an integrand in e^{−cs} alone is off by half a
    /// chosen expert.
    void everyList_data() {
        QTest::addColumn<double>("spread");
        QTest::addColumn<int>("E");
        QTest::addColumn<int>("K");
        for (const double spread : {0.0, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 30.0})
            for (const auto& [E, K] : {std::pair{8, 1}, {8, 2}, {7, 4}, {6, 5}, {4, 4}, {1, 1}, {2, 1}})
                QTest::addRow("spread %g, %d of %d", spread, K, E) << spread << E << K;
    }
    void everyList() {
        QFETCH(double, spread);
        QFETCH(int, E);
        QFETCH(int, K);
        std::mt19937 gen(static_cast<unsigned>(10 * E + K));
        std::normal_distribution<double> normal;
        for (int trial = 0; trial < 5; ++trial) {
            std::vector<double> scaled(static_cast<std::size_t>(E));
            for (double& x : scaled) x = 100 + spread * normal(gen);
            const double far = distance(inclusionOf(scaled, K), byLists(scaled, K));
            QVERIFY2(far < 1e-12, qPrintable(QString::number(far)));
        }
    }

    void whatIsOff() {
        const auto pi = inclusionOf({0.5, kOff, -1, kOff, 2}, 2);
        const auto wanted = byLists({0.5, -1, 2}, 2);
        QVERIFY(distance({pi[0], pi[2], pi[4]}, wanted) < 1e-12 && pi[1] == 0 && pi[3] == 0);
        QCOMPARE(inclusionOf({0.5, kOff, -1, kOff}, 2), (std::vector<double>{1, 0, 1, 0}));
    }

    void outOfReach() {
        QCOMPARE(inclusionOf({0, -1e6, -1e300}, 1), (std::vector<double>{1, 0, 0}));
        const auto pi = inclusionOf({1e5, 1, 0, -1e5}, 2);
        QVERIFY(distance(pi, {1, std::exp(1) / (1 + std::exp(1)), 1 / (1 + std::exp(1)), 0}) < 1e-12);
    }

    void uniform() {
        for (const auto& [E, K] : {std::pair{64, 8}, {160, 6}, {8, 7}})
            QVERIFY(distance(inclusionOf(std::vector<double>(static_cast<std::size_t>(E)), K),
                             std::vector<double>(static_cast<std::size_t>(E), double(K) / E)) < 1e-12);
    }

    /// PAPERS.md 5.4: ℓ_e = −e/2, E = 8, K = 2; to its five digits.
    void slope() {
        std::vector<double> scaled(8);
        for (std::size_t e = 0; e < 8; ++e) scaled[e] = -0.5 * static_cast<double>(e);
        QVERIFY(distance(inclusionOf(scaled, 2), {.68793, .50179, .32621, .20454, .12627, .07736, .04719, .02872}) <
                5.1e-6);
    }

    void golden() {
        REQUIRE_SHARED("golden/routing.json");
        std::ifstream in(counterpoint::tests::shared("golden/routing.json"));
        const auto golden = nlohmann::json::parse(in);
        for (const auto& row : golden["plackett_luce"])
            QVERIFY(distance(inclusionOf(row["logits"], row["k"]), row["inclusion"]) <
                    golden["tolerance"]["inclusion"].get<double>());
    }

    /// Σ_t π and Σ_t π(1 − π) of a layer, under its temperature and biases, whatever the threads.
    void aLayer() {
        const std::vector<float> logits{0, 1, 2, 3, /**/ 3, 1, 0, -1, /**/ 1, 1, 1, 1};
        const RouterLaw law{.chosen = 2, .temperature = 2, .bias = {0.5, 0, 0, kOff}};
        const IndependentForm form = independentForm(law, logits, 4, 5, 2);
        std::vector<double> load(4), all;
        double variance = 0;
        for (std::size_t t = 0; t < 3; ++t) {
            const auto at = [&](std::size_t e) { return (logits[4 * t + e] + (e == 0 ? 0.5 : 0.0)) / 2; };
            auto pi = byLists({at(0), at(1), at(2)}, 2);
            pi.push_back(0);
            for (std::size_t e = 0; e < 4; ++e) load[e] += pi[e], variance += pi[e] * (1 - pi[e]);
            all.insert(all.end(), pi.begin(), pi.end());
        }
        QVERIFY(distance(form.inclusion, all) < 1e-12 && distance(form.load, load) < 1e-12);
        QVERIFY(std::abs(form.loadVariance - variance) < 1e-12);
        QVERIFY(independentForm(law, logits, 4, 5, 1).inclusion == form.inclusion);
        try {
            (void)independentForm({.chosen = 4, .bias = law.bias}, logits, 4, 5, 1);
            QFAIL("nothing was refused");
        } catch (const Error& e) {
            QCOMPARE(e.sentence(), std::string("routing, layer 5, position 0: too few experts are left to choose from "
                                               "(expected 4 or more, found 3)."));
        }
    }
};

QTEST_GUILESS_MAIN(TestRoutingInclusion)
#include "tst_routinginclusion.moc"
