#include "compute/network/train/llama.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace counterpoint::network::train {

namespace {

at::Tensor rmsNorm(const at::Tensor& x, const at::Tensor& weight, double epsilon) {
    return x * at::rsqrt(x.pow(2).mean(-1, true) + epsilon) * weight;
}

struct Rotation {
    at::Tensor cosine, sine;  ///< [T, D], both halves equal
};

Rotation rotation(const ModelShape& s, std::int64_t positions, at::ScalarType type) {
    const std::int64_t d = s.dim / s.heads;
    const auto exponent = at::arange(0, d, 2, at::kDouble) / static_cast<double>(d);
    const auto angle = at::outer(at::arange(positions, at::kDouble), at::pow(s.ropeTheta, -exponent));
    const auto both = at::cat({angle, angle}, 1);
    return {both.cos().to(type), both.sin().to(type)};
}

// x [B,H,T,D]: x·cos + rotateHalf(x)·sin
at::Tensor rotate(const at::Tensor& x, const Rotation& r) {
    const auto half = x.chunk(2, -1);
    return x * r.cosine + at::cat({-half[1], half[0]}, -1) * r.sine;
}

at::Tensor attention(const ModelShape& s, const Layer& layer, const at::Tensor& n, const Rotation& r,
                     const at::Tensor& mask) {
    const std::int64_t b = n.size(0), t = n.size(1), d = s.dim / s.heads, group = s.heads / s.keyValueHeads;
    const auto heads = [&](const at::Tensor& w, std::int64_t count) {
        return at::linear(n, w).view({b, t, count, d}).transpose(1, 2);
    };
    // The query heads that share a key stand as rows of one product: [B·Hkv, group·T, D].
    const auto q = rotate(heads(layer.query, s.heads), r).reshape({b * s.keyValueHeads, group * t, d});
    const auto k = rotate(heads(layer.key, s.keyValueHeads), r).reshape({b * s.keyValueHeads, t, d});
    const auto v = heads(layer.value, s.keyValueHeads).reshape({b * s.keyValueHeads, t, d});
    const auto scores = at::baddbmm(mask, q, k.transpose(1, 2), 1, 1 / std::sqrt(static_cast<double>(d)));
    const auto mixed =
        at::bmm(at::softmax(scores, -1), v).view({b, s.heads, t, d}).transpose(1, 2).reshape({b, t, s.dim});
    return at::linear(mixed, layer.output);
}

at::Tensor dropped(const at::Tensor& x, double dropout) { return dropout > 0 ? at::dropout(x, dropout, true) : x; }

}  // namespace

std::vector<std::pair<std::string, at::Tensor*>> Llama::parameters() {
    std::vector<std::pair<std::string, at::Tensor*>> out{{"model.embed_tokens.weight", &embedding}};
    for (std::size_t i = 0; i < layers.size(); ++i) {
        const std::string at = "model.layers." + std::to_string(i) + ".";
        Layer& l = layers[i];
        out.insert(out.end(), {{at + "input_layernorm.weight", &l.norm},
                               {at + "self_attn.q_proj.weight", &l.query},
                               {at + "self_attn.k_proj.weight", &l.key},
                               {at + "self_attn.v_proj.weight", &l.value},
                               {at + "self_attn.o_proj.weight", &l.output},
                               {at + "post_attention_layernorm.weight", &l.mlpNorm}});
        const bool routed = shape.experts > 0;
        const std::string mixture = at + "block_sparse_moe.", one = at + "mlp.";
        if (routed) out.emplace_back(mixture + "gate.weight", &l.router);
        for (std::size_t e = 0; e < l.experts.size(); ++e) {
            const std::string expert = mixture + "experts." + std::to_string(e) + ".";
            out.insert(out.end(), {{routed ? expert + "w1.weight" : one + "gate_proj.weight", &l.experts[e].gate},
                                   {routed ? expert + "w3.weight" : one + "up_proj.weight", &l.experts[e].up},
                                   {routed ? expert + "w2.weight" : one + "down_proj.weight", &l.experts[e].down}});
        }
    }
    out.emplace_back("model.norm.weight", &finalNorm);
    return out;
}

std::int64_t Llama::parameterCount() {
    std::int64_t n = 0;
    for (const auto& [name, tensor] : parameters()) n += tensor->numel();
    return n;
}

