#include "compute/network/blocks.h"

#include <algorithm>

#include "compute/pool.h"

namespace counterpoint::network {
namespace {

/// Multiply-adds below which one thread is faster than waking a second (about 60 µs of one core).
constexpr std::int64_t kWorthAThread = 1'000'000;
/// Rows of one task: a few tasks a thread, each at least this much work.
constexpr std::int64_t kTaskWork = 200'000;
constexpr std::int64_t kRowsTogether = 8;  ///< the kernels' widest tile
constexpr std::int64_t kLanes = 16;

std::int64_t roundUp(std::int64_t n, std::int64_t to) { return (n + to - 1) / to * to; }

MatmulArguments argumentsOf(const Product& p, const float* bias) {
    const Matrix& w = *p.weight;
    return {w.data, w.type, w.columns, bias, p.x, p.count, p.y, w.rows, w.transposed};
}

std::int64_t rowsOfATask(const Matrix& weight, std::int64_t count, int threads) {
    const std::int64_t perRow = std::max<std::int64_t>(1, weight.columns * count);
    const std::int64_t rows = roundUp(std::max<std::int64_t>(1, kTaskWork / perRow), kRowsTogether);
    return weight.transposed ? roundUp(std::max(rows, weight.rows / (2 * threads)), kLanes)  // long runs of memory
                             : rows;
}

std::int64_t tasksOf(std::int64_t rows, std::int64_t together) { return (rows + together - 1) / together; }

}  // namespace

void linear(const Matrix& weight, const float* bias, const float* x, std::int64_t T, float* y, int threads) {
    const MatmulArguments arguments = argumentsOf({&weight, x, T, y}, bias);
    const Kernels& k = kernels();
    if (threads <= 1 || weight.rows * weight.columns * T < kWorthAThread) return k.matmul(arguments, 0, weight.rows);
    const std::int64_t rows = rowsOfATask(weight, T, threads);
    compute::Pool::instance().run(threads, tasksOf(weight.rows, rows), [&](std::int64_t task, int) {
        k.matmul(arguments, task * rows, std::min(weight.rows, (task + 1) * rows));
    });
}

void linear(std::span<const Product> products, int threads) {
    std::int64_t work = 0, tasks = 0;
    for (const Product& p : products) {
        work += p.weight->rows * p.weight->columns * p.count;
        tasks += tasksOf(p.weight->rows, rowsOfATask(*p.weight, p.count, threads));
    }
    compute::Pool::instance().run(work < kWorthAThread ? 1 : threads, tasks, [&](std::int64_t task, int) {
        for (const Product& p : products) {
            const std::int64_t out = p.weight->rows, rows = rowsOfATask(*p.weight, p.count, threads);
            const std::int64_t own = tasksOf(out, rows);
            if (task < own)
                return kernels().matmul(argumentsOf(p, nullptr), task * rows, std::min(out, (task + 1) * rows));
            task -= own;
        }
    });
}

void normRows(const Norm& norm, const Shape& shape, const float* x, std::int64_t T, float* out) {
    const auto n = static_cast<std::int64_t>(norm.weight.size());
    const float* bias = norm.bias.empty() ? nullptr : norm.bias.data();
    const Kernels& k = kernels();
    for (std::int64_t t = 0; t < T; ++t)
        if (shape.norm == NormKind::Layer)
            k.layerNorm(x + t * n, norm.weight.data(), bias, shape.normEpsilon, n, out + t * n);
        else
            k.rmsNorm(x + t * n, norm.weight.data(), shape.normEpsilon, n, out + t * n);
}

void rotate(const Angles& angles, float* x, std::int64_t T, std::int64_t heads, std::int64_t headDim) {
    const std::int64_t n = static_cast<std::int64_t>(angles.cosine.size()) / T;
    for (std::int64_t t = 0; t < T; ++t)
        for (std::int64_t h = 0; h < heads; ++h) {
            float* a = x + (t * heads + h) * headDim;
            float* b = a + n;
            const float* c = angles.cosine.data() + t * n;
            const float* s = angles.sine.data() + t * n;
            for (std::int64_t i = 0; i < n; ++i) {
                const float u = a[i], v = b[i];
                a[i] = u * c[i] - v * s[i];
                b[i] = v * c[i] + u * s[i];
            }
        }
}

void split(const Shape& shape, const float* fused, std::int64_t T, float* q, float* k, float* v) {
    const std::int64_t D = shape.headDim, H = shape.heads, G = shape.keyValueHeads, width = (H + 2 * G) * D;
    for (std::int64_t t = 0; t < T; ++t) {
        const float* row = fused + t * width;
        if (shape.fused == Fused::Blocks) {
            std::copy_n(row, H * D, q + t * H * D);
            std::copy_n(row + H * D, G * D, k + t * G * D);
            std::copy_n(row + (H + G) * D, G * D, v + t * G * D);
            continue;
        }
        for (std::int64_t h = 0; h < H; ++h) {
            std::copy_n(row + 3 * h * D, D, q + (t * H + h) * D);
            std::copy_n(row + (3 * h + 1) * D, D, k + (t * H + h) * D);
            std::copy_n(row + (3 * h + 2) * D, D, v + (t * H + h) * D);
        }
    }
}

void attention(const Shape& shape, const KvCache& cache, std::int64_t layer, const float* q, std::int64_t first,
               std::int64_t T, AttentionScratch& scratch, float* out, int threads) {
    const std::int64_t H = shape.heads, D = shape.headDim, perGroup = H / shape.keyValueHeads;
    const std::int64_t window = shape.kinds[static_cast<std::size_t>(layer)].window;
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
                          .scale = shape.attentionScale,
                          .scores = scratch.scores.data() + worker * scores,
                          .sums = scratch.sums.data() + worker * sums,
                          .out = out + task * D,
                          .first = window > 0 ? std::max<std::int64_t>(0, first + t + 1 - window) : 0,
                          .cap = shape.attentionCap});
    };
    const bool worth = T * H * (first + T) * D * 2 >= kWorthAThread;
    compute::Pool::instance().run(worth ? threads : 1, T * H, one);
}

}  // namespace counterpoint::network
