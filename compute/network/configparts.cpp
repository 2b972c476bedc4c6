#include "compute/network/configparts.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace counterpoint::network {
namespace {

constexpr std::int64_t kWide = 1 << 20, kMany = 4096, kLong = 1 << 24;

/// A key of some family of models and what it must be to change nothing.
struct ForeignKey {
    std::string_view key;
    enum { One, Absent, False, True, Zero, Empty, Softmax, NoExperts } neutral;
};
constexpr std::array kForeignKeys = {
    ForeignKey{"partial_rotary_factor", ForeignKey::One},
    ForeignKey{"rotary_pct", ForeignKey::One},
    ForeignKey{"embedding_multiplier", ForeignKey::One},
    ForeignKey{"residual_multiplier", ForeignKey::One},
    ForeignKey{"logits_scaling", ForeignKey::One},
    ForeignKey{"logit_scale", ForeignKey::One},
    ForeignKey{"scale_emb", ForeignKey::One},
    ForeignKey{"attention_multiplier", ForeignKey::Absent},
    ForeignKey{"query_pre_attn_scalar", ForeignKey::Absent},
    ForeignKey{"attn_logit_softcapping", ForeignKey::Absent},
    ForeignKey{"final_logit_softcapping", ForeignKey::Absent},
    ForeignKey{"clip_qkv", ForeignKey::Absent},
    ForeignKey{"scale_depth", ForeignKey::Absent},
    ForeignKey{"no_rope_layers", ForeignKey::Absent},
    ForeignKey{"rope_local_base_freq", ForeignKey::Absent},
    ForeignKey{"attention_chunk_size", ForeignKey::Absent},
    ForeignKey{"is_causal", ForeignKey::True},
    ForeignKey{"attention_bias", ForeignKey::False},
    ForeignKey{"mlp_bias", ForeignKey::False},
    ForeignKey{"use_qk_norm", ForeignKey::False},
    ForeignKey{"qk_norm", ForeignKey::False},
    ForeignKey{"qk_layernorm", ForeignKey::False},
    ForeignKey{"qkv_bias", ForeignKey::False},
    ForeignKey{"use_bias", ForeignKey::False},
    ForeignKey{"lm_head_bias", ForeignKey::False},
    ForeignKey{"scale_embedding", ForeignKey::False},
    ForeignKey{"rope_interleave", ForeignKey::False},
    ForeignKey{"rope_interleaved", ForeignKey::False},
    ForeignKey{"cross_layer_sharing", ForeignKey::False},
    ForeignKey{"use_parallel_residual", ForeignKey::False},
    ForeignKey{"alibi", ForeignKey::False},
    ForeignKey{"parallel_attn", ForeignKey::False},
    ForeignKey{"use_bidirectional_attention", ForeignKey::False},
    ForeignKey{"scale_attn_by_inverse_layer_idx", ForeignKey::False},
    ForeignKey{"add_cross_attention", ForeignKey::False},
    ForeignKey{"num_local_experts", ForeignKey::NoExperts},
    ForeignKey{"num_experts", ForeignKey::NoExperts},
    ForeignKey{"n_routed_experts", ForeignKey::NoExperts},
    // of mixtures of experts
    ForeignKey{"decoder_sparse_step", ForeignKey::One},
    ForeignKey{"mlp_only_layers", ForeignKey::Empty},
    ForeignKey{"shared_expert_intermediate_size", ForeignKey::Zero},
    ForeignKey{"n_shared_experts", ForeignKey::Zero},
    ForeignKey{"num_shared_experts", ForeignKey::Zero},
    ForeignKey{"first_k_dense_replace", ForeignKey::Zero},
    ForeignKey{"moe_layer_freq", ForeignKey::One},
    ForeignKey{"routed_scaling_factor", ForeignKey::One},
    ForeignKey{"n_group", ForeignKey::One},
    ForeignKey{"topk_group", ForeignKey::One},
    ForeignKey{"scoring_func", ForeignKey::Softmax},
    ForeignKey{"router_logit_softcapping", ForeignKey::Absent},
};

/// "8" for 8.0, "0.5" for 0.5.
std::string text(double value) {
    const bool whole = std::abs(value) < 1e15 && value == std::floor(value);
    return whole ? std::to_string(static_cast<std::int64_t>(value)) : compute::Json(value).dump();
}

/// A stated original length; transformers lets the key beside the settings win, then falls back to the model's length.
double originalLength(const ConfigReader& config, const ConfigReader& settings, const Shape& shape) {
    const char* key = "original_max_position_embeddings";
    const std::int64_t stated = settings.count(key, kLong, shape.maxPositions);
    return static_cast<double>(config.count(key, kLong, stated));
}

/// A number without which a kind of scaling means nothing.
double needed(const ConfigReader& settings, const char* key, const std::string& kind) {
    if (settings.find(key) == nullptr)
        settings.refuse("the scaling '" + kind + "' of rotary positions lacks the key " + settings.quoted(key),
                        "a number", {});
    return settings.positive(key, 1.0);
}

void scaleYarn(const ConfigReader& settings, double N, Shape& shape, Rotary& rotary) {
    if (settings.find("original_max_position_embeddings") == nullptr) (void)needed(settings, "factor", "yarn");
    const double s = settings.positive("factor", static_cast<double>(shape.maxPositions) / N);
    const YarnScaling by{s, N, settings.positive("beta_fast", 32.0), settings.positive("beta_slow", 1.0),
                         settings.flag("truncate", true)};
    if (!(rotary.base > 1.0))
        settings.refuse("the base of yarn's rotary positions is not usable", settings.quoted("rope_theta") + " above 1",
                        text(rotary.base));
    if (!(by.fast > by.slow))
        settings.refuse("the ramp of yarn has no extent",
                        settings.quoted("beta_fast") + " above " + settings.quoted("beta_slow"),
                        text(by.fast) + " and " + text(by.slow));
    const auto growth = [s](double m) { return s <= 1.0 ? 1.0 : 0.1 * m * std::log(s) + 1.0; };
    const bool both = settings.find("mscale") != nullptr && settings.find("mscale_all_dim") != nullptr;
    const double usual =
        both ? growth(settings.positive("mscale", 1.0)) / growth(settings.positive("mscale_all_dim", 1.0))
             : growth(1.0);
    rotary.factor = settings.positive("attention_factor", usual);
    rotary.scaling = "yarn, factor " + text(s) + ", original length " + text(N);
    scale(by, rotary);
    shape.maxPositions = std::max(shape.maxPositions, static_cast<std::int64_t>(std::llround(std::min(s * N, 1e9))));
}

void scaleLlama3(const ConfigReader& settings, double s, double N, Rotary& rotary) {
    const Llama3Scaling by{s, N, needed(settings, "low_freq_factor", "llama3"),
                           needed(settings, "high_freq_factor", "llama3")};
    if (!(by.high > by.low))
        settings.refuse("the ramp of llama3 has no extent",
                        settings.quoted("high_freq_factor") + " above " + settings.quoted("low_freq_factor"),
                        text(by.high) + " and " + text(by.low));
    scale(by, rotary);
    rotary.scaling = "llama3, factor " + text(s) + ", original length " + text(N);
}

}  // namespace

