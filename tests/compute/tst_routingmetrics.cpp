// R13: metrics of chosen sets against golden/routing.json, against the plain formula, and where they are means of
// nothing.
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <set>

#include "compute/error.h"
#include "compute/routing/metrics.h"
#include "tests/support/fixture.h"

using namespace counterpoint::compute;

namespace {

Coupling couplingOf(Position window) {
    return {.groups = windowsOf(window), .pairs = {}, .rhoOfGroup = {}, .alphaOfPair = {}};
}

struct Measured {
    RoutingMetrics metrics;
    std::vector<std::int32_t> load;
};
Measured measured(const Coupling& coupling, std::size_t experts, int K, const std::vector<ExpertId>& chosen,
                  double capacity = 1) {
    MetricsPlan plan = metricsPlan(coupling, static_cast<Position>(chosen.size()) / K, experts, K, capacity);
    Measured m{{}, std::vector<std::int32_t>(experts)};
    m.metrics = measure(plan, chosen, m.load);
    return m;
}

double jaccard(const std::set<ExpertId>& a, const std::set<ExpertId>& b) {
    std::size_t both = 0;
    for (const ExpertId e : a) both += b.count(e);
    return double(both) / double(a.size() + b.size() - both);
}

double meanOf(const std::vector<double>& x) {
    double sum = 0;
    for (const double v : x) sum += v;
    return sum / double(x.size());
}

bool same(double a, double b) { return (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= 1e-12; }

}  // namespace

class TestRoutingMetrics : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void init() { counterpoint::tests::failOnAnyWarning(); }

    void golden() {
        REQUIRE_SHARED("golden/routing.json");
        std::ifstream in(counterpoint::tests::shared("golden/routing.json"));
        const auto golden = nlohmann::json::parse(in);
        QVERIFY(golden["metrics"].size() >= 4);
        for (const auto& row : golden["metrics"]) {
            std::vector<ExpertId> chosen;
            for (const auto& set : row["sets"])
                for (const auto& e : set) chosen.push_back(e);
            const Measured m = measured(couplingOf(row["window"]), row["E"], row["K"], chosen);
            QVERIFY(same(m.metrics.coherence, row["within_jaccard"]));
            QVERIFY(same(m.metrics.boundary, row["boundary_jaccard"]));
            QVERIFY(same(m.metrics.distinct, meanOf(row["distinct_per_group"].get<std::vector<double>>())));
            QCOMPARE(m.load, row["load"].get<std::vector<std::int32_t>>());
            QVERIFY(same(m.metrics.cv, row["load_cv_population"]));
            QVERIFY(same(m.metrics.overflow, row["overflow"]));
            QCOMPARE(metricsPlan(couplingOf(4), row["T"], row["E"], row["K"], 1).capacity,
                     row["capacity_at_factor_1"].get<std::int64_t>());
        }
    }

