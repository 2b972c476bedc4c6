#include "compute/network/atenengine.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <mutex>

#include "compute/network/convert.h"
#include "compute/network/guard.h"
#include "compute/network/modelsource.h"
#include "compute/network/versions.h"

namespace counterpoint::network {
namespace {

using compute::Outcome;
using compute::TokenId;

constexpr std::int64_t kChunk = 256;   ///< positions of a prompt at once
constexpr std::int64_t kGrowth = 256;  ///< positions by which the cache grows

struct AtenLinear {
    at::Tensor weight, bias;
};
struct AtenNorm {
    at::Tensor weight, bias;  ///< float32; undefined: no norm, no bias
};
struct AtenLayer {
    AtenNorm attentionNorm, queryNorm, keyNorm, attentionPostNorm, mlpNorm, mlpPostNorm;
    AtenLinear query, key, value, output, gate, up, down;
};
struct AtenWeights {
    std::shared_ptr<const Weights> source;  ///< keeps the mapping alive where a tensor lies in it
    at::Tensor embedding, positions, head;
    AtenNorm norm;
    double embeddingScale = 1.0;  ///< as a weight would hold it
    std::vector<AtenLayer> layers;
    at::Device device{at::kCPU};
    at::ScalarType type = at::kFloat;       ///< of weights and activations
    at::ScalarType attention = at::kFloat;  ///< of keys, values and their products
};

at::ScalarType scalarType(WeightType type) {
    switch (type) {
        case WeightType::Float32:
            return at::kFloat;
        case WeightType::BFloat16:
            return at::kBFloat16;
        case WeightType::Float16:
            return at::kHalf;
    }
    return at::kFloat;
}

/// Uploads weights; float16 has no arithmetic on the processor in older libtorch and is widened there.
class Uploader {
  public:
    explicit Uploader(AtenWeights& to) : m_to(to) {}
    at::Tensor matrix(const Matrix& m) const {
        if (m.data == nullptr) return {};
        const auto options = at::TensorOptions(scalarType(m.type));
        void* data = const_cast<void*>(m.data);
        const at::Tensor view = m.transposed ? at::from_blob(data, {m.columns, m.rows}, options).t()
                                             : at::from_blob(data, {m.rows, m.columns}, options);
        return view.to(m_to.device, m_to.type);
    }
    at::Tensor vector(const std::vector<float>& v) const {  // float32, always its own memory
        if (v.empty()) return {};
        const at::Tensor view =
            at::from_blob(const_cast<float*>(v.data()), {static_cast<std::int64_t>(v.size())}, at::kFloat);
        return view.to(m_to.device, at::kFloat, false, true);
    }
    AtenLinear linear(const Linear& l) const {
        return {matrix(l.weight), l.bias.empty() ? at::Tensor() : vector(l.bias).to(m_to.type)};
    }
    AtenNorm norm(const Norm& n) const { return {vector(n.weight), vector(n.bias)}; }
    AtenLayer layer(const Layer& l) const {
        return {.attentionNorm = norm(l.attentionNorm),
                .queryNorm = norm(l.queryNorm),
                .keyNorm = norm(l.keyNorm),
                .attentionPostNorm = norm(l.attentionPostNorm),
                .mlpNorm = norm(l.mlpNorm),
                .mlpPostNorm = norm(l.mlpPostNorm),
                .query = linear(l.query),
                .key = linear(l.key),
                .value = linear(l.value),
                .output = linear(l.output),
                .gate = linear(l.gate),
                .up = linear(l.up),
                .down = linear(l.down)};
    }

