#include "compute/composition/divergence.h"

#include <algorithm>

#include "compute/composition/rowmath.h"

namespace counterpoint::compute::divergence {
namespace {

using namespace rowmath;

/// p (log p − log q) with the two conventions; `mass` = exp(logP).
template <class Real>
inline double klTerm(Real mass, Real logP, Real logQ) noexcept {
    const bool unsupported = logP > kMinusInfinity<Real> && logQ == kMinusInfinity<Real>;
    const Real term = mass > 0 ? mass * (logP - logQ) : Real(0);
    return static_cast<double>(unsupported ? -kMinusInfinity<Real> : term);
}

}  // namespace

template <class Real>
double kl(const Real* p, const Real* q, std::size_t n) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::size_t v = 0; v < n; ++v) sum += klTerm(expOf(p[v]), p[v], q[v]);
    return std::max(sum, 0.0);
}

template <class Real>
double entropy(const Real* p, std::size_t n) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::size_t v = 0; v < n; ++v) {
        const Real mass = expOf(p[v]);
        sum -= static_cast<double>(mass > 0 ? mass * p[v] : Real(0));
    }
    return std::max(sum, 0.0);
}

template <class Real>
Pair compare(const Real* p, const Real* q, std::size_t n) {
    double forward = 0, backward = 0, js = 0, tv = 0, entropy = 0;
#pragma omp simd reduction(+ : forward, backward, js, tv, entropy)
    for (std::size_t v = 0; v < n; ++v) {
        const Real massP = expOf(p[v]), massQ = expOf(q[v]);
        forward += klTerm(massP, p[v], q[v]);
        backward += klTerm(massQ, q[v], p[v]);
        entropy -= static_cast<double>(massP > 0 ? massP * p[v] : Real(0));
        const Real difference = massP - massQ;
        tv += static_cast<double>(difference < 0 ? -difference : difference);
        constexpr Real kTiny = 4 * std::numeric_limits<Real>::min();  // logOf wants a normal number
        const Real mean = (massP + massQ) / 2;
        const Real logMean = logOf(mean > kTiny ? mean : Real(1));
        const Real both =
            (massP > 0 ? massP * (p[v] - logMean) : Real(0)) + (massQ > 0 ? massQ * (q[v] - logMean) : Real(0));
        js += static_cast<double>(mean > kTiny ? both : Real(0));
    }
    return {std::max(forward, 0.0), std::max(backward, 0.0), std::max(js / 2, 0.0), tv / 2, std::max(entropy, 0.0)};
}

#define COUNTERPOINT_INSTANTIATE(Real)                               \
    template double kl<Real>(const Real*, const Real*, std::size_t); \
    template double entropy<Real>(const Real*, std::size_t);         \
    template Pair compare<Real>(const Real*, const Real*, std::size_t);
COUNTERPOINT_INSTANTIATE(float)
COUNTERPOINT_INSTANTIATE(double)
#undef COUNTERPOINT_INSTANTIATE

}  // namespace counterpoint::compute::divergence
