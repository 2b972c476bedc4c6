#include <array>
#include <bit>

#include "compute/composition/compose.h"
#include "compute/composition/rowmath.h"
#include "compute/random/noise.h"
#include "compute/random/philox.h"

namespace counterpoint::compute {
namespace {

constexpr std::size_t kBlock = 256;
/// G = −log(−log u) < −log(1 − u), and 1 − u >= 2^-53.
constexpr float kLargestGumbel = 36.75f;
constexpr float kRounding = 1e-3f;  // what float32 may lose in the bound

/// An upper bound of G from word 0 alone: −ln(1−u) <= −ln(d/2^31), d = (2^32 − 1 − w0)/2, and log2 x lies above the
/// line through its exponent and mantissa bits. d = 0 gives 88, above every G. What passes is computed exactly.
inline float gumbelBound(std::uint32_t word0) noexcept {
    const auto d = static_cast<float>(static_cast<std::int32_t>(~word0 >> 1));
    const float log2Below = static_cast<float>(std::bit_cast<std::int32_t>(d)) * 0x1p-23f - 127.0f;
    return 0.693147181f * (31.0f - log2Below);
}

/// Tokens of one block that can still win; noise of a block is made together so that the loop vectorises.
struct Block {
    std::array<std::uint32_t, kBlock> token;
    std::array<float, kBlock> logProb;
    std::array<float, kBlock> bound;
    std::size_t count = 0;
};

void boundBlock(Block& block, std::uint64_t seed, std::uint32_t position, std::uint32_t stream) noexcept {
    const auto key = detail::keyOf(seed);
    const std::uint32_t key0 = key[0], key1 = key[1];
    const std::size_t n = block.count;
#pragma omp simd
    for (std::size_t j = 0; j < n; ++j) {
        detail::PhiloxWords w{block.token[j], position, stream, 0};
        detail::philoxRounds(w, key0, key1);
        block.bound[j] = block.logProb[j] + gumbelBound(w.a);
    }
}

}  // namespace

template <class Real>
TokenId draw(const Recipe& recipe, const Stages<Real>& stages, Position position) {
    const std::vector<Real>& row = stages.temperature;
    const std::size_t best = rowmath::argMax(row.data(), row.size());
    if (best == row.size()) return kNoToken;
    if (stages.greedy) return static_cast<TokenId>(best);

    const auto valueAt = [&](std::size_t v) {
        return static_cast<double>(row[v]) +
               tokenGumbel({recipe.seed, static_cast<TokenId>(v), position, recipe.stream});
    };
    // The most probable token first: truncation always keeps it, and it sets a bar that few others can reach.
    std::size_t winner = best;
    double value = valueAt(best);
    Block block;
    const auto settle = [&] {
        boundBlock(block, recipe.seed, static_cast<std::uint32_t>(position), recipe.stream);
        for (std::size_t j = 0; j < block.count; ++j) {
            if (static_cast<double>(block.bound[j] + kRounding) < value) continue;
            const std::size_t v = block.token[j];
            const double x = valueAt(v);
            if (x > value || (x == value && v < winner)) {
                value = x;
                winner = v;
            }
        }
        block.count = 0;
    };
    for (std::size_t v = 0; v < row.size(); ++v) {
        const auto logProb = static_cast<float>(row[v]);
        if (!stages.kept[v] || static_cast<double>(logProb + kLargestGumbel) < value) continue;
        block.token[block.count] = static_cast<std::uint32_t>(v);
        block.logProb[block.count] = logProb;
        if (++block.count == kBlock) settle();
    }
    settle();
    return static_cast<TokenId>(winner);
}

template TokenId draw<float>(const Recipe&, const Stages<float>&, Position);
template TokenId draw<double>(const Recipe&, const Stages<double>&, Position);

}  // namespace counterpoint::compute
