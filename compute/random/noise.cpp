#include "compute/random/noise.h"

#include <boost/math/special_functions/erf.hpp>
#include <cmath>

#include "compute/random/philox.h"

namespace counterpoint::compute {

std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) noexcept {
    detail::PhiloxWords w{counter[0], counter[1], counter[2], counter[3]};
    detail::philoxRounds(w, key[0], key[1]);
    return {w.a, w.b, w.c, w.d};
}

double uniform(const std::array<std::uint32_t, 4>& words) noexcept {
    const std::uint64_t top52 = ((std::uint64_t{words[0]} << 32) | words[1]) >> 12;
    return (static_cast<double>(top52) + 0.5) * 0x1p-52;
}

double tokenGumbel(const TokenAddress& address) noexcept {
    const double u = uniform(philox(
        {static_cast<std::uint32_t>(address.token), static_cast<std::uint32_t>(address.position), address.stream, 0},
        detail::keyOf(address.seed)));
    return -std::log(-std::log(u));
}

double copulaNormal(const NormalAddress& address) noexcept {
    const auto purpose = static_cast<std::uint32_t>(address.kind);
    const double u = uniform(philox({address.expert, address.index, address.draw, 4 * address.layer + purpose},
                                    detail::keyOf(address.seed)));
    // Φ⁻¹(u) from the nearer tail: 2u and 2(1−u) are exact in float64, so both tails keep their full precision.
    using Policy = boost::math::policies::policy<boost::math::policies::promote_double<false>>;
    constexpr double kRootTwo = 1.41421356237309504880;
    return u < 0.5 ? -kRootTwo * boost::math::erfc_inv(2 * u, Policy())
                   : kRootTwo * boost::math::erfc_inv(2 * (1 - u), Policy());
}

}  // namespace counterpoint::compute
