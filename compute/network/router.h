#pragma once
// Router: where the positions go that one decoding state reads (R12): every routed layer's choice under the settings of
// the source, and what there is to tell of it. The engine brings the logits, in float32; the law and the noise are
// compute/routing's. A choice depends on logits, settings and position only, so that a prompt at once, step by step,
// after a rewind and with any number of threads go the same ways. Shapes: L routed layers, E experts, K chosen. Errors:
// what settings cannot route, fewer than K experts left, a logit that is no number. Thread: one owner.

#include <cstdint>
#include <span>
#include <vector>

#include "compute/network/weights.h"
#include "compute/routing/route.h"

namespace counterpoint::network {

/// Of one position in one layer.
struct Choice {
    std::span<const compute::ExpertId> experts;  ///< [K] in the order they were chosen
    std::span<const float> weights;              ///< [K]
};

/// T positions of one layer by expert: rows expert after expert, each expert's in the order of positions.
struct Grouped {
    std::vector<std::int64_t> begins;     ///< [E + 1] first row of each expert
    std::vector<std::int64_t> positions;  ///< [T·K] of each row, from 0
    std::vector<float> weights;           ///< [T·K] of each row
};

class Router {
  public:
    explicit Router(const Shape& shape);
    /// Acts on what is read from now on. Throws Error where it does not fit, and nothing changes.
    void set(const compute::SourceRouting& routing);
    const compute::SourceRouting& settings() const { return m_routing; }

    /// n positions from `first` on are about to be read.
    void begin(compute::Position first, std::int64_t n);
    /// logits [T][E] of a routed layer of the model, of positions from `first` on.
    void route(std::int64_t layer, compute::Position first, std::int64_t T, const float* logits);
    Choice choice(std::int64_t layer, compute::Position position) const;
    std::int64_t experts() const { return static_cast<std::int64_t>(m_experts); }
    /// Of the positions read since begin().
    std::span<const compute::RoutingRow> rows() const { return m_rows; }

  private:
    struct RoutedLayer {
        compute::RouterLaw law;
        compute::RouteMemory memory;
    };

    std::size_t m_experts, m_chosen;
    std::vector<int> m_place;           ///< of each layer of the model among the routed; −1: it is dense
    std::vector<RoutedLayer> m_layers;  ///< [L]
    compute::SourceRouting m_routing;
    compute::Routed m_routed;
    compute::Position m_first = 0;
    std::vector<compute::RoutingRow> m_rows;
};

/// What route() chose for positions first, …, first + T − 1.
void group(const Router& router, std::int64_t layer, compute::Position first, std::int64_t T, Grouped& grouped);

}  // namespace counterpoint::network
