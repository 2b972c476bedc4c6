#pragma once
// A prior from two sets of texts, preferred and not: steps 1 to 3 of the seed's construction, its two undefined
// functions defined. Candidate tokens by weighted log-odds with an informative Dirichlet prior (Monroe, Colaresi &
// Quinn 2008):
//   δ_v = log[(y_v⁺ + a_v)/(n⁺ + a₀ − y_v⁺ − a_v)] − log[(y_v⁻ + a_v)/(n⁻ + a₀ − y_v⁻ − a_v)]
//   σ²_v = 1/(y_v⁺ + a_v) + 1/(y_v⁻ + a_v),  z_v = δ_v/σ_v,  a_v = a₀·(share of v in both sets together)
// Confidence: c = the mean over chosen tokens of the share (by weight) of its own side's examples that contain it.
// Quality: posterior mean (1 + s)/(2 + n) of Beta(1 + s, 1 + n − s), s of n held-out examples moved the right way.
// Shapes: texts of ids. Errors: Error where a set has no tokens or a weight is negative or not finite. Thread: any.
// Numerics: float64.

#include <span>
#include <vector>

#include "compute/composition/recipe.h"
#include "compute/export.h"
#include "compute/step.h"

namespace counterpoint::compute {

struct Example {
    std::vector<TokenId> ids;
    bool preferred = true;
    double weight = 1;
};

struct Candidate {
    TokenId token = kNoToken;
    double logOdds = 0, z = 0;                  ///< > 0: of the preferred
    double countPreferred = 0, countOther = 0;  ///< weighted
    int textsPreferred = 0, textsOther = 0;     ///< that contain it, each once whatever its weight
};
/// All tokens that occur, |z| descending, id ascending. priorStrength: a₀ (0: as many as there are tokens in both
/// sets).
COUNTERPOINT_API std::vector<Candidate> candidates(std::span<const Example> examples, double priorStrength = 0);
/// c for the tokens a person ticked; 0 for none.
COUNTERPOINT_API double confidenceOf(std::span<const Candidate> chosen, std::span<const Example> examples);

/// What a prior alone adds to log p(token) of a row: ηΔ(token) − log(1 + Σ_v p(v)(e^{ηΔ(v)} − 1)), nats. logProbs: [V],
/// ids outside it do not act. 0 where the row excludes the token: nothing can move it.
COUNTERPOINT_API double movedBy(const PriorTerm& prior, std::span<const float> logProbs, TokenId token);

struct Quality {
    double mean = 0.5, low = 0, high = 1;  ///< posterior mean and the central 95 % interval
    double right = 0, seen = 0;
};
/// 0 <= right <= seen, counts or sums of weights at most 1; what lies outside is brought within.
COUNTERPOINT_API Quality qualityFrom(double right, double seen);

}  // namespace counterpoint::compute