  private:
    AtenWeights& m_to;
};

std::shared_ptr<const AtenWeights> upload(std::shared_ptr<const Weights> weights, at::Device device) {
    const c10::InferenceMode inference;
    auto result = std::make_shared<AtenWeights>();
    const Weights& w = *weights;
    const bool widened = device.is_cpu() && w.embedding.type == WeightType::Float16;
    result->device = device;
    result->type = widened ? at::kFloat : scalarType(w.embedding.type);
    // libtorch 1.13 sums batched bfloat16 products in bfloat16 on the processor: 2,000 positions lose two digits
    result->attention = device.is_cpu() ? at::kFloat : result->type;
    const Uploader up(*result);
    result->embedding = up.matrix(w.embedding);
    result->head = w.head.data == w.embedding.data ? result->embedding : up.matrix(w.head);
    result->positions = up.matrix(w.positions);
    result->norm = up.norm(w.norm);
    result->embeddingScale = rounded(static_cast<float>(w.shape.embeddingScale), w.embedding.type);
    for (const Layer& l : w.layers) result->layers.push_back(up.layer(l));
    result->source = std::move(weights);
    return result;
}

class AtenEngine final : public Engine {
  public:
    explicit AtenEngine(std::shared_ptr<const AtenWeights> weights) : m_weights(std::move(weights)) {}

    Outcome forward(std::int64_t first, std::span<const TokenId> ids, std::int64_t rows, std::span<float> logits,
                    const std::stop_token& stop) override {
        return guarded("device " + m_weights->device.str(), [&] {
            const c10::InferenceMode inference;
            const auto n = static_cast<std::int64_t>(ids.size());
            reserve(first + n);
            for (std::int64_t done = 0; done < n; done += kChunk) {
                const std::int64_t T = std::min(kChunk, n - done);
                at::Tensor x =
                    embed(ids.subspan(static_cast<std::size_t>(done), static_cast<std::size_t>(T)), first + done);
                prepare(first + done, T);
                for (std::size_t i = 0; i < m_weights->layers.size(); ++i) {
                    if (stop.stop_requested()) return Outcome::Cancelled;
                    x = layer(i, x, first + done);
                }
                const std::int64_t from = std::max<std::int64_t>(0, n - rows - done);
                if (from >= T) continue;
                const at::Tensor last = normed(x.narrow(0, from, T - from), m_weights->norm);
                const at::Tensor out = capped(at::linear(last, m_weights->head).to(at::kFloat), shape().logitCap)
                                           .to(at::kCPU)
                                           .contiguous();
                std::copy_n(out.data_ptr<float>(), out.numel(),
                            logits.data() + (done + from - (n - rows)) * shape().vocabulary);
            }
            return stop.stop_requested() ? Outcome::Cancelled : Outcome::Done;
        });
    }

  private:
    const Shape& shape() const { return m_weights->source->shape; }

    void reserve(std::int64_t count) {
        const std::int64_t have = m_cache.defined() ? m_cache.size(3) : 0;
        if (count <= have) return;
        const std::int64_t capacity = std::min(shape().maxPositions, (count + kGrowth - 1) / kGrowth * kGrowth);
        at::Tensor grown = at::zeros({shape().layers, 2, shape().keyValueHeads, capacity, shape().headDim},
                                     at::TensorOptions(m_weights->attention).device(m_weights->device));
        if (have > 0) grown.narrow(3, 0, have).copy_(m_cache);
        m_cache = grown;
    }

    at::Tensor embed(std::span<const TokenId> ids, std::int64_t first) const {
        const at::Tensor index =
            at::tensor(at::ArrayRef<std::int32_t>(ids.data(), ids.size()), at::kLong).to(m_weights->device);
        at::Tensor x = at::embedding(m_weights->embedding, index);
        if (m_weights->embeddingScale != 1.0) x = x * m_weights->embeddingScale;
        if (m_weights->positions.defined()) x = x + m_weights->positions.narrow(0, first, x.size(0));
        return x;
    }

