#pragma once
// The training forward's gradient against central differences, in float64 on a toy model: a self-check of autograd's
// use here.
//   for n coordinates of each tensor: |g − (L(θ+h) − L(θ−h))/2h| / (1e-6 + |g|), h = 1e-5.  Thread: one owner.

#include <cstdint>
#include <string>

namespace counterpoint::network::train {

struct GradientGap {
    double largest = 0;  ///< relative, over all coordinates tried
    std::string tensor;  ///< where
    std::int64_t tried = 0;
};

/// experts 0: the Llama layout; else so many routed experts in every layer, two of them chosen under R11's noise, with
/// the load-balancing term in L. A choice that tips within h would show as a gap; none does on the seeds that are
/// tried.
GradientGap checkGradient(std::uint64_t seed, std::int64_t experts);

}  // namespace counterpoint::network::train
