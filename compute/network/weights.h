#pragma once
// What a decoder-only transformer of the Llama layout is made of, as plain values. Matrices stay in their file's
// mapping where the dtype asked for is the file's; vectors (norms, biases) are float32 copies. Shapes: C hidden, H
// query heads, G key/value heads, D head size, F intermediate, V rows of the head, L layers. Immutable after loading;
// shared between decoding states. Thread: any.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "compute/network/kernels/kernels.h"

namespace counterpoint::network {

/// The numbers of a config.json, under this house's names.
struct Shape {
    std::string architecture;        ///< "LlamaForCausalLM"
    std::int64_t vocabulary = 0;     ///< V
    std::int64_t hidden = 0;         ///< C
    std::int64_t intermediate = 0;   ///< F
    std::int64_t layers = 0;         ///< L
    std::int64_t heads = 0;          ///< H
    std::int64_t keyValueHeads = 0;  ///< G, divides H
    std::int64_t headDim = 0;        ///< D, even; read, not derived, where the file states it (HAZARDS A12)
    std::int64_t maxPositions = 0;
    float normEpsilon = 1e-6f;
    double ropeTheta = 10000.0;
    bool tiedHead = false;
    bool attentionBias = false;
    bool mlpBias = false;
};

struct Matrix {
    const void* data = nullptr;  ///< [rows][columns]
    WeightType type = WeightType::Float32;
    std::int64_t rows = 0, columns = 0;
    std::shared_ptr<const void> owner;  ///< the mapping or a converted copy
};

struct Linear {
    Matrix weight;            ///< [out][in]
    std::vector<float> bias;  ///< [out] or empty
};

struct Layer {
    std::vector<float> attentionNorm, mlpNorm;  ///< [C]
    Linear query, key, value, output;           ///< [H·D][C], [G·D][C], [G·D][C], [C][H·D]
    Linear gate, up, down;                      ///< [F][C], [F][C], [C][F]
};

struct Weights {
    Shape shape;
    Matrix embedding;  ///< [V][C]
    std::vector<Layer> layers;
    std::vector<float> norm;  ///< [C]
    Matrix head;              ///< [V][C]
};

}  // namespace counterpoint::network
