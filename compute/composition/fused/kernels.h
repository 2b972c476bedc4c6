#pragma once
// The passes over a vocabulary that a step costs its time, one table per instruction set, chosen once at run time
// (COUNTERPOINT_KERNELS=avx2 or plain asks for less). For R1's product rule without masks of tokens:
//   t(v) = Σ_i w_i max(δ_i(v), lowest_i), s(v) = log p_b(v) + t(v), excluded as a state (score.h)
//   compose: one pass over the rows, s kept; Σ e^s, Σ e^{s/τ} and what R5 takes from them in the same pass
//   Tokens that priors touch are left out of compose's sums and told apart, so that both stages can be summed from what
//   is left without taking anything away; adding them is the caller's, and costs what they are. finish: stage rows from
//   s, total variation and Jensen-Shannon divergence measure: what one row alone is asked for, once, when it is kept
//   bound: an upper bound of log p̂ + G, so that a draw computes few tokens exactly (R3)
// compose(double) in compose.cpp is the plain formula beside it. Shapes: rows [n]. Units: nats. Numerics: elements and
// the sums of a block of 512 in float32, blocks in float64; the last bits differ between instruction sets, never on
// one. No std header is used by the passes, so that a file built for a newer processor lends the program nothing.
// Thread: any.

#include <cstddef>
#include <cstdint>

#include "compute/export.h"

namespace counterpoint::compute::fused {

constexpr std::size_t kBlock = 512;
constexpr int kMostTerms = 16;
constexpr std::size_t blocksOf(std::size_t n) { return (n + kBlock - 1) / kBlock; }

/// w_i δ_i of one specialist. lowest: −floor for w < 0, else −∞.
struct Term {
    const float* own;
    const float* reference;  ///< null: none, log p_r = 0
    float weight, lowest;
    bool alone;  ///< Σ p_b e^{w δ} is asked for
};

struct Pass {
    const float* base;
    std::size_t n;
    const Term* terms;
    int termCount;
    float inverseTau;  ///< 1: stage temperature is stage composed
    bool excluding;    ///< some row holds −∞
    float* score;      ///< [n] s(v)
    float* blockTop;   ///< [blocks] max of s
    float* masses;     ///< [n] e^{(s − shift)/τ} for finish(); null: not asked for
    float* shift;      ///< [blocks] what `masses` are relative to; −∞ where nothing was left so far
    const std::int32_t* touched = nullptr;  ///< [touchedCount] sorted ids, token 0 of this pass being `first`
    std::size_t touchedCount = 0;
    std::int32_t first = 0;
    float *touchedScore = nullptr,
          *touchedTilt = nullptr;  ///< [touchedCount] s and t of each; their place in `score` is for the caller
};

/// Sums of e^{s − top} and e^{(s − top)/τ}; u = s/τ − log p_b.
struct Sums {
    float top;
    double mass, tilt;                  ///< Σ e^{s−top}, Σ e^{s−top} t
    double massTau, tiltTau, scoreTau;  ///< Σ e^{(s−top)/τ}, its Σ · u and its Σ · s
    double aloneTop[kMostTerms], aloneMass[kMostTerms];
    std::int64_t noSay, left,
        lost;  ///< silent (source, token) pairs; tokens with s > −∞; those that p_b has and s has not
};

struct Finish {
    const float* base;
    const float* score;
    const float* shift;
    std::size_t n;
    float top, inverseTau;
    float restComposed, restTau;  ///< log p = (s − top) − restComposed; log p̂ = (s − top)/τ − restTau
    bool excluding;
    float* composed;            ///< [n] log p
    float* temperature;         ///< [n] the pass's masses in, log p̂ out
    double tv, js, klFromBase;  ///< out; −∞ of p̂ where p_b is not is left out of klFromBase
};

/// Tokens that were set apart, and what priors add to each.
struct Apart {
    const float *score, *tilt, *push;  ///< [n] s, t and Σ η Δ
    std::size_t n;
    float top, lifted, inverseTau;  ///< sums of stage composed are relative to `top`, the others to `lifted`
    float* moved;                   ///< [n] out: s of stage priors
    float* massTau;                 ///< [n] out: e^{(moved − lifted)/τ}
    double massComposed, mass, tilted, sumTau, tiltTau, scoreTau;  ///< out: as in Sums
};

/// Of one row of log-probabilities.
struct Measured {
    float top;
    std::size_t best;                              ///< lowest index of the maximum
    double mass;                                   ///< Σ e^{x − top}
    double tilt;                                   ///< Σ e^{x − top} (x − other)
    std::int64_t excluded, improper, unsupported;  ///< −∞; NaN or +∞; x > −∞ where other = −∞
};

/// The address of a row's noise (R3).
struct Noise {
    std::uint32_t key0, key1, position, stream;
};

struct Kernels {
    const char* name;
    void (*compose)(const Pass&, Sums&);
    void (*finish)(Finish&);
    void (*apart)(Apart&);
    void (*measure)(const float* row, const float* other, std::size_t n, Measured&);
    /// bound[v] >= log p̂(v) + G(v) for the n tokens from `first` on; returns the largest.
    float (*bound)(const float* row, std::uint32_t first, std::size_t n, const Noise&, float* bound);
};

extern const Kernels kPlain;
#if defined(__x86_64__)
extern const Kernels kAvx2, kAvx512;
#endif

/// The widest that this processor has.
COUNTERPOINT_API const Kernels& kernels();

}  // namespace counterpoint::compute::fused
