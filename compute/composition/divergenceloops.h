#pragma once
// The loops of divergence.h, inline so that rowkernels.cpp can compile them once per instruction set. Pure; thread:
// any.

#include <algorithm>

#include "compute/composition/divergence.h"
#include "compute/composition/rowmath.h"

namespace counterpoint::compute::divergence {

/// p (log p − log q) with the two conventions; `mass` = exp(logP).
template <class Real>
inline double klTerm(Real mass, Real logP, Real logQ) noexcept {
    const bool unsupported = logP > rowmath::kMinusInfinity<Real> && logQ == rowmath::kMinusInfinity<Real>;
    const Real term = mass > 0 ? mass * (logP - logQ) : Real(0);
    return static_cast<double>(unsupported ? -rowmath::kMinusInfinity<Real> : term);
}

template <class Real>
[[gnu::always_inline]] inline double klLoop(const Real* p, const Real* q, std::size_t n) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::size_t v = 0; v < n; ++v) sum += klTerm(rowmath::expOf(p[v]), p[v], q[v]);
    return std::max(sum, 0.0);
}

template <class Real>
[[gnu::always_inline]] inline Pair compareLoop(const Real* p, const Real* q, std::size_t n) {
    double forward = 0, backward = 0, js = 0, tv = 0, entropy = 0;
#pragma omp simd reduction(+ : forward, backward, js, tv, entropy)
    for (std::size_t v = 0; v < n; ++v) {
        const Real massP = rowmath::expOf(p[v]), massQ = rowmath::expOf(q[v]);
        forward += klTerm(massP, p[v], q[v]);
        backward += klTerm(massQ, q[v], p[v]);
        entropy -= static_cast<double>(massP > 0 ? massP * p[v] : Real(0));
        const Real difference = massP - massQ;
        tv += static_cast<double>(difference < 0 ? -difference : difference);
        constexpr Real kTiny = 4 * std::numeric_limits<Real>::min();  // logOf wants a normal number
        const Real mean = (massP + massQ) / 2;
        const Real logMean = rowmath::logOf(mean > kTiny ? mean : Real(1));
        const Real both =
            (massP > 0 ? massP * (p[v] - logMean) : Real(0)) + (massQ > 0 ? massQ * (q[v] - logMean) : Real(0));
        js += static_cast<double>(mean > kTiny ? both : Real(0));
    }
    return {std::max(forward, 0.0), std::max(backward, 0.0), std::max(js / 2, 0.0), tv / 2, std::max(entropy, 0.0)};
}

}  // namespace counterpoint::compute::divergence
