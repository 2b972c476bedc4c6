#pragma once
// The Source of a TorchScript file (SPEC.md 2): forward(ids int64[1,T]) -> logits [1,T,V]; where the module has both
// prefill(ids) -> (logits, cache) and step(ids, cache) -> (logits, cache) these are used, one token a step. An int
// attribute `max_positions` is its limit; without one it has none. The width V is what two tokens tried at opening give.
// It runs code of the file's author. The stop token is read between calls: a call that runs cannot be interrupted.
// After a rewind the cache, which only the script understands, is made again from the kept tokens. Forks share the
// module, so a script must not keep a state of its own. Float16 is computed in float32 on the processor.
// Errors: Error naming the file and the method that failed. Thread: one owner a state.

#include <filesystem>
#include <memory>
#include <stop_token>
#include <vector>

#include "compute/sources/source.h"

namespace counterpoint::network {

/// options.device: "cpu", "cuda" or "cuda:n". Without a tokenizer its tokens are ids; the stop tokens are those that
/// `tokenizerFolder` states. Cancelled: nullptr.
std::unique_ptr<compute::Source> openScript(const std::filesystem::path& file,
                                            std::shared_ptr<const compute::Tokenizer> tokenizer,
                                            const std::filesystem::path& tokenizerFolder,
                                            const compute::OpenOptions& options, std::stop_token stop);

}  // namespace counterpoint::network
