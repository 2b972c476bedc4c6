#pragma once
// The constants of R16 and the logistic function, which its dials and their derivatives share. Internal to this folder.
// Thread: any.

#include <cmath>

namespace counterpoint::compute::routing {

constexpr double kLeastRho = 1e-3, kRhoSpan = 0.949, kMostAlpha = 0.95;

inline double logistic(double x) noexcept { return 1.0 / (1.0 + std::exp(-x)); }
/// dσ/dx = σ(x) σ(−x)
inline double logisticSlope(double x) noexcept { return logistic(x) * logistic(-x); }

}  // namespace counterpoint::compute::routing
