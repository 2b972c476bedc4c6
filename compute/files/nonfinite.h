#pragma once
// Whether weights hold a NaN or an infinity: asked when a model's logits are no numbers, since it reads every byte of
// the files. Thread: any.

#include <stop_token>

#include "compute/files/gguf.h"
#include "compute/files/safetensors.h"

namespace counterpoint::compute {

/// The first tensor of 16- or 32-bit floats that holds one; nullptr: none does, or stop was asked for, which is
/// looked at every few megabytes.
COUNTERPOINT_API const TensorView* firstNonFinite(const Safetensors& files, const std::stop_token& stop = {});
/// The same of a GGUF file, where a block's scale may be one too.
COUNTERPOINT_API const GgufTensor* firstNonFinite(const Gguf& gguf, const std::stop_token& stop = {});

}  // namespace counterpoint::compute
