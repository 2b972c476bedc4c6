#pragma once
// R2: truncation in the order top-k, top-p, min-p, each on the renormalised survivors of the one before. All three keep
// a prefix of the order (p descending, id ascending), so each is one Bound and the strictest decides. Never sorts the
// row: selection by nth_element, halving for top-p. top-p keeps the shortest prefix that reaches P, at least one token;
// sums in float64, with 8 units of the row's rounding granted at the edge. Shapes: row [V], log-probabilities. Pure;
// thread: any.

#include <cstdint>
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
/// The one that keeps less.
Bound stricter(const Bound& a, const Bound& b) noexcept;

}  // namespace counterpoint::compute
