#pragma once
// The names of the Llama layout's tensors, which other families share. Internal to the network room. Thread: any
// (constant).

#include "compute/network/architectures.h"

namespace counterpoint::network {

inline constexpr TensorNames kLlamaNames = {.embedding = "model.embed_tokens.weight",
                                            .norm = "model.norm",
                                            .head = "lm_head.weight",
                                            .attentionNorm = "model.layers.{}.input_layernorm",
                                            .query = "model.layers.{}.self_attn.q_proj",
                                            .key = "model.layers.{}.self_attn.k_proj",
                                            .value = "model.layers.{}.self_attn.v_proj",
                                            .output = "model.layers.{}.self_attn.o_proj",
                                            .mlpNorm = "model.layers.{}.post_attention_layernorm",
                                            .gate = "model.layers.{}.mlp.gate_proj",
                                            .up = "model.layers.{}.mlp.up_proj",
                                            .down = "model.layers.{}.mlp.down_proj"};

/// With norms of queries and keys.
constexpr TensorNames headNormed(TensorNames names) {
    names.queryNorm = "model.layers.{}.self_attn.q_norm";
    names.keyNorm = "model.layers.{}.self_attn.k_norm";
    return names;
}

}  // namespace counterpoint::network
