#include "compute/random/noise.h"

#include <cmath>

#include "compute/clones.h"
#include "compute/random/lanes.h"
#include "compute/random/philox.h"

namespace counterpoint::compute {
namespace {

/// u in (0,1): 2^52 + top52 is exact, and so is what is left of it.
[[gnu::always_inline]] inline double uniformOf(std::uint32_t word0, std::uint32_t word1) noexcept {
    const std::uint64_t top52 = ((std::uint64_t{word0} << 32) | word1) >> 12;
    return ((std::bit_cast<double>(top52 | 0x4330000000000000u) - 0x1p52) + 0.5) * 0x1p-52;
}

/// u of the counters (0 … n − 1, b, c, d).
COUNTERPOINT_CLONES void uniforms(std::uint32_t b, std::uint32_t c, std::uint32_t d, std::uint64_t seed, double* out,
                                  std::uint32_t n) noexcept {
    const auto key = detail::keyOf(seed);
#pragma omp simd
    for (std::uint32_t e = 0; e < n; ++e) {
        detail::PhiloxWords w{e, b, c, d};
        detail::philoxRounds(w, key[0], key[1]);
        out[e] = uniformOf(w.a, w.b);
    }
}

COUNTERPOINT_CLONES void normals(double* x, std::size_t n) noexcept {
    int far = 0;
#pragma omp simd reduction(+ : far)
    for (std::size_t i = 0; i < n; ++i) far += (x[i] < detail::kFarTail) + (x[i] > 1.0 - detail::kFarTail);
    if (far == 0) {
#pragma omp simd
        for (std::size_t i = 0; i < n; ++i) x[i] = detail::laneNormal(x[i]);
        return;
    }
    for (std::size_t i = 0; i < n; ++i)
        x[i] = x[i] < detail::kFarTail || x[i] > 1.0 - detail::kFarTail ? detail::laneFarNormal(x[i])
                                                                        : detail::laneNormal(x[i]);
}

}  // namespace

std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) noexcept {
    detail::PhiloxWords w{counter[0], counter[1], counter[2], counter[3]};
    detail::philoxRounds(w, key[0], key[1]);
    return {w.a, w.b, w.c, w.d};
}

double uniform(const std::array<std::uint32_t, 4>& words) noexcept { return uniformOf(words[0], words[1]); }

double tokenGumbel(const TokenAddress& address) noexcept {
    const double u = uniform(philox(
        {static_cast<std::uint32_t>(address.token), static_cast<std::uint32_t>(address.position), address.stream, 0},
        detail::keyOf(address.seed)));
    return -std::log(-std::log(u));
}

void normalsOfUniforms(std::span<double> x) noexcept { normals(x.data(), x.size()); }

void copulaNormals(const NormalAddress& address, std::span<double> out) noexcept {
    uniforms(address.index, address.draw, 4 * address.layer + static_cast<std::uint32_t>(address.kind), address.seed,
             out.data(), static_cast<std::uint32_t>(out.size()));
    normals(out.data(), out.size());
}

}  // namespace counterpoint::compute
