#pragma once
// R13 on chosen sets, for one layer. A = S_t, B = S_t': Jaccard |A∩B|/|A∪B|.
//   coherence: mean over all unordered pairs of positions in a common group, pooled over groups
//   boundary: mean over adjacent positions of different groups; also of paired and of unpaired groups alone
//   distinct: mean over groups of the experts that any of its positions chose
//   load N_e = selections; cv = population standard deviation of N_e / its mean
//   overflow Σ_e max(0, N_e − ⌈c·T·K/E⌉)
// A mean over nothing (windows of 1 have no pairs, one group has no boundary) is not a number. Pooled over layers: the
// mean of each, load excepted. Shapes: chosen [T][K] distinct experts below E. Numerics: float64. Thread: any.

#include <cstdint>
#include <span>
#include <vector>

#include "compute/export.h"
#include "compute/routing/groups.h"
#include "compute/routing/topk.h"

namespace counterpoint::compute {

struct RoutingMetrics {
    double coherence = 0, boundary = 0, boundaryPaired = 0, boundaryUnpaired = 0, distinct = 0, cv = 0, overflow = 0;
};

/// What is the same for every draw over T positions and E experts; and memory for one.
struct MetricsPlan {
    Layout layout;
    std::size_t experts = 0, chosen = 0;
    std::int64_t capacity = 0;          ///< ⌈c·T·K/E⌉
    std::size_t words = 0;              ///< 64-bit words of a set
    std::vector<std::uint64_t> sets;    ///< [T][words]
    std::vector<std::uint64_t> united;  ///< [words]
    std::vector<std::int32_t> distinct;  ///< [G] experts of each group, of the draw last measured
};
/// ⌈c·T·K/E⌉: selections an expert has room for. Throws Error where the capacity factor c is not above 0.
COUNTERPOINT_API std::int64_t capacityOf(double factor, Position positions, std::size_t experts, int chosen);
/// Throws Error where the coupling is outside its bounds or the capacity factor c is not above 0.
COUNTERPOINT_API MetricsPlan metricsPlan(const Coupling& coupling, Position positions, std::size_t experts, int chosen,
                                         double capacityFactor);
/// load [E] is overwritten. Allocates nothing.
COUNTERPOINT_API RoutingMetrics measure(MetricsPlan& plan, std::span<const ExpertId> chosen,
                                        std::span<std::int32_t> load) noexcept;
/// Mean over layers.
COUNTERPOINT_API RoutingMetrics pooled(std::span<const RoutingMetrics> layers) noexcept;

}  // namespace counterpoint::compute
