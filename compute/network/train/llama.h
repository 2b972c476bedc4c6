#pragma once
// The training forward of the Llama layout (arXiv 2302.13971) and of Mixtral's (arXiv 2401.04088), which has routed
// experts in every layer, in torch ops under autograd, for models small enough to ship.
//   h ← E[id];  per layer: h ← h + O·attention(rope(Q n), rope(K n), V n), n = RMSNorm(h);  h ← h + D(silu(G n)·U n)
//   logits = E·RMSNorm(h) (tied);  RoPE pairs channel i with i + D/2, as Hugging Face does;  K/V heads shared by H/H_kv
//   heads
// Shapes: ids int64 [B,T] → logits [B,T,V]; tensors named and shaped as in model.safetensors. float32 (float64 for the
// check of the gradient). Thread: one owner.

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "compute/network/train/routed.h"
#include "compute/step.h"

namespace counterpoint::network::train {

using compute::TokenId;

struct ModelShape {
    std::int64_t vocabulary = 1536, dim = 96, hidden = 256, layers = 5, heads = 4, keyValueHeads = 2,
                 maxPositions = 512;
    std::int64_t experts = 0, chosen = 2;  ///< E and K of every layer; 0: the Llama layout. hidden is an expert's
    double ropeTheta = 10000, normEpsilon = 1e-5;
};

struct Layer {
    at::Tensor norm, query, key, value, output, mlpNorm, router;
    std::vector<Expert> experts;  ///< without a router: the one
};

struct Llama {
    ModelShape shape;
    at::Tensor embedding, finalNorm;
    std::vector<Layer> layers;

    /// Every parameter under its Hugging Face name, in one fixed order.
    std::vector<std::pair<std::string, at::Tensor*>> parameters();
    std::int64_t parameterCount();
};

/// Normal weights, deviation 0.02, those that add to the residual scaled by 1/√(2·layers); norms 1. Deterministic in
/// the seed.
Llama initialise(const ModelShape& shape, std::uint64_t seed);

at::Tensor logits(const Llama& model, const at::Tensor& ids, const Pass& pass);

/// Mean cross-entropy in nats over targets [B,T] that are not −100; with weights float32 [B,T]: Σ weight·nats / (B·T).
at::Tensor crossEntropy(const Llama& model, const at::Tensor& ids, const at::Tensor& targets, const Pass& pass,
                        const at::Tensor& weights = {});

/// Mean nats per predicted token over whole sequences (each [BOS] … [EOS], cut at maxPositions), and their token count,
/// routed as published, without noise.
std::pair<double, std::int64_t> heldOutLoss(const Llama& model, const std::vector<std::vector<TokenId>>& stories);

}  // namespace counterpoint::network::train
