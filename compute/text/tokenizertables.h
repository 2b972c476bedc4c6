#pragma once
// The two long tables of a tokenizer.json, model.vocab and model.merges, read flat: a tree of a hundred thousand nodes
// takes longer to build than all the rest. Only what is written as usual is read here; for anything else (another kind
// of value, a cut file, a character that is none) there is no answer, and the file is read as a tree, which says what
// is wrong. What is read is what the tree would hold, in the file's order. Thread: any.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compute/export.h"
#include "compute/step.h"

namespace counterpoint::compute {

struct TokenizerTables {
    std::vector<std::pair<std::string, TokenId>> vocab;
    std::vector<std::pair<std::string, std::string>> merges;
    std::string rest;  ///< the file with both tables empty
};

COUNTERPOINT_API std::optional<TokenizerTables> readTokenizerTables(std::string_view json);

/// "a b" in older files (the pieces then hold no space): both pieces, or nothing.
std::optional<std::pair<std::string, std::string>> splitMerge(std::string_view text);

}  // namespace counterpoint::compute
