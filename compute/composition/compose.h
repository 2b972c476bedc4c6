#pragma once
// R1 and R2: source rows -> stages composed (τ = 1, no priors), priors (τ = 1), temperature, truncation.
//   δ_i(v) = log p_i(v) − log p_r(i)(v);  s(v) = log p_b(v) + Σ_i λ w_i c_i(v) δ_i(v) + Σ_m η_m log φ_m(v) (clauses:
//   score.h) log p̂(v) = s(v)/τ − log_normaliser
// Shapes: every row [V], log-probabilities in nats, −∞ = excluded. Real = float (storage) or double; sums in double.
// Errors: Error naming source and position for NaN, +∞, or a step with no token left. Pure; thread: any.

#include <cstdint>
#include <span>
#include <vector>

#include "compute/composition/recipe.h"
#include "compute/composition/rowfacts.h"
#include "compute/export.h"

namespace counterpoint::compute {

/// Log-probabilities of each source at one position: rows[i] has V entries (−∞ = excluded).
/// A source that is neither used nor a reference may have an empty row.
template <class Real>
struct SourceRows {
    std::vector<std::span<const Real>> rows;
    Position position = 0;
    std::vector<RowFacts> facts = {};  ///< of each row against rows[0], where they were kept with it; empty: computed
};

template <class Real>
struct Stages {
    std::vector<Real> composed;      ///< log p, τ = 1, without priors
    std::vector<Real> priors;        ///< log p, τ = 1, with priors
    std::vector<Real> temperature;   ///< log p̂ (τ = 0: equal to priors)
    std::vector<std::uint8_t> kept;  ///< [V] survives truncation
    std::vector<TokenId> touched;    ///< tokens that a prior acts on here, ascending
    std::vector<double> push;        ///< [touched] Σ_m η_m Δ_m
    double logKept = 0;              ///< log Σ_kept p̂; log p of stage truncation = temperature − logKept
    double logNormaliser = 0;        ///< of stage temperature
    double logNormaliserComposed = 0, logNormaliserPriors = 0;
    double scale = 1;        ///< λ of kl_budget
    std::int64_t noSay = 0;  ///< (source, token) pairs with δ = 0 by exclusion
    std::int64_t keptCount = 0;
    bool greedy = false;
};

/// All stages for one row: float by the fused pass where it can do the recipe, else by the plain formula. `stages` is reused between calls: no allocation once its vectors have size V.
template <class Real>
COUNTERPOINT_API void compose(const Recipe& recipe, std::span<const PriorTerm> priors, const SourceRows<Real>& rows,
                              Stages<Real>& stages);

/// R5 for one row, from its stages.
template <class Real>
COUNTERPOINT_API Diagnostics diagnose(const Recipe& recipe, std::span<const PriorTerm> priors,
                                      const SourceRows<Real>& rows, const Stages<Real>& stages);

/// R4: the signed split of log p̂(v). Every term already times 1/τ; total = Σ terms within 1e-9 (float64).
/// Entries of `source` are 0 for sources that had no say. For an excluded token total is −∞ and `excludedBy` names who.
struct Ledger {
    TokenId token = kNoToken;
    double base = 0;
    std::vector<double> source;  ///< [specialists], rack order
    std::vector<double> prior;   ///< [priors]
    double shift = 0;            ///< common_shift
    double eos = 0;              ///< eos_policy minus what `source` already says
    double clamp = 0;            ///< what the floor added
    double logNormaliser = 0;    ///< enters with minus
    double total = 0;
    std::string excludedBy;  ///< empty, or "base", a source's name, "plausibility"
};

template <class Real>
COUNTERPOINT_API Ledger ledger(const Recipe& recipe, std::span<const PriorTerm> priors, const SourceRows<Real>& rows,
                               const Stages<Real>& stages, TokenId token);

/// R3: argmax over kept v of log p̂(v) + G(v; seed, v, position, stream); τ = 0 is the argmax of stage priors. Ties:
/// lowest id.
template <class Real>
COUNTERPOINT_API TokenId draw(const Recipe& recipe, const Stages<Real>& stages, Position position);

/// The n most probable tokens of `row` (log-probabilities), p descending, id ascending; −∞ never listed.
template <class Real>
COUNTERPOINT_API void topTokens(std::span<const Real> row, int n, std::vector<TokenId>& out);

/// out = log_softmax(logits[0..V) / temperature) in float32 with float64 sums. logits may be longer than out (padding
/// rows are cut before the sum). −∞ stays −∞; at temperature 1 a row that is normalised to float32's accuracy is copied.
/// Errors: NaN, +∞, or nothing finite, naming `source` and `position`.
COUNTERPOINT_API void logSoftmax(std::span<const float> logits, double temperature, std::span<float> out,
                                 const char* source, Position position);

/// compose + diagnose + draw + top tokens, as the Step of that position. token and drawn are what R3 draws here; bytes,
/// prompt, forced and times are the caller's, and so is another token (setToken).
COUNTERPOINT_API Step makeStep(const Recipe& recipe, std::span<const PriorTerm> priors, const SourceRows<float>& rows,
                               Stages<float>& stages);
/// Makes `token` the step's token with its log-probabilities; kNoToken clears them (−∞).
COUNTERPOINT_API void setToken(Step& step, const SourceRows<float>& rows, const Stages<float>& stages, TokenId token);

}  // namespace counterpoint::compute
