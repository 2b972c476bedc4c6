#pragma once
// What a layer's draws leave behind, and the estimates and the identity of R14 taken from it. Internal to this folder.
// Draws may be kept from several threads at once, each once; the rest after they have all returned. Whole numbers add
// up to the same in any order, and everything else is summed in the order of the draws: the same bits for any threads.

#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "compute/routing/estimates.h"

namespace counterpoint::compute::routing {

/// Mean and standard error of valueOf(0), …, valueOf(draws − 1).
template <class ValueOf>
Estimate meanOf(int draws, const ValueOf& valueOf) {
    double sum = 0, squares = 0;
    for (int d = 0; d < draws; ++d) sum += valueOf(static_cast<std::size_t>(d));
    const double mean = sum / draws;
    for (int d = 0; d < draws; ++d) {
        const double off = valueOf(static_cast<std::size_t>(d)) - mean;
        squares += off * off;
    }
    return {mean, draws > 1 ? std::sqrt(squares / (draws - 1) / draws) : std::numeric_limits<double>::quiet_NaN()};
}

struct Moments {
    std::size_t positions = 0, experts = 0;
    std::vector<RoutingMetrics> metrics;  ///< [D]
    std::vector<std::int32_t> load;       ///< [D][E]
    std::vector<std::int64_t> met;        ///< [D] Σ_{t<t'} |S_t∩S_t'|
    std::vector<std::uint32_t> included;  ///< [T][E] draws that chose e at t
    std::vector<std::uint64_t> distinct, distinctSquares;  ///< [G] Σ_d of a group's distinct experts, of their squares
};
COUNTERPOINT_API Moments momentsFor(std::size_t positions, std::size_t experts, int draws, std::size_t groups);
/// earlier [E] is overwritten.
COUNTERPOINT_API void keepDraw(Moments& moments, int draw, MetricsPlan& plan, std::span<const ExpertId> chosen,
                               std::span<std::int32_t> earlier) noexcept;

/// capacities: room of an expert, one for each overflow that is asked for.
LayerEstimates layerEstimates(const Moments& moments, int draws, std::span<const std::int64_t> capacities);
MetricEstimates pooledEstimates(std::span<const Moments* const> layers, int draws);
/// The two sides' distance, in parts of the larger of T·K and their size.
COUNTERPOINT_API double identityGap(const Moments& moments, int draws);

}  // namespace counterpoint::compute::routing
