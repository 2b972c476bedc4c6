// The Llama layout (arXiv 2302.13971, in Hugging Face's naming): RMS norms before attention and MLP, rotary positions
// (halves rotated), grouped key/value heads, silu-gated MLP; the head may be the embedding. Its families differ in
// biases, norms of queries and keys, windows, and layers without positions; Phi-3 stores fused matrices.

#include "compute/network/architectures.h"
#include "compute/network/configparts.h"
#include "compute/network/llamanames.h"

namespace counterpoint::network {
namespace {

constexpr TensorNames fused() {
    TensorNames names = kLlamaNames;
    names.query = "model.layers.{}.self_attn.qkv_proj";
    names.key = names.value = {};
    names.gate = "model.layers.{}.mlp.gate_up_proj";
    names.up = {};
    return names;
}

constexpr auto kNever = [](std::int64_t) { return false; };
constexpr auto kAlways = [](std::int64_t) { return true; };

Shape llamaShape(const ConfigReader& config) {
    refuseForeign(config, {"attention_bias", "mlp_bias", "partial_rotary_factor"});
    Shape s = readSizes(config, kLlama.name);
    s.activation = readActivation(config, "hidden_act", "silu");
    s.rotaries = {readRotary(config, s)};
    s.queryKeyValueBias = s.outputBias = config.flag("attention_bias", false);
    s.mlpBias = config.flag("mlp_bias", false);
    if (const std::int64_t window = readWindow(config, 0);
        window > 0 && window < s.maxPositions && config.flag("use_sliding_window", true))
        config.refuse(
            "a sliding window of attention is not part of this architecture",
            "none, or '" + config.name("sliding_window") + "' of at least " + config.name("max_position_embeddings"),
            std::to_string(window));
    s.kinds = readKinds(config, s, 0, kNever);
    return s;
}

Shape mistralShape(const ConfigReader& config) {
    refuseForeign(config, {"partial_rotary_factor"});
    Shape s = readSizes(config, kMistral.name);
    s.activation = readActivation(config, "hidden_act", "silu");
    s.rotaries = {readRotary(config, s)};
    s.kinds = readKinds(config, s, readWindow(config, 4096), kAlways);
    return s;
}

/// Qwen2 and Qwen3 slide from layer max_window_layers on, where use_sliding_window says so.
Shape qwenShape(const ConfigReader& config, std::string_view name, std::int64_t headDim) {
    Shape s = readSizes(config, name, {.headDim = headDim});
    s.activation = readActivation(config, "hidden_act", "silu");
    s.rotaries = {readRotary(config, s)};
    const std::int64_t window = config.flag("use_sliding_window", false) ? readWindow(config, 4096) : 0;
    const compute::Json* stated = config.find("max_window_layers");
    const std::int64_t from = stated != nullptr && *stated == 0 ? 0 : config.count("max_window_layers", 4096, 28);
    s.kinds = readKinds(config, s, window, [=](std::int64_t i) { return window > 0 && i >= from; });
    return s;
}

Shape qwen2Shape(const ConfigReader& config) {
    refuseForeign(config, {"attention_bias", "qkv_bias", "partial_rotary_factor"});  // they always have these
    Shape s = qwenShape(config, kQwen2.name, 0);
    s.queryKeyValueBias = true;
    return s;
}

Shape qwen3Shape(const ConfigReader& config) {
    refuseForeign(config, {"attention_bias", "partial_rotary_factor"});
    Shape s = qwenShape(config, kQwen3.name, 128);
    s.queryKeyValueBias = s.outputBias = config.flag("attention_bias", false);
    return s;
}

/// no_rope_layers: 1 for a layer with positions, 0 for one without; where absent every no_rope_layer_interval-th has
/// none.
Shape smolLm3Shape(const ConfigReader& config) {
    refuseForeign(config, {"attention_bias", "mlp_bias", "no_rope_layers", "partial_rotary_factor"});
    Shape s = readSizes(config, kSmolLm3.name, {.tiedHead = true});
    s.activation = readActivation(config, "hidden_act", "silu");
    s.rotaries = {readRotary(config, s, {.base = 2'000'000.0})};
    s.queryKeyValueBias = s.outputBias = config.flag("attention_bias", false);
    s.mlpBias = config.flag("mlp_bias", false);
    const std::int64_t interval = config.count("no_rope_layer_interval", 4096, 4);
    std::vector<bool> turned;
    for (std::int64_t i = 0; i < s.layers; ++i) turned.push_back((i + 1) % interval != 0);
    if (const compute::Json* list = config.find("no_rope_layers"); list != nullptr) {
        if (!list->is_array() || static_cast<std::int64_t>(list->size()) != s.layers)
            config.refuse("'no_rope_layers' does not fit", "a list of num_hidden_layers numbers", list->type_name());
        for (std::size_t i = 0; i < turned.size(); ++i) turned[i] = (*list)[i] != 0;
    }
    const std::int64_t window = config.flag("use_sliding_window", false) ? readWindow(config, 0) : 0;
    s.kinds = readKinds(config, s, window,
                        [&](std::int64_t i) { return window > 0 && !turned[static_cast<std::size_t>(i)]; });
    for (std::size_t i = 0; i < turned.size(); ++i)
        if (!turned[i]) s.kinds[i].rotary = -1;
    return s;
}

Shape phi3Shape(const ConfigReader& config) {
    refuseForeign(config, {"partial_rotary_factor"});
    Shape s = readSizes(config, kPhi3.name);
    s.activation = readActivation(config, "hidden_act", "silu");
    s.normEpsilon = static_cast<float>(config.positive("rms_norm_eps", 1e-5));
    s.rotaries = {readRotary(config, s, {.partStated = true})};
    if (!s.rotaries.front().scaling.empty())  // transformers takes every kind but the default for longrope here
        config.refuse("this scaling of rotary positions is not supported by this architecture", "none",
                      s.rotaries.front().scaling);
    s.fused = Fused::Blocks;
    s.kinds = readKinds(config, s, readWindow(config, 0), kAlways);
    return s;
}

}  // namespace

const Architecture kLlama = {
    .name = "LlamaForCausalLM", .modelType = "llama", .shape = llamaShape, .prefix = "model.", .names = kLlamaNames};
const Architecture kMistral = {.name = "MistralForCausalLM",
                               .modelType = "mistral",
                               .shape = mistralShape,
                               .prefix = "model.",
                               .names = kLlamaNames};
const Architecture kQwen2 = {
    .name = "Qwen2ForCausalLM", .modelType = "qwen2", .shape = qwen2Shape, .prefix = "model.", .names = kLlamaNames};
const Architecture kQwen3 = {.name = "Qwen3ForCausalLM",
                             .modelType = "qwen3",
                             .shape = qwen3Shape,
                             .prefix = "model.",
                             .names = headNormed(kLlamaNames)};
const Architecture kSmolLm3 = {.name = "SmolLM3ForCausalLM",
                               .modelType = "smollm3",
                               .shape = smolLm3Shape,
                               .prefix = "model.",
                               .names = kLlamaNames};
const Architecture kPhi3 = {
    .name = "Phi3ForCausalLM", .modelType = "phi3", .shape = phi3Shape, .prefix = "model.", .names = fused()};

}  // namespace counterpoint::network
