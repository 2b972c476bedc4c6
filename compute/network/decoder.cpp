#include "compute/network/decoder.h"

#include <algorithm>

namespace counterpoint::network {
namespace {

constexpr std::int64_t kChunk =
    48;  // a multiple of the kernels' tiles; small enough for its rows to stay in the second cache

void resize(std::vector<float>& v, std::int64_t rows, std::int64_t columns) {
    const auto n = static_cast<std::size_t>(rows * columns);
    if (v.size() < n) v.resize(n);
}

void normRows(const float* x, const std::vector<float>& weight, float epsilon, std::int64_t T, float* out) {
    const auto C = static_cast<std::int64_t>(weight.size());
    for (std::int64_t t = 0; t < T; ++t) kernels().rmsNorm(x + t * C, weight.data(), epsilon, C, out + t * C);
}

}  // namespace

Decoder::Decoder(std::shared_ptr<const Weights> weights, int threads)
    : m_weights(std::move(weights)), m_threads(threads), m_cache(m_weights->shape), m_rotation(m_weights->shape) {}

void Decoder::layer(std::int64_t index, std::int64_t first, std::int64_t T) {
    const Shape& s = m_weights->shape;
    const Layer& l = m_weights->layers[static_cast<std::size_t>(index)];
    const std::int64_t GD = s.keyValueHeads * s.headDim, xs = T * s.hidden;
    float* x = m_x.data();

    normRows(x, l.attentionNorm, s.normEpsilon, T, m_normed.data());
    linear(l.query, m_normed.data(), T, m_q.data(), m_threads);
    linear(l.key, m_normed.data(), T, m_k.data(), m_threads);
    linear(l.value, m_normed.data(), T, m_v.data(), m_threads);
    m_rotation.apply(m_q.data(), T, s.heads);
    m_rotation.apply(m_k.data(), T, s.keyValueHeads);
    for (std::int64_t t = 0; t < T; ++t) m_cache.write(index, first + t, m_k.data() + t * GD, m_v.data() + t * GD);
    attention(s, m_cache, index, m_q.data(), first, T, m_attention, m_mixed.data(), m_threads);
    linear(l.output, m_mixed.data(), T, m_delta.data(), m_threads);
    for (std::int64_t i = 0; i < xs; ++i) x[i] += m_delta[static_cast<std::size_t>(i)];

    normRows(x, l.mlpNorm, s.normEpsilon, T, m_normed.data());
    linear(l.gate, m_normed.data(), T, m_gate.data(), m_threads);
    linear(l.up, m_normed.data(), T, m_up.data(), m_threads);
    kernels().siluTimes(m_gate.data(), m_up.data(), T * s.intermediate);
    linear(l.down, m_gate.data(), T, m_delta.data(), m_threads);
    for (std::int64_t i = 0; i < xs; ++i) x[i] += m_delta[static_cast<std::size_t>(i)];
}

compute::Outcome Decoder::forward(std::int64_t first, std::span<const compute::TokenId> ids, std::int64_t rows,
                                  std::span<float> logits, const std::stop_token& stop) {
    const Weights& w = *m_weights;
    const Shape& s = w.shape;
    const auto n = static_cast<std::int64_t>(ids.size()), most = std::min(n, kChunk);
    m_cache.reserve(first + n);
    for (std::vector<float>* v : {&m_x, &m_normed, &m_delta}) resize(*v, most, s.hidden);
    for (std::vector<float>* v : {&m_q, &m_mixed}) resize(*v, most, s.heads * s.headDim);
    for (std::vector<float>* v : {&m_k, &m_v}) resize(*v, most, s.keyValueHeads * s.headDim);
    for (std::vector<float>* v : {&m_gate, &m_up}) resize(*v, most, s.intermediate);

    const std::int64_t rowBytes = s.hidden * (w.embedding.type == WeightType::Float32 ? 4 : 2);
    for (std::int64_t done = 0; done < n; done += kChunk) {
        const std::int64_t T = std::min(kChunk, n - done);
        for (std::int64_t t = 0; t < T; ++t)
            kernels().widen(
                static_cast<const std::byte*>(w.embedding.data) + ids[static_cast<std::size_t>(done + t)] * rowBytes,
                w.embedding.type, s.hidden, m_x.data() + t * s.hidden);
        m_rotation.prepare(first + done, T);
        for (std::int64_t index = 0; index < s.layers; ++index) {
            if (stop.stop_requested()) return compute::Outcome::Cancelled;
            layer(index, first + done, T);
        }
        const std::int64_t from =
            std::max<std::int64_t>(0, n - rows - done);  // the first row of this chunk that is asked for
        if (from >= T) continue;
        normRows(m_x.data() + from * s.hidden, w.norm, s.normEpsilon, T - from, m_normed.data());
        linear(w.head, nullptr, m_normed.data(), T - from, logits.data() + (done + from - (n - rows)) * s.vocabulary,
               m_threads);
    }
    return stop.stop_requested() ? compute::Outcome::Cancelled : compute::Outcome::Done;
}

}  // namespace counterpoint::network
