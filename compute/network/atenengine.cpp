#include "compute/network/atenengine.h"

#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>
#include <numeric>
#include <optional>

#include "compute/network/atenweights.h"
#include "compute/network/convert.h"
#include "compute/network/devicegraph.h"
#include "compute/network/guard.h"
#include "compute/network/modelsource.h"
#include "compute/network/router.h"
#include "compute/network/versions.h"
#include "compute/sources/notfinite.h"

namespace counterpoint::network {
namespace {

using compute::Outcome;
using compute::TokenId;

constexpr std::int64_t kChunk = 256;   ///< positions of a prompt at once
constexpr std::int64_t kGrowth = 256;  ///< positions by which the cache grows

class AtenEngine final : public Engine {
  public:
    explicit AtenEngine(std::shared_ptr<const AtenWeights> weights) : m_weights(std::move(weights)) {
        if (shape().mixture.experts == 0) return;
        m_router.emplace(shape());
        m_recordable = false;  // who is chosen is decided on the host
    }
    Router* router() override { return m_router ? &*m_router : nullptr; }

    Outcome forward(std::int64_t first, std::span<const TokenId> ids, std::int64_t rows, std::span<float> logits,
                    const std::stop_token& stop) override {
        return guarded("device " + m_weights->device.str(), [&] {
            const c10::InferenceMode inference;
            const auto n = static_cast<std::int64_t>(ids.size());
            reserve(first + n);
            if (m_router) m_router->begin(first, n);
            for (std::int64_t done = 0; done < n; done += kChunk) {
                const std::int64_t T = std::min(kChunk, n - done), from = std::max<std::int64_t>(0, n - rows - done);
                const at::Tensor input = at::empty({2, T}, at::kLong);  // ids, positions: one copy to the device
                auto* at = input.data_ptr<std::int64_t>();
                std::copy_n(ids.begin() + done, T, at);
                std::iota(at + T, at + 2 * T, first + done);
                m_first = first + done;
                const at::Tensor out = T == 1 ? step(input, stop) : run(input.to(m_weights->device), from, stop);
                if (stop.stop_requested()) return Outcome::Cancelled;
                if (from >= T) continue;
                float* to = logits.data() + (done + from - (n - rows)) * shape().vocabulary;
                at::from_blob(to, out.sizes(), at::kFloat).copy_(out);            // one copy to the host
                if (std::isnan(*to)) requireFinite(input.to(m_weights->device));  // one NaN makes a row of them
            }
            return Outcome::Done;
        });
    }

  private:
    /// What the layers share, on the device: who stands where, the angles there, and who may see whom.
    struct Surroundings {
        at::Tensor positions;                                   ///< [T]
        std::vector<std::pair<at::Tensor, at::Tensor>> angles;  ///< cosine and sine [T][n] of each rotary
        std::map<std::int64_t, at::Tensor> masks;               ///< by window: [T][capacity], 0 or −∞
    };

    const Shape& shape() const { return m_weights->source->shape; }
    std::int64_t capacity() const { return m_cache.defined() ? m_cache.size(3) : 0; }

    /// Room for `count` positions; the graph is of one capacity.
    void reserve(std::int64_t count) {
        const std::int64_t have = capacity();
        if (count <= have) return;
        const std::int64_t room = std::min(shape().maxPositions, (count + kGrowth - 1) / kGrowth * kGrowth);
        m_graph.reset();
        at::Tensor grown = at::zeros({shape().layers, 2, shape().keyValueHeads, room, shape().headDim},
                                     at::TensorOptions(m_weights->attention).device(m_weights->device));
        if (have > 0) grown.narrow(3, 0, have).copy_(m_cache);
        m_cache = grown;
        m_places = at::arange(room, at::TensorOptions(at::kLong).device(m_weights->device));
        m_tables.clear();
        for (const Rotary& rotary : shape().rotaries) {
            Angles angles;
            prepareAngles(rotary, 0, room, angles);
            const auto n = static_cast<std::int64_t>(rotary.frequencies.size());
            const auto there = [&](std::vector<float>& v) {
                return at::from_blob(v.data(), {room, n}, at::kFloat).to(m_weights->device, at::kFloat, false, true);
            };
            m_tables.push_back({there(angles.cosine), there(angles.sine)});
        }
    }

