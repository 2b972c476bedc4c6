// Word 0 of Philox 4x32-10 for a run of counters (v, position, stream, 0), as many at a time as a vector holds 64-bit
// lanes: a word lies in the low half of its lane, so that one widening product gives both halves of what a round needs
// and nothing is shuffled. The first two rounds and the last one have constant or unread words, which are not computed.
// Included by one file per instruction set; everything here is internal to it. Same words as philoxRounds().

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "compute/random/philoxrounds.h"

namespace counterpoint::compute::fused {
namespace {

#if defined(__AVX512F__)
constexpr int kLanes = 8;
#elif defined(__AVX2__)
constexpr int kLanes = 4;
#else
constexpr int kLanes = 2;
#endif

typedef unsigned long long Lanes __attribute__((vector_size(8 * kLanes)));

/// The 64-bit products of the low halves.
inline Lanes product(Lanes a, Lanes b) {
#if defined(__AVX512F__)
    return (Lanes)_mm512_maskz_mul_epu32(0xFF, (__m512i)a, (__m512i)b);  // the unmasked one warns in GCC 12
#elif defined(__AVX2__)
    return (Lanes)_mm256_mul_epu32((__m256i)a, (__m256i)b);
#elif defined(__x86_64__)
    return (Lanes)_mm_mul_epu32((__m128i)a, (__m128i)b);
#else
    return (a & 0xFFFFFFFFu) * (b & 0xFFFFFFFFu);
#endif
}

/// What every counter of a row has in common: the words after the rounds that do not read v, and the keys.
struct RowOfCounters {
    Lanes a1, b1;         ///< words 0 and 1 after round 1
    Lanes firstHigh, d2;  ///< of round 2's product with word 0: its high half xor key 1, its low half
    Lanes key0[10], key1[10];

    RowOfCounters(std::uint32_t keyLow, std::uint32_t keyHigh, std::uint32_t position, std::uint32_t stream) {
        std::uint32_t low[10], high[10];
        for (int round = 0; round < 10; ++round) {
            low[round] = keyLow + static_cast<std::uint32_t>(round) * 0x9E3779B9u;
            high[round] = keyHigh + static_cast<std::uint32_t>(round) * 0xBB67AE85u;
            key0[round] = Lanes{} + low[round];
            key1[round] = Lanes{} + high[round];
        }
        const std::uint64_t second = std::uint64_t{0xCD9E8D57u} * stream;
        const std::uint32_t a = static_cast<std::uint32_t>(second >> 32) ^ position ^ low[0];
        const std::uint64_t first = std::uint64_t{0xD2511F53u} * a;
        a1 = Lanes{} + a;
        b1 = Lanes{} + static_cast<std::uint32_t>(second);
        firstHigh = Lanes{} + (static_cast<std::uint32_t>(first >> 32) ^ high[1]);
        d2 = Lanes{} + static_cast<std::uint32_t>(first);
    }
};

/// Word 0 of counters v, in the low halves; the high halves hold nothing of use.
inline Lanes word0(const RowOfCounters& row, Lanes v) {
    const Lanes m0 = Lanes{} + 0xD2511F53u, m1 = Lanes{} + 0xCD9E8D57u;
    const Lanes p = product(v, m0);  // round 1: words 0 and 1 are the row's
    Lanes c = (p >> 32) ^ row.key1[0], d = p;
    const Lanes q = product(c, m1);  // round 2: its other product is the row's
    Lanes a = (q >> 32) ^ row.b1 ^ row.key0[1], b = q;
    c = row.firstHigh ^ d;
    d = row.d2;
#pragma GCC unroll 7
    for (int round = 2; round < 9; ++round) {
        const Lanes first = product(a, m0), second = product(c, m1);
        a = (second >> 32) ^ (b ^ row.key0[round]);
        c = (first >> 32) ^ (d ^ row.key1[round]);
        b = second;
        d = first;
    }
    return (product(c, m1) >> 32) ^ (b ^ row.key0[9]);
}

/// Word 0 of the counters from `first` on; n is a multiple of 2·kLanes.
inline void words0(const RowOfCounters& row, std::uint32_t first, std::size_t n, std::uint32_t* out) {
    Lanes even{};
    for (int i = 0; i < kLanes; ++i) even[i] = first + 2u * static_cast<std::uint32_t>(i);
    for (std::size_t at = 0; at < n; at += 2 * kLanes, even += 2 * kLanes) {
        const Lanes low = word0(row, even), high = word0(row, even + 1);
        const Lanes both = (low & 0xFFFFFFFFu) | (high << 32);
        __builtin_memcpy(out + at, &both, sizeof both);
    }
}

}  // namespace
}  // namespace counterpoint::compute::fused
