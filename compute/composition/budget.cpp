#include "compute/composition/budget.h"

#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>
#include <cstdint>
#include <limits>

namespace counterpoint::compute::score {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// KL(p‖p_b) for p ∝ exp(score(v)); score −∞ = excluded.
template <class Real, class ScoreAt>
double drift(const Real* base, std::size_t n, const ScoreAt& scoreAt) {
    double top = -kInfinity;
    for (std::size_t v = 0; v < n; ++v) top = std::fmax(top, scoreAt(v));
    if (top == -kInfinity) return kInfinity;
    double mass = 0, moved = 0;
    for (std::size_t v = 0; v < n; ++v) {
        const double s = scoreAt(v);
        if (s == -kInfinity) continue;
        const double e = std::exp(s - top);
        mass += e;
        if (e > 0) moved += e * (s - static_cast<double>(base[v]));
    }
    return moved / mass - top - std::log(mass);
}

}  // namespace

double largestScale(double budget, const std::function<double(double)>& drift) {
    const double whole = drift(1);
    if (whole <= budget) return 1;
    // With the exclusions that any λ > 0 keeps; rounding must not push it below a budget of 0.
    const double none = std::fmax(drift(0), 0.0);
    if (!(none < budget) || whole == kInfinity) return 0;
    std::uintmax_t steps = 100;
    return boost::math::tools::toms748_solve([&](double scale) { return drift(scale) - budget; }, 0.0, 1.0,
                                             none - budget, whole - budget,
                                             boost::math::tools::eps_tolerance<double>(45), steps)
        .first;
}

template <class Real>
double driftOfProduct(const Real* base, const double* say, double scale, std::size_t n) {
    return drift(base, n, [=](std::size_t v) {
        return say[v] == -kInfinity ? -kInfinity : static_cast<double>(base[v]) + scale * say[v];
    });
}

template <class Real>
double driftOfScore(const Real* base, const double* score, std::size_t n) {
    return drift(base, n, [=](std::size_t v) { return score[v]; });
}

template double driftOfProduct<float>(const float*, const double*, double, std::size_t);
template double driftOfProduct<double>(const double*, const double*, double, std::size_t);
template double driftOfScore<float>(const float*, const double*, std::size_t);
template double driftOfScore<double>(const double*, const double*, std::size_t);

}  // namespace counterpoint::compute::score
