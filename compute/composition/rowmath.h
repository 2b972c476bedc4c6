#pragma once
// Elementary functions on one element, written so that the loops around them vectorise without -ffast-math, and the
// sums of rows everybody needs. float: relative error below 2e-7 (Taylor in |r| <= ln2/2; atanh series for the
// logarithm); double: the C library's. Rows are log-probabilities in nats, −∞ = excluded; sums are float64. This is the
// place where kernels per instruction set will stand. Pure; thread: any.

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "compute/composition/rowkernels.h"

namespace counterpoint::compute::rowmath {

/// e^x for x <= 88; 0 below the smallest normal float.
inline float expFloat(float x) noexcept {
    constexpr float kLowest = -87.33f,
                    kRound = 12582912.0f;  // 1.5 * 2^23: its low mantissa bits become the rounded integer
    const float clamped = x < kLowest ? kLowest : x;
    const float shifted = clamped * 1.44269504f + kRound;
    const float n = shifted - kRound;
    const float r = (clamped - n * 0.693145752f) - n * 1.42860677e-6f;  // ln 2 in two parts
    float p = 1.0f / 5040;
    p = p * r + 1.0f / 720;
    p = p * r + 1.0f / 120;
    p = p * r + 1.0f / 24;
    p = p * r + 1.0f / 6;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    const auto power = std::bit_cast<float>((std::bit_cast<std::uint32_t>(shifted) << 23) + 0x3F800000u);
    return x < kLowest ? 0.0f : p * power;
}

/// log x for normal x > 0.
inline float logFloat(float x) noexcept {
    const std::uint32_t offset = std::bit_cast<std::uint32_t>(x) - 0x3F3504F3u;  // mantissa into [√½, √2)
    const auto exponent = static_cast<float>(static_cast<std::int32_t>(offset) >> 23);
    const auto m = std::bit_cast<float>((offset & 0x7FFFFFu) + 0x3F3504F3u);
    const float s = (m - 1) / (m + 1), z = s * s;
    const float series = 2 * s * (1 + z * (1.0f / 3 + z * (1.0f / 5 + z * (1.0f / 7 + z * (1.0f / 9)))));
    return exponent * 0.693145752f + (exponent * 1.42860677e-6f + series);
}

template <class Real>
inline Real expOf(Real x) noexcept {
    if constexpr (std::is_same_v<Real, float>)
        return expFloat(x);
    else
        return std::exp(x);
}

template <class Real>
inline Real logOf(Real x) noexcept {
    if constexpr (std::is_same_v<Real, float>)
        return logFloat(x);
    else
        return std::log(x);
}

template <class Real>
constexpr Real kMinusInfinity = -std::numeric_limits<Real>::infinity();

// The loops; rowkernels.cpp compiles them for float32 once per instruction set.
template <class Real>
[[gnu::always_inline]] inline Real maxLoop(const Real* x, std::size_t n) noexcept {
    Real best = kMinusInfinity<Real>;
#pragma omp simd reduction(max : best)
    for (std::size_t v = 0; v < n; ++v) best = x[v] > best ? x[v] : best;
    return best;
}

template <class Real, class In>
[[gnu::always_inline]] inline double sumExpLoop(const In* x, double shift, double factor, std::size_t n) noexcept {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::size_t v = 0; v < n; ++v)
        sum += static_cast<double>(expOf(static_cast<Real>((static_cast<double>(x[v]) - shift) * factor)));
    return sum;
}

template <class Real>
[[gnu::always_inline]] inline double sumExpLoop(const Real* x, Real shift, std::size_t n) noexcept {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::size_t v = 0; v < n; ++v) sum += static_cast<double>(expOf(x[v] - shift));
    return sum;
}

template <class Real>
inline Real maxOf(const Real* x, std::size_t n) noexcept {
    return rowkernels::maxOf(x, n);
}

/// Σ exp(factor · (x − shift)); elements in Real precision, sum in float64.
template <class Real, class In>
inline double sumExp(const In* x, double shift, double factor, std::size_t n) noexcept {
    if constexpr (std::is_same_v<Real, float>)
        return rowkernels::sumExp(x, shift, factor, n);
    else
        return sumExpLoop<Real>(x, shift, factor, n);
}

/// Σ exp(x − shift): the same where both are Real, at half the work.
inline double sumExp(const float* x, float shift, std::size_t n) noexcept { return rowkernels::sumExp(x, shift, n); }
inline double sumExp(const double* x, double shift, std::size_t n) noexcept { return sumExpLoop(x, shift, n); }

/// log Σ exp x; −∞ when nothing is finite.
template <class Real, class In>
inline double logSumExp(const In* x, std::size_t n) noexcept {
    const double top = static_cast<double>(maxOf(x, n));
    return top == kMinusInfinity<double> ? top : top + std::log(sumExp<Real>(x, top, 1.0, n));
}

/// The lowest index of the largest element; n when every element is −∞.
template <class Real>
inline std::size_t argMax(const Real* x, std::size_t n) noexcept {
    const Real best = maxOf(x, n);
    if (best == kMinusInfinity<Real>) return n;
    std::size_t v = 0;
    while (x[v] != best) ++v;
    return v;
}

}  // namespace counterpoint::compute::rowmath