    void plainFormula_data() {
        QTest::addColumn<int>("T");
        QTest::addColumn<int>("E");
        QTest::addColumn<int>("K");
        QTest::newRow("one word") << 23 << 64 << 8;
        QTest::newRow("two words") << 23 << 65 << 8;
        QTest::newRow("three words") << 17 << 160 << 6;
        QTest::newRow("all chosen") << 12 << 4 << 4;
    }
    void plainFormula() {
        QFETCH(int, T);
        QFETCH(int, E);
        QFETCH(int, K);
        const Coupling c{
            .groups = groupsFrom({3, 4, 9}), .pairs = {{{0, 3}, {1, 2}}}, .rhoOfGroup = {}, .alphaOfPair = {}};
        const std::vector<Position> bounds{0, 3, 4, 9, T};
        std::mt19937 gen(static_cast<unsigned>(E));
        std::vector<ExpertId> chosen, all(static_cast<std::size_t>(E));
        std::iota(all.begin(), all.end(), 0);
        std::vector<std::set<ExpertId>> sets;
        for (int t = 0; t < T; ++t) {
            std::shuffle(all.begin(), all.end(), gen);
            chosen.insert(chosen.end(), all.begin(), all.begin() + K);
            sets.emplace_back(all.begin(), all.begin() + K);
        }
        std::vector<double> within, distinct, load(static_cast<std::size_t>(E));
        for (std::size_t g = 0; g + 1 < bounds.size(); ++g) {
            std::set<ExpertId> united;
            for (auto t = static_cast<std::size_t>(bounds[g]); t < static_cast<std::size_t>(bounds[g + 1]); ++t) {
                for (auto u = static_cast<std::size_t>(bounds[g]); u < t; ++u)
                    within.push_back(jaccard(sets[t], sets[u]));
                united.insert(sets[t].begin(), sets[t].end());
                for (const ExpertId e : sets[t]) ++load[static_cast<std::size_t>(e)];
            }
            distinct.push_back(double(united.size()));
        }
        const double first = jaccard(sets[2], sets[3]), second = jaccard(sets[3], sets[4]),
                     third = jaccard(sets[8], sets[9]);
        const Measured m = measured(c, static_cast<std::size_t>(E), K, chosen, 1.25);
        QVERIFY(same(m.metrics.coherence, meanOf(within)));
        QVERIFY(same(m.metrics.boundary, (first + second + third) / 3));
        QVERIFY(same(m.metrics.boundaryPaired, second));
        QVERIFY(same(m.metrics.boundaryUnpaired, (first + third) / 2));
        QVERIFY(same(m.metrics.distinct, meanOf(distinct)));
        double variance = 0, overflow = 0;
        for (const double n : load) {
            variance += (n - meanOf(load)) * (n - meanOf(load)) / E;
            overflow += std::max(0.0, n - std::ceil(1.25 * T * K / E));
        }
        QVERIFY(same(m.metrics.cv, std::sqrt(variance) / meanOf(load)));
        QVERIFY(same(m.metrics.overflow, overflow));
    }

    void meansOfNothing() {
        Measured m = measured(couplingOf(1), 4, 2, {0, 1, 1, 2, 2, 3});
        QVERIFY(std::isnan(m.metrics.coherence));
        QVERIFY(same(m.metrics.boundary, 1.0 / 3) && same(m.metrics.distinct, 2));
        m = measured(couplingOf(100), 4, 2, {0, 1, 1, 2, 2, 3});  // longer than the text
        QVERIFY(std::isnan(m.metrics.boundary) && std::isnan(m.metrics.boundaryPaired) &&
                std::isnan(m.metrics.boundaryUnpaired));
        QVERIFY(same(m.metrics.coherence, (1.0 / 3 + 0 + 1.0 / 3) / 3) && same(m.metrics.distinct, 4));
        m = measured(couplingOf(8), 4, 2, {0, 1});  // one token
        QVERIFY(std::isnan(m.metrics.coherence) && std::isnan(m.metrics.boundary));
        QVERIFY(same(m.metrics.cv, 1) && same(m.metrics.distinct, 2) && same(m.metrics.overflow, 0));
        m = measured(couplingOf(2), 1, 1, {0, 0, 0});  // one expert
        QVERIFY(same(m.metrics.coherence, 1) && same(m.metrics.cv, 0) && same(m.metrics.overflow, 0));
    }

    void capacity() {
        QCOMPARE(metricsPlan(couplingOf(4), 100, 4, 2, 1.1).capacity, 55);  // 1.1 · 50 is 55.00000000000001 in float64
        QCOMPARE(metricsPlan(couplingOf(4), 100, 4, 2, 1.11).capacity, 56);
        QCOMPARE(metricsPlan(couplingOf(4), 7, 4, 2, 1).capacity, 4);
        for (const double c : {0.0, -1.0, double(NAN), double(INFINITY)})
            QVERIFY_EXCEPTION_THROWN((void)metricsPlan(couplingOf(4), 20, 4, 2, c), Error);
    }

    void poolsOverLayers() {
        const std::vector<RoutingMetrics> layers{{1, 2, 3, 4, 5, 6, 7}, {3, 4, 5, 6, 7, 8, 10}};
        const RoutingMetrics m = pooled(layers);
        QVERIFY(m.coherence == 2 && m.boundary == 3 && m.boundaryPaired == 4 && m.boundaryUnpaired == 5);
        QVERIFY(m.distinct == 6 && m.cv == 7 && m.overflow == 8.5);
    }
};

QTEST_GUILESS_MAIN(TestRoutingMetrics)
#include "tst_routingmetrics.moc"
