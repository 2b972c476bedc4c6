#include "compute/network/decoder.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "compute/network/convert.h"

namespace counterpoint::network {
namespace {

constexpr std::int64_t kChunk =
    96;  // a multiple of the kernels' tiles; small enough for its rows to stay in the second cache

void resize(std::vector<float>& v, std::int64_t rows, std::int64_t columns) {
    const auto n = static_cast<std::size_t>(rows * columns);
    if (v.size() < n) v.resize(n);
}

void add(float* x, const float* y, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) x[i] += y[i];
}

bool finite(const float* x, std::int64_t n) {
    int lost = 0;
    for (std::int64_t i = 0; i < n; ++i) lost |= std::abs(x[i]) <= std::numeric_limits<float>::max() ? 0 : 1;
    return lost == 0;
}

void readRow(const Matrix& m, std::int64_t row, float* out) {
    const std::int64_t bytes = m.columns * typeSize(m.type);
    kernels().widen(static_cast<const std::byte*>(m.data) + row * bytes, m.type, m.columns, out);
}

}  // namespace

Decoder::Decoder(std::shared_ptr<const Weights> weights, int threads)
    : m_weights(std::move(weights)),
      m_threads(threads),
      m_cache(m_weights->shape),
      m_angles(m_weights->shape.rotaries.size()) {
    if (m_weights->shape.mixture.experts > 0) m_router.emplace(m_weights->shape);
}

void Decoder::embed(std::span<const compute::TokenId> ids, std::int64_t first) {
    const Weights& w = *m_weights;
    const std::int64_t C = w.shape.hidden;
    const float scale = rounded(static_cast<float>(w.shape.embeddingScale), w.embedding.type);
    for (std::size_t t = 0; t < ids.size(); ++t) {
        float* x = m_x.data() + static_cast<std::int64_t>(t) * C;
        readRow(w.embedding, ids[t], x);
        if (scale != 1.0f)
            for (std::int64_t i = 0; i < C; ++i) x[i] *= scale;
        if (w.positions.data == nullptr) continue;
        readRow(w.positions, first + static_cast<std::int64_t>(t), m_delta.data());
        add(x, m_delta.data(), C);
    }
}

/// m_normed -> m_q, m_k, m_v, before positions act.
void Decoder::project(const Layer& l, std::int64_t T) {
    const Shape& s = m_weights->shape;
    if (s.fused == Fused::No) {
        linear(l.query, m_normed.data(), T, m_q.data(), m_threads);
        linear(l.key, m_normed.data(), T, m_k.data(), m_threads);
        linear(l.value, m_normed.data(), T, m_v.data(), m_threads);
    } else {
        linear(l.query, m_normed.data(), T, m_fused.data(), m_threads);
        split(s, m_fused.data(), T, m_q.data(), m_k.data(), m_v.data());
    }
    const auto normHeads = [&](const Norm& norm, std::vector<float>& x, std::int64_t heads) {
        if (!norm.weight.empty()) normRows(norm, s, x.data(), s.headNormsAsOne ? T : T * heads, x.data());
    };
    normHeads(l.queryNorm, m_q, s.heads);
    normHeads(l.keyNorm, m_k, s.keyValueHeads);
}

