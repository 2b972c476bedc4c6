#pragma once
// The stop set of a model directory: the union of eos_token_id in config.json and generation_config.json (a number or a
// list, each may be absent) and the tokenizer's EOS (HAZARDS A8). Sorted, without repeats; ids that the tokenizer does
// not have are left out (they can never be drawn) with a notice, but for -1, which stands for "none". bos_token_id is
// held to the same rule and then not used: the tokenizer's own begins a text. Thread: any. Errors: Error naming the
// file when one of the two is neither.

#include <filesystem>
#include <string>
#include <vector>

#include "compute/export.h"
#include "compute/text/tokenizer.h"

namespace counterpoint::compute {

/// Notices are appended, one for each id that is no token.
COUNTERPOINT_API std::vector<TokenId> statedStopIds(const std::filesystem::path& directory, const Tokenizer& tokenizer,
                                                    std::vector<std::string>& notices);

}  // namespace counterpoint::compute
