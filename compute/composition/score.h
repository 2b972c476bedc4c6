#pragma once
// R1: what is added to log p_b before normalising, clause by clause on one row.
//   D(v) = Σ_i w_i c_i(v) δ_i(v), δ_i(v) = log p_i(v) − log p_r(i)(v); then common_shift, eos_policy, plausibility;
//   kl_budget scales all of it by λ: score(v) = log p_b(v) + λ D(v). Mixture: log of the weighted mean of those who
//   have a say on v.
// Excluded is a state: a clause sets −∞, it never comes from subtracting infinities. Order of the states: excluded by
// the base; no say (both, the reference only, or only a source with w < 0); excluded by a source with w > 0. A no-say
// is counted where the base does not exclude the token (where it does, nobody's say matters). Decisions: common_shift
// corrects the sum, so it leaves out stop ids whose sum eos_policy replaces; eos_policy, shift and clamp are about δ
// and act in the product only; plausibility and kl_budget act in both. Shapes: rows and score [V]. Units: nats.
// Numerics: float64. Errors: Error naming source and position. Thread: any.

#include <cstddef>
#include <cstdint>
#include <limits>

#include "compute/composition/compose.h"
#include "compute/composition/truncate.h"

namespace counterpoint::compute::score {

constexpr double kOut = -std::numeric_limits<double>::infinity();

/// One specialist about one token. term = w·δ before the clamp; clamp = what the floor added.
struct Say {
    bool silent, excludes;
    double delta, term, clamp;
    double total() const noexcept { return excludes ? kOut : term + clamp; }
};

inline Say sayOf(double weight, double own, double reference, double floor) noexcept {
    const bool noOwn = own == kOut, noReference = reference == kOut;
    const bool silent = noReference || (noOwn && weight < 0), excludes = noOwn && !noReference && weight > 0;
    const double delta = silent || excludes ? 0.0 : own - reference;
    const double clamp = weight < 0 && delta < -floor ? weight * (-floor - delta) : 0.0;
    return {silent, excludes, delta, weight * delta, clamp};
}

/// Enabled and w ≠ 0: counts for n of eos_policy `mean`, for the winner and the interference.
inline bool counts(const SpecialistTerm& term) noexcept { return term.enabled && term.weight != 0; }
/// c_i(t,·): counts, and the position is inside the mask's intervals.
bool speaksAt(const SpecialistTerm& term, Position position) noexcept;
/// Nobody but the base has a say at a position: what is composed is its row, and nothing is left to normalise.
bool isBaseAlone(const Recipe& recipe, Position position) noexcept;
/// c_i(·,v).
bool speaksOf(const SpecialistTerm& term, TokenId token) noexcept;
bool isStop(const Recipe& recipe, TokenId token) noexcept;

/// sayOf of one specialist at one token, c_i included (c = 0: no term, not counted as silent).
template <class Real>
Say sayAt(const Recipe& recipe, const SpecialistTerm& term, const SourceRows<Real>& rows, TokenId token) noexcept;

/// KL(p_i‖p_r(i)), against the base where the reference is none; 0 when a row is missing (R5).
template <class Real>
double activity(const SpecialistTerm& term, const SourceRows<Real>& rows);

/// What common_shift adds to tokens from..from+count (λ not applied).
template <class Real>
void shiftOf(const Recipe& recipe, const SourceRows<Real>& rows, std::size_t from, std::size_t count, double* out);
/// The specialist with the largest activity above ε, first in rack order; nullptr: none.
template <class Real>
const SpecialistTerm* mostActive(const Recipe& recipe, const SourceRows<Real>& rows);
/// What eos_policy puts in the place of D(v) for a stop id; `active` from mostActive (policy `active` only).
template <class Real>
double endOfTextAt(const Recipe& recipe, const SourceRows<Real>& rows, const SpecialistTerm* active,
                   TokenId token) noexcept;
/// The cut that the recipe's plausibility makes in the base row.
template <class Real>
Bound plausibleBound(const Recipe& recipe, const SourceRows<Real>& rows);

/// out += w_i c_i δ_i of one specialist, −∞ where it excludes. Returns its no-says.
template <class Real>
std::int64_t addSpecialist(const Recipe& recipe, const SpecialistTerm& term, const SourceRows<Real>& rows, double* out);

/// Mixture: log [(p_b + Σ λ w_i c_i p_i) / (1 + Σ λ w_i c_i)] of one token.
template <class Real>
double mixtureScoreAt(const Recipe& recipe, const SourceRows<Real>& rows, double scale, TokenId token) noexcept;

struct Score {
    std::int64_t noSay = 0;
    double scale = 1;  ///< λ
};
/// All of R1 but the priors: out[V] = score, not normalised. `budget` stands for κ where the recipe has one.
template <class Real>
Score scoreRow(const Recipe& recipe, const SourceRows<Real>& rows, double budget, double* out);

}  // namespace counterpoint::compute::score