void Decoder::layer(std::int64_t index, std::int64_t first, std::int64_t T) {
    const Shape& s = m_weights->shape;
    const Layer& l = m_weights->layers[static_cast<std::size_t>(index)];
    const int rotary = s.kinds[static_cast<std::size_t>(index)].rotary;
    const std::int64_t GD = s.keyValueHeads * s.headDim, xs = T * s.hidden;
    float *x = m_x.data(), *delta = m_delta.data();

    normRows(l.attentionNorm, s, x, T, m_normed.data());
    project(l, T);
    if (rotary >= 0) {
        const Angles& angles = m_angles[static_cast<std::size_t>(rotary)];
        rotate(angles, m_q.data(), T, s.heads, s.headDim);
        rotate(angles, m_k.data(), T, s.keyValueHeads, s.headDim);
    }
    for (std::int64_t t = 0; t < T; ++t) m_cache.write(index, first + t, m_k.data() + t * GD, m_v.data() + t * GD);
    attention(s, m_cache, index, m_q.data(), first, T, m_attention, m_mixed.data(), m_threads);
    linear(l.output, m_mixed.data(), T, delta, m_threads);
    if (!l.attentionPostNorm.weight.empty()) normRows(l.attentionPostNorm, s, delta, T, delta);
    if (s.parallelResidual) normRows(l.mlpNorm, s, x, T, m_normed.data());  // of the layer's input
    add(x, delta, xs);

    if (!s.parallelResidual) normRows(l.mlpNorm, s, x, T, m_normed.data());
    if (m_router && s.kinds[static_cast<std::size_t>(index)].routed)
        mixture(s, l, index, first, m_normed.data(), T, *m_router, m_mixture, delta, m_threads);
    else
        dense(l, T);
    if (!l.mlpPostNorm.weight.empty()) normRows(l.mlpPostNorm, s, delta, T, delta);
    add(x, delta, xs);
}

/// m_normed -> m_delta.
void Decoder::dense(const Layer& l, std::int64_t T) {
    const Shape& s = m_weights->shape;
    const bool gated = l.gate.weight.data != nullptr;
    linear(l.up, m_normed.data(), T, m_up.data(), m_threads);
    if (gated) linear(l.gate, m_normed.data(), T, m_gate.data(), m_threads);
    float* inner = gated ? m_gate.data() : m_up.data();
    kernels().activate(s.activation, inner, gated ? m_up.data() : nullptr, T * s.intermediate);
    linear(l.down, inner, T, m_delta.data(), m_threads);
}

compute::Outcome Decoder::forward(std::int64_t first, std::span<const compute::TokenId> ids, std::int64_t rows,
                                  std::span<float> logits, const std::stop_token& stop) {
    const Weights& w = *m_weights;
    const Shape& s = w.shape;
    const auto n = static_cast<std::int64_t>(ids.size()), most = std::min(n, kChunk);
    m_cache.reserve(first + n);
    if (m_router) m_router->begin(first, n);
    for (std::vector<float>* v : {&m_x, &m_normed, &m_delta}) resize(*v, most, s.hidden);
    for (std::vector<float>* v : {&m_q, &m_mixed}) resize(*v, most, s.heads * s.headDim);
    for (std::vector<float>* v : {&m_k, &m_v}) resize(*v, most, s.keyValueHeads * s.headDim);
    for (std::vector<float>* v : {&m_gate, &m_up}) resize(*v, most, s.intermediate);
    if (s.fused != Fused::No) resize(m_fused, most, (s.heads + 2 * s.keyValueHeads) * s.headDim);

    for (std::int64_t done = 0; done < n; done += kChunk) {
        const std::int64_t T = std::min(kChunk, n - done);
        embed(ids.subspan(static_cast<std::size_t>(done), static_cast<std::size_t>(T)), first + done);
        if (!finite(m_x.data(), T * s.hidden)) throwNotFinite(-1, s.layers);
        for (std::size_t i = 0; i < m_angles.size(); ++i) prepareAngles(s.rotaries[i], first + done, T, m_angles[i]);
        for (std::int64_t index = 0; index < s.layers; ++index) {
            if (stop.stop_requested()) return compute::Outcome::Cancelled;
            layer(index, first + done, T);
            if (!finite(m_x.data(), T * s.hidden)) throwNotFinite(index, s.layers);
        }
        const std::int64_t from =
            std::max<std::int64_t>(0, n - rows - done);  // the first row of this chunk that is asked for
        if (from >= T) continue;
        float* out = logits.data() + (done + from - (n - rows)) * s.vocabulary;
        normRows(w.norm, s, m_x.data() + from * s.hidden, T - from, m_normed.data());
        linear(w.head, nullptr, m_normed.data(), T - from, out, m_threads);
        if (s.logitCap > 0.0f) kernels().softCap(out, s.logitCap, (T - from) * s.vocabulary);
    }
    return stop.stop_requested() ? compute::Outcome::Cancelled : compute::Outcome::Done;
}

}  // namespace counterpoint::network
