#pragma once
// Which architecture a GGUF file's name of it stands for, and what its files do otherwise than a model directory.
// Internal to the network room. Thread: any (constant).

#include <span>
#include <string_view>
#include <utility>

#include "compute/network/ggufmodel.h"

namespace counterpoint::network {

struct GgufRow {
    std::string_view name;  ///< general.architecture
    const Architecture* architecture = nullptr;
    bool interleaved = false;  ///< query and key rows stand in pairs (i, i + D/2)
    /// Keys of a config.json that this architecture calls otherwise; "": it knows no such key.
    std::span<const std::pair<std::string_view, std::string_view>> keys = {};
};

/// The row of the file's architecture; any other is an Error naming it.
const GgufRow& ggufRow(const compute::Gguf& gguf);

}  // namespace counterpoint::network
