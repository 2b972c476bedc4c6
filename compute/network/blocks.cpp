#include "compute/network/blocks.h"

#include <algorithm>
#include <cmath>

#include "compute/pool.h"

namespace counterpoint::network {
namespace {

/// Multiply-adds below which one thread is faster than waking a second (about 60 µs of one core).
constexpr std::int64_t kWorthAThread = 1'000'000;
/// Rows of one task: a few tasks a thread, each at least this much work.
constexpr std::int64_t kTaskWork = 200'000;
constexpr std::int64_t kRowsTogether = 8;  ///< the kernels' widest tile

std::int64_t roundUp(std::int64_t n, std::int64_t to) { return (n + to - 1) / to * to; }

}  // namespace

void linear(const Matrix& weight, const float* bias, const float* x, std::int64_t T, float* y, int threads) {
    const MatmulArguments arguments{weight.data, weight.type, weight.columns, bias, x, T, y, weight.rows};
    const Kernels& k = kernels();
    const std::int64_t perRow = std::max<std::int64_t>(1, weight.columns * T);
    if (threads <= 1 || perRow * weight.rows < kWorthAThread) return k.matmul(arguments, 0, weight.rows);
    const std::int64_t rows = roundUp(std::max<std::int64_t>(1, kTaskWork / perRow), kRowsTogether);
    const std::int64_t tasks = (weight.rows + rows - 1) / rows;
    compute::Pool::instance().run(threads, tasks, [&](std::int64_t task, int) {
        k.matmul(arguments, task * rows, std::min(weight.rows, (task + 1) * rows));
    });
}

Rotation::Rotation(const Shape& shape) {
    for (std::int64_t i = 0; i < shape.headDim / 2; ++i)
        frequencies.push_back(
            std::pow(shape.ropeTheta, -2.0 * static_cast<double>(i) / static_cast<double>(shape.headDim)));
}

void Rotation::prepare(std::int64_t first, std::int64_t T) {
    const std::size_t half = frequencies.size();
    cosine.resize(static_cast<std::size_t>(T) * half);
    sine.resize(cosine.size());
    for (std::int64_t t = 0; t < T; ++t)
        for (std::size_t i = 0; i < half; ++i) {
            const double angle = static_cast<double>(first + t) * frequencies[i];
            cosine[static_cast<std::size_t>(t) * half + i] = static_cast<float>(std::cos(angle));
            sine[static_cast<std::size_t>(t) * half + i] = static_cast<float>(std::sin(angle));
        }
}

void Rotation::apply(float* x, std::int64_t T, std::int64_t heads) const {
    const auto half = static_cast<std::int64_t>(frequencies.size());
    for (std::int64_t t = 0; t < T; ++t)
        for (std::int64_t h = 0; h < heads; ++h) {
            float* a = x + (t * heads + h) * 2 * half;
            float* b = a + half;
            const float* c = cosine.data() + t * half;
            const float* s = sine.data() + t * half;
            for (std::int64_t i = 0; i < half; ++i) {
                const float u = a[i], v = b[i];
                a[i] = u * c[i] - v * s[i];
                b[i] = v * c[i] + u * s[i];
            }
        }
}

void attention(const Shape& shape, const KvCache& cache, std::int64_t layer, const float* q, std::int64_t first,
               std::int64_t T, AttentionScratch& scratch, float* out, int threads) {
    const std::int64_t H = shape.heads, D = shape.headDim, perGroup = H / shape.keyValueHeads;
    const std::int64_t scores = roundUp(first + T, kPage), sums = D * 16;
    scratch.scores.resize(std::max(scratch.scores.size(), static_cast<std::size_t>(threads * scores)));
    scratch.sums.resize(static_cast<std::size_t>(threads * sums));
    const auto one = [&](std::int64_t task, int worker) {
        const std::int64_t t = task / H, h = task % H;
        kernels().attend({.q = q + task * D,
                          .pages = cache.pages(),
                          .offset = cache.offset(layer, h / perGroup),
                          .headDim = D,
                          .count = first + t + 1,
                          .scale = 1.0f / std::sqrt(static_cast<float>(D)),
                          .scores = scratch.scores.data() + worker * scores,
                          .sums = scratch.sums.data() + worker * sums,
                          .out = out + task * D});
    };
    const bool worth = T * H * (first + T) * D * 2 >= kWorthAThread;
    compute::Pool::instance().run(worth ? threads : 1, T * H, one);
}

}  // namespace counterpoint::network
