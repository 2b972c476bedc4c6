#pragma once
// R10, for large banks (default above 100 priors), each level from the one before. Level 1: every prior by R9. Level 2:
// within a bank priors of one context and task whose one-bit cosine exceeds 0.9 are joined (average linkage,
// deterministic: the closest pair first, ties by order):
//   support = union, sign = sign(Σ η_i α_i s_i), ties dropped,
//   η = Σ η_i, α = Σ η_i α_i / Σ η_i ("keep product") or η = mean η_i, α = mean α_i ("keep size")
// (a negative η counts by its size, its sign going to s_i; q and c of what is joined: the means). Level 3: per (task,
// context), over the priors of all banks, and token the lower weighted median of η α s, absent = 0, weight = quality ×
// the bank's stake; 0 where 0 lies in the median interval; it stands as Δ under η = 1; one prior alone stays as it is.
// Priors that do not act (acts() of priorset.h) stay as they are. Memory: that of the supports, never of the pairs. Shapes: banks of
// M priors. Errors: Error for a level that is none, a threshold that is no cosine from 0 to 1, ids of another
// tokenizer, banks of different tokenizers. Thread: any. Source: seed 001, DSO §3; SPEC.md R10.

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "compute/priors/bank.h"

namespace counterpoint::compute {

/// Σ over the common support / (‖a‖‖b‖) of Δ; one-bit: of the signs.
COUNTERPOINT_API double cosine(const Factor& a, const Factor& b);
/// inf{x : Σ_{x_i <= x} w_i >= W/2}, W/2 up to the rounding of a sum; 0 where W is.
COUNTERPOINT_API double lowerWeightedMedian(std::span<const double> values, std::span<const double> weights);
/// 0 where it lies in the median interval, else lowerWeightedMedian.
COUNTERPOINT_API double medianTowardsZero(std::span<const double> values, std::span<const double> weights);

enum class Keep { Product, Size };

struct CompressOptions {
    int level = 2;
    double threshold = 0.9;
    Keep keep = Keep::Product;
    /// Asked at every prior that is compared or joined, with the level and how much of it is done (0 to 1, never less
    /// than before); false: stop. Empty: never asked.
    std::function<bool(int level, double done)> goOn = {};
};

struct LevelReport {
    int level = 0;  ///< 0: as it was
    std::size_t priors = 0;
    std::uint64_t bytes = 0;                       ///< of the file at this level
    double paperRatio = 1, trueRatio = 1;          ///< against level 0: by the paper's formula; of bytes on disk
    double squaredError = 0;                       ///< Σ over the priors, against level 0 (NaN at levels 2 and 3)
    std::vector<std::vector<std::string>> merged;  ///< names joined at this level
    /// Sentences: alike but not joined, and why (task, context, sign conflict, cosine); tokens that were left out;
    /// groups of which nothing is left. At most 100 of each, the most alike first, then how many more.
    std::vector<std::string> apart;
};

struct Compressed {
    Bank bank;
    std::vector<LevelReport> levels;  ///< [0..level]; asked to stop: empty, and `bank` is of no use
    std::vector<Bank> before;         ///< [0..level) the bank at each level before, [0] as it was
};
/// One bank of all, called by all their names; where two priors, features or unknown keys have one name and differ, the
/// later one's bank follows it (of what more stands in a feature that two banks have, the first one's counts). The stake stays where all have one; else the unknown key "stakes" tells each bank's. Of
/// priors that are joined stays what they share: kind, source, unknown keys.
COUNTERPOINT_API Compressed compress(std::span<const Bank> banks, const IdSpace& ids, const CompressOptions& options);

/// A prior that acts: what it became, and the η that it acts with.
struct Joinable {
    PriorPtr prior;
    Factor factor;
    double eta = 0;
};
/// Priors of one task and context as one, by the rule of level 2 ("keep product") whatever their cosine, each by R9
/// first. At least one; all act.
COUNTERPOINT_API Prior joinedPrior(std::span<const Joinable> priors);

}  // namespace counterpoint::compute