    /// One token: input and output stand where they stood, and everything between depends on the device's memory only,
    /// so that it is recorded once for each capacity and played again. Where it cannot be recorded, or does not repeat
    /// what it did when it was not, it is run.
    at::Tensor step(const at::Tensor& input, const std::stop_token& stop) {
        if (!m_input.defined()) m_input = at::empty({2, 1}, input.options().device(m_weights->device));
        m_input.copy_(input);
        if (m_graph.recorded()) {
            m_graph.play();
            return m_output;
        }
        const at::Tensor plain = run(m_input, 0, stop);
        if (!plain.defined() || !m_recordable) return plain;
        m_recordable = m_graph.record(m_weights->device, [&] { m_output = run(m_input, 0, {}); });
        if (!m_recordable) return plain;
        m_graph.play();
        m_recordable = at::allclose(m_output, plain, 1e-3, 1e-3, true);
        if (!m_recordable) m_graph.reset();
        return plain;
    }

    static bool finite(const at::Tensor& x) { return at::isfinite(x).all().item<bool>(); }

    /// The layers once more, each looked at.
    void requireFinite(const at::Tensor& input) {
        const Surroundings around = surroundings(input.select(0, 1));
        at::Tensor x = embed(input.select(0, 0), around.positions);
        if (!finite(x)) throwNotFinite(-1, shape().layers);
        for (std::size_t i = 0; i < m_weights->layers.size(); ++i) {
            x = layer(i, x, around);
            if (!finite(x)) throwNotFinite(static_cast<std::int64_t>(i), shape().layers);
        }
    }

    /// input [2][T]: ids, positions. Log-probabilities [T - from][V] of what follows; undefined when stopped or none is
    /// asked for. With one token nothing here waits for the device or depends on the input's values but through it.
    at::Tensor run(const at::Tensor& input, std::int64_t from, const std::stop_token& stop) {
        const Surroundings around = surroundings(input.select(0, 1));
        at::Tensor x = embed(input.select(0, 0), around.positions);
        try {
            for (std::size_t i = 0; i < m_weights->layers.size(); ++i) {
                if (stop.stop_requested()) return {};
                x = layer(i, x, around);
            }
        } catch (const compute::NotFinite&) {  // a router saw it; an earlier layer may have made it
            requireFinite(input);
            throw;
        }
        if (x.size(0) > 1 && !finite(x)) requireFinite(input);
        if (from >= x.size(0)) return {};
        const at::Tensor last = normed(x.narrow(0, from, x.size(0) - from), m_weights->norm);
        return at::log_softmax(capped(at::linear(last, m_weights->head).to(at::kFloat), shape().logitCap), -1);
    }

    at::Tensor embed(const at::Tensor& ids, const at::Tensor& positions) const {
        at::Tensor x = at::embedding(m_weights->embedding, ids);
        if (m_weights->embeddingScale != 1.0) x = x * m_weights->embeddingScale;
        if (m_weights->positions.defined()) x = x + m_weights->positions.index_select(0, positions);
        return x;
    }

    Surroundings surroundings(const at::Tensor& positions) const {
        Surroundings around{positions, {}, {}};
        for (const auto& [cosine, sine] : m_tables)
            around.angles.push_back({cosine.index_select(0, positions), sine.index_select(0, positions)});
        const at::Tensor last = positions.unsqueeze(1), places = m_places.unsqueeze(0);
        for (const LayerKind& kind : shape().kinds)
            if (!around.masks.contains(kind.window)) {
                at::Tensor hidden = places > last;
                if (kind.window > 0) hidden = hidden.logical_or(places <= last - kind.window);
                around.masks[kind.window] = at::zeros(hidden.sizes(), hidden.options().dtype(at::kFloat))
                                                .masked_fill_(hidden, -std::numeric_limits<double>::infinity());
            }
        return around;
    }

    /// In float32, then back to the weights' dtype; over the last dimension.
    at::Tensor normed(const at::Tensor& x, const AtenNorm& norm) const {
        if (!norm.weight.defined()) return x;
        const at::Tensor wide = x.to(at::kFloat);
        const double epsilon = shape().normEpsilon;
        if (shape().norm == NormKind::Layer)
            return at::layer_norm(wide, {wide.size(-1)}, norm.weight, norm.bias, epsilon).to(m_weights->type);
        const at::Tensor scale = at::rsqrt(at::mean(wide * wide, {-1}, true) + epsilon);
        return (wide * scale * norm.weight).to(m_weights->type);
    }

    /// x [T][heads][D], head by head or all as one.
    at::Tensor headNormed(const at::Tensor& x, const AtenNorm& norm) const {
        return shape().headNormsAsOne ? normed(x.flatten(1), norm).view_as(x) : normed(x, norm);
    }

