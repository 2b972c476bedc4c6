#pragma once
// R2: truncation in the order top-k, top-p, min-p, each on the renormalised survivors of the one before. All three keep
// a prefix of the order (p descending, id ascending), so each is one Bound and the strictest decides. Never sorts the
// row: selection by nth_element, halving for top-p. top-p keeps the shortest prefix that reaches P, at least one token;
// sums in float64, with 8 units of the row's rounding granted at the edge. Shapes: row [V], log-probabilities. Pure;
// thread: any.

#include <cstdint>
#include <cstring>
#include <limits>
#include <span>

#include "compute/step.h"

namespace counterpoint::compute {

/// Keeps what is above logProb and, at equality, the ids up to `last`.
struct Bound {
    double logProb = -std::numeric_limits<double>::infinity();
    TokenId last = std::numeric_limits<TokenId>::max();
    bool keeps(double x, TokenId token) const noexcept { return x > logProb || (x == logProb && token <= last); }
};

template <class Real>
Bound topKBound(std::span<const Real> row, std::int64_t k);
/// On the survivors of `within`, renormalised.
template <class Real>
Bound topPBound(std::span<const Real> row, double p, const Bound& within);
/// p >= share · max p.
template <class Real>
Bound shareBound(std::span<const Real> row, double share);
/// kept[v] = 1 where the bound keeps a token that is not excluded, else 0; returns how many.
template <class Real>
std::int64_t keep(std::span<const Real> row, const Bound& bound, std::uint8_t* kept);
/// work(v) for every kept v, ascending; eight that are not kept cost one comparison.
template <class Work>
void forEachKept(std::span<const std::uint8_t> kept, const Work& work) {
    std::size_t v = 0;
    for (std::uint64_t eight = 0; v + 8 <= kept.size(); v += 8) {
        std::memcpy(&eight, kept.data() + v, 8);
        if (eight == 0) continue;
        for (std::size_t j = v; j < v + 8; ++j)
            if (kept[j] != 0) work(j);
    }
    for (; v < kept.size(); ++v)
        if (kept[v] != 0) work(v);
}
/// The one that keeps less.
Bound stricter(const Bound& a, const Bound& b) noexcept;

}  // namespace counterpoint::compute
