#pragma once
// R12: which experts a position is routed to, and how what they say is weighed.
//   ℓ'_te = ℓ_te + bias_e (−∞ switches expert e off); S_t = ordered Top-K of ℓ'_te/T_r + γ_te, ties to the lower index
//   weights from ℓ' on S_t: norm_topk_prob: softmax over the chosen, which is softmax over all, renormalised;
//   else softmax over all (HAZARDS A5)
// T_r and biases change a token's own law. Shapes: rows [E], chosen [K]. Numerics: float64 from float32 logits. A logit of
// −∞ is an expert that is off. Errors: NaN or +∞ among the logits, K outside 1..E, fewer than K left, T_r not above 0.
// Pure; thread: any.

#include <cstdint>
#include <span>
#include <vector>

#include "compute/export.h"
#include "compute/step.h"

namespace counterpoint::compute {

/// Which row of router logits, for errors.
struct RouterPlace {
    std::uint32_t layer = 0;
    Position position = 0;
};

/// What a layer's choice follows besides its logits.
struct RouterLaw {
    int chosen = 2;            ///< K
    bool normTopkProb = true;  ///< do the weights of the chosen sum to 1?
    double temperature = 1;    ///< T_r > 0; changes the law
    std::vector<double> bias;  ///< [E] or empty; changes the law
};
/// Throws Error where the law cannot route E experts.
COUNTERPOINT_API void check(const RouterLaw& law, std::size_t experts);

/// ℓ' of a position.
COUNTERPOINT_API void biasedLogits(const RouterLaw& law, std::span<const float> logits, std::span<double> biased,
                                   const RouterPlace& place);
/// scores ← ℓ'/T_r + γ; γ empty: deterministic.
COUNTERPOINT_API void routingScores(const RouterLaw& law, std::span<const double> biased, std::span<const double> gamma,
                                    std::span<double> scores) noexcept;
/// The K largest in order. At least K scores are above −∞, none is NaN.
COUNTERPOINT_API void topK(std::span<const double> scores, std::span<ExpertId> chosen) noexcept;
COUNTERPOINT_API void mixtureWeights(const RouterLaw& law, std::span<const double> biased,
                                     std::span<const ExpertId> chosen, std::span<double> weights) noexcept;

}  // namespace counterpoint::compute
