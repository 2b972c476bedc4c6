#pragma once
// R3 and R11: addressed noise. Philox 4x32-10, key = (seed low, seed high); a draw depends on its address only.
//   token Gumbel: counter (v, position, stream, 0); u = ((w0<<32|w1)>>12 + ½)/2^52; G = −log(−log u), float64
//   copula normal: counter (expert, index, draw, 4·layer + purpose), purpose 1 = ζ, 2 = ε; normal = Φ⁻¹(u)
// Normals come as rows over experts [E], vectorised; the same bits on every instruction set and for any E.
// Golden: golden/noise.json, 1e-12. Pure; thread: any.

#include <array>
#include <cstdint>
#include <span>

#include "compute/export.h"
#include "compute/step.h"

namespace counterpoint::compute {

/// Philox 4x32-10 (Salmon et al. 2011).
COUNTERPOINT_API std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                                     std::array<std::uint32_t, 2> key) noexcept;
/// u in the open interval (0,1) from the top 52 bits of words 0 and 1.
COUNTERPOINT_API double uniform(const std::array<std::uint32_t, 4>& words) noexcept;

struct TokenAddress {
    std::uint64_t seed = 0;
    TokenId token = 0;
    Position position = 0;
    std::uint32_t stream = 0;
};
COUNTERPOINT_API double tokenGumbel(const TokenAddress& address) noexcept;

enum class NormalKind : std::uint32_t { Zeta = 1, Epsilon = 2 };
/// Of expert 0; the experts of a row follow.
struct NormalAddress {
    std::uint64_t seed = 0;
    NormalKind kind = NormalKind::Zeta;
    std::uint32_t draw = 0, layer = 0, index = 0;
};
/// Standard normals of experts 0, 1, … of that address.
COUNTERPOINT_API void copulaNormals(const NormalAddress& address, std::span<double> out) noexcept;
/// Each u in (0,1) becomes Φ⁻¹(u).
COUNTERPOINT_API void normalsOfUniforms(std::span<double> x) noexcept;

}  // namespace counterpoint::compute