Shape readSizes(const ConfigReader& config, std::string_view architecture, const SizeDefaults& defaults) {
    Shape s;
    s.architecture = architecture;
    s.vocabulary = config.count("vocab_size", kLong);
    s.hidden = config.count("hidden_size", kWide);
    s.intermediate = config.count("intermediate_size", kWide);
    s.layers = config.count("num_hidden_layers", kMany);
    s.heads = config.count("num_attention_heads", kMany);
    s.keyValueHeads = config.count("num_key_value_heads", kMany, s.heads);
    const std::int64_t derived = s.hidden % s.heads == 0 ? s.hidden / s.heads : 0;
    s.headDim = config.count("head_dim", kMany, defaults.headDim > 0 ? defaults.headDim : derived);
    s.maxPositions = config.count("max_position_embeddings", kLong);
    s.normEpsilon = static_cast<float>(config.positive("rms_norm_eps", 1e-6));
    s.tiedHead = config.flag("tie_word_embeddings", defaults.tiedHead);
    checkHeads(config, s);
    s.attentionScale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(s.headDim)));
    return s;
}

void checkHeads(const ConfigReader& config, const Shape& s) {
    const auto show = [](std::int64_t n) { return std::to_string(n); };
    if (s.headDim < 2 || s.headDim % 2 != 0)
        config.refuse("the head size is not usable",
                      config.quoted("head_dim") + " (or " + config.name("hidden_size") + " / " +
                          config.name("num_attention_heads") + ") a whole even number",
                      config.find("head_dim") != nullptr ? show(s.headDim) : show(s.hidden) + " / " + show(s.heads));
    if (s.heads % s.keyValueHeads != 0)
        config.refuse("the heads do not divide into groups",
                      config.name("num_attention_heads") + " a multiple of " + config.name("num_key_value_heads"),
                      show(s.heads) + " and " + show(s.keyValueHeads));
}

