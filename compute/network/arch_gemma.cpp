// Gemma 2 (arXiv 2408.00118) and Gemma 3 (arXiv 2503.19786): the embedding times √C, norms that multiply by 1 + w
// before and after attention and MLP, a tanh-gelu gate, an attention scale of its own, windows on all but some layers.
// Gemma 2 caps scores and logits softly (HAZARDS A13); Gemma 3 norms queries and keys and turns its sliding layers by a
// base of their own.

#include <cmath>

#include "compute/network/architectures.h"
#include "compute/network/configparts.h"
#include "compute/network/llamanames.h"

namespace counterpoint::network {
namespace {

constexpr TensorNames gemma2Names() {
    TensorNames names = kLlamaNames;
    names.attentionPostNorm = "model.layers.{}.post_attention_layernorm";
    names.mlpNorm = "model.layers.{}.pre_feedforward_layernorm";
    names.mlpPostNorm = "model.layers.{}.post_feedforward_layernorm";
    return names;
}

/// Absent stands for `initial`, null for none (0).
float readCap(const ConfigReader& config, const char* key, double initial) {
    if (config.isNull(key)) return 0.0f;
    return initial > 0.0 || config.find(key) != nullptr ? static_cast<float>(config.positive(key, initial)) : 0.0f;
}

Shape gemmaShape(const ConfigReader& config, std::string_view name, double logitCap) {
    refuseForeign(config, {"query_pre_attn_scalar", "attn_logit_softcapping", "final_logit_softcapping",
                           "attention_bias", "rope_local_base_freq", "partial_rotary_factor"});
    Shape s = readSizes(config, name, {.headDim = 256, .tiedHead = true});
    s.activation = readActivation(config, "hidden_activation", "gelu_pytorch_tanh");
    s.normPlusOne = true;
    s.embeddingScale = std::sqrt(static_cast<double>(s.hidden));
    s.attentionScale = static_cast<float>(1.0 / std::sqrt(config.positive("query_pre_attn_scalar", 256.0)));
    s.logitCap = readCap(config, "final_logit_softcapping", logitCap);
    s.queryKeyValueBias = s.outputBias = config.flag("attention_bias", false);
    return s;
}

Shape gemma2Shape(const ConfigReader& config) {
    Shape s = gemmaShape(config, kGemma2.name, 30.0);
    s.attentionCap = readCap(config, "attn_logit_softcapping", 50.0);
    s.rotaries = {readRotary(config, s)};
    s.kinds = readKinds(config, s, readWindow(config, 4096), [](std::int64_t i) { return i % 2 == 0; });
    return s;
}

/// The settings of one kind of layer: newer files nest them in rope_parameters, older ones have keys of their own.
Rotary gemma3Rotary(const ConfigReader& config, Shape& shape, bool sliding) {
    const RotaryDefaults defaults{.base = sliding ? config.positive("rope_local_base_freq", 10'000.0)
                                                  : config.positive("rope_theta", 1'000'000.0),
                                  .part = config.positive("partial_rotary_factor", 1.0)};
    const compute::Json* nested = config.find("rope_parameters");
    if (nested == nullptr)
        return readRotary(config, sliding ? nullptr : config.find("rope_scaling"), "rope_scaling", shape, defaults);
    if (!nested->is_object())
        config.refuse("'rope_parameters' is not an object", "an object or null", nested->type_name());
    const ConfigReader byKind = config.inside(*nested);
    for (const char* flat : {"rope_type", "type", "rope_theta", "factor"})
        if (byKind.find(flat) != nullptr)
            config.refuse("'rope_parameters' has one set of settings for all layers",
                          "full_attention and sliding_attention, each with its own", flat);
    return readRotary(config, byKind.find(sliding ? "sliding_attention" : "full_attention"), "rope_parameters", shape,
                      defaults);
}

/// Its scores have no cap: where a file states attn_logit_softcapping all the same, neither transformers nor llama.cpp
/// follows it.
Shape gemma3Shape(const ConfigReader& config) {
    Shape s = gemmaShape(config, kGemma3.name, 0.0);
    s.rotaries = {gemma3Rotary(config, s, false), gemma3Rotary(config, s, true)};
    const std::int64_t pattern = config.count("sliding_window_pattern", 4096, 6), window = readWindow(config, 4096);
    const auto slides = [=](std::int64_t i) { return (i + 1) % pattern != 0; };
    s.kinds = readKinds(config, s, window, slides, 1);
    return s;
}

}  // namespace

const Architecture kGemma2 = {.name = "Gemma2ForCausalLM",
                              .modelType = "gemma2",
                              .shape = gemma2Shape,
                              .prefix = "model.",
                              .names = gemma2Names()};
const Architecture kGemma3 = {.name = "Gemma3ForCausalLM",
                              .modelType = "gemma3_text",
                              .shape = gemma3Shape,
                              .prefix = "model.",
                              .names = headNormed(gemma2Names())};

}  // namespace counterpoint::network
