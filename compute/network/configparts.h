#pragma once
// What the rows of the table read alike from a config.json: sizes, activation, rotary positions, windows; and the keys
// that change the arithmetic, of which each row names those it knows and the others are refused by name (HAZARDS A11,
// A13). Errors: Error naming config.json, the key, what would be accepted and what was found. Pure; thread: any.

#include <functional>
#include <initializer_list>
#include <string_view>

#include "compute/network/configreader.h"
#include "compute/network/weights.h"

namespace counterpoint::network {

/// What a key that is absent stands for.
struct SizeDefaults {
    std::int64_t headDim = 0;  ///< 0: hidden_size / num_attention_heads
    bool tiedHead = false;
};
/// vocab_size, hidden_size, …, head_dim (read, not derived, where it is stated: HAZARDS A12), rms_norm_eps,
/// max_position_embeddings, tie_word_embeddings; the attention's scale is 1/√D.
Shape readSizes(const ConfigReader& config, std::string_view architecture, const SizeDefaults& defaults = {});

/// Groups that divide and a head size that can be turned in halves; for rows that read their sizes themselves too.
void checkHeads(const ConfigReader& config, const Shape& shape);

Activation readActivation(const ConfigReader& config, const char* key, const char* initial);

/// What stands for the keys that no object of rotary settings states.
struct RotaryDefaults {
    double base = 10000.0;
    double part = 1.0;                              ///< of the head that is turned
    bool partStated = false;                        ///< the family knows partial_rotary_factor; elsewhere it must be 1
    const char* partKey = "partial_rotary_factor";  ///< what the family calls it
};
/// rope_parameters, or rope_scaling with rope_theta and partial_rotary_factor. A kind that lets the model read further
/// than max_position_embeddings (dynamic, yarn) raises shape.maxPositions.
Rotary readRotary(const ConfigReader& config, Shape& shape, RotaryDefaults defaults = {});
/// The same from one object of settings, or none; `key` names it in errors.
Rotary readRotary(const ConfigReader& config, const compute::Json* settings, const std::string& key, Shape& shape,
                  const RotaryDefaults& defaults);

/// layer_types, or where it is absent slides(i) for layer i; a sliding layer sees `window` positions and turns by its
/// own rotary, if the family has one.
std::vector<LayerKind> readKinds(const ConfigReader& config, const Shape& shape, std::int64_t window,
                                 const std::function<bool(std::int64_t)>& slides, int slidingRotary = 0);
/// sliding_window: absent stands for `initial`, null for 0.
std::int64_t readWindow(const ConfigReader& config, std::int64_t initial);

/// Refuses what changes the arithmetic and is not among `known`.
void refuseForeign(const ConfigReader& config, std::initializer_list<std::string_view> known);

}  // namespace counterpoint::network
