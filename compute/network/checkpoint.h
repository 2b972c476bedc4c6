#pragma once
// The tensors of a model directory or a GGUF file -> Weights: every tensor of the architecture found by name, its shape
// checked, its bytes used in place where the dtype asked for is the file's (HAZARDS A9, A10, A12). Errors: Error naming
// file and tensor, with both shapes; a dtype that cannot be used by its name; a tensor that no one uses and that is of
// the model's own ends or layers, since what it holds would change the arithmetic. Thread: any.

#include <filesystem>
#include <map>
#include <optional>
#include <stop_token>

#include "compute/files/safetensors.h"
#include "compute/network/architectures.h"
#include "compute/sources/source.h"

namespace counterpoint::network {

using TensorTable = std::map<std::string, compute::TensorView>;

/// What errors say of the files that the tensors come from.
struct Origin {
    std::filesystem::path path;  ///< the model
    /// What lists its tensors, where that is a file of its own (an index of shards); empty: the model itself.
    std::filesystem::path index = {};
    std::string advice = {};  ///< where a tensor is missing
    /// What the file calls a tensor, both without ".weight" and ".bias"; what is not here it calls as the architecture.
    std::map<std::string, std::string> names = {};
};

struct Checkpoint {
    Weights weights;
    std::int64_t parameters = 0;
    std::int64_t bytes = 0;            ///< of the weights as held; a tied head counts once
    WeightType type{};                 ///< of the embedding; a device computes in it
    std::vector<WeightType> types;     ///< of the matrices, each once, in the order they were read
    std::vector<std::string> notices;  ///< a tied head that is not what it seems, conversions, parts not used
};

/// dtype: empty (the files' own), "float32", "bfloat16" or "float16". Cancelled: no value.
std::optional<Checkpoint> loadCheckpoint(const Origin& origin, const TensorTable& tensors, const Config& config,
                                         const std::string& dtype,
                                         const std::function<void(double, std::string_view)>& progress,
                                         const std::stop_token& stop);

}  // namespace counterpoint::network