    static at::Tensor capped(const at::Tensor& x, double cap) { return cap > 0.0 ? at::tanh(x / cap) * cap : x; }

    /// x [T][heads][D] -> [heads][T][D] in the attention's dtype, each head's halves turned.
    at::Tensor rotated(const at::Tensor& x, int rotary, const Surroundings& around) const {
        const at::Tensor heads = x.transpose(0, 1);
        if (rotary < 0) return heads.to(m_weights->attention);
        const auto& [cosine, sine] = around.angles[static_cast<std::size_t>(rotary)];
        const std::int64_t n = cosine.size(1), rest = heads.size(2) - 2 * n;
        const at::Tensor wide = heads.to(at::kFloat), a = wide.narrow(2, 0, n), b = wide.narrow(2, n, n);
        return at::cat({a * cosine - b * sine, b * cosine + a * sine, wide.narrow(2, 2 * n, rest)}, 2)
            .to(m_weights->attention);
    }

    /// h [T][C] -> queries [T][H][D], keys and values [T][G][D], before norms and positions.
    std::array<at::Tensor, 3> projected(const AtenLayer& l, const at::Tensor& h) const {
        const Shape& s = shape();
        const std::int64_t T = h.size(0), H = s.heads, G = s.keyValueHeads, D = s.headDim;
        const at::Tensor q = at::linear(h, l.query.weight, l.query.bias);
        if (s.fused == Fused::No)
            return {q.view({T, H, D}), at::linear(h, l.key.weight, l.key.bias).view({T, G, D}),
                    at::linear(h, l.value.weight, l.value.bias).view({T, G, D})};
        if (s.fused == Fused::PerHead) {
            const at::Tensor heads = q.view({T, H, 3, D});
            return {heads.select(2, 0), heads.select(2, 1), heads.select(2, 2)};
        }
        const at::Tensor heads = q.view({T, H + 2 * G, D});
        return {heads.narrow(1, 0, H), heads.narrow(1, H, G), heads.narrow(1, H + G, G)};
    }

    at::Tensor attention(std::size_t index, const at::Tensor& h, const Surroundings& around) const {
        const Shape& s = shape();
        const AtenLayer& l = m_weights->layers[index];
        const LayerKind& kind = s.kinds[index];
        const std::int64_t T = h.size(0), P = capacity(), G = s.keyValueHeads, perGroup = s.heads / G, D = s.headDim;
        const auto [queries, keys, values] = projected(l, h);
        const at::Tensor cache = m_cache.select(0, static_cast<std::int64_t>(index));
        const at::Tensor k = cache.select(0, 0), v = cache.select(0, 1);
        k.index_copy_(1, around.positions, rotated(headNormed(keys, l.keyNorm), kind.rotary, around));
        v.index_copy_(1, around.positions, values.transpose(0, 1).to(m_weights->attention));
        const at::Tensor q =
            rotated(headNormed(queries, l.queryNorm), kind.rotary, around).reshape({G, perGroup * T, D});
        const at::Tensor products = at::bmm(q, k.transpose(1, 2)).to(at::kFloat).view({G, perGroup, T, P});
        const at::Tensor scores =
            capped(products * static_cast<double>(s.attentionScale), s.attentionCap) + around.masks.at(kind.window);
        const at::Tensor weights = at::softmax(scores, -1).to(m_weights->attention).view({G, perGroup * T, P});
        const at::Tensor mixed =
            at::bmm(weights, v).view({s.heads, T, D}).transpose(0, 1).reshape({T, s.heads * D}).to(m_weights->type);
        return normed(at::linear(mixed, l.output.weight, l.output.bias), l.attentionPostNorm);
    }

    at::Tensor activated(const at::Tensor& x) const {
        switch (shape().activation) {
            case Activation::Silu:
                return at::silu(x);
            case Activation::Gelu:
                return at::gelu(x);
            case Activation::GeluTanh:
                return at::gelu(x, "tanh");
        }
        return x;
    }

    at::Tensor mlp(const AtenLayer& l, const at::Tensor& h) const {
        const at::Tensor up = at::linear(h, l.up.weight, l.up.bias);
        const at::Tensor inner =
            l.gate.weight.defined() ? activated(at::linear(h, l.gate.weight, l.gate.bias)) * up : activated(up);
        return normed(at::linear(inner, l.down.weight, l.down.bias), l.mlpPostNorm);
    }

