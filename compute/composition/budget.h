#pragma once
// R1 kl_budget: the largest λ ≤ 1 with composed drift KL(softmax(score_λ)‖p_b) ≤ κ. The drift of a product is
// increasing in λ (an exponential family), and so is that of a mixture (KL is convex along the way from p_b), so one
// bracket holds the root. λ = 0 means that no specialist is heard, their exclusions included. Numerics: float64, λ to
// 45 bits, from below. Shapes: base, say, score [V]. Pure; thread: any.

#include <cstddef>
#include <functional>

namespace counterpoint::compute::score {

double largestScale(double budget, const std::function<double(double scale)>& drift);

/// KL(p‖p_b), p ∝ p_b e^{scale·say}; say = −∞ is excluded whatever the scale.
template <class Real>
double driftOfProduct(const Real* base, const double* say, double scale, std::size_t n);
/// KL(softmax(score)‖p_b).
template <class Real>
double driftOfScore(const Real* base, const double* score, std::size_t n);

}  // namespace counterpoint::compute::score
