// GGUF metadata -> the keys of a config.json -> the architecture's row.

#include <algorithm>
#include <array>
#include <cmath>

#include "compute/network/ggufrows.h"

namespace counterpoint::network {
namespace {

using compute::Gguf;
using compute::Json;

/// The converter turns GPT-2's matrices, so that their rows are what they give.
const Architecture kGpt2Turned = [] {
    Architecture turned = kGpt2;
    turned.transposed = false;
    return turned;
}();

using Keys = std::pair<std::string_view, std::string_view>;
constexpr std::array<Keys, 8> kGpt2Keys = {{{"hidden_size", "n_embd"},
                                            {"intermediate_size", "n_inner"},
                                            {"num_hidden_layers", "n_layer"},
                                            {"num_attention_heads", "n_head"},
                                            {"num_key_value_heads", ""},
                                            {"max_position_embeddings", "n_positions"},
                                            {"layer_norm_eps", "layer_norm_epsilon"},
                                            {"partial_rotary_factor", ""}}};
constexpr std::array<Keys, 2> kNeoxKeys = {
    {{"partial_rotary_factor", "rotary_pct"}, {"rope_theta", "rotary_emb_base"}}};

const std::array<GgufRow, 8> kRows = {{{"llama", &kLlama, true},
                                       {"qwen2", &kQwen2},
                                       {"qwen3", &kQwen3},
                                       {"gemma2", &kGemma2},
                                       {"gemma3", &kGemma3},
                                       {"gpt2", &kGpt2Turned, false, kGpt2Keys},
                                       {"gptneox", &kGptNeoX, false, kNeoxKeys},
                                       {"phi3", &kPhi3}}};

/// Which key of a GGUF file, behind its architecture's name, says what a key of a config.json says; and how it gets
/// there: as it is, or by code of its own below.
enum class Kind { Whole, Number, Flag, ByHand };
struct KeyRow {
    const char* config;
    const char* gguf;
    Kind kind;
};
constexpr std::array kKeys = {
    KeyRow{"hidden_size", "embedding_length", Kind::Whole},
    KeyRow{"intermediate_size", "feed_forward_length", Kind::Whole},
    KeyRow{"num_hidden_layers", "block_count", Kind::Whole},
    KeyRow{"num_attention_heads", "attention.head_count", Kind::Whole},
    KeyRow{"num_key_value_heads", "attention.head_count_kv", Kind::Whole},
    KeyRow{"head_dim", "attention.key_length", Kind::Whole},
    KeyRow{"max_position_embeddings", "context_length", Kind::Whole},
    KeyRow{"rms_norm_eps", "attention.layer_norm_rms_epsilon", Kind::Number},
    KeyRow{"layer_norm_eps", "attention.layer_norm_epsilon", Kind::Number},
    KeyRow{"rope_theta", "rope.freq_base", Kind::Number},
    KeyRow{"rope_local_base_freq", "rope.freq_base_swa", Kind::Number},
    KeyRow{"attn_logit_softcapping", "attn_logit_softcapping", Kind::Number},
    KeyRow{"final_logit_softcapping", "final_logit_softcapping", Kind::Number},
    KeyRow{"use_parallel_residual", "use_parallel_residual", Kind::Flag},
    KeyRow{"is_causal", "attention.causal", Kind::Flag},
    KeyRow{"num_local_experts", "expert_count", Kind::ByHand},
    KeyRow{"partial_rotary_factor", "rope.dimension_count", Kind::ByHand},
    KeyRow{"rope_scaling", "rope.scaling.type", Kind::ByHand},
    KeyRow{"sliding_window", "attention.sliding_window", Kind::ByHand},
    KeyRow{"sliding_window_pattern", "attention.sliding_window_pattern", Kind::ByHand},
    KeyRow{"factor", "rope.scaling.factor", Kind::ByHand},
    KeyRow{"original_max_position_embeddings", "rope.scaling.original_context_length", Kind::ByHand},
    KeyRow{"attention_factor", "rope.scaling.attn_factor", Kind::Number},
    KeyRow{"beta_fast", "rope.scaling.yarn_beta_fast", Kind::ByHand},
    KeyRow{"beta_slow", "rope.scaling.yarn_beta_slow", Kind::ByHand}};
/// What tensors say.
constexpr Keys kTold = {"vocab_size", "rows of token_embd.weight"};

/// Keys of other families that change the arithmetic (HAZARDS A11, A13), and what would change nothing.
constexpr std::array<std::pair<std::string_view, double>, 8> kForeign = {{{"logit_scale", 1.0},
                                                                          {"residual_scale", 1.0},
                                                                          {"embedding_scale", 1.0},
                                                                          {"attention.scale", 0.0},
                                                                          {"attention.clamp_kqv", 0.0},
                                                                          {"attention.max_alibi_bias", 0.0},
                                                                          {"rope.scaling.yarn_log_multiplier", 0.0},
                                                                          {"router_logit_softcapping", 0.0}}};

class ConfigWriter {
  public:
    ConfigWriter(const Gguf& gguf, const GgufRow& row)
        : m_gguf(gguf), m_row(row), m_prefix(std::string(row.name) + ".") {
        m_json["architectures"] = {row.architecture->name};
        m_json["model_type"] = row.architecture->modelType;
    }

