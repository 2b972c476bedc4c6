#pragma once
// The weights of a model as tensors on a device, in the files' dtype; norms and routers in float32. On the processor they
// lie in the mapping where the dtype allows it. Immutable after upload; shared between decoding states. Errors:
// c10::Error (guard.h). Thread: any.

#include <ATen/ATen.h>

#include <memory>
#include <vector>

#include "compute/network/weights.h"

namespace counterpoint::network {

struct AtenLinear {
    at::Tensor weight, bias;
};
struct AtenNorm {
    at::Tensor weight, bias;  ///< float32; undefined: no norm, no bias
};
struct AtenExpert {
    at::Tensor gate, up, down;
};
struct AtenLayer {
    AtenNorm attentionNorm, queryNorm, keyNorm, attentionPostNorm, mlpNorm, mlpPostNorm;
    AtenLinear query, key, value, output, gate, up, down;
    at::Tensor router;  ///< float32
    std::vector<AtenExpert> experts;
    AtenExpert shared;
    at::Tensor sharedGate;
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

std::shared_ptr<const AtenWeights> upload(std::shared_ptr<const Weights> weights, at::Device device);

}  // namespace counterpoint::network
