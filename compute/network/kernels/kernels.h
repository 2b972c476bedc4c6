#pragma once
// The inner loops of a forward pass on the CPU, built once per instruction set and chosen at run time.
// Every sum runs over 16 lanes: lane j takes elements j, j+16, … in order, then lanes are added pairwise (8, 4, 2, 1).
// The order depends on the length of the sum alone: not on how many rows or columns are asked for at once, nor on
// threads. So one token at a time, a whole prompt and a recomputation give the same bits; AVX2 and AVX-512 agree too
// (plain code has no fused multiply-add and differs in the last place). A product with a transposed w takes the
// elements of a sum one after the other instead, 16 sums side by side. Shapes: w [rows][columns] row-major in its
// file's dtype, widened to float32 in registers; x [count][columns]; y [count][rows]. Numerics: float32. No errors, no
// allocation. Thread: any; caller owns the memory.

#include <cstdint>

namespace counterpoint::network {

enum class WeightType : int { Float32, BFloat16, Float16 };

/// x·σ(x); x·Φ(x); x·σ(2y), y = √(2/π)·(x + 0.044715·x³).
enum class Activation : int { Silu, Gelu, GeluTanh };

/// Positions in one page of the cache; a page holds keys [D][kPage], then values [D][kPage], for each layer and
/// key/value head.
inline constexpr int kPage = 64;

struct MatmulArguments {
    const void* w;  ///< [rows][columns]
    WeightType type;
    std::int64_t columns;  ///< also the distance between rows of w and between rows of x
    const float* bias;     ///< [rows] or nullptr
    const float* x;        ///< [count][columns]
    std::int64_t count;
    float* y;
    std::int64_t stride;      ///< between rows of y, and between rows of a transposed w
    bool transposed = false;  ///< w is [columns][rows]
};

struct AttentionArguments {
    const float* q;             ///< [headDim]
    const float* const* pages;  ///< pages of the cache
    std::int64_t offset;        ///< of this layer's and head's keys within a page; its values follow
    std::int64_t headDim;
    std::int64_t count;  ///< positions that may be seen, >= 1
    float scale;
    float* scores;           ///< scratch [count rounded up to kPage]
    float* sums;             ///< scratch [headDim * 16]
    float* out;              ///< [headDim]
    std::int64_t first = 0;  ///< positions before it are not seen, < count
    float cap = 0.0f;        ///< scores become cap·tanh(score/cap); 0: none
};

struct Kernels {
    const char* name;
    /// y[t][n] = Σ_k w[n][k]·x[t][k] + bias[n] for rows from <= n < to.
    void (*matmul)(const MatmulArguments&, std::int64_t from, std::int64_t to);
    /// out = Σ_p softmax(scale · q·k_p) v_p over first <= p < count.
    void (*attend)(const AttentionArguments&);
    /// out = x / sqrt(mean(x²) + epsilon) · weight.
    void (*rmsNorm)(const float* x, const float* weight, float epsilon, std::int64_t n, float* out);
    /// out = (x − mean) / sqrt(mean((x − mean)²) + epsilon) · weight + bias; bias may be nullptr.
    void (*layerNorm)(const float* x, const float* weight, const float* bias, float epsilon, std::int64_t n,
                      float* out);
    /// gate = f(gate) · up, or f(gate) where up is nullptr.
    void (*activate)(Activation f, float* gate, const float* up, std::int64_t n);
    /// x = cap·tanh(x/cap).
    void (*softCap)(float* x, float cap, std::int64_t n);
    /// out[n] float32 from a stored row.
    void (*widen)(const void* in, WeightType type, std::int64_t n, float* out);
};

extern const Kernels kPlainKernels;
#if defined(__x86_64__)
extern const Kernels kAvx2Kernels;
extern const Kernels kAvx512Kernels;
#endif

/// The best this processor runs; COUNTERPOINT_KERNELS = plain, avx2 or avx512 asks for a lower one.
const Kernels& kernels();

}  // namespace counterpoint::network
