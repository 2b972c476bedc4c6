#pragma once
// The feed-forward part of a training layer: one expert, or routed experts by R12's law, with R11's independent noise
// where the pass asks for it.
//   ℓ = x·Rᵀ;  S_t = ordered Top-K of ℓ_t + γ_t
//   out_t = Σ_{e∈S_t} softmax(ℓ_t over S_t)_e · D_e(silu(G_e x_t)·U_e x_t)
//   balance = E·Σ_e f_e·P_e (Switch, arXiv 2101.03961)
// f_e the share of all N·K choices that fell on e, P_e the mean of softmax(ℓ_t)_e; it is 1 where both are even. The
// gradient goes through the weights and P; choices and f have none.
// Choice and noise are compute/routing's, of the logits in float32; a position's address is its place in the batch.
// Shapes: x [B,T,C]; ℓ [N,E], N = B·T. The rows of an expert are one matrix product. Thread: one owner. Errors: those
// of topk.h.

#include <ATen/ATen.h>

#include <cstdint>
#include <vector>

#include "compute/routing/route.h"

namespace counterpoint::network::train {

struct Expert {
    at::Tensor gate, up, down;
};

/// What a forward of training does besides the model as published. As it stands: nothing, evaluation.
struct Pass {
    double dropout = 0;                          ///< on the embedding and on what each block adds to the residual
    compute::RoutingSettings noise = {};         ///< of the routers
    std::vector<at::Tensor>* balance = nullptr;  ///< gets the balance of each routed layer
};

/// router [E,C], experts [E]; `layer` addresses the noise.
at::Tensor routed(const at::Tensor& x, const at::Tensor& router, const std::vector<Expert>& experts,
                  std::int64_t chosen, std::int64_t layer, const Pass& pass);
at::Tensor feedForward(const Expert& expert, const at::Tensor& x);

/// loss + coefficient · the mean of the layers' balance.
at::Tensor withBalance(const at::Tensor& loss, const std::vector<at::Tensor>& balance, double coefficient);

}  // namespace counterpoint::network::train
