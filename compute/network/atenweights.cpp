#include "compute/network/atenweights.h"

#include <c10/core/InferenceMode.h>

#include "compute/network/convert.h"

namespace counterpoint::network {
namespace {

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
    at::Tensor matrix(const Matrix& m) const { return matrix(m, m_to.type); }
    at::Tensor matrix(const Matrix& m, at::ScalarType type) const {
        if (m.data == nullptr) return {};
        const auto options = at::TensorOptions(scalarType(m.type));
        void* data = const_cast<void*>(m.data);
        const at::Tensor view = m.transposed ? at::from_blob(data, {m.columns, m.rows}, options).t()
                                             : at::from_blob(data, {m.rows, m.columns}, options);
        return view.to(m_to.device, type);
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
    AtenExpert expert(const Expert& e) const { return {matrix(e.gate), matrix(e.up), matrix(e.down)}; }
    AtenLayer layer(const Layer& l) const {
        AtenLayer layer = plain(l);
        if (l.router.data == nullptr) return layer;
        layer.router = matrix(l.router, at::kFloat);
        for (const Expert& e : l.experts) layer.experts.push_back(expert(e));
        layer.shared = expert(l.shared);
        layer.sharedGate = matrix(l.sharedGate);
        return layer;
    }

  private:
    AtenLayer plain(const Layer& l) const {
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
                .down = linear(l.down),
                .router = {},
                .experts = {},
                .shared = {},
                .sharedGate = {}};
    }

    AtenWeights& m_to;
};

}  // namespace

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

}  // namespace counterpoint::network
