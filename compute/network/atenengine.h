#pragma once
// The same decoder written in ATen operations, for a device: weights and cache live there, in the weights' dtype;
// norms, rotary positions and both softmaxes in float32. Its rows are log-probabilities: log-softmax runs there too,
// and what a call asks for is one copy to the host a chunk. A step of one token is recorded as a graph where libtorch
// can (devicegraph.h) and played again. On "cpu-aten" it runs on the processor: a second, independent way to the same
// logits, by which the device path is tested on machines without one. Errors: Error that says which libtorch this is
// when it has no such device. Thread: one owner a state.

#include <filesystem>
#include <memory>
#include <stop_token>

#include "compute/sources/source.h"

namespace counterpoint::network {

/// options.device: "cuda", "cuda:n" or "cpu-aten". Cancelled: nullptr.
std::unique_ptr<compute::Source> openOnAten(const std::filesystem::path& directory,
                                            std::shared_ptr<const compute::Tokenizer> tokenizer,
                                            const compute::OpenOptions& options, const std::stop_token& stop);

}  // namespace counterpoint::network
