#pragma once
// One step of the optimiser. Matrices inside the layers: Muon (K. Jordan et al. 2024, in the scale of arXiv
// 2502.16982); the embedding and the norms: AdamW (arXiv 1711.05101). The gradient is first clipped to norm `clip`.
//   Muon:  b ← μb + g;  O = orthogonalised(g + μb);  θ ← θ(1 − ηλ) − η·0.2·√max(rows, columns)·O
//   AdamW: m ← β₁m + (1−β₁)g;  v ← β₂v + (1−β₂)g²;  θ ← θ(1 − ηλ) − η·m̂/(√v̂ + ε);  no decay on norms
//   orthogonalised: X = G/‖G‖, then five times X ← aX + (bA + cA²)X, A = XXᵀ, which drives every singular value towards
//   1
// Shapes: as the model's parameters, float32. Thread: one owner.

#include <vector>

#include "compute/network/train/llama.h"

namespace counterpoint::network::train {

struct OptimiserOptions {
    double weightDecay = 0.1, beta1 = 0.9, beta2 = 0.98, momentum = 0.95, clip = 1.0;
};

/// Singular values of g moved into about [0.7, 1.2], singular vectors kept.
at::Tensor orthogonalised(const at::Tensor& g);

class Optimiser {
  public:
    Optimiser(Llama& model, const OptimiserOptions& options);
    /// Uses and clears the gradients.
    void step(double rate);

  private:
    struct Slot {
        at::Tensor* parameter;
        bool matrix;                ///< Muon
        at::Tensor moment, square;  ///< square: AdamW only
    };
    OptimiserOptions m_options;
    std::vector<Slot> m_slots;
    int m_count = 0;
};

}  // namespace counterpoint::network::train
