#pragma once
// Philox 4x32-10 and its key. R3, R11: key = (low word of the seed, high word). Pure; thread: any.

#include <array>

#include "compute/random/philoxrounds.h"

namespace counterpoint::compute::detail {

inline std::array<std::uint32_t, 2> keyOf(std::uint64_t seed) noexcept {
    return {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)};
}

}  // namespace counterpoint::compute::detail