Llama initialise(const ModelShape& s, std::uint64_t seed) {
    at::manual_seed(seed);
    const double deviation = 0.02, residual = deviation / std::sqrt(2.0 * static_cast<double>(s.layers));
    const std::int64_t kv = s.dim / s.heads * s.keyValueHeads;
    const auto normal = [](std::int64_t rows, std::int64_t columns, double std) {
        return (at::randn({rows, columns}, at::kFloat) * std).set_requires_grad(true);
    };
    const auto ones = [&] { return at::ones({s.dim}, at::kFloat).set_requires_grad(true); };
    Llama m;
    m.shape = s;
    m.embedding = normal(s.vocabulary, s.dim, deviation);
    m.finalNorm = ones();
    for (std::int64_t i = 0; i < s.layers; ++i) {
        Layer& layer = m.layers.emplace_back(Layer{.norm = ones(),
                                                   .query = normal(s.dim, s.dim, deviation),
                                                   .key = normal(kv, s.dim, deviation),
                                                   .value = normal(kv, s.dim, deviation),
                                                   .output = normal(s.dim, s.dim, residual),
                                                   .mlpNorm = ones(),
                                                   .router = {},
                                                   .experts = {}});
        for (std::int64_t e = 0; e < std::max<std::int64_t>(1, s.experts); ++e)
            layer.experts.push_back({.gate = normal(s.hidden, s.dim, deviation),
                                     .up = normal(s.hidden, s.dim, deviation),
                                     .down = normal(s.dim, s.hidden, residual)});
        if (s.experts > 0) layer.router = normal(s.experts, s.dim, deviation);
    }
    return m;
}

at::Tensor logits(const Llama& m, const at::Tensor& ids, const Pass& pass) {
    const ModelShape& s = m.shape;
    const std::int64_t t = ids.size(1);
    const Rotation r = rotation(s, t, m.embedding.scalar_type());
    const auto mask =
        at::full({t, t}, -1e9, m.embedding.scalar_type()).triu(1).repeat({s.heads / s.keyValueHeads, 1}).unsqueeze(0);
    auto h = dropped(at::embedding(m.embedding, ids), pass.dropout);
    for (std::size_t i = 0; i < m.layers.size(); ++i) {
        const Layer& layer = m.layers[i];
        h = h + dropped(attention(s, layer, rmsNorm(h, layer.norm, s.normEpsilon), r, mask), pass.dropout);
        const auto n = rmsNorm(h, layer.mlpNorm, s.normEpsilon);
        const auto said = s.experts > 0
                              ? routed(n, layer.router, layer.experts, s.chosen, static_cast<std::int64_t>(i), pass)
                              : feedForward(layer.experts.front(), n);
        h = h + dropped(said, pass.dropout);
    }
    return at::linear(rmsNorm(h, m.finalNorm, s.normEpsilon), m.embedding);
}

at::Tensor crossEntropy(const Llama& m, const at::Tensor& ids, const at::Tensor& targets, const Pass& pass,
                        const at::Tensor& weights) {
    const auto loss = [&](at::Reduction::Reduction reduction) {
        return at::cross_entropy_loss(logits(m, ids, pass).view({-1, m.shape.vocabulary}), targets.reshape({-1}), {},
                                      reduction, -100);
    };
    if (!weights.defined()) return loss(at::Reduction::Mean);
    return (loss(at::Reduction::None) * weights.reshape({-1})).mean();
}

std::pair<double, std::int64_t> heldOutLoss(const Llama& m, const std::vector<std::vector<TokenId>>& stories) {
    const c10::NoGradGuard noGrad;
    // Stories of like length share a batch, so that little of it is padding.
    std::vector<std::size_t> order(stories.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return stories[i].size(); });
    const auto predicted = [&](std::size_t i) {
        return std::min<std::int64_t>(static_cast<std::int64_t>(stories[i].size()) - 1, m.shape.maxPositions);
    };
    double sum = 0;
    std::int64_t tokens = 0;
    constexpr std::size_t kRows = 8;
    for (std::size_t from = 0; from < order.size(); from += kRows) {
        const auto to = std::min(from + kRows, order.size());
        const std::int64_t rows = static_cast<std::int64_t>(to - from), t = predicted(order[to - 1]);
        auto input = at::zeros({rows, t}, at::kLong), target = at::full({rows, t}, -100, at::kLong);
        std::int64_t count = 0;
        for (std::size_t i = from; i < to; ++i) {
            const auto& story = stories[order[i]];
            for (std::int64_t p = 0; p < predicted(order[i]); ++p) {
                const auto at = static_cast<std::int64_t>(i - from) * t + p;
                input.data_ptr<std::int64_t>()[at] = story[static_cast<std::size_t>(p)];
                target.data_ptr<std::int64_t>()[at] = story[static_cast<std::size_t>(p) + 1];
                ++count;
            }
        }
        sum += crossEntropy(m, input, target, {}).item<double>() * static_cast<double>(count);
        tokens += count;
    }
    return {sum / static_cast<double>(tokens), tokens};
}

}  // namespace counterpoint::network::train
