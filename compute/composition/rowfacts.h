#pragma once
// What one row alone is asked for at every recomposition, computed once when it is kept: its maximum, its mass, what it
// excludes, and R5's activity against the base, KL(p_i‖p_b), which no dial changes. Shapes: row and base [V]. Units:
// nats. Numerics: fused/kernels.h. Pure; thread: any.

#include <cstdint>
#include <limits>
#include <span>

#include "compute/export.h"
#include "compute/step.h"

namespace counterpoint::compute {

struct RowFacts {
    float top = -std::numeric_limits<float>::infinity();
    TokenId best = kNoToken;    ///< lowest id of the maximum
    double logMass = 0;         ///< log Σ e^x: 0 but for rounding
    double activity = 0;        ///< KL(p_i‖p_b); +∞ where the base excludes what the row does not
    std::int64_t excluded = 0;  ///< tokens at −∞
    bool proper = false;        ///< neither NaN nor +∞, and something finite
};

COUNTERPOINT_API RowFacts factsOf(std::span<const float> row, std::span<const float> base);

}  // namespace counterpoint::compute
