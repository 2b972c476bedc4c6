#pragma once
// The table of architectures: one row names an architecture, reads its config.json into a Shape and names its tensors.
// A new architecture is one arch_*.cpp and one row. Errors: Error naming config.json and the key, or what is not
// supported. Pure; thread: any.

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "compute/files/json.h"
#include "compute/network/weights.h"

namespace counterpoint::network {

/// Names of the tensors; "{}" stands for the layer's number.
struct TensorNames {
    std::string_view embedding, norm, head;
    std::string_view attentionNorm, query, key, value, output;  ///< without ".weight" and ".bias"
    std::string_view mlpNorm, gate, up, down;
};

struct Architecture {
    std::string_view name;       ///< as in "architectures"
    std::string_view modelType;  ///< as in "model_type"
    Shape (*shape)(const compute::Json& config, const std::string& where);
    TensorNames names;
};

/// Every row.
std::span<const Architecture* const> architectures();

struct Config {
    const Architecture* architecture = nullptr;
    Shape shape;
};
/// Reads DIRECTORY/config.json, finds its row and checks what no row may have (quantised weights).
Config readConfig(const std::filesystem::path& directory);

extern const Architecture kLlama;

}  // namespace counterpoint::network
