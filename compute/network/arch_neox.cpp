// GPT-NeoX (arXiv 2204.06745) and Pythia: layer norms with biases, a part of every head turned, attention and MLP both
// on the layer's input where use_parallel_residual says so, one matrix that holds query, key and value head after head.

#include <cmath>

#include "compute/network/architectures.h"
#include "compute/network/configparts.h"

namespace counterpoint::network {
namespace {

Shape neoxShape(const ConfigReader& config) {
    refuseForeign(config, {"rotary_pct", "attention_bias", "use_parallel_residual"});
    Shape s = readSizes(config, kGptNeoX.name);
    if (s.keyValueHeads != s.heads || s.headDim * s.heads != s.hidden)
        config.refuse("the heads of this architecture are not of this kind",
                      config.name("hidden_size") + " / " + config.name("num_attention_heads") +
                          " channels and as many keys and values as queries",
                      std::to_string(s.keyValueHeads) + " of " + std::to_string(s.headDim) + " channels");
    s.norm = NormKind::Layer;
    s.normEpsilon = static_cast<float>(config.positive("layer_norm_eps", 1e-5));
    s.activation = readActivation(config, "hidden_act", "gelu");
    s.fused = Fused::PerHead;
    s.parallelResidual = config.flag("use_parallel_residual", true);
    const char* key = config.find("rope_scaling") != nullptr ? "rope_scaling" : "rope_parameters";
    const RotaryDefaults defaults{.base = config.positive("rotary_emb_base", 10'000.0),
                                  .part = config.positive("rotary_pct", 0.25),
                                  .partStated = true,
                                  .partKey = "rotary_pct"};
    s.rotaries = {readRotary(config, config.find(key), key, s, defaults)};
    s.kinds.resize(static_cast<std::size_t>(s.layers));
    s.queryKeyValueBias = s.outputBias = config.flag("attention_bias", true);
    s.mlpBias = true;
    return s;
}

}  // namespace

const Architecture kGptNeoX = {.name = "GPTNeoXForCausalLM",
                               .modelType = "gpt_neox",
                               .shape = neoxShape,
                               .prefix = "gpt_neox.",
                               .names = {.embedding = "gpt_neox.embed_in.weight",
                                         .norm = "gpt_neox.final_layer_norm",
                                         .head = "embed_out.weight",
                                         .newerHead = "lm_head.weight",
                                         .attentionNorm = "gpt_neox.layers.{}.input_layernorm",
                                         .query = "gpt_neox.layers.{}.attention.query_key_value",
                                         .output = "gpt_neox.layers.{}.attention.dense",
                                         .mlpNorm = "gpt_neox.layers.{}.post_attention_layernorm",
                                         .up = "gpt_neox.layers.{}.mlp.dense_h_to_4h",
                                         .down = "gpt_neox.layers.{}.mlp.dense_4h_to_h",
                                         .masks = {".attention.bias", ".attention.masked_bias"}}};

}  // namespace counterpoint::network
