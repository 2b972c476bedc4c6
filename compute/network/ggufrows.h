#pragma once
// Which architecture a GGUF file's name of it stands for. Internal to the network room. Thread: any (constant).

#include <string_view>

#include "compute/network/ggufmodel.h"

namespace counterpoint::network {

struct GgufRow {
    std::string_view name;  ///< general.architecture
    const Architecture* architecture = nullptr;
    bool interleaved = false;  ///< query and key rows stand in pairs (i, i + D/2)
};

/// The row of the file's architecture; any other is an Error naming it.
const GgufRow& ggufRow(const compute::Gguf& gguf);

}  // namespace counterpoint::network