    at::Tensor layer(std::size_t index, const at::Tensor& x, const Surroundings& around) {
        const AtenLayer& l = m_weights->layers[index];
        const at::Tensor after = x + attention(index, normed(x, l.attentionNorm), around);
        const at::Tensor h = normed(shape().parallelResidual ? x : after, l.mlpNorm);
        return after + (l.router.defined() ? mixture(index, h) : mlp(l, h));
    }

    at::Tensor of(const AtenExpert& expert, const at::Tensor& h) const {
        return at::linear(activated(at::linear(h, expert.gate)) * at::linear(h, expert.up), expert.down).to(at::kFloat);
    }

    /// The router in float32 and the choice on the host; each chosen expert once for all its positions, summed in
    /// float32.
    at::Tensor mixture(std::size_t index, const at::Tensor& h) {
        const AtenLayer& l = m_weights->layers[index];
        const auto layer = static_cast<std::int64_t>(index), T = h.size(0);
        const at::Tensor logits = at::linear(h.to(at::kFloat), l.router).to(at::kCPU).contiguous();
        const float* row = logits.data_ptr<float>();
        if (!std::all_of(row, row + logits.numel(), [](float x) { return std::isfinite(x); }))
            throwNotFinite(layer, shape().layers);
        m_router->route(layer, m_first, T, row);
        group(*m_router, layer, m_first, T, m_grouped);
        const auto rows = static_cast<std::int64_t>(m_grouped.positions.size());
        const at::Tensor positions =
            at::from_blob(m_grouped.positions.data(), {rows}, at::kLong).to(m_weights->device, at::kLong, false, true);
        const at::Tensor weights = at::from_blob(m_grouped.weights.data(), {rows, 1}, at::kFloat)
                                       .to(m_weights->device, at::kFloat, false, true);
        const at::Tensor out = at::zeros(h.sizes(), h.options().dtype(at::kFloat));
        for (std::size_t e = 0; e < l.experts.size(); ++e) {
            const std::int64_t begin = m_grouped.begins[e], n = m_grouped.begins[e + 1] - begin;
            if (n == 0) continue;
            const at::Tensor own = positions.narrow(0, begin, n);
            out.index_add_(0, own, of(l.experts[e], h.index_select(0, own)) * weights.narrow(0, begin, n));
        }
        if (!l.sharedGate.defined()) return out.to(m_weights->type);
        const at::Tensor scale = at::sigmoid(at::linear(h, l.sharedGate).to(at::kFloat));
        return (out + scale * of(l.shared, h)).to(m_weights->type);
    }

    std::shared_ptr<const AtenWeights> m_weights;
    at::Tensor m_cache;                                       ///< [L][2][G][capacity][D]
    at::Tensor m_places;                                      ///< 0, 1, … [capacity]
    std::vector<std::pair<at::Tensor, at::Tensor>> m_tables;  ///< cosine and sine [capacity][n] of each rotary
    at::Tensor m_input, m_output;                             ///< of a step: [2][1], [1][V]
    std::optional<Router> m_router;
    Grouped m_grouped;
    std::int64_t m_first = 0;  ///< position of the first token of the pieces that run() is about
    DeviceGraph m_graph;
    bool m_recordable = true;
};

}  // namespace

std::unique_ptr<compute::Source> openOnAten(const std::filesystem::path& directory,
                                            std::shared_ptr<const compute::Tokenizer> tokenizer,
                                            const compute::OpenOptions& options, const std::stop_token& stop) {
    return guarded(directory.string(), [&]() -> std::unique_ptr<compute::Source> {
        const bool onProcessor = options.device == "cpu-aten";
        if (!onProcessor) requireCudaDevice(options.device);
        const at::Device named(onProcessor ? "cpu" : options.device);
        const at::Device device(named.type(), onProcessor ? -1 : std::max<at::DeviceIndex>(0, named.index()));
        static std::once_flag threadsSet;
        std::call_once(threadsSet, [&] { at::set_num_threads(threadCount(options.threads)); });
        std::shared_ptr<OpenedModel> model = openWeights(directory, std::move(tokenizer), options, stop);
        if (model == nullptr) return nullptr;
        model->info.device = onProcessor ? options.device : device.str();
        model->info.dtype = typeName(model->weights->embedding.type);  // of all matrices there
        model->newEngine = [weights = upload(std::move(model->weights), device)] {
            return std::make_unique<AtenEngine>(weights);
        };
        return makeSource(model);
    });
}

}  // namespace counterpoint::network