Activation readActivation(const ConfigReader& config, const char* key, const char* initial) {
    const std::string name = config.text(key, initial);
    if (name == "silu" || name == "swish") return Activation::Silu;
    if (name == "gelu") return Activation::Gelu;
    if (name == "gelu_new" || name == "gelu_pytorch_tanh" || name == "gelu_fast") return Activation::GeluTanh;
    config.refuse("this activation is not supported", "silu, gelu, gelu_new or gelu_pytorch_tanh",
                  "'" + name + "' in " + config.quoted(key));
}

Rotary readRotary(const ConfigReader& config, const compute::Json* given, const std::string& key, Shape& shape,
                  const RotaryDefaults& defaults) {
    static const compute::Json kNone = compute::Json::object();
    if (given != nullptr && !given->is_object())
        config.refuse(config.quoted(key) + " is not an object", "an object or null", given->type_name());
    const ConfigReader settings = config.inside(given != nullptr ? *given : kNone);
    for (const auto& [name, value] : (given != nullptr ? *given : kNone).items())
        if (value.is_object())
            config.refuse("rotary positions of its own for each kind of layer are not supported here",
                          "one set of settings in " + config.quoted(key), "'" + name + "'");
    const std::string kind = settings.text(
        "rope_type", settings.text("type", given == nullptr || key == "rope_parameters" ? "default" : "unnamed"));

    Rotary rotary;
    rotary.base = settings.positive("rope_theta", defaults.base);
    const double part = settings.positive("partial_rotary_factor", defaults.part);
    const std::string channels = text(part * static_cast<double>(shape.headDim)) + " (" + text(part) + " of " +
                                 std::to_string(shape.headDim) + ")";
    if (part != 1.0 && !defaults.partStated)
        config.refuse(config.quoted(defaults.partKey) + " is not supported by this architecture",
                      "all " + std::to_string(shape.headDim) + " channels of a head turned by position, as without it",
                      channels);
    const auto turned = static_cast<std::int64_t>(static_cast<double>(shape.headDim) * std::min(part, 2.0));
    if (turned < 2 || turned % 2 != 0 || turned > shape.headDim)
        config.refuse("the turned part of a head ('" + config.name(defaults.partKey) + "') is not usable",
                      "an even number of channels from 2 to " + std::to_string(shape.headDim), channels);
    const std::int64_t n = turned / 2;
    rotary.frequencies = plainFrequencies(rotary.base, n);
    if (kind == "default") return rotary;

    const double N = originalLength(config, settings, shape);
    if (kind == "yarn") {
        scaleYarn(settings, N, shape, rotary);
        return rotary;
    }
    if (kind != "linear" && kind != "dynamic" && kind != "llama3")
        config.refuse("this scaling of rotary positions is not supported", "default, linear, dynamic, llama3 or yarn",
                      "'" + kind + "' in " + config.quoted(key));
    const double s = needed(settings, "factor", kind);
    rotary.scaling = kind + ", factor " + text(s);
    if (kind == "linear")
        for (double& f : rotary.frequencies) f /= s;
    if (kind == "llama3") scaleLlama3(settings, s, N, rotary);
    if (kind == "dynamic") {
        if (n < 2 || s < 1.0)
            config.refuse("the dynamic scaling of rotary positions is not usable",
                          "a factor of at least 1 and at least 4 turned channels",
                          text(s) + " and " + std::to_string(turned));
        rotary.dynamic = s;
        rotary.original = shape.maxPositions;
        shape.maxPositions = static_cast<std::int64_t>(std::min(s * static_cast<double>(shape.maxPositions), 1e9));
        rotary.scaling += " beyond " + std::to_string(rotary.original);
    }
    return rotary;
}

