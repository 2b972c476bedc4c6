#pragma once
// Which priors of one context and task R10 joins, by the one-bit cosine (agreeing − disagreeing)/√(|A||B|) over the
// common support. Average linkage, the closest pair of clusters first, ties by order. The mean over all pairs of two
// clusters is ⟨Σ_A x, Σ_B x⟩/(|A||B|) with x = signs/√n: a cluster keeps that sum, and an index from tokens to clusters
// finds who shares any, so memory is that of the supports and never of the pairs. n different supports of k tokens, all
// alike, take n²k multiplications; equal ones count as one. Cosines count in steps of 2^−40, so that rounding neither
// breaks a tie nor crosses the threshold. Internal to compute. Errors: none. Thread: any.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "compute/step.h"

namespace counterpoint::compute {

/// Whether a cosine is above a threshold, by more than the rounding of its sum.
bool exceeds(double cosine, double threshold);

struct SignedSupport {
    std::vector<TokenId> tokens;  ///< sorted
    std::vector<std::int8_t> sign;
};

/// Asked with how much is done, 0 to 1; false: stop. What comes back then is of no use.
using GoOn = std::function<bool(double done)>;

/// The clusters, each by its members' order, in the order of their first.
std::vector<std::vector<std::size_t>> averageLinkage(std::span<const SignedSupport> items, double threshold,
                                                     const GoOn& goOn);

struct Alike {
    std::size_t a = 0, b = 0;  ///< a < b
    double cosine = 0;
    double overlap = 0;  ///< the same without signs
};
/// Every pair of different clusters whose overlap exceeds `least`, in no order. `cluster`: of each item.
void forAlike(std::span<const SignedSupport> items, std::span<const std::size_t> cluster, double least,
              const std::function<void(const Alike&)>& visit, const GoOn& goOn);

}  // namespace counterpoint::compute
