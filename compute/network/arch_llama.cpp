// The Llama layout (arXiv 2302.13971, in Hugging Face's naming): RMS norms before attention and MLP, rotary positions
// (halves rotated), grouped key/value heads, silu-gated MLP; the head may be the embedding.

#include "compute/network/architectures.h"
#include "compute/network/configreader.h"

namespace counterpoint::network {
namespace {

/// Null, or a kind that scales nothing; any other kind is refused by its name (HAZARDS A11).
void refuseRopeScaling(const ConfigReader& config, const char* key) {
    const compute::Json* scaling = config.find(key);
    if (scaling == nullptr) return;
    if (!scaling->is_object())
        config.refuse("'" + std::string(key) + "' is not an object", "an object or null", scaling->type_name());
    const ConfigReader inner(*scaling, config.where());
    if (const compute::Json* factor = inner.find("partial_rotary_factor"); factor != nullptr && *factor != 1)
        config.refuse("the key partial_rotary_factor is not supported by this architecture", "1 or none",
                      factor->dump());
    const std::string kind = inner.text("rope_type", inner.text("type", "unnamed"));
    if (kind != "default")
        config.refuse("this scaling of rotary positions is not supported", "none or 'default'",
                      "'" + kind + "' in '" + key + "'");
}

/// Keys that other families of this layout have and that change the arithmetic, with the value that changes nothing.
void refuseOtherArithmetic(const ConfigReader& config, std::int64_t maxPositions) {
    const auto number = [&](const char* key) {
        if (const compute::Json* value = config.find(key); value != nullptr && *value != 1)
            config.refuse("the key " + std::string(key) + " is not supported by this architecture", "1 or none",
                          value->dump());
    };
    for (const char* key : {"partial_rotary_factor", "embedding_multiplier", "residual_multiplier", "logits_scaling",
                            "logit_scale", "scale_emb"})
        number(key);
    for (const char* key : {"attention_multiplier", "query_pre_attn_scalar", "attn_logit_softcapping",
                            "final_logit_softcapping", "clip_qkv", "scale_depth", "no_rope_layers"})
        if (const compute::Json* value = config.find(key); value != nullptr)
            config.refuse("the key " + std::string(key) + " is not supported by this architecture", "none",
                          value->dump());
    for (const char* key : {"use_qk_norm", "qk_norm", "qk_layernorm", "alibi", "parallel_attn"})
        if (config.flag(key, false))
            config.refuse("the key " + std::string(key) + " is not supported by this architecture", "false", "true");
    for (const char* key : {"num_local_experts", "num_experts", "n_routed_experts"})
        if (const compute::Json* value = config.find(key); value != nullptr && *value != 0 && *value != 1)
            config.refuse("a mixture of experts is not supported by this architecture", "no " + std::string(key),
                          value->dump());
    if (const compute::Json* window = config.find("sliding_window");
        window != nullptr && config.flag("use_sliding_window", true) && *window < maxPositions)
        config.refuse("a sliding window of attention is not supported",
                      "none, or 'sliding_window' of at least max_position_embeddings", window->dump());
}

double ropeTheta(const ConfigReader& config) {
    if (const compute::Json* newer = config.find("rope_parameters"); newer != nullptr)
        return ConfigReader(*newer, config.where()).positive("rope_theta", config.positive("rope_theta", 10000.0));
    return config.positive("rope_theta", 10000.0);
}

Shape llamaShape(const compute::Json& json, const std::string& where) {
    constexpr std::int64_t kWide = 1 << 20;
    const ConfigReader config(json, where);
    if (const std::string act = config.text("hidden_act", "silu"); act != "silu")
        config.refuse("this activation is not supported", "silu", act);
    refuseRopeScaling(config, "rope_scaling");
    refuseRopeScaling(config, "rope_parameters");

    Shape s;
    s.architecture = kLlama.name;
    s.vocabulary = config.count("vocab_size", 1 << 24);
    s.hidden = config.count("hidden_size", kWide);
    s.intermediate = config.count("intermediate_size", kWide);
    s.layers = config.count("num_hidden_layers", 4096);
    s.heads = config.count("num_attention_heads", 4096);
    s.keyValueHeads = config.count("num_key_value_heads", 4096, s.heads);
    s.headDim = config.count("head_dim", 4096, s.hidden % s.heads == 0 ? s.hidden / s.heads : 0);
    s.maxPositions = config.count("max_position_embeddings", 1 << 24);
    refuseOtherArithmetic(config, s.maxPositions);
    s.normEpsilon = static_cast<float>(config.positive("rms_norm_eps", 1e-6));
    s.ropeTheta = ropeTheta(config);
    s.tiedHead = config.flag("tie_word_embeddings", false);
    s.attentionBias = config.flag("attention_bias", false);
    s.mlpBias = config.flag("mlp_bias", false);

    const auto show = [](std::int64_t n) { return std::to_string(n); };
    if (s.headDim < 2 || s.headDim % 2 != 0)
        config.refuse("the head size is not usable",
                      "'head_dim' (or hidden_size / num_attention_heads) a whole even number",
                      config.find("head_dim") != nullptr ? show(s.headDim) : show(s.hidden) + " / " + show(s.heads));
    if (s.heads % s.keyValueHeads != 0)
        config.refuse("the heads do not divide into groups", "num_attention_heads a multiple of num_key_value_heads",
                      show(s.heads) + " and " + show(s.keyValueHeads));
    return s;
}

}  // namespace

const Architecture kLlama = {.name = "LlamaForCausalLM",
                             .modelType = "llama",
                             .shape = llamaShape,
                             .names = {.embedding = "model.embed_tokens.weight",
                                       .norm = "model.norm.weight",
                                       .head = "lm_head.weight",
                                       .attentionNorm = "model.layers.{}.input_layernorm",
                                       .query = "model.layers.{}.self_attn.q_proj",
                                       .key = "model.layers.{}.self_attn.k_proj",
                                       .value = "model.layers.{}.self_attn.v_proj",
                                       .output = "model.layers.{}.self_attn.o_proj",
                                       .mlpNorm = "model.layers.{}.post_attention_layernorm",
                                       .gate = "model.layers.{}.mlp.gate_proj",
                                       .up = "model.layers.{}.mlp.up_proj",
                                       .down = "model.layers.{}.mlp.down_proj"}};

}  // namespace counterpoint::network
