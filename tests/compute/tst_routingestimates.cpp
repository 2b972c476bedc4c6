// R14: every number of an estimate against plain recomputation, the identity; progress, Stop, threads, refusals.
#include <cmath>
#include <set>

#include "compute/error.h"
#include "compute/routing/moments.h"
#include "compute/routing/route.h"
#include "tests/support/routing.h"

using namespace counterpoint::compute;
using namespace counterpoint::tests;

namespace {

bool same(const Estimate& a, const Estimate& b) {
    const auto equal = [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); };
    return equal(a.mean, b.mean) && equal(a.se, b.se);
}

/// One draw by the rules as they are written: its ordered sets.
std::vector<ExpertId> plainDraw(const EstimateQuestion& q, std::size_t layer, std::uint32_t draw) {
    std::vector<ExpertId> chosen;
    std::vector<double> gamma(q.experts);
    const auto& of = q.layers[layer];
    for (std::size_t t = 0; t < of.logits.size() / q.experts; ++t) {
        RouteMemory memory;
        Routed routed;
        const auto position = static_cast<Position>(t);
        routingNoise({q.seed, draw, of.layer}, placementAt(q.coupling, position), position, memory.group, gamma);
        route(of.law, of.logits.subspan(t * q.experts, q.experts), gamma, {of.layer, position}, memory, routed);
        chosen.insert(chosen.end(), routed.experts.begin(), routed.experts.end());
    }
    return chosen;
}

}  // namespace

