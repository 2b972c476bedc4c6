#include <algorithm>
#include <array>

#include "compute/composition/compose.h"
#include "compute/composition/fused/kernels.h"
#include "compute/composition/rowmath.h"
#include "compute/random/noise.h"
#include "compute/random/philox.h"

namespace counterpoint::compute {
namespace {

constexpr std::size_t kBlock = fused::kBlock;
constexpr float kRounding = 1e-3f;  // what float32 may lose in the bound

/// Stage temperature of one block as float32.
const float* asFloats(const float* row, std::size_t, float*) { return row; }
const float* asFloats(const double* row, std::size_t n, float* block) {
    for (std::size_t j = 0; j < n; ++j) block[j] = static_cast<float>(row[j]);
    return block;
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
    const auto key = detail::keyOf(recipe.seed);
    const fused::Noise noise{key[0], key[1], static_cast<std::uint32_t>(position), recipe.stream};
    std::array<float, kBlock> bound, block;
    for (std::size_t from = 0; from < row.size(); from += kBlock) {
        const std::size_t n = std::min(kBlock, row.size() - from);
        const float* logProbs = asFloats(row.data() + from, n, block.data());
        const float most = fused::kernels().bound(logProbs, static_cast<std::uint32_t>(from), n, noise, bound.data());
        if (static_cast<double>(most + kRounding) < value) continue;
        for (std::size_t j = 0; j < n; ++j) {
            const std::size_t v = from + j;
            if (static_cast<double>(bound[j] + kRounding) < value || !stages.kept[v]) continue;
            const double x = valueAt(v);
            if (x > value || (x == value && v < winner)) {
                value = x;
                winner = v;
            }
        }
    }
    return static_cast<TokenId>(winner);
}

template TokenId draw<float>(const Recipe&, const Stages<float>&, Position);
template TokenId draw<double>(const Recipe&, const Stages<double>&, Position);

}  // namespace counterpoint::compute
