#pragma once
// tokenizer.model through libsentencepiece. Ids, pieces and the dummy prefix space are the library's; bytes, flags and
// fingerprint are the house's, so that it equals the tokenizer.json of the same vocabulary. Thread: const methods from
// any thread. Errors: Error naming the file; a model that puts the space mark after words is refused.

#include <filesystem>
#include <memory>

#include "compute/text/tokenizer.h"

namespace counterpoint::spm {

/// `directory`: where tokenizer_config.json and special_tokens_map.json may lie.
std::shared_ptr<const compute::Tokenizer> open(const std::filesystem::path& model,
                                               const std::filesystem::path& directory);

/// Trains a vocabulary from a text file with one sentence a line: BPE with byte fallback and single digits, text taken
/// as it is (no normalisation, white space kept), <unk> 0, <s> 1, </s> 2, no padding id. The same file gives the same
/// model.
void train(const std::filesystem::path& text, const std::filesystem::path& outModel, int vocabularySize);

}  // namespace counterpoint::spm