    Json write() {
        refuseForeign();
        sizes();
        positions();
        windows();
        if (m_gguf.integer(m_prefix + "expert_count").value_or(0) > 1) whole("num_local_experts", "expert_count");
        if (m_prefix == "gptneox.") m_json["attention_bias"] = false;  // what is there is added: addBiases()
        for (const auto& [usual, own] : m_row.keys) {
            const auto value = m_json.find(usual);
            if (value == m_json.end()) continue;
            if (!own.empty()) m_json[std::string(own)] = *value;
            m_json.erase(std::string(usual));
        }
        return std::move(m_json);
    }

    /// What the keys of the written object are in this file, for errors.
    KeyNames names() const {
        KeyNames names;
        for (const KeyRow& key : kKeys) names.emplace(key.config, m_prefix + key.gguf);
        names.insert(kTold);
        names.emplace("query_pre_attn_scalar", names.at("hidden_size") + " / " + names.at("num_attention_heads"));
        for (const auto& [usual, own] : m_row.keys)
            if (!own.empty()) names.emplace(own, names.at(std::string(usual)));
        return names;
    }

  private:
    const Gguf& m_gguf;
    const GgufRow& m_row;
    std::string m_prefix;
    Json m_json = Json::object();

    void whole(const char* to, const char* key) {
        if (const auto value = m_gguf.integer(m_prefix + key)) m_json[to] = *value;
    }
    void number(const char* to, const char* key) {
        if (const auto value = m_gguf.number(m_prefix + key)) m_json[to] = *value;
    }

    void refuseForeign() const {
        for (const auto& [name, neutral] : kForeign) {
            const auto value = m_gguf.number(m_prefix + std::string(name));
            if (value && *value != neutral)
                m_gguf.fail("the key " + m_prefix + std::string(name) + " is not supported by this architecture",
                            "none", shown(*value));
        }
        for (const char* name : {"rope_factors_long.weight", "rope_factors_short.weight"})
            if (m_gguf.find(name) != nullptr)
                m_gguf.fail("this scaling of rotary positions is not supported", "none, linear or yarn", "longrope");
        if (m_gguf.integer("split.count").value_or(1) > 1)
            m_gguf.fail("this is one part of a model in " + std::to_string(*m_gguf.integer("split.count")) + " files",
                        {}, {}, "join them with llama-gguf-split --merge");
    }

    void sizes() {
        const compute::GgufTensor* embedding = m_gguf.find("token_embd.weight");
        if (embedding == nullptr || embedding->shape.size() != 2)
            m_gguf.fail("tensor 'token_embd.weight' is missing", "a matrix of tokens", {},
                        "download or convert it again");
        m_json["vocab_size"] = embedding->shape.front();
        m_json["tie_word_embeddings"] = m_gguf.find("output.weight") == nullptr;
        for (const KeyRow& key : kKeys) {
            if (key.kind == Kind::Whole) whole(key.config, key.gguf);
            if (key.kind == Kind::Number) number(key.config, key.gguf);
            if (key.kind == Kind::Flag)
                if (const auto value = m_gguf.flag(m_prefix + key.gguf)) m_json[key.config] = *value;
        }
        const auto key = m_gguf.integer(m_prefix + "attention.key_length");
        const auto value = m_gguf.integer(m_prefix + "attention.value_length");
        if (value && key != value)
            m_gguf.fail("keys and values of different sizes are not supported", std::to_string(key.value_or(0)),
                        std::to_string(*value));
    }

    void positions() {
        if (const std::int64_t D = headDim(); D > 0) {  // these files mean the whole head where they say nothing
            const std::int64_t turned = m_gguf.integer(m_prefix + "rope.dimension_count").value_or(D);
            m_json["partial_rotary_factor"] = static_cast<double>(turned) / static_cast<double>(D);
        }
        const auto older = m_gguf.number(m_prefix + "rope.scale_linear");
        const std::string kind =
            m_gguf.text(m_prefix + "rope.scaling.type").value_or(older && *older != 1.0 ? "linear" : "none");
        if (kind == "none") return;
        Json& scaling = m_json["rope_scaling"] = {{"rope_type", kind}};
        if (const auto factor = m_gguf.number(m_prefix + "rope.scaling.factor"); factor || older)
            scaling["factor"] = factor ? *factor : *older;
        else if (kind == "yarn")
            scaling["factor"] = 1.0;  // and not what the lengths say
        for (const auto& [to, from] : {std::pair("beta_fast", "rope.scaling.yarn_beta_fast"),
                                       std::pair("beta_slow", "rope.scaling.yarn_beta_slow")})
            if (const auto stated = m_gguf.number(m_prefix + from)) scaling[to] = *stated;
        if (const auto length = m_gguf.integer(m_prefix + "rope.scaling.original_context_length"))
            scaling["original_max_position_embeddings"] = *length;
    }

