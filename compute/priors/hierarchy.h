#pragma once
// R10, for large banks (default above 100 priors). Level 1: every prior by R9. Level 2: priors of one context and task
// whose one-bit cosine exceeds 0.9 are joined (average linkage, deterministic: the closest pair first, ties by order):
//   support = union, sign = sign(Σ η_i α_i s_i), ties dropped,
//   η = Σ η_i, α = Σ η_i α_i / Σ η_i ("keep product") or η = mean η_i, α = mean α_i ("keep size")
// Level 3: per (task, context) and token the lower weighted median over priors (and banks) of η α s, absent = 0, weight
// = quality × the bank's stake; 0 where 0 lies in the median interval. Priors that are off or unusable stay as they
// are. Shapes: banks of M priors. Errors: Error for a level that is none. Thread: any. Source: seed 001, DSO §3;
// SPEC.md R10.

#include <span>
#include <string>
#include <vector>

#include "compute/priors/bank.h"

namespace counterpoint::compute {

/// Σ over the common support / (‖a‖‖b‖) of Δ; one-bit: of the signs.
COUNTERPOINT_API double cosine(const Factor& a, const Factor& b);
/// inf{x : Σ_{x_i <= x} w_i >= W/2}.
COUNTERPOINT_API double lowerWeightedMedian(std::span<const double> values, std::span<const double> weights);
/// 0 where it lies in the median interval, else lowerWeightedMedian.
COUNTERPOINT_API double medianTowardsZero(std::span<const double> values, std::span<const double> weights);

enum class Keep { Product, Size };

struct CompressOptions {
    int level = 2;
    double threshold = 0.9;
    Keep keep = Keep::Product;
};

struct LevelReport {
    int level = 0;  ///< 0: as it was
    std::size_t priors = 0;
    std::uint64_t bytes = 0;               ///< of the file at this level
    double paperRatio = 1, trueRatio = 1;  ///< against level 0: by the paper's formula; of bytes on disk
    double squaredError = 0;               ///< Σ over the priors, against level 0 (levels 1 only; NaN for others)
    std::vector<std::vector<std::string>> merged;  ///< names joined at this level
    std::vector<std::string>
        apart;  ///< sentences: alike but not joined, and why (context, task, sign conflict, cosine)
};

struct Compressed {
    Bank bank;
    std::vector<LevelReport> levels;  ///< [0..level]
};
COUNTERPOINT_API Compressed compress(std::span<const Bank> banks, const IdSpace& ids, const CompressOptions& options);

}  // namespace counterpoint::compute