Rotary readRotary(const ConfigReader& config, Shape& shape, RotaryDefaults defaults) {
    defaults.base = config.positive("rope_theta", defaults.base);
    defaults.part = config.positive("partial_rotary_factor", defaults.part);
    const char* key = config.find("rope_scaling") != nullptr ? "rope_scaling" : "rope_parameters";
    return readRotary(config, config.find(key), key, shape, defaults);
}

std::vector<LayerKind> readKinds(const ConfigReader& config, const Shape& shape, std::int64_t window,
                                 const std::function<bool(std::int64_t)>& slides, int slidingRotary) {
    const compute::Json* types = config.find("layer_types");
    if (types != nullptr && (!types->is_array() || static_cast<std::int64_t>(types->size()) != shape.layers))
        config.refuse("'layer_types' does not fit", "a list of " + config.name("num_hidden_layers") + " names",
                      types->is_array() ? std::to_string(types->size()) + " entries" : types->type_name());
    std::vector<LayerKind> kinds(static_cast<std::size_t>(shape.layers));
    for (std::size_t i = 0; i < kinds.size(); ++i) {
        bool sliding = types == nullptr && slides(static_cast<std::int64_t>(i));
        if (types != nullptr) {
            const compute::Json& name = (*types)[i];
            sliding = name == "sliding_attention";
            if (!sliding && name != "full_attention")
                config.refuse("this kind of layer is not supported", "full_attention or sliding_attention",
                              name.dump());
            if (sliding && window == 0)
                config.refuse("a layer slides, but the window has no size", config.quoted("sliding_window"),
                              "none in use");
        }
        if (sliding && window < shape.maxPositions) kinds[i].window = window;
        if (sliding) kinds[i].rotary = slidingRotary;
    }
    return kinds;
}

std::int64_t readWindow(const ConfigReader& config, std::int64_t initial) {
    return config.isNull("sliding_window") ? 0 : config.count("sliding_window", std::int64_t{1} << 40, initial);
}

void refuseForeign(const ConfigReader& config, std::initializer_list<std::string_view> known) {
    for (const auto& [name, neutral] : kForeignKeys) {
        const std::string key(name);
        const compute::Json* value = config.find(key.c_str());
        if (value == nullptr || std::find(known.begin(), known.end(), name) != known.end()) continue;
        const std::string what = config.quoted(key) + " is not supported by this architecture";
        if (neutral == ForeignKey::One && *value != 1) config.refuse(what, "1 or none", shown(*value));
        if (neutral == ForeignKey::Absent) config.refuse(what, "none", shown(*value));
        if (neutral == ForeignKey::False && config.flag(key.c_str(), false)) config.refuse(what, "false", "true");
        if (neutral == ForeignKey::True && !config.flag(key.c_str(), true)) config.refuse(what, "true", "false");
        if (neutral == ForeignKey::Zero && *value != 0) config.refuse(what, "0 or none", shown(*value));
        if (neutral == ForeignKey::Empty && !value->empty()) config.refuse(what, "an empty list", shown(*value));
        if (neutral == ForeignKey::Softmax && *value != "softmax") config.refuse(what, "softmax", shown(*value));
        if (neutral == ForeignKey::NoExperts && *value != 0 && *value != 1)
            config.refuse("a mixture of experts is not supported by this architecture", "no " + config.name(key),
                          shown(*value));
    }
}

}  // namespace counterpoint::network
