#pragma once
// Rotary positions (arXiv 2104.09864) with the scalings that long-context models declare (HAZARDS A11). Channels i and
// i + n of a head (i < n, 2n <= D; channels from 2n on are left alone) are turned at position p by p·f_i, and cosine
// and sine are multiplied by `factor`. With base b, f_i = b^(−i/n); s the stated factor, N the original length:
//   linear   f_i / s
//   llama3   f_i / s where the wavelength 2π/f_i is above N/low, f_i below N/high, between them linear in 1/wavelength
//   yarn     from f_i to f_i / s along a ramp of i (arXiv 2309.00071); factor = 1 + 0.1·log s, or as stated
//   dynamic  b·(s·P/N − s + 1)^(n/(n−1)) for b, P = max(p + 1, N): each position as in a text that ends with it. This
//   is
//            what transformers computes token by token; a prompt at once it turns by the prompt's length.
// Numerics: float64 until stored. Pure; thread: any.

#include <cstdint>
#include <string>
#include <vector>

namespace counterpoint::network {

struct Rotary {
    std::vector<double> frequencies;  ///< [n], radians a position
    double base = 10000.0;            ///< b
    double factor = 1.0;              ///< on cosine and sine
    double dynamic = 0.0;             ///< s of the dynamic kind; 0: another kind
    std::int64_t original = 0;        ///< N of the dynamic kind
    std::string scaling;              ///< for eyes: "llama3, factor 8, original length 8192"; empty: none
};

/// b^(−i/n) for i < n.
std::vector<double> plainFrequencies(double base, std::int64_t n);

struct Llama3Scaling {
    double s, N, low, high;
};
void scale(const Llama3Scaling& by, Rotary& rotary);

struct YarnScaling {
    double s, N, fast = 32.0, slow = 1.0;  ///< turns within N positions where the ramp begins and ends
    bool wholeEnds = true;                 ///< the ramp's ends are rounded outward
};
void scale(const YarnScaling& by, Rotary& rotary);

/// Cosines and sines [T][n] of positions first..first+T-1, times the factor.
struct Angles {
    std::vector<float> cosine, sine;
};
void prepareAngles(const Rotary& rotary, std::int64_t first, std::int64_t T, Angles& angles);

}  // namespace counterpoint::network
