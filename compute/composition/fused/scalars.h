#pragma once
// Functions of one number for the passes of loops.h, written so that a loop around them vectorises. e^x by 2^n times a
// polynomial of degree 5 on |r| <= ln 2/2 (relative error below 4e-7 + 8e-8 |x|, as float32 holds x), log x by Cephes'
// polynomial on [√½, √2). Internal to the file that includes it: it is compiled once per instruction set.

#include <cstdint>

namespace counterpoint::compute::fused {
namespace {

constexpr float kMinusInfinity = -__builtin_inff();
constexpr float kLowest = -86.5f;  ///< e^x below it is taken as e^kLowest: 2.7e-38

inline unsigned bitsOf(float x) {
    unsigned bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    return bits;
}
inline float floatOf(unsigned bits) {
    float x;
    __builtin_memcpy(&x, &bits, sizeof x);
    return x;
}

inline float expOf(float x) {
    constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: its low mantissa bits become the rounded integer
    const float clamped = x > kLowest ? x : kLowest;
    const float shifted = clamped * 1.44269504f + kRound;
    const float n = shifted - kRound;
    const float r = clamped - n * 0.693147182f;  // ln 2 is off by 2e-9, n times: large only where the mass is small
    float p = 8.31252523e-3f;
    p = p * r + 4.18901145e-2f;
    p = p * r + 1.66671142e-1f;
    p = p * r + 4.99992311e-1f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    return floatOf(bitsOf(p) + (bitsOf(shifted) << 23));
}

/// log x for normal x > 0.
inline float logOf(float x) {
    const unsigned offset = bitsOf(x) - 0x3F3504F3u;
    const float e = static_cast<float>(static_cast<int>(offset) >> 23);
    const float f = floatOf((offset & 0x7FFFFFu) + 0x3F3504F3u) - 1.0f, z = f * f;
    float p = 7.0376836292e-2f;
    p = p * f - 1.1514610310e-1f;
    p = p * f + 1.1676998740e-1f;
    p = p * f - 1.2420140846e-1f;
    p = p * f + 1.4249322787e-1f;
    p = p * f - 1.6668057665e-1f;
    p = p * f + 2.0000714765e-1f;
    p = p * f - 2.4999993993e-1f;
    p = p * f + 3.3333331174e-1f;
    return e * 0.693359375f + (f + (z * (f * p - 0.5f) - e * 2.12194440e-4f));
}

/// e^x that is 0 for −∞ where rows may hold it.
template <bool Excluding>
inline float massOf(float x) {
    if (!Excluding) return expOf(x);
    return x > kMinusInfinity ? expOf(x) : 0.0f;
}
/// x, or 0 in the place of −∞: what a mass of 0 is multiplied with.
template <bool Excluding>
inline float finiteOf(float x) {
    if (!Excluding) return x;
    return x > kMinusInfinity ? x : 0.0f;
}

/// The scale of sums taken relative to `before` when they are to be relative to `now`.
inline double rescaled(double before, double now, double factor) {
    return before == now ? 1.0 : __builtin_exp((before - now) * factor);
}

/// An upper bound of G from word 0 alone: −ln(1−u) <= −ln(d/2^31), d = (2^32 − 1 − w0)/2, and log2 x lies above the
/// line through its exponent and mantissa bits. d = 0 gives 88, above every G.
inline float gumbelBound(std::uint32_t word0) {
    const float d = static_cast<float>(static_cast<int>(~word0 >> 1));
    const float log2Below = static_cast<float>(static_cast<int>(bitsOf(d))) * 0x1p-23f - 127.0f;
    return 0.693147181f * (31.0f - log2Below);
}

}  // namespace
}  // namespace counterpoint::compute::fused
