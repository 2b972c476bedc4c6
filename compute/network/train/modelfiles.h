#pragma once
// A trained model as a model directory (Hugging Face layout), and back as the start of a fine-tuning.
// Written: config.json, generation_config.json, model.safetensors, tokenizer.model, tokenizer.json,
// tokenizer_config.json. tokenizer.json is made from the pieces of tokenizer.model: the merges of a piece are all its
// splits into two pieces, in the order of ids. Errors: Error naming the file. Thread: one owner.

#include <filesystem>

#include "compute/files/json.h"
#include "compute/files/safetensors.h"
#include "compute/network/train/llama.h"
#include "compute/text/tokenizer.h"

namespace counterpoint::network::train {

/// Rounds the weights to `storage` (F32, F16 or BF16) on the way out.
void writeModel(Llama& model, const std::filesystem::path& directory, compute::DType storage);
Llama readModel(const std::filesystem::path& directory);

/// tokenizer.model is copied from `model`; the JSON files are written from its pieces.
void writeTokenizer(const std::filesystem::path& model, const std::filesystem::path& directory,
                    std::int64_t maxPositions);
compute::OrderedJson tokenizerJson(const compute::Tokenizer& tokenizer);

}  // namespace counterpoint::network::train
