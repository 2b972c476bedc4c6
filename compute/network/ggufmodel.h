#pragma once
// A GGUF file as a model directory would say the same: its metadata become the keys of a config.json, its tensors the
// names and layout of the architecture's row, so that one table reads both.
//   blocks (Q4_0 … Q6_K) are widened to `dtype`, to float32 where none is asked for; F32, F16 and BF16 stay in the
//   mapping (the loader converts them where another dtype is asked for)
//   query and key rows of "llama" files stand in pairs for interleaved rotary positions: put back into halves, copied
//   matrices of GPT-2 stand the other way round than in its directory, GPT-NeoX's fused ones in three blocks: taken so
//   norms of Gemma hold 1 + w: taken as they are; rope_freqs.weight divides the rotary frequencies
// Errors: Error naming the file and the key, the tensor, or what is not supported; a model whose widened weights do not
// fit into memory is refused before anything is widened (HAZARDS A27). Thread: any; widening uses the pool.

#include <functional>
#include <optional>
#include <stop_token>

#include "compute/files/gguf.h"
#include "compute/network/checkpoint.h"

namespace counterpoint::network {

struct GgufModel {
    Config config;
    TensorTable tensors;                       ///< under the architecture's names; each view has the file's
    std::map<std::string, std::string> names;  ///< the architecture's -> the file's, without ".weight" and ".bias"
    std::string dtype;                         ///< for the loader: what was asked for, or float32 after blocks
    std::vector<std::string> notices;
};

/// The configuration alone.
Config readGgufConfig(const compute::Gguf& gguf);

/// Cancelled: no value.
std::optional<GgufModel> readGgufModel(const compute::Gguf& gguf, const std::string& dtype, int threads,
                                       const std::function<void(double, std::string_view)>& progress,
                                       const std::stop_token& stop);

}  // namespace counterpoint::network
