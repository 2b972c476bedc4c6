#pragma once
// R11: the copula noise of routing. For group g, expert e, one layer, all independent across e and layers:
//   ζ_ge ~ N(0,1); of the second group g' of a pair: ζ_g'e = −α ζ_ge + √(1−α²) ξ_ge
//   z_te = √ρ_g ζ_ge + √(1−ρ_g) ε_te; γ_te = −log(−log Φ(z_te))
// Addresses: counter (expert, index, draw, 4·layer + 1 for ζ or 2 for ε); index = a group's first position for its ζ
// (for its ξ where it looks back), the position for ε; draw 0 is the decode. So a row depends on (seed, draw, layer,
// placement, position) only: the same in prefill, step by step, after a rewind, in any order. Shapes: rows [E].
// float64, the same bits on every instruction set. A setting that needs no ζ, ξ or ε does not draw them. Thread: any.

#include <span>
#include <vector>

#include "compute/export.h"
#include "compute/routing/groups.h"

namespace counterpoint::compute {

struct NoiseAddress {
    std::uint64_t seed = 0;
    std::uint32_t draw = 0, layer = 0;
    bool operator==(const NoiseAddress&) const = default;
};

/// ζ of a group. scratch [E] is overwritten.
COUNTERPOINT_API void groupNormals(const NoiseAddress& address, const Placement& placed, std::span<double> zeta,
                                   std::span<double> scratch) noexcept;
/// z of a position from its group's ζ (not read at ρ = 0).
COUNTERPOINT_API void positionNormals(const NoiseAddress& address, const Placement& placed, Position position,
                                      std::span<const double> zeta, std::span<double> z) noexcept;

/// The ζ of the group last asked for, kept for the next position: memory, not state. One a layer and thread.
struct GroupMemory {
    NoiseAddress address;
    Placement placed;
    std::vector<double> zeta, scratch;
};
/// γ of a position.
COUNTERPOINT_API void routingNoise(const NoiseAddress& address, const Placement& placed, Position position,
                                   GroupMemory& memory, std::span<double> gamma);

}  // namespace counterpoint::compute
