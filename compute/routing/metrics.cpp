#include "compute/routing/metrics.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "compute/clones.h"
#include "compute/routing/refusal.h"

namespace counterpoint::compute {
namespace {

struct Mean {
    double sum = 0;
    std::int64_t count = 0;
    double value() const noexcept {
        return count > 0 ? sum / static_cast<double>(count) : std::numeric_limits<double>::quiet_NaN();
    }
};

/// |A∩B| of two sets.
[[gnu::always_inline]] inline int common(const std::uint64_t* a, const std::uint64_t* b, std::size_t words) noexcept {
    int both = 0;
    for (std::size_t w = 0; w < words; ++w) both += std::popcount(a[w] & b[w]);
    return both;
}

/// Σ over the pairs of n sets of K experts.
COUNTERPOINT_CLONES double pairsOf(const std::uint64_t* sets, std::size_t n, std::size_t words, int K) noexcept {
    double sum = 0;
    for (std::size_t a = 0; a < n; ++a)
        for (std::size_t b = 0; b < a; ++b) {
            const int both = common(sets + a * words, sets + b * words, words);
            sum += static_cast<double>(both) / (2 * K - both);
        }
    return sum;
}

void fillSets(MetricsPlan& plan, std::span<const ExpertId> chosen, std::span<std::int32_t> load) noexcept {
    std::fill(plan.sets.begin(), plan.sets.end(), 0);
    std::fill(load.begin(), load.end(), 0);
    for (std::size_t i = 0; i < chosen.size(); ++i) {
        const auto e = static_cast<std::size_t>(chosen[i]);
        plan.sets[i / plan.chosen * plan.words + e / 64] |= std::uint64_t{1} << (e % 64);
        ++load[e];
    }
}

int distinctIn(MetricsPlan& plan, std::size_t from, std::size_t to) noexcept {
    std::fill(plan.united.begin(), plan.united.end(), 0);
    for (std::size_t t = from; t < to; ++t)
        for (std::size_t w = 0; w < plan.words; ++w) plan.united[w] |= plan.sets[t * plan.words + w];
    int count = 0;
    for (const std::uint64_t word : plan.united) count += std::popcount(word);
    return count;
}

}  // namespace

std::int64_t capacityOf(double factor, Position positions, std::size_t experts, int chosen) {
    if (!(factor > 0.0) || !std::isfinite(factor))
        routing::refuse("\"capacity\"", "the capacity factor is outside its bounds", "above 0",
                        routing::written(factor));
    const double share = static_cast<double>(positions) * chosen / static_cast<double>(experts);
    // A product that rounding left just above a whole number is that number.
    return static_cast<std::int64_t>(std::min(std::ceil(factor * share * (1.0 - 1e-14)), 0x1p62));
}

MetricsPlan metricsPlan(const Coupling& coupling, Position positions, std::size_t experts, int chosen,
                        double capacityFactor) {
    MetricsPlan plan;
    plan.capacity = capacityOf(capacityFactor, positions, experts, chosen);
    plan.layout = layoutOf(coupling, positions);
    plan.experts = experts;
    plan.chosen = static_cast<std::size_t>(chosen);
    plan.words = (experts + 63) / 64;
    plan.sets.resize(static_cast<std::size_t>(positions) * plan.words);
    plan.united.resize(plan.words);
    plan.distinct.resize(plan.layout.placements.size());
    return plan;
}

RoutingMetrics measure(MetricsPlan& plan, std::span<const ExpertId> chosen, std::span<std::int32_t> load) noexcept {
    fillSets(plan, chosen, load);
    const int K = static_cast<int>(plan.chosen);
    Mean inGroups, atBounds[2], distinct;
    for (std::size_t g = 0; g + 1 < plan.layout.bounds.size(); ++g) {
        const auto from = static_cast<std::size_t>(plan.layout.bounds[g]);
        const auto to = static_cast<std::size_t>(plan.layout.bounds[g + 1]), n = to - from;
        const std::uint64_t* sets = plan.sets.data() + from * plan.words;
        inGroups.sum += pairsOf(sets, n, plan.words, K);
        inGroups.count += static_cast<std::int64_t>(n * (n - 1) / 2);
        plan.distinct[g] = distinctIn(plan, from, to);
        distinct.sum += plan.distinct[g];
        ++distinct.count;
        if (g == 0) continue;
        const int both = common(sets - plan.words, sets, plan.words);
        Mean& at = atBounds[static_cast<std::size_t>(plan.layout.pairedWithNext[g - 1])];
        at.sum += static_cast<double>(both) / (2 * K - both);
        ++at.count;
    }
    RoutingMetrics m;
    m.coherence = inGroups.value();
    m.boundary = Mean{atBounds[0].sum + atBounds[1].sum, atBounds[0].count + atBounds[1].count}.value();
    m.boundaryUnpaired = atBounds[0].value();
    m.boundaryPaired = atBounds[1].value();
    m.distinct = distinct.value();
    const double mean = static_cast<double>(chosen.size()) / static_cast<double>(plan.experts);
    double squares = 0;
    for (const std::int32_t n : load) {
        squares += (n - mean) * (n - mean);
        m.overflow += static_cast<double>(std::max<std::int64_t>(0, n - plan.capacity));
    }
    m.cv = std::sqrt(squares / static_cast<double>(plan.experts)) / mean;
    return m;
}

RoutingMetrics pooled(std::span<const RoutingMetrics> layers) noexcept {
    RoutingMetrics mean;
    for (const auto field : {&RoutingMetrics::coherence, &RoutingMetrics::boundary, &RoutingMetrics::boundaryPaired,
                             &RoutingMetrics::boundaryUnpaired, &RoutingMetrics::distinct, &RoutingMetrics::cv,
                             &RoutingMetrics::overflow}) {
        for (const RoutingMetrics& layer : layers) mean.*field += layer.*field;
        mean.*field /= static_cast<double>(layers.size());
    }
    return mean;
}

}  // namespace counterpoint::compute
