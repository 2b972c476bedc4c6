#pragma once
// The rounds of Philox 4x32-10 (Salmon et al. 2011) on plain words, for loops over many counters: vectorised, and
// compiled for several instruction sets, so nothing here may become a symbol of its own. Pure; thread: any.

#include <cstdint>

namespace counterpoint::compute::detail {

struct PhiloxWords {
    std::uint32_t a, b, c, d;
};

[[gnu::always_inline]] inline void philoxRounds(PhiloxWords& w, std::uint32_t key0, std::uint32_t key1) noexcept {
    for (int round = 0; round < 10; ++round) {
        const std::uint64_t first = std::uint64_t{0xD2511F53u} * w.a;
        const std::uint64_t second = std::uint64_t{0xCD9E8D57u} * w.c;
        w = {static_cast<std::uint32_t>(second >> 32) ^ w.b ^ key0, static_cast<std::uint32_t>(second),
             static_cast<std::uint32_t>(first >> 32) ^ w.d ^ key1, static_cast<std::uint32_t>(first)};
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
}

}  // namespace counterpoint::compute::detail
