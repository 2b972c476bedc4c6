#pragma once
// The blocks of a decoder, over the kernels and the pool. Work is split over rows of the output or over (position,
// head), never inside a sum, so that the bits do not depend on the number of threads. Shapes: T positions of one chunk;
// activations float32, row-major. Thread: one owner per scratch.

#include <cstdint>
#include <span>
#include <vector>

#include "compute/network/kvcache.h"
#include "compute/network/rotary.h"
#include "compute/network/weights.h"

namespace counterpoint::network {

/// y [T][out] = x [T][in] · weightᵀ + bias; on several threads when the weight is large enough to pay for waking them.
void linear(const Matrix& weight, const float* bias, const float* x, std::int64_t T, float* y, int threads);
inline void linear(const Linear& l, const float* x, std::int64_t T, float* y, int threads) {
    linear(l.weight, l.bias.empty() ? nullptr : l.bias.data(), x, T, y, threads);
}

/// y [count][out] = x [count][in] · weightᵀ: one of several products that do not wait for one another.
struct Product {
    const Matrix* weight = nullptr;
    const float* x = nullptr;
    std::int64_t count = 0;
    float* y = nullptr;
};
/// All of them; their tasks are dealt out together.
void linear(std::span<const Product> products, int threads);

/// out [T][n] = norm of each row of x; in place is allowed.
void normRows(const Norm& norm, const Shape& shape, const float* x, std::int64_t T, float* out);

/// Turns every head of x [T][heads·D] by the angles of its position: channel i against channel i + n.
void rotate(const Angles& angles, float* x, std::int64_t T, std::int64_t heads, std::int64_t headDim);

/// fused [T][(H+2G)·D] -> q [T][H·D], k and v [T][G·D].
void split(const Shape& shape, const float* fused, std::int64_t T, float* q, float* k, float* v);

struct AttentionScratch {
    std::vector<float> scores, sums;  ///< [threads][…]
};

/// out [T][H·D]: position first+t sees cache positions 0..first+t, or the last of them that fit the layer's window.
/// Query head h reads key/value head h / (H/G).
void attention(const Shape& shape, const KvCache& cache, std::int64_t layer, const float* q, std::int64_t first,
               std::int64_t T, AttentionScratch& scratch, float* out, int threads);

}  // namespace counterpoint::network