    std::int64_t headDim() const {
        if (m_json.contains("head_dim")) return m_json["head_dim"].get<std::int64_t>();
        const std::int64_t C = m_json.value("hidden_size", std::int64_t{0}),
                           H = m_json.value("num_attention_heads", std::int64_t{0});
        return H > 0 ? C / H : 0;
    }

    void windows() {
        if (m_gguf.integer(m_prefix + "attention.sliding_window").value_or(0) != 0)  // 0: none
            whole("sliding_window", "attention.sliding_window");
        const bool gemma = m_prefix.starts_with("gemma");
        if (!gemma) return;
        // What the families' code takes for granted: the largest of each scales by its width, the others by the head.
        const std::int64_t C = m_json.value("hidden_size", std::int64_t{0}),
                           H = m_json.value("num_attention_heads", std::int64_t{0});
        const bool largest = m_json.value("num_hidden_layers", std::int64_t{0}) == (m_prefix == "gemma3." ? 62 : 46);
        if (largest && H > 0) m_json["query_pre_attn_scalar"] = C / H;
        if (!largest && headDim() > 0) m_json["query_pre_attn_scalar"] = headDim();
        if (m_prefix == "gemma3.") whole("sliding_window_pattern", "attention.sliding_window_pattern");
    }
};

/// No key says which biases there are: beside those that the family always has, what the first layer holds. (The loader
/// misses one that a later layer lacks, and refuses one that only a later layer has.)
void addBiases(const Gguf& gguf, Shape& shape) {
    const auto any = [&](std::initializer_list<std::string_view> names) {
        return std::ranges::any_of(names, [&](std::string_view name) {
            return gguf.find(std::string("blk.0.").append(name).append(".bias")) != nullptr;
        });
    };
    shape.queryKeyValueBias |= any({"attn_q", "attn_k", "attn_v", "attn_qkv"});
    shape.outputBias |= any({"attn_output"});
    shape.mlpBias |= any({"ffn_gate", "ffn_up", "ffn_down"});
}

/// What a file states of the size of the turned channels comes on top of what its kind of scaling makes it, and where
/// there is no scaling too; in a config.json it stands instead of yarn's.
void stretch(const ConfigReader& config, Shape& shape) {
    for (Rotary& rotary : shape.rotaries) rotary.factor *= config.positive("attention_factor", 1.0);
}

/// The file's own divisors of the rotary frequencies (Llama 3.1 and later).
void divideFrequencies(const Gguf& gguf, Shape& shape) {
    const compute::GgufTensor* factors = gguf.find("rope_freqs.weight");
    if (factors == nullptr || shape.rotaries.empty()) return;
    Rotary& rotary = shape.rotaries.front();
    const std::size_t n = rotary.frequencies.size();
    if (factors->type != compute::GgmlType::F32 || factors->bytes.size() != n * sizeof(float))
        gguf.fail("tensor 'rope_freqs.weight' has another size than the model's heads",
                  std::to_string(n) + " F32 numbers", std::to_string(factors->bytes.size()) + " bytes");
    for (std::size_t i = 0; i < n; ++i) {
        float factor = 0;
        std::memcpy(&factor, factors->bytes.data() + i * sizeof(float), sizeof factor);
        if (!(factor > 0.0f) || !std::isfinite(factor))
            gguf.fail("a factor in tensor 'rope_freqs.weight' is not usable", "a number above 0", shown(factor));
        rotary.frequencies[i] /= static_cast<double>(factor);
    }
    rotary.scaling = "factors of the file";
}

}  // namespace

const GgufRow& ggufRow(const Gguf& gguf) {
    const std::string name = gguf.text("general.architecture").value_or("");
    std::string known;
    for (const GgufRow& row : kRows) {
        if (row.name == name) return row;
        (known += known.empty() ? "" : ", ") += row.name;
    }
    gguf.fail("this architecture is not supported in a GGUF file", known, name.empty() ? "none" : name);
}

Config readGgufConfig(const Gguf& gguf) {
    const GgufRow& row = ggufRow(gguf);
    ConfigWriter writer(gguf, row);
    const Json json = writer.write();
    const KeyNames names = writer.names();
    const ConfigReader reader(json, gguf.where(), &names);
    Config config{row.architecture, row.architecture->shape(reader)};
    config.shape.normPlusOne = false;  // these files hold 1 + w
    // GPT-NeoX's queries, keys and values head after head are put into three blocks by the converter.
    if (config.shape.fused != Fused::No) config.shape.fused = Fused::Blocks;
    addBiases(gguf, config.shape);
    stretch(reader, config.shape);
    divideFrequencies(gguf, config.shape);
    return config;
}

}  // namespace counterpoint::network
