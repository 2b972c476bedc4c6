#pragma once
// The mixture of experts of one routed layer, on the processor in float32 (weights.h states the formula). Positions are
// grouped by expert, so that each chosen expert is read once for all of a chunk and no other is read at all. A
// position's sum runs over its experts in ascending order, then the shared one: the same bits one by one and at once.
// Shapes: x, out [T][C]. Errors: those of Router; a router's logit that is not finite (NotFinite of the layer). Thread:
// one owner.

#include <cstdint>
#include <vector>

#include "compute/network/blocks.h"
#include "compute/network/router.h"

namespace counterpoint::network {

struct MixtureScratch {
    std::vector<float> logits, x, gate, up, y, scale;
    Grouped grouped;
    std::vector<Product> products;
    /// Of all matrices that products have read for mixtures: routers, chosen experts, shared ones.
    std::int64_t bytesRead = 0;
};

/// Positions first, …, first + T − 1 of routed layer `index`; the router keeps where they went.
void mixture(const Shape& shape, const Layer& layer, std::int64_t index, compute::Position first, const float* x,
             std::int64_t T, Router& router, MixtureScratch& scratch, float* out, int threads);

}  // namespace counterpoint::network
