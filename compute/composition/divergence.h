#pragma once
// R5: divergences of two rows of log-probabilities, and the diagnostics of one step.
//   KL(p‖q) = Σ p (log p − log q); JS = ½ Σ p log(p/m) + q log(q/m), m = (p+q)/2; TV = ½ Σ |p − q|; H = −Σ p log p
// 0·log 0 = 0; p > 0 with q = 0 gives +∞. A sum that rounding pushed below 0 is 0.
// Shapes: rows [V]. Units: nats (tv: none). Numerics: terms in the row's precision, sums in float64. Pure; thread: any.

#include <cstddef>

#include "compute/export.h"

namespace counterpoint::compute::divergence {

struct Pair {
    double klForward = 0;   ///< KL(p‖q)
    double klBackward = 0;  ///< KL(q‖p)
    double js = 0, tv = 0;
    double entropy = 0;  ///< H(p)
};

template <class Real>
COUNTERPOINT_API double kl(const Real* p, const Real* q, std::size_t n);
template <class Real>
COUNTERPOINT_API Pair compare(const Real* p, const Real* q, std::size_t n);

}  // namespace counterpoint::compute::divergence
