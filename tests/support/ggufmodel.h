#pragma once
// A toy model of the Llama layout as llama.cpp's converter would write it: GGUF names, query and key rows in pairs.

#include "tests/support/gguftokens.h"
#include "tests/support/toymodel.h"

namespace counterpoint::tests {

/// "model.layers.0.self_attn.q_proj.weight" -> "blk.0.attn_q.weight"
inline std::string ggufName(std::string name) {
    const auto swap = [&](const std::string& from, const std::string& to) {
        if (const std::size_t at = name.find(from); at != std::string::npos) name.replace(at, from.size(), to);
    };
    for (const auto& [from, to] : {std::pair("model.layers.", "blk."),
                                   {"model.embed_tokens", "token_embd"},
                                   {"model.norm", "output_norm"},
                                   {"lm_head", "output"},
                                   {"input_layernorm", "attn_norm"},
                                   {"post_attention_layernorm", "ffn_norm"},
                                   {"self_attn.q_proj", "attn_q"},
                                   {"self_attn.k_proj", "attn_k"},
                                   {"self_attn.v_proj", "attn_v"},
                                   {"self_attn.o_proj", "attn_output"},
                                   {"mlp.gate_proj", "ffn_gate"},
                                   {"mlp.up_proj", "ffn_up"},
                                   {"mlp.down_proj", "ffn_down"}})
        swap(from, to);
    return name;
}

/// Rows in halves of each head of D -> rows in pairs.
template <class T>
std::vector<T> inPairs(const std::vector<T>& rows, std::int64_t D, std::int64_t columns) {
    std::vector<T> out(rows.size());
    const std::int64_t count = static_cast<std::int64_t>(rows.size()) / columns;
    for (std::int64_t r = 0; r < count; ++r) {
        const std::int64_t head = r / D, in = r % D, half = in / (D / 2), i = in % (D / 2);
        std::copy_n(rows.begin() + r * columns, columns, out.begin() + (head * D + 2 * i + half) * columns);
    }
    return out;
}

inline bool standsInPairs(const std::string& name) {
    return name.find(".q_proj.") != std::string::npos || name.find(".k_proj.") != std::string::npos;
}

/// The sizes and a tokenizer of as many tokens, without tensors.
inline GgufWriter ggufOf(const Toy& toy) {
    GgufWriter w;
    w.text("general.architecture", "llama");
    w.whole("llama.block_count", static_cast<std::uint32_t>(toy.layers));
    w.whole("llama.context_length", static_cast<std::uint32_t>(toy.maxPositions));
    w.whole("llama.embedding_length", static_cast<std::uint32_t>(toy.hidden));
    w.whole("llama.feed_forward_length", static_cast<std::uint32_t>(toy.intermediate));
    w.whole("llama.attention.head_count", static_cast<std::uint32_t>(toy.heads));
    w.whole("llama.attention.head_count_kv", static_cast<std::uint32_t>(toy.keyValueHeads));
    w.whole("llama.attention.key_length", static_cast<std::uint32_t>(toy.headDim));
    w.whole("llama.attention.value_length", static_cast<std::uint32_t>(toy.headDim));
    w.whole("llama.rope.dimension_count", static_cast<std::uint32_t>(toy.headDim));
    w.number("llama.attention.layer_norm_rms_epsilon", 1e-5F);
    GgufTokens tokens;
    tokens.add("<unk>", GgufTokens::kUnknown);
    tokens.addBytes();
    while (static_cast<std::int64_t>(tokens.tokens.size()) < toy.vocabulary)
        tokens.add("w" + std::to_string(tokens.tokens.size()));
    tokens.write(w);
    return w;
}

/// Every tensor, as `encode` makes type and bytes of its numbers (in the file's order of rows).
template <class Encode>
void addTensors(GgufWriter& w, const Toy& toy, const Encode& encode) {
    for (const auto& [name, values] : toy.tensors) {
        if (toy.tied && name.starts_with("lm_head")) continue;
        const std::vector<std::int64_t>& shape = toy.shapes.at(name);
        const std::int64_t columns = shape.size() == 1 ? 1 : shape.back();
        const auto [type, bytes] = encode(name, standsInPairs(name) ? inPairs(values, toy.headDim, columns) : values);
        w.tensor(ggufName(name), type, {shape.begin(), shape.end()}, bytes);
    }
}

inline std::pair<std::uint32_t, std::string> asFloats(const std::string&, const std::vector<float>& values) {
    return {0, {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)}};
}

inline GgufWriter ggufWithFloats(const Toy& toy) {
    GgufWriter w = ggufOf(toy);
    addTensors(w, toy, asFloats);
    return w;
}

}  // namespace counterpoint::tests
