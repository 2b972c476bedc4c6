#pragma once
// How long a safetensors file would be, unwritten. Thread: any. Errors: those of writeSafetensors.

#include "compute/files/safetensors.h"

namespace counterpoint::compute {

COUNTERPOINT_API std::uint64_t safetensorsBytes(std::span<const TensorToWrite> tensors,
                                                const std::map<std::string, std::string>& metadata);

}  // namespace counterpoint::compute
