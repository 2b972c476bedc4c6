#include "compute/network/mixture.h"

#include <algorithm>
#include <cmath>

#include "compute/network/convert.h"
#include "compute/network/engine.h"

namespace counterpoint::network {
namespace {

void resize(std::vector<float>& v, std::int64_t n) {
    if (v.size() < static_cast<std::size_t>(n)) v.resize(static_cast<std::size_t>(n));
}

void multiply(MixtureScratch& s, int threads) {
    for (const Product& p : s.products) s.bytesRead += p.weight->rows * p.weight->columns * typeSize(p.weight->type);
    linear(s.products, threads);
}

float sigmoid(float x) { return 1.0f / (1.0f + std::exp(-x)); }

}  // namespace

void mixture(const Shape& shape, const Layer& layer, std::int64_t index, compute::Position first, const float* x,
             std::int64_t T, Router& router, MixtureScratch& s, float* out, int threads) {
    const Mixture& m = shape.mixture;
    const std::int64_t C = shape.hidden, E = m.experts, rows = T * m.chosen, F = m.width, S = m.sharedWidth;
    resize(s.logits, T * E);
    resize(s.scale, T);
    s.products = {{&layer.router, x, T, s.logits.data()}};
    if (S > 0) s.products.push_back({&layer.sharedGate, x, T, s.scale.data()});
    multiply(s, threads);
    for (std::int64_t i = 0; i < T * E; ++i)
        if (!std::isfinite(s.logits[static_cast<std::size_t>(i)])) throwNotFinite(index, shape.layers);
    router.route(index, first, T, s.logits.data());
    group(router, index, first, T, s.grouped);
    const Grouped& g = s.grouped;

    // The shared expert's rows stand behind those of the chosen ones.
    resize(s.gate, rows * F + T * S);
    resize(s.up, rows * F + T * S);
    resize(s.y, (rows + (S > 0 ? T : 0)) * C);
    const float* grouped = x;
    if (T > 1) {
        resize(s.x, rows * C);
        for (std::int64_t row = 0; row < rows; ++row)
            std::copy_n(x + g.positions[static_cast<std::size_t>(row)] * C, C, s.x.data() + row * C);
        grouped = s.x.data();
    }
    const auto ofExperts = [&](auto&& visit) {
        for (std::size_t e = 0; e < static_cast<std::size_t>(E); ++e)
            if (const std::int64_t begin = g.begins[e], n = g.begins[e + 1] - begin; n > 0)
                visit(layer.experts[e], begin, n);
    };
    s.products.clear();
    ofExperts([&](const Expert& expert, std::int64_t begin, std::int64_t n) {
        const float* from = T > 1 ? grouped + begin * C : grouped;
        s.products.push_back({&expert.gate, from, n, s.gate.data() + begin * F});
        s.products.push_back({&expert.up, from, n, s.up.data() + begin * F});
    });
    if (S > 0) {
        s.products.push_back({&layer.shared.gate, x, T, s.gate.data() + rows * F});
        s.products.push_back({&layer.shared.up, x, T, s.up.data() + rows * F});
    }
    multiply(s, threads);
    kernels().activate(shape.activation, s.gate.data(), s.up.data(), rows * F + T * S);
    s.products.clear();
    ofExperts([&](const Expert& expert, std::int64_t begin, std::int64_t n) {
        s.products.push_back({&expert.down, s.gate.data() + begin * F, n, s.y.data() + begin * C});
    });
    if (S > 0) s.products.push_back({&layer.shared.down, s.gate.data() + rows * F, T, s.y.data() + rows * C});
    multiply(s, threads);

    std::fill_n(out, T * C, 0.0f);
    const auto add = [&](std::int64_t t, float weight, const float* y) {
        for (std::int64_t i = 0; i < C; ++i) out[t * C + i] += weight * y[i];
    };
    for (std::int64_t row = 0; row < rows; ++row)
        add(g.positions[static_cast<std::size_t>(row)], g.weights[static_cast<std::size_t>(row)], s.y.data() + row * C);
    for (std::int64_t t = 0; S > 0 && t < T; ++t)
        add(t, sigmoid(s.scale[static_cast<std::size_t>(t)]), s.y.data() + (rows + t) * C);
}

}  // namespace counterpoint::network
