#pragma once
// The stop set of a model directory: the union of eos_token_id in config.json and generation_config.json (a number or a
// list, each may be absent) and the tokenizer's EOS (HAZARDS A8). Sorted, without repeats; ids beyond the tokenizer are
// left out (they can never be drawn). Thread: any. Errors: Error naming the file when eos_token_id is neither.

#include <filesystem>
#include <vector>

#include "compute/export.h"
#include "compute/text/tokenizer.h"

namespace counterpoint::compute {

COUNTERPOINT_API std::vector<TokenId> statedStopIds(const std::filesystem::path& directory, const Tokenizer& tokenizer);

}  // namespace counterpoint::compute
