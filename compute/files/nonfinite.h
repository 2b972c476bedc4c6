#pragma once
// Whether weights hold a NaN or an infinity: asked when a model's logits are no numbers, since it reads every byte of
// the files. Thread: any.

#include "compute/files/safetensors.h"

namespace counterpoint::compute {

/// The first tensor of 16- or 32-bit floats that holds one; nullptr: none does.
COUNTERPOINT_API const TensorView* firstNonFinite(const Safetensors& files);

}  // namespace counterpoint::compute
