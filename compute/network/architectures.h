#pragma once
// The table of architectures: one row names an architecture, reads its config.json into a Shape and names its tensors.
// A new architecture is one arch_*.cpp and one row. Errors: Error naming config.json and the key, or what is not
// supported. Pure; thread: any.

#include <array>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "compute/network/configreader.h"
#include "compute/network/weights.h"

namespace counterpoint::network {

/// Names of the tensors; "{}" stands for the layer's number, a second one for the expert's; without ".weight" and
/// ".bias" where both may be. Empty: the architecture has none. A fused matrix stands under `query` (key and value
/// empty) and under `gate` (up empty).
struct TensorNames {
    std::string_view embedding = {}, positions = {}, norm = {}, head = {}, newerHead = {};  ///< newerHead: or this
    std::string_view attentionNorm = {}, query = {}, key = {}, value = {}, queryNorm = {}, keyNorm = {}, output = {},
                     attentionPostNorm = {};
    std::string_view mlpNorm = {}, gate = {}, up = {}, down = {}, mlpPostNorm = {};
    std::string_view router = {}, expertGate = {}, expertUp = {}, expertDown = {};
    std::string_view sharedGate = {}, sharedUp = {}, sharedDown = {}, sharedScale = {};
    std::array<std::string_view, 2> masks = {};  ///< endings of constants that old files hold and no one needs
};

struct Architecture {
    std::string_view name;       ///< as in "architectures"
    std::string_view modelType;  ///< as in "model_type"
    Shape (*shape)(const ConfigReader& config);
    std::string_view prefix;  ///< of all names but the head's; files saved without the head lack it
    bool transposed = false;  ///< the layers' matrices are stored [in][out]
    TensorNames names;
};

/// Every row.
std::span<const Architecture* const> architectures();

struct Config {
    const Architecture* architecture = nullptr;
    Shape shape;
    std::vector<std::string> notices = {};
};
/// Reads DIRECTORY/config.json, finds its row and checks what no row may have (quantised weights, a dtype that is no
/// float type). Notices: pretraining_tp, which is not followed.
Config readConfig(const std::filesystem::path& directory);

extern const Architecture kLlama, kMistral, kQwen2, kQwen3, kSmolLm3, kPhi3, kGemma2, kGemma3, kGpt2, kGptNeoX,
    kMixtral, kOlmoe, kQwen2Moe, kQwen3Moe;

}  // namespace counterpoint::network
