// Mixtures of experts in the Llama layout: Mixtral (arXiv 2401.04088), OLMoE (arXiv 2409.02060), Qwen2-MoE and
// Qwen3-MoE (arXiv 2407.10671, 2505.09388). They differ in where the experts' tensors stand, in whether the weights of
// the chosen sum to 1 (HAZARDS A5), in layers without a mixture, in a shared expert behind a sigmoid of its own, and in
// the norms of queries and keys. What a config.json leaves out stands for what transformers 5.24 takes.

#include <algorithm>

#include "compute/network/architectures.h"
#include "compute/network/configparts.h"
#include "compute/network/llamanames.h"

namespace counterpoint::network {
namespace {

constexpr std::int64_t kMostExperts = 4096, kWidest = 1 << 20;

constexpr TensorNames mixtralNames() {
    TensorNames names = kLlamaNames;
    names.gate = names.up = names.down = {};  // every layer is routed
    names.router = "model.layers.{}.block_sparse_moe.gate";
    names.expertGate = "model.layers.{}.block_sparse_moe.experts.{}.w1";
    names.expertUp = "model.layers.{}.block_sparse_moe.experts.{}.w3";
    names.expertDown = "model.layers.{}.block_sparse_moe.experts.{}.w2";
    return names;
}

constexpr TensorNames withExperts(TensorNames names) {
    names.router = "model.layers.{}.mlp.gate";
    names.expertGate = "model.layers.{}.mlp.experts.{}.gate_proj";
    names.expertUp = "model.layers.{}.mlp.experts.{}.up_proj";
    names.expertDown = "model.layers.{}.mlp.experts.{}.down_proj";
    return names;
}

constexpr TensorNames withSharedExpert(TensorNames names) {
    names.sharedGate = "model.layers.{}.mlp.shared_expert.gate_proj";
    names.sharedUp = "model.layers.{}.mlp.shared_expert.up_proj";
    names.sharedDown = "model.layers.{}.mlp.shared_expert.down_proj";
    names.sharedScale = "model.layers.{}.mlp.shared_expert_gate";
    return names;
}

constexpr auto kNever = [](std::int64_t) { return false; };
constexpr auto kAlways = [](std::int64_t) { return true; };

/// How many experts there are and how many are chosen. Writers of one family use either name of the first.
Mixture readMixture(const ConfigReader& config, std::int64_t experts, std::int64_t chosen) {
    Mixture m;
    const std::int64_t local = config.count("num_local_experts", kMostExperts, 0);
    m.experts = config.count("num_experts", kMostExperts, local > 0 ? local : experts);
    if (local > 0 && local != m.experts)
        config.refuse("it states two numbers of experts",
                      config.quoted("num_experts") + " and " + config.quoted("num_local_experts") + " alike",
                      std::to_string(m.experts) + " and " + std::to_string(local));
    m.chosen = config.count("num_experts_per_tok", kMostExperts, chosen);
    if (m.chosen > m.experts)
        config.refuse("a token cannot have more experts than there are",
                      config.quoted("num_experts_per_tok") + " from 1 to " + std::to_string(m.experts),
                      std::to_string(m.chosen));
    m.normTopkProb = config.flag("norm_topk_prob", false);
    return m;
}

/// decoder_sparse_step n: only every n-th layer is routed; those of mlp_only_layers are not.
void routeLayers(const ConfigReader& config, Shape& s) {
    const std::int64_t step = config.count("decoder_sparse_step", kMostExperts, 1);
    for (std::size_t i = 0; i < s.kinds.size(); ++i) s.kinds[i].routed = (static_cast<std::int64_t>(i) + 1) % step == 0;
    if (const compute::Json* dense = config.find("mlp_only_layers"); dense != nullptr) {
        const auto isLayer = [](const compute::Json& n) { return n.is_number_integer() && n >= 0; };
        if (!dense->is_array() || !std::all_of(dense->begin(), dense->end(), isLayer))
            config.refuse("the value of " + config.quoted("mlp_only_layers") + " is not usable",
                          "a list of layers, the first of them 0", dense->dump());
        for (const compute::Json& layer : *dense)
            if (layer < s.layers) s.kinds[layer.get<std::size_t>()].routed = false;
    }
    if (std::none_of(s.kinds.begin(), s.kinds.end(), [](const LayerKind& kind) { return kind.routed; })) s.mixture = {};
}

Shape mixtralShape(const ConfigReader& config) {
    refuseForeign(config, {"num_experts", "num_local_experts"});
    Shape s = readSizes(config, kMixtral.name);
    s.activation = readActivation(config, "hidden_act", "silu");
    s.normEpsilon = static_cast<float>(config.positive("rms_norm_eps", 1e-5));
    s.rotaries = {readRotary(config, s, {.base = 1'000'000.0})};
    s.kinds = readKinds(config, s, readWindow(config, 0), kAlways);
    s.mixture = readMixture(config, 8, 2);
    s.mixture.width = s.intermediate;
    if (!config.flag("norm_topk_prob", true))
        config.refuse("weights of experts that do not sum to 1 are not part of this architecture",
                      "no " + config.quoted("norm_topk_prob") + ", or true", "false");
    s.mixture.normTopkProb = true;
    for (LayerKind& kind : s.kinds) kind.routed = true;
    return s;
}

Shape olmoeShape(const ConfigReader& config) {
    refuseForeign(config, {"attention_bias", "num_experts", "num_local_experts"});
    Shape s = readSizes(config, kOlmoe.name);
    s.activation = readActivation(config, "hidden_act", "silu");
    s.normEpsilon = static_cast<float>(config.positive("rms_norm_eps", 1e-5));
    s.rotaries = {readRotary(config, s)};
    s.queryKeyValueBias = s.outputBias = config.flag("attention_bias", false);
    s.headNormsAsOne = true;
    if (const std::int64_t window = readWindow(config, 0); window > 0 && window < s.maxPositions)
        config.refuse("a sliding window of attention is not part of this architecture",
                      "no " + config.quoted("sliding_window"), std::to_string(window));
    s.kinds = readKinds(config, s, 0, kNever);
    s.mixture = readMixture(config, 64, 8);
    s.mixture.width = s.intermediate;
    for (LayerKind& kind : s.kinds) kind.routed = true;
    return s;
}

/// Every second layer slides, those below max_window_layers: so transformers reads this family.
Shape qwen2MoeShape(const ConfigReader& config) {
    refuseForeign(config, {"qkv_bias", "num_experts", "num_local_experts", "shared_expert_intermediate_size",
                           "decoder_sparse_step", "mlp_only_layers"});
    Shape s = readSizes(config, kQwen2Moe.name);
    s.activation = readActivation(config, "hidden_act", "silu");
    s.rotaries = {readRotary(config, s)};
    s.queryKeyValueBias = config.flag("qkv_bias", true);
    const std::int64_t window = config.flag("use_sliding_window", false) ? readWindow(config, 4096) : 0;
    const compute::Json* stated = config.find("max_window_layers");
    const std::int64_t below = stated != nullptr && *stated == 0 ? 0 : config.count("max_window_layers", 4096, 28);
    s.kinds = readKinds(config, s, window, [=](std::int64_t i) { return window > 0 && i % 2 == 0 && i < below; });
    s.mixture = readMixture(config, 60, 4);
    s.mixture.width = config.count("moe_intermediate_size", kWidest, 1408);
    s.mixture.sharedWidth = config.count("shared_expert_intermediate_size", kWidest, 5632);
    routeLayers(config, s);
    return s;
}

Shape qwen3MoeShape(const ConfigReader& config) {
    refuseForeign(config,
                  {"attention_bias", "num_experts", "num_local_experts", "decoder_sparse_step", "mlp_only_layers"});
    Shape s = readSizes(config, kQwen3Moe.name);
    s.activation = readActivation(config, "hidden_act", "silu");
    s.rotaries = {readRotary(config, s)};
    s.queryKeyValueBias = s.outputBias = config.flag("attention_bias", false);
    const std::int64_t window = config.flag("use_sliding_window", false) ? readWindow(config, 4096) : 0;
    s.kinds = readKinds(config, s, window, [=](std::int64_t) { return window > 0; });
    s.mixture = readMixture(config, 128, 8);
    s.mixture.width = config.count("moe_intermediate_size", kWidest, 768);
    routeLayers(config, s);
    return s;
}

}  // namespace

const Architecture kMixtral = {.name = "MixtralForCausalLM",
                               .modelType = "mixtral",
                               .shape = mixtralShape,
                               .prefix = "model.",
                               .names = mixtralNames()};
const Architecture kOlmoe = {.name = "OlmoeForCausalLM",
                             .modelType = "olmoe",
                             .shape = olmoeShape,
                             .prefix = "model.",
                             .names = withExperts(headNormed(kLlamaNames))};
const Architecture kQwen2Moe = {.name = "Qwen2MoeForCausalLM",
                                .modelType = "qwen2_moe",
                                .shape = qwen2MoeShape,
                                .prefix = "model.",
                                .names = withSharedExpert(withExperts(kLlamaNames))};
const Architecture kQwen3Moe = {.name = "Qwen3MoeForCausalLM",
                                .modelType = "qwen3_moe",
                                .shape = qwen3MoeShape,
                                .prefix = "model.",
                                .names = withExperts(headNormed(kLlamaNames))};

}  // namespace counterpoint::network