class TestRoutingEstimates : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void init() { counterpoint::tests::failOnAnyWarning(); }

    /// Every number against draws made one by one as the rules are written; and the identity with all pairs counted.
    void plainRecomputation() {
        constexpr std::size_t T = 14, E = 6, D = 50;
        const auto logits = someLogits(2 * T * E);
        EstimateQuestion q = questionOf(std::span(logits).first(T * E), E, 2, 4, 0.6, 0.5, D);
        q.layers.push_back({.layer = 8,
                            .logits = std::span(logits).last(T * E),
                            .law = {.chosen = 3, .temperature = 1.5, .bias = {0, 1, 0, -INFINITY, 0, 0}}});
        q.capacityFactor = 1.2;
        q.capacityFactors = {0.5, 1.2, 2.5};
        const Estimates all = lastOf(q);
        QCOMPARE(all.draws, int(D));
        std::vector<std::vector<RoutingMetrics>> metrics(2);
        std::vector<double> variances;
        for (std::size_t l = 0; l < 2; ++l) {
            MetricsPlan plan = metricsPlan(q.coupling, T, E, q.layers[l].law.chosen, q.capacityFactor);
            std::vector<std::vector<std::int32_t>> loads;
            std::vector<double> pi(T * E), met(T * T);
            std::vector<std::vector<double>> distinct(4), over(3);
            for (std::uint32_t d = 1; d <= D; ++d) {
                const auto chosen = plainDraw(q, l, d);
                std::vector<std::int32_t> load(E);
                metrics[l].push_back(measure(plan, chosen, load));
                loads.push_back(load);
                for (std::size_t g = 0; g < 4; ++g)
                    distinct[g].push_back(
                        double(std::set(chosen.begin() + std::ptrdiff_t(4 * g * plan.chosen),
                                        chosen.begin() + std::ptrdiff_t(std::min(4 * g + 4, T) * plan.chosen))
                                   .size()));
                for (std::size_t i = 0; i < 3; ++i) {
                    const double room = std::ceil(q.capacityFactors[i] * double(T * plan.chosen) / E * (1 - 1e-14));
                    over[i].push_back(0);
                    for (const std::int32_t n : load) over[i].back() += std::max(0.0, n - room);
                }
                const std::size_t K = plan.chosen;
                for (std::size_t t = 0; t < T; ++t) {
                    const std::set<ExpertId> set(chosen.begin() + std::ptrdiff_t(t * K),
                                                 chosen.begin() + std::ptrdiff_t(t * K + K));
                    QVERIFY(l == 0 || !set.count(3));
                    for (const ExpertId e : set) pi[t * E + std::size_t(e)] += 1.0 / D;
                    for (std::size_t u = 0; u < T; ++u)
                        for (std::size_t i = 0; i < K; ++i) met[t * T + u] += set.count(chosen[u * K + i]) / double(D);
                }
            }
            for (std::size_t i = 0; i < T * E; ++i) QVERIFY(std::abs(all.layers[l].inclusion[i] - pi[i]) < 1e-6);
            const auto varianceOf = [&](std::size_t e, std::size_t without, double lessThanD) {
                double n = 0, nn = 0, count = 0;
                for (std::size_t d = 0; d < D; ++d)
                    if (d != without) n += loads[d][e], nn += double(loads[d][e]) * loads[d][e], ++count;
                return (nn - n * n / count) / (count - lessThanD);
            };
            const auto agrees = [](const Estimate& found, const std::vector<double>& values) {
                double mean = 0, squares = 0;
                for (const double x : values) mean += x / D;
                for (const double x : values) squares += (x - mean) * (x - mean);
                return std::abs(found.mean - mean) < 1e-12 &&
                       std::abs(found.se - std::sqrt(squares / (D - 1) / D)) < 1e-12;
            };
            QCOMPARE(all.layers[l].distinctOfGroup.size(), std::size_t{4});
            for (std::size_t g = 0; g < 4; ++g) QVERIFY(agrees(all.layers[l].distinctOfGroup[g], distinct[g]));
            for (std::size_t i = 0; i < 3; ++i) QVERIFY(agrees(all.layers[l].overflowAt[i], over[i]));
            QVERIFY(same(all.layers[l].overflowAt[1], all.layers[l].metrics.overflow));
            double variance = 0, left = 0, right = 0, jack = 0, jackMean = 0;
            std::vector<double> without(D);
            for (std::size_t e = 0; e < E; ++e) {
                variance += varianceOf(e, D, 1);
                left += varianceOf(e, D, 0);
                for (std::size_t t = 0; t < T; ++t) left -= pi[t * E + e] * (1 - pi[t * E + e]);
                for (std::size_t d = 0; d < D; ++d) without[d] += varianceOf(e, d, 1);
                double n = 0, squares = 0;
                for (std::size_t d = 0; d < D; ++d) n += loads[d][e] / double(D);
                for (std::size_t d = 0; d < D; ++d) squares += (loads[d][e] - n) * (loads[d][e] - n);
                QVERIFY(std::abs(all.layers[l].load[e].mean - n) < 1e-12);
                QVERIFY(std::abs(all.layers[l].load[e].se - std::sqrt(squares / (D - 1) / D)) < 1e-12);
            }
            for (std::size_t t = 0; t < T; ++t)
                for (std::size_t u = 0; u < T; ++u) {
                    if (t == u) continue;
                    right += met[t * T + u];
                    for (std::size_t e = 0; e < E; ++e) right -= pi[t * E + e] * pi[u * E + e];
                }
            QVERIFY2(std::abs(left - right) < 1e-9, qPrintable(QString::number(left - right)));
            for (const double x : without) jackMean += x / D;
            for (const double x : without) jack += (x - jackMean) * (x - jackMean) * (D - 1) / D;
            const Estimate found = all.layers[l].metrics.loadVariance;
            QVERIFY2(std::abs(found.mean - variance) < 1e-10, qPrintable(told("variance", found, variance, 0)));
            QVERIFY2(std::abs(found.se - std::sqrt(jack)) < 1e-10,
                     qPrintable(told("jackknife", found, variance, std::sqrt(jack))));
            variances.push_back(variance);
        }
        const auto meanAndError = [&](auto valueOf) {
            double mean = 0, squares = 0;
            for (std::size_t d = 0; d < D; ++d) mean += valueOf(d) / D;
            for (std::size_t d = 0; d < D; ++d) squares += (valueOf(d) - mean) * (valueOf(d) - mean);
            return Estimate{mean, std::sqrt(squares / (D - 1) / D)};
        };
        const std::pair<double RoutingMetrics::*, Estimate MetricEstimates::*> fields[] = {
            {&RoutingMetrics::coherence, &MetricEstimates::coherence},
            {&RoutingMetrics::boundary, &MetricEstimates::boundary},
            {&RoutingMetrics::boundaryPaired, &MetricEstimates::boundaryPaired},
            {&RoutingMetrics::boundaryUnpaired, &MetricEstimates::boundaryUnpaired},
            {&RoutingMetrics::distinct, &MetricEstimates::distinct},
            {&RoutingMetrics::cv, &MetricEstimates::cv},
            {&RoutingMetrics::overflow, &MetricEstimates::overflow}};
        for (const auto& [of, in] : fields) {
            for (std::size_t l = 0; l < 2; ++l) {
                const Estimate wanted = meanAndError([&](std::size_t d) { return metrics[l][d].*of; });
                QVERIFY(std::abs((all.layers[l].metrics.*in).mean - wanted.mean) < 1e-12 &&
                        std::abs((all.layers[l].metrics.*in).se - wanted.se) < 1e-12);
            }
            const Estimate wanted =
                meanAndError([&](std::size_t d) { return (metrics[0][d].*of + metrics[1][d].*of) / 2; });
            QVERIFY(std::abs((all.pooled.*in).mean - wanted.mean) < 1e-12 &&
                    std::abs((all.pooled.*in).se - wanted.se) < 1e-12);
        }
        QVERIFY(std::abs(all.pooled.loadVariance.mean - (variances[0] + variances[1]) / 2) < 1e-10);
    }

    /// Moments that contradict each other are noticed.
    void theIdentityNotices() {
        routing::Moments m = routing::momentsFor(3, 4, 2, 1);
        MetricsPlan plan = metricsPlan({}, 3, 4, 2, 1);
        std::vector<std::int32_t> earlier(4);
        routing::keepDraw(m, 0, plan, std::vector<ExpertId>{0, 1, 1, 2, 0, 1}, earlier);
        routing::keepDraw(m, 1, plan, std::vector<ExpertId>{3, 1, 1, 0, 2, 3}, earlier);
        QVERIFY(routing::identityGap(m, 2) < 1e-15);
        ++m.load[1];
        QVERIFY(routing::identityGap(m, 2) > 1e-3);
        --m.load[1];
        ++m.included[5];
        QVERIFY(routing::identityGap(m, 2) > 1e-3);
        --m.included[5];
        ++m.met[1];
        QVERIFY(routing::identityGap(m, 2) > 1e-3);
    }

    void theSameBitsForAnyThreads() {
        const auto logits = someLogits(2 * 40 * 16);
        std::vector<Estimates> all;
        for (const int threads : {1, 2, 5}) {
            EstimateQuestion q = questionOf(std::span(logits).first(40 * 16), 16, 4, 8, 0.5, 0.5, 70);
            q.layers.push_back(
                {.layer = 4, .logits = std::span(logits).last(40 * 16), .law = {.chosen = 2, .bias = {}}});
            q.threads = threads;
            all.push_back(lastOf(q));
        }
        for (const Estimates& other : all) {
            for (std::size_t l = 0; l < 2; ++l) {
                QVERIFY(other.layers[l].inclusion == all[0].layers[l].inclusion);
                for (std::size_t e = 0; e < 16; ++e) QVERIFY(same(other.layers[l].load[e], all[0].layers[l].load[e]));
                QVERIFY(same(other.layers[l].metrics.loadVariance, all[0].layers[l].metrics.loadVariance));
                QVERIFY(same(other.layers[l].metrics.coherence, all[0].layers[l].metrics.coherence));
            }
            QVERIFY(same(other.pooled.cv, all[0].pooled.cv) &&
                    same(other.pooled.loadVariance, all[0].pooled.loadVariance));
        }
        QVERIFY(!same(all[0].layers[0].metrics.cv, all[0].layers[1].metrics.cv));
    }

    /// A first answer of 32 draws is what 32 draws alone give.
    void refines() {
        const auto logits = someLogits(20 * 8);
        std::vector<Estimates> answers;
        QVERIFY(estimate(questionOf(logits, 8, 2, 4, 0.5, 0.5, 100), {},
                         [&](const Estimates& e) { answers.push_back(e); }) == Outcome::Done);
        QCOMPARE(answers.size(), std::size_t{3});
        QCOMPARE(answers[0].draws, 32);
        QCOMPARE(answers[1].draws, 64);
        QCOMPARE(answers[2].draws, 100);
        QVERIFY(same(answers[0].pooled.coherence, lastOf(questionOf(logits, 8, 2, 4, 0.5, 0.5, 32)).pooled.coherence));
        QVERIFY(answers[2].pooled.coherence.se < answers[0].pooled.coherence.se);
    }

    void stops() {
        const auto logits = someLogits(20 * 8);
        std::stop_source stop;
        int answers = 0;
        const auto outcome =
            estimate(questionOf(logits, 8, 2, 4, 0.5, 0.5, 100'000), stop.get_token(), [&](const Estimates&) {
                if (++answers == 2) stop.request_stop();
            });
        QVERIFY(outcome == Outcome::Cancelled);
        QCOMPARE(answers, 2);
        QVERIFY(estimate(questionOf(logits, 8, 2, 4, 0.5, 0.5, 32), stop.get_token(),
                         [&](const Estimates&) { ++answers; }) == Outcome::Cancelled);
        QCOMPARE(answers, 2);
    }

    /// A long job lets others pass: often, whatever its size, and the answers stay the same.
    void between() {
        const auto logits = someLogits(400 * 64);
        const EstimateQuestion question = questionOf(logits, 64, 8, 8, 0.5, 0.5, 200);
        int calls = 0;
        Estimates last;
        QVERIFY(estimate(
                    question, {}, [&](const Estimates& e) { last = e; }, [&] { ++calls; }) == Outcome::Done);
        QVERIFY2(calls >= 4, qPrintable(QString::number(calls)));
        QVERIFY(same(last.pooled.coherence, lastOf(question).pooled.coherence));
        std::stop_source stop;
        int answers = 0;
        QVERIFY(estimate(
                    question, stop.get_token(), [&](const Estimates&) { ++answers; }, [&] { stop.request_stop(); }) ==
                Outcome::Cancelled);
        QCOMPARE(answers, 0);
    }

    void deterministic() {
        const std::vector<float> logits{0, 3, 2, 1, /**/ 5, 5, 5, 5, /**/ 1, 2, 3, 4};
        EstimateQuestion q = questionOf(logits, 4, 2, 2, 0.5, 0.5, 1);
        const auto routed = deterministicRouting(q);
        QCOMPARE(routed[0].chosen, (std::vector<ExpertId>{1, 2, 0, 1, 3, 2}));
        QCOMPARE(routed[0].load, (std::vector<std::int32_t>{1, 2, 2, 1}));
        QCOMPARE(routed[0].metrics.coherence, 1.0 / 3);
        const Estimates one = lastOf(q);  // one draw has no error
        QVERIFY(std::isnan(one.pooled.coherence.se) && std::isnan(one.pooled.loadVariance.mean));
    }

    void oneTokenAndOneExpert() {
        const std::vector<float> one{1}, row{0, 1, 2, 3};
        const Estimates expert = lastOf(questionOf(one, 1, 1, 8, 0.5, 0.5, 40));
        QCOMPARE(expert.pooled.loadVariance.mean, 0.0);
        QCOMPARE(expert.layers[0].inclusion[0], 1.0f);
        const Estimates token = lastOf(questionOf(row, 4, 2, 8, 0.5, 0.5, 40));
        QVERIFY(std::isnan(token.pooled.coherence.mean) && std::isnan(token.pooled.boundary.mean));
        QCOMPARE(token.pooled.distinct.mean, 2.0);
    }

    void refusals() {
        const auto logits = someLogits(12);
        const auto refusal = [](const EstimateQuestion& q) {
            try {
                (void)lastOf(q);
            } catch (const Error& e) {
                return e.sentence();
            }
            return std::string("nothing was refused");
        };
        EstimateQuestion q = questionOf(logits, 4, 2, 2, 0.5, 0.5, 0);
        QCOMPARE(refusal(q), std::string("routing, \"draws\": an estimate needs draws (expected 1 or more, found 0)."));
        q.draws = std::numeric_limits<int>::max();  // 190 GB
        const std::string many = refusal(q);
        QVERIFY2(many.find("\"draws\": there is not enough memory for so many (expected ") != std::string::npos &&
                     many.find(" MiB free") != std::string::npos,
                 many.c_str());
        q.draws = 4;
        q.experts = 5;
        QCOMPARE(refusal(q),
                 std::string(
                     "routing, layer 3: the router's logits have another shape (expected 2 × 5 numbers, found 12)."));
        q.experts = 4;
        q.layers.push_back({.layer = 9, .logits = std::span(logits).first(8), .law = {.bias = {}}});
        QCOMPARE(
            refusal(q),
            std::string("routing, layer 9: the router's logits have another shape (expected 3 × 4 numbers, found 8)."));
        q.layers.clear();
        QCOMPARE(
            refusal(q),
            std::string(
                "routing, \"router_logits\": there is nothing to route (expected a layer with experts, found none)."));
        auto bad = logits;
        bad[9] = NAN;
        QCOMPARE(refusal(questionOf(bad, 4, 2, 2, 0.5, 0.5, 4)),
                 std::string("routing, layer 3, position 2, expert 1: the router's logit is no finite number (expected "
                             "a finite number, or minus infinity for an expert that is off, found nan)."));
        QCOMPARE(refusal(questionOf(logits, 4, 5, 2, 0.5, 0.5, 4)),
                 std::string("routing, \"experts_per_token\": a position chooses among the experts that there are "
                             "(expected 1 to 4, found 5)."));
    }
};

QTEST_GUILESS_MAIN(TestRoutingEstimates)
#include "tst_routingestimates.moc"
