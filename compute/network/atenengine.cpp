#include "compute/network/atenengine.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <limits>
#include <mutex>

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
struct AtenLayer {
    at::Tensor attentionNorm, mlpNorm;
    AtenLinear query, key, value, output, gate, up, down;
};
struct AtenWeights {
    std::shared_ptr<const Weights> source;  ///< keeps the mapping alive where a tensor lies in it
    at::Tensor embedding, norm, head, frequencies;
    std::vector<AtenLayer> layers;
    at::Device device{at::kCPU};
    at::ScalarType type = at::kFloat;
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
        const at::Tensor view =
            at::from_blob(const_cast<void*>(m.data), {m.rows, m.columns}, at::TensorOptions(scalarType(m.type)));
        return view.to(m_to.device, m_to.type);
    }
    at::Tensor vector(const std::vector<float>& v) const {  // float32, always its own memory
        const at::Tensor view =
            at::from_blob(const_cast<float*>(v.data()), {static_cast<std::int64_t>(v.size())}, at::kFloat);
        return view.to(m_to.device, at::kFloat, false, true);
    }
    AtenLinear linear(const Linear& l) const {
        return {matrix(l.weight), l.bias.empty() ? at::Tensor() : vector(l.bias).to(m_to.type)};
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
    const Uploader up(*result);
    result->embedding = up.matrix(w.embedding);
    result->head = w.head.data == w.embedding.data ? result->embedding : up.matrix(w.head);
    result->norm = up.vector(w.norm);
    const std::int64_t half = w.shape.headDim / 2;
    const at::Tensor exponents = at::arange(half, at::kDouble) * (-2.0 / static_cast<double>(w.shape.headDim));
    result->frequencies = at::pow(w.shape.ropeTheta, exponents);  // float64, on the processor
    for (const Layer& l : w.layers)
        result->layers.push_back({up.vector(l.attentionNorm), up.vector(l.mlpNorm), up.linear(l.query),
                                  up.linear(l.key), up.linear(l.value), up.linear(l.output), up.linear(l.gate),
                                  up.linear(l.up), up.linear(l.down)});
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
                at::Tensor x = embed(ids.subspan(static_cast<std::size_t>(done), static_cast<std::size_t>(T)));
                prepare(first + done, T);
                for (std::size_t i = 0; i < m_weights->layers.size(); ++i) {
                    if (stop.stop_requested()) return Outcome::Cancelled;
                    x = layer(i, x, first + done);
                }
                const std::int64_t from = std::max<std::int64_t>(0, n - rows - done);
                if (from >= T) continue;
                const at::Tensor last = normed(x.narrow(0, from, T - from), m_weights->norm);
                const at::Tensor out = at::linear(last, m_weights->head).to(at::kCPU, at::kFloat).contiguous();
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
                                     at::TensorOptions(m_weights->type).device(m_weights->device));
        if (have > 0) grown.narrow(3, 0, have).copy_(m_cache);
        m_cache = grown;
    }

    at::Tensor embed(std::span<const TokenId> ids) const {
        const at::Tensor index =
            at::tensor(at::ArrayRef<std::int32_t>(ids.data(), ids.size()), at::kLong).to(m_weights->device);
        return at::embedding(m_weights->embedding, index);
    }

    /// Angles of positions first..first+T-1, and who may see whom: [T][first+T], −∞ for the future.
    void prepare(std::int64_t first, std::int64_t T) {
        const at::Tensor angles =
            at::arange(first, first + T, at::kDouble).unsqueeze(1) * m_weights->frequencies.unsqueeze(0);
        m_cosine = angles.cos().to(m_weights->device, at::kFloat);
        m_sine = angles.sin().to(m_weights->device, at::kFloat);
        m_mask = at::full({T, first + T}, -std::numeric_limits<double>::infinity(), at::kFloat)
                     .triu(first + 1)
                     .to(m_weights->device);
    }

    at::Tensor normed(const at::Tensor& x, const at::Tensor& weight) const {
        const at::Tensor wide = x.to(at::kFloat);
        const at::Tensor scale =
            at::rsqrt(at::mean(wide * wide, {-1}, true) + static_cast<double>(shape().normEpsilon));
        return (wide * scale * weight).to(m_weights->type);
    }

    /// [T][heads·D] -> [heads][T][D], each head's halves rotated.
    at::Tensor rotated(const at::Tensor& x, std::int64_t heads) const {
        const std::int64_t half = shape().headDim / 2;
        const at::Tensor wide = x.view({x.size(0), heads, shape().headDim}).transpose(0, 1).to(at::kFloat);
        const at::Tensor a = wide.narrow(2, 0, half), b = wide.narrow(2, half, half);
        return at::cat({a * m_cosine - b * m_sine, b * m_cosine + a * m_sine}, 2).to(m_weights->type);
    }

    at::Tensor attention(std::size_t index, const at::Tensor& h, std::int64_t first) {
        const Shape& s = shape();
        const AtenLayer& l = m_weights->layers[index];
        const std::int64_t T = h.size(0), P = first + T, G = s.keyValueHeads, perGroup = s.heads / G, D = s.headDim;
        const auto of = [&](const AtenLinear& a) { return at::linear(h, a.weight, a.bias); };
        const at::Tensor cache = m_cache.select(0, static_cast<std::int64_t>(index));
        cache.select(0, 0).narrow(1, first, T).copy_(rotated(of(l.key), G));
        cache.select(0, 1).narrow(1, first, T).copy_(of(l.value).view({T, G, D}).transpose(0, 1));
        const at::Tensor q = rotated(of(l.query), s.heads).reshape({G, perGroup * T, D});
        const at::Tensor k = cache.select(0, 0).narrow(1, 0, P), v = cache.select(0, 1).narrow(1, 0, P);
        const at::Tensor scores =
            at::bmm(q, k.transpose(1, 2)).to(at::kFloat).view({G, perGroup, T, P}) / std::sqrt(static_cast<double>(D)) +
            m_mask;
        const at::Tensor weights = at::softmax(scores, -1).to(m_weights->type).view({G, perGroup * T, P});
        const at::Tensor mixed = at::bmm(weights, v).view({s.heads, T, D}).transpose(0, 1).reshape({T, s.heads * D});
        return at::linear(mixed, l.output.weight, l.output.bias);
    }

    at::Tensor layer(std::size_t index, at::Tensor x, std::int64_t first) {
        const AtenLayer& l = m_weights->layers[index];
        x = x + attention(index, normed(x, l.attentionNorm), first);
        const at::Tensor h = normed(x, l.mlpNorm);
        const at::Tensor gate = at::linear(h, l.gate.weight, l.gate.bias), up = at::linear(h, l.up.weight, l.up.bias);
        return x + at::linear(at::silu(gate) * up, l.down.weight, l.down.bias);
    }

    std::shared_ptr<const AtenWeights> m_weights;
    at::Tensor m_cache;  ///< [L][2][G][capacity][D]
    at::Tensor m_cosine, m_sine, m_mask;
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
