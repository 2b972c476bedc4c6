#pragma once
// A recording (SPEC.md 2): what models said elsewhere about one text, as a safetensors file that is mapped and read in
// place. `tokens` int64 [T]; `logits.<source>` float [T,V], row t about token t+1; optional `router_logits.<source>`
// float [L,T,E], row t of input token t. Metadata: format, base, tokenizer (a folder or a GGUF file, relative to the
// file), and with router logits router_layers, experts_per_token, norm_topk_prob. As a Source it answers for a
// beginning of its own tokens only: any other sequence would need a forward pass, which it cannot do. Errors: Error
// naming file and tensor, everything checked before a row is read. Thread: Recording any (immutable); a source as in
// source.h.

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compute/files/safetensors.h"
#include "compute/sources/source.h"

namespace counterpoint::compute {

/// Router logits of one source.
struct RecordedRouting {
    TensorView logits;                 ///< [L,T,E]
    std::vector<std::int64_t> layers;  ///< [L], which of the model's layers they are
    std::int64_t expertsPerToken = 0;
    bool normTopkProb = false;
};

struct RecordedSource {
    std::string name;
    TensorView logits;  ///< [T,V]
    std::optional<RecordedRouting> routing;
};

struct Recording {
    std::filesystem::path file;
    std::vector<TokenId> tokens;          ///< [T], T >= 1
    std::vector<RecordedSource> sources;  ///< the base first, then by name; all of one width V
    std::filesystem::path tokenizer;      ///< as the file names it, resolved; empty: none
    COUNTERPOINT_API const RecordedSource* find(const std::string& name) const;
    std::int64_t width() const { return sources.front().logits.shape[1]; }
};

/// Whether the file is a safetensors file that calls itself a recording (of whatever version).
COUNTERPOINT_API bool isRecording(const Safetensors& file);
COUNTERPOINT_API Recording readRecording(const std::filesystem::path& file);

/// Router logits [L][T][E] of a source that has them. Error where one is NaN or +∞, or where fewer than K experts of a
/// position are above −∞, which switches an expert off.
COUNTERPOINT_API std::vector<float> readRouterLogits(const Recording& recording, const RecordedSource& source);

/// The source options.sourceInFile of a recording; empty: its base. options.tokenizer stands for the one that the file
/// names; one that only the file names and that is not there is a notice, and its tokens are ids.
std::unique_ptr<Source> openRecording(const std::filesystem::path& file, const OpenOptions& options);

}  // namespace counterpoint::compute
