#include "compute/routing/moments.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

namespace counterpoint::compute::routing {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

/// Σ_e Var N_e of one layer and, without draw d, (D − 1)/(D − 2)·V − D/((D − 1)(D − 2))·q_d, q_d = Σ_e (N_ed − mean)².
struct LoadVariance {
    double all = 0;
    std::vector<double> without;  ///< [D]
};
LoadVariance loadVariance(const Moments& m, int draws) {
    const double D = draws;
    std::vector<double> mean(m.experts), q(static_cast<std::size_t>(draws));
    for (std::size_t i = 0; i < q.size() * m.experts; ++i) mean[i % m.experts] += m.load[i] / D;
    double sum = 0;
    for (std::size_t d = 0; d < q.size(); ++d) {
        for (std::size_t e = 0; e < m.experts; ++e) {
            const double off = m.load[d * m.experts + e] - mean[e];
            q[d] += off * off;
        }
        sum += q[d];
    }
    LoadVariance v{draws > 1 ? sum / (D - 1) : kNone, std::move(q)};
    for (double& x : v.without) x = draws > 2 ? (sum - D / (D - 1) * x) / (D - 2) : kNone;
    return v;
}

/// Jackknife of the mean over layers.
Estimate jackknife(std::span<const Moments* const> layers, int draws) {
    double all = 0;
    std::vector<double> without(static_cast<std::size_t>(draws));
    for (const Moments* layer : layers) {
        const LoadVariance v = loadVariance(*layer, draws);
        all += v.all;
        for (std::size_t d = 0; d < without.size(); ++d) without[d] += v.without[d];
    }
    const double L = static_cast<double>(layers.size()), D = draws;
    double mean = 0, squares = 0;
    for (const double x : without) mean += x / D;
    for (const double x : without) squares += (x - mean) * (x - mean);
    return {all / L, std::sqrt((D - 1) / D * squares) / L};
}

}  // namespace

Moments momentsFor(std::size_t positions, std::size_t experts, int draws, std::size_t groups) {
    const auto D = static_cast<std::size_t>(draws);
    return {positions,
            experts,
            std::vector<RoutingMetrics>(D),
            std::vector<std::int32_t>(D * experts),
            std::vector<std::int64_t>(D),
            std::vector<std::uint32_t>(positions * experts),
            std::vector<std::uint64_t>(groups),
            std::vector<std::uint64_t>(groups)};
}

void keepDraw(Moments& moments, int draw, MetricsPlan& plan, std::span<const ExpertId> chosen,
              std::span<std::int32_t> earlier) noexcept {
    const auto d = static_cast<std::size_t>(draw);
    moments.metrics[d] = measure(plan, chosen, {moments.load.data() + d * moments.experts, moments.experts});
    std::fill(earlier.begin(), earlier.end(), 0);
    std::int64_t met = 0;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
        const auto e = static_cast<std::size_t>(chosen[i]);
        met += earlier[e]++;
        std::atomic_ref(moments.included[i / plan.chosen * moments.experts + e])
            .fetch_add(1, std::memory_order_relaxed);
    }
    moments.met[d] = met;
    const auto add = [](std::uint64_t& to, std::uint64_t n) {
        std::atomic_ref(to).fetch_add(n, std::memory_order_relaxed);
    };
    for (std::size_t g = 0; g < plan.distinct.size(); ++g) {
        const auto n = static_cast<std::uint64_t>(plan.distinct[g]);
        add(moments.distinct[g], n);
        add(moments.distinctSquares[g], n * n);
    }
}

LayerEstimates layerEstimates(const Moments& moments, int draws, std::span<const std::int64_t> capacities) {
    const Moments* one = &moments;
    const double D = draws;
    LayerEstimates layer{pooledEstimates({&one, 1}, draws), {}, {}, {}, {}};
    for (std::size_t e = 0; e < moments.experts; ++e)
        layer.load.push_back(
            meanOf(draws, [&](std::size_t d) { return static_cast<double>(moments.load[d * moments.experts + e]); }));
    for (const std::uint32_t count : moments.included)
        layer.inclusion.push_back(static_cast<float>(count) / static_cast<float>(draws));
    for (std::size_t g = 0; g < moments.distinct.size(); ++g) {
        // Whole numbers below 2^53: the difference is exact but for its last operation.
        const auto sum = static_cast<double>(moments.distinct[g]);
        const double squares = static_cast<double>(moments.distinctSquares[g]) - sum / D * sum;
        layer.distinctOfGroup.push_back({sum / D, draws > 1 ? std::sqrt(std::max(0.0, squares) / (D - 1) / D) : kNone});
    }
    for (const std::int64_t capacity : capacities)
        layer.overflowAt.push_back(meanOf(draws, [&](std::size_t d) {
            std::int64_t over = 0;
            for (std::size_t e = 0; e < moments.experts; ++e)
                over += std::max<std::int64_t>(0, moments.load[d * moments.experts + e] - capacity);
            return static_cast<double>(over);
        }));
    return layer;
}

MetricEstimates pooledEstimates(std::span<const Moments* const> layers, int draws) {
    const auto mean = [&](double RoutingMetrics::*field) {
        return meanOf(draws, [&](std::size_t d) {
            double sum = 0;
            for (const Moments* layer : layers) sum += layer->metrics[d].*field;
            return sum / static_cast<double>(layers.size());
        });
    };
    return {.coherence = mean(&RoutingMetrics::coherence),
            .boundary = mean(&RoutingMetrics::boundary),
            .boundaryPaired = mean(&RoutingMetrics::boundaryPaired),
            .boundaryUnpaired = mean(&RoutingMetrics::boundaryUnpaired),
            .distinct = mean(&RoutingMetrics::distinct),
            .cv = mean(&RoutingMetrics::cv),
            .overflow = mean(&RoutingMetrics::overflow),
            .loadVariance = jackknife(layers, draws)};
}

double identityGap(const Moments& moments, int draws) {
    const double D = draws;
    double met = 0, selections = 0;
    for (int d = 0; d < draws; ++d) met += 2.0 * static_cast<double>(moments.met[static_cast<std::size_t>(d)]) / D;
    double left = 0, right = met;
    for (std::size_t e = 0; e < moments.experts; ++e) {
        double n = 0, nn = 0, pi = 0, pipi = 0;
        for (int d = 0; d < draws; ++d) {
            const double N = moments.load[static_cast<std::size_t>(d) * moments.experts + e];
            n += N;
            nn += N * N;
        }
        for (std::size_t t = 0; t < moments.positions; ++t) {
            const double p = moments.included[t * moments.experts + e] / D;
            pi += p;
            pipi += p * p;
        }
        selections += pi;
        left += nn / D - n / D * (n / D) - (pi - pipi);
        right -= pi * pi - pipi;
    }
    return std::abs(left - right) / std::max({selections, std::abs(left), std::abs(right)});
}

}  // namespace counterpoint::compute::routing
