#pragma once
// What a decoder-only transformer is made of, as plain values; one Shape drives every engine. With n the norm, x0 the
// embedding times `embeddingScale`, plus a learned position where there is one:
//   a = postNorm(O·attention(rope(qNorm(Q n₁(x))), rope(kNorm(K n₁(x))), V n₁(x)))
//   m = postNorm(down(act(gate n₂) · up n₂)), or down(act(up n₂)) without a gate
//   x ← x + a, then x ← x + m on the new x; or at once x ← x + a + m on the old (parallelResidual)
//   in a routed layer m = Σ_{e∈S} w_e · expert_e(n₂) + σ(g·n₂)·shared(n₂), each expert down(act(gate n₂) · up n₂), with
//   S and w from the router's logits R n₂ by R12; only the experts of S are computed
//   logits = cap(head · n(x))
// What an architecture does not have is empty or 1. Matrices stay in their file's mapping where the dtype asked for is
// the file's; vectors (norms, biases) are float32 copies. Shapes: C hidden, H query heads, G key/value heads, D head
// size, F intermediate, V rows of the head, L layers, E routed experts, K chosen. Immutable after loading; shared
// between decoding states. Thread: any.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "compute/network/kernels/kernels.h"
#include "compute/network/rotary.h"

namespace counterpoint::network {

enum class NormKind { RootMeanSquare, Layer };

/// How one tensor holds queries, keys and values: not at all, all queries first, or head after head.
enum class Fused { No, Blocks, PerHead };

/// What differs from layer to layer.
struct LayerKind {
    std::int64_t window = 0;  ///< positions seen, the own one included; 0: all before
    int rotary = 0;           ///< index into Shape::rotaries; −1: none
    bool routed = false;      ///< its MLP is a mixture of experts
};

/// The mixture of the routed layers, the same in each.
struct Mixture {
    std::int64_t experts = 0;      ///< E; 0: the model has no routed layers
    std::int64_t chosen = 0;       ///< K
    std::int64_t width = 0;        ///< F of a routed expert
    std::int64_t sharedWidth = 0;  ///< F of the shared expert; 0: none
    bool normTopkProb = false;     ///< do the weights of the chosen sum to 1? (HAZARDS A5)
};

/// The numbers of a config.json, under this house's names.
struct Shape {
    std::string architecture;        ///< "LlamaForCausalLM"
    std::int64_t vocabulary = 0;     ///< V
    std::int64_t hidden = 0;         ///< C
    std::int64_t intermediate = 0;   ///< F
    std::int64_t layers = 0;         ///< L
    std::int64_t heads = 0;          ///< H
    std::int64_t keyValueHeads = 0;  ///< G, divides H
    std::int64_t headDim = 0;        ///< D; read, not derived, where the file states it (HAZARDS A12)
    std::int64_t maxPositions = 0;
    std::vector<LayerKind> kinds;  ///< [L]
    std::vector<Rotary> rotaries;  ///< usually one
    NormKind norm = NormKind::RootMeanSquare;
    float normEpsilon = 1e-6f;
    bool normPlusOne = false;  ///< the file holds w − 1 (Gemma); Weights hold w
    Activation activation = Activation::Silu;
    Fused fused = Fused::No;
    bool parallelResidual = false;
    double embeddingScale = 1.0;  ///< rounded to the weights' dtype before it is used
    float attentionScale = 0.0f;  ///< on q·k
    float attentionCap = 0.0f;    ///< c·tanh(score/c) before the softmax; 0: none
    float logitCap = 0.0f;        ///< the same on the logits (HAZARDS A13)
    bool tiedHead = false;
    bool queryKeyValueBias = false;
    bool outputBias = false;
    bool mlpBias = false;
    bool headNormsAsOne = false;  ///< norms of queries and keys run over all heads at once
    Mixture mixture;
};

struct Matrix {
    const void* data = nullptr;  ///< [rows][columns], or [columns][rows] when `transposed`
    WeightType type = WeightType::Float32;
    std::int64_t rows = 0, columns = 0;
    std::shared_ptr<const void> owner;  ///< the mapping or a converted copy
    bool transposed = false;            ///< as the file has it (GPT-2): used in place all the same
};

struct Linear {
    Matrix weight;            ///< [out][in]
    std::vector<float> bias;  ///< [out] or empty
};

struct Norm {
    std::vector<float> weight;  ///< [n]; empty: no norm here
    std::vector<float> bias;    ///< [n] or empty
};

struct Expert {
    Matrix gate, up, down;  ///< [F][C], [F][C], [C][F]
};

struct Layer {
    Norm attentionNorm, queryNorm, keyNorm, attentionPostNorm, mlpNorm, mlpPostNorm;  ///< [C], [D], [D], [C], [C], [C]
    Linear query, key, value;  ///< [H·D][C], [G·D][C], [G·D][C]; fused: query is [(H+2G)·D][C], the others are empty
    Linear output;             ///< [C][H·D]
    Linear gate, up, down;     ///< [F][C] or empty, [F][C], [C][F]; all empty in a routed layer
    Matrix router;             ///< [E][C] or empty
    std::vector<Expert> experts;  ///< [E] or empty
    Expert shared;                ///< or empty
    Matrix sharedGate;            ///< [1][C] or empty
};

struct Weights {
    Shape shape;
    Matrix embedding;  ///< [V][C]
    Matrix positions;  ///< [maxPositions][C] or empty
    std::vector<Layer> layers;
    Norm norm;    ///< [C]
    Matrix head;  ///< [V][C]
};

}  // namespace counterpoint::network
