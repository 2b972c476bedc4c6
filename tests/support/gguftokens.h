#pragma once
// The metadata of a tokenizer for GgufWriter: token by token, as llama.cpp's converter writes them.

#include <string>
#include <vector>

#include "compute/files/json.h"
#include "tests/support/ggufwriter.h"

namespace counterpoint::tests {

struct GgufTokens {
    std::string model = "llama", pre;
    std::vector<std::string> tokens, merges;
    std::vector<std::int32_t> kinds;
    std::vector<float> scores;

    static constexpr std::int32_t kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4, kUnused = 5, kByte = 6;

    void add(std::string token, std::int32_t kind = kNormal, float score = 0) {
        tokens.push_back(std::move(token));
        kinds.push_back(kind);
        scores.push_back(score);
    }
    void addBytes() {
        constexpr const char* digits = "0123456789ABCDEF";
        for (int byte = 0; byte < 256; ++byte)
            add(std::string("<0x") + digits[byte >> 4] + digits[byte & 15] + ">", kByte);
    }
    void write(GgufWriter& to) const {
        to.text("tokenizer.ggml.model", model);
        if (!pre.empty()) to.text("tokenizer.ggml.pre", pre);
        to.texts("tokenizer.ggml.tokens", tokens);
        to.wholes("tokenizer.ggml.token_type", kinds);
        if (model == "llama") to.numbers("tokenizer.ggml.scores", scores);
        if (!merges.empty()) to.texts("tokenizer.ggml.merges", merges);
    }
};

/// The vocabulary and merges of a tokenizer.json, of the byte-level kind.
inline GgufTokens byteLevelTokens(const compute::Json& json, const std::string& pre) {
    GgufTokens t;
    t.model = "gpt2";
    t.pre = pre;
    const auto set = [&t](std::size_t id, const std::string& piece, std::int32_t kind) {
        if (id >= t.tokens.size()) t.tokens.resize(id + 1), t.kinds.resize(id + 1, GgufTokens::kUnused);
        t.tokens[id] = piece;
        t.kinds[id] = kind;
    };
    for (const auto& [piece, id] : json["model"]["vocab"].items()) set(id, piece, GgufTokens::kNormal);
    for (const compute::Json& added : json["added_tokens"])
        set(added["id"], added["content"], added["special"] ? GgufTokens::kControl : GgufTokens::kUserDefined);
    for (const compute::Json& merge : json["model"]["merges"])
        t.merges.push_back(merge.is_string() ? merge.get<std::string>()
                                             : merge[0].get<std::string>() + " " + merge[1].get<std::string>());
    return t;
}

}  // namespace counterpoint::tests
