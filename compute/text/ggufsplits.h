#pragma once
// How the byte-level tokenizers of GGUF files split a text before their merges: tokenizer.ggml.pre names a row. A row
// holds the normalizer and the pre-tokenizer as the tokenizer.json of those models has them. Errors: Error naming the
// file and the split that is not known. Thread: any (constant).

#include <span>
#include <string_view>

#include "compute/files/gguf.h"

namespace counterpoint::compute {

struct GgufSplit {
    std::span<const std::string_view> names;  ///< that tokenizer.ggml.pre may have
    std::string_view json;                    ///< [normalizer, pre_tokenizer]
    bool ignoreMerges = false;                ///< a word that is a token is that token
    bool addsBos = false;                     ///< where the file does not say
};

const GgufSplit& findGgufSplit(const Gguf& gguf, std::string_view name);

}  // namespace counterpoint::compute
