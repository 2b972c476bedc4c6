#include "compute/routing/copula.h"

#include <cmath>
#include <numbers>

namespace counterpoint::compute {
namespace {

/// Below it erfc goes towards the denormals, and the asymptotic series is exact in float64.
constexpr double kFar = -20.0;

/// Φ(z) = φ(z)/|z| · (1 − 1/z² + 3/z⁴ − 15/z⁶ + …) for z far below 0; the last term kept is below 1e-12.
double logFarTail(double z) noexcept {
    const double inverse = 1.0 / (z * z);
    double term = 1.0, series = 0.0;
    for (int k = 1; k <= 6; ++k) {
        term *= -(2.0 * k - 1.0) * inverse;
        series += term;
    }
    return -0.5 * z * z - std::log(-z) - 0.5 * std::log(2.0 * std::numbers::pi) + std::log1p(series);
}

double lowerTail(double z) noexcept { return 0.5 * std::erfc(-z / std::numbers::sqrt2); }

}  // namespace

double logNormalCdf(double z) noexcept {
    if (z < kFar) return logFarTail(z);
    return z < 0.0 ? std::log(lowerTail(z)) : std::log1p(-lowerTail(-z));
}

double gumbelOfNormal(double z) noexcept {
    if (z > -kFar) return -logFarTail(-z);  // −log Φ(z) is 1 − Φ(z) to the last bit
    return -std::log(-logNormalCdf(z));
}

}  // namespace counterpoint::compute