    /// Angles of positions first..first+T-1, and for each kind of layer who may see whom: [T][first+T], −∞ for the
    /// future and for what the window has passed.
    void prepare(std::int64_t first, std::int64_t T) {
        const Shape& s = shape();
        m_angles.clear();
        for (const Rotary& rotary : s.rotaries) {
            Angles angles;
            prepareAngles(rotary, first, T, angles);
            const std::int64_t n = static_cast<std::int64_t>(rotary.frequencies.size());
            const auto there = [&](std::vector<float>& v) {
                return at::from_blob(v.data(), {T, n}, at::kFloat).to(m_weights->device, at::kFloat, false, true);
            };
            m_angles.push_back({there(angles.cosine), there(angles.sine)});
        }
        constexpr double kNothing = -std::numeric_limits<double>::infinity();
        const at::Tensor future = at::full({T, first + T}, kNothing, at::kFloat).triu(first + 1);
        m_masks.clear();
        for (const LayerKind& kind : s.kinds)
            if (!m_masks.contains(kind.window)) {
                at::Tensor mask = future;
                if (kind.window > 0)
                    mask = mask + at::full({T, first + T}, kNothing, at::kFloat).tril(first - kind.window);
                m_masks[kind.window] = mask.to(m_weights->device);
            }
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

    static at::Tensor capped(const at::Tensor& x, double cap) { return cap > 0.0 ? at::tanh(x / cap) * cap : x; }

    /// x [T][heads][D] -> [heads][T][D] in the attention's dtype, each head's halves turned.
    at::Tensor rotated(const at::Tensor& x, int rotary) const {
        const at::Tensor heads = x.transpose(0, 1);
        if (rotary < 0) return heads.to(m_weights->attention);
        const auto& [cosine, sine] = m_angles[static_cast<std::size_t>(rotary)];
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

    at::Tensor attention(std::size_t index, const at::Tensor& h, std::int64_t first) {
        const Shape& s = shape();
        const AtenLayer& l = m_weights->layers[index];
        const LayerKind& kind = s.kinds[index];
        const std::int64_t T = h.size(0), P = first + T, G = s.keyValueHeads, perGroup = s.heads / G, D = s.headDim;
        const auto [queries, keys, values] = projected(l, h);
        const at::Tensor cache = m_cache.select(0, static_cast<std::int64_t>(index));
        cache.select(0, 0).narrow(1, first, T).copy_(rotated(normed(keys, l.keyNorm), kind.rotary));
        cache.select(0, 1).narrow(1, first, T).copy_(values.transpose(0, 1));
        const at::Tensor q = rotated(normed(queries, l.queryNorm), kind.rotary).reshape({G, perGroup * T, D});
        const at::Tensor k = cache.select(0, 0).narrow(1, 0, P), v = cache.select(0, 1).narrow(1, 0, P);
        const at::Tensor products = at::bmm(q, k.transpose(1, 2)).to(at::kFloat).view({G, perGroup, T, P});
        const at::Tensor scores =
            capped(products * static_cast<double>(s.attentionScale), s.attentionCap) + m_masks.at(kind.window);
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

    at::Tensor layer(std::size_t index, const at::Tensor& x, std::int64_t first) {
        const AtenLayer& l = m_weights->layers[index];
        const at::Tensor after = x + attention(index, normed(x, l.attentionNorm), first);
        return after + mlp(l, normed(shape().parallelResidual ? x : after, l.mlpNorm));
    }

    std::shared_ptr<const AtenWeights> m_weights;
    at::Tensor m_cache;                                       ///< [L][2][G][capacity][D]
    std::vector<std::pair<at::Tensor, at::Tensor>> m_angles;  ///< cosine and sine [T][n] of each rotary
    std::map<std::int64_t, at::Tensor> m_masks;               ///< by window
};

}  // namespace

std::unique_ptr<compute::Source> openOnAten(const std::filesystem::path& directory,
                                            std::shared_ptr<const compute::Tokenizer> tokenizer,
                                            const compute::OpenOptions& options, const std::stop_token& stop) {
    return guarded(directory.string(), [&]() -> std::unique_ptr<compute::Source> {
        const bool onProcessor = options.device == "cpu-aten";
        if (!onProcessor) requireCudaDevice(options.device);
        const at::Device device = onProcessor ? at::Device(at::kCPU) : at::Device(options.device);
        static std::once_flag threadsSet;
        std::call_once(threadsSet, [&] { at::set_num_threads(threadCount(options.threads)); });
        std::shared_ptr<OpenedModel> model = openWeights(directory, std::move(tokenizer), options, stop);
        if (model == nullptr) return nullptr;
        model->info.device = onProcessor
                                 ? options.device
                                 : at::Device(device.type(), std::max<at::DeviceIndex>(0, device.index())).str();
        model->newEngine = [weights = upload(std::move(model->weights), device)] {
            return std::make_unique<AtenEngine>(weights);
        };
        return makeSource(model);
    });
}

}  // namespace counterpoint::network
