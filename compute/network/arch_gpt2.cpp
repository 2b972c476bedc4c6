// GPT-2: learned positions, layer norms with biases, one matrix for queries, keys and values, a gelu MLP without gate.
// Its matrices are stored [in][out] and used as they lie. Older files name their tensors without "transformer.".

#include <cmath>

#include "compute/network/architectures.h"
#include "compute/network/configparts.h"

namespace counterpoint::network {
namespace {

Shape gpt2Shape(const ConfigReader& config) {
    refuseForeign(config, {});
    Shape s;
    s.architecture = kGpt2.name;
    s.vocabulary = config.count("vocab_size", 1 << 24);
    s.hidden = config.count("n_embd", 1 << 20);
    s.intermediate = config.count("n_inner", 1 << 20, 4 * s.hidden);
    s.layers = config.count("n_layer", 4096);
    s.heads = s.keyValueHeads = config.count("n_head", 4096);
    s.headDim = s.hidden % s.heads == 0 ? s.hidden / s.heads : 0;
    s.maxPositions = config.count("n_positions", 1 << 24, 1024);
    if (s.headDim == 0)
        config.refuse("the heads do not divide the model",
                      config.name("n_embd") + " a multiple of " + config.name("n_head"),
                      std::to_string(s.hidden) + " and " + std::to_string(s.heads));
    s.norm = NormKind::Layer;
    s.normEpsilon = static_cast<float>(config.positive("layer_norm_epsilon", 1e-5));
    s.activation = readActivation(config, "activation_function", "gelu_new");
    s.fused = Fused::Blocks;
    s.attentionScale = config.flag("scale_attn_weights", true)
                           ? static_cast<float>(1.0 / std::sqrt(static_cast<double>(s.headDim)))
                           : 1.0f;
    s.kinds.assign(static_cast<std::size_t>(s.layers), {.window = 0, .rotary = -1});
    s.tiedHead = config.flag("tie_word_embeddings", true);
    s.queryKeyValueBias = s.outputBias = s.mlpBias = true;
    return s;
}

}  // namespace

const Architecture kGpt2 = {.name = "GPT2LMHeadModel",
                            .modelType = "gpt2",
                            .shape = gpt2Shape,
                            .prefix = "transformer.",
                            .transposed = true,
                            .names = {.embedding = "transformer.wte.weight",
                                      .positions = "transformer.wpe.weight",
                                      .norm = "transformer.ln_f",
                                      .head = "lm_head.weight",
                                      .attentionNorm = "transformer.h.{}.ln_1",
                                      .query = "transformer.h.{}.attn.c_attn",
                                      .output = "transformer.h.{}.attn.c_proj",
                                      .mlpNorm = "transformer.h.{}.ln_2",
                                      .up = "transformer.h.{}.mlp.c_fc",
                                      .down = "transformer.h.{}.mlp.c_proj",
                                      .masks = {".attn.bias", ".attn.masked_bias"}}};

}  // namespace counterpoint::network
