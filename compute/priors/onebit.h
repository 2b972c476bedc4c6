#pragma once
// R9. Δ̂(v) = α·sign Δ(v), α = mean |Δ| over the support (it minimises Σ (|Δ| − α)²); equal magnitudes are exact.
//   paper's ratio 32n/(n + 32): signs and one scale, no indices
//   KL(exact‖one-bit) at stage temperature = E_p[d] + log E_p[e^{−d}] <= ¼‖d‖² and <= (max d − min d)²/8,
//   d_v = Σ_{m matching} η_m (Δ_m − Δ̂_m)(v)/τ, 0 off the supports (which counts in max and min)
// Shapes: a support of n; p [V]. Units: nats. Numerics: float64; KL from the touched tokens and what they leave
// (expm1, log1p), which is summed over the vocabulary only where it is under a tenth.
// Errors: none. Thread: any. Source: seed 001; the bounds are SPEC.md's (the seed's proof is not one).

#include <cstdint>
#include <span>
#include <vector>

#include "compute/composition/recipe.h"
#include "compute/export.h"

namespace counterpoint::compute {

struct OneBit {
    std::vector<std::int8_t> sign;  ///< [n] ±1
    double alpha = 0;               ///< exactly the magnitude where all are equal
    double squaredError = 0;        ///< Σ (Δ − Δ̂)²
};
COUNTERPOINT_API OneBit oneBit(std::span<const double> delta);
COUNTERPOINT_API double paperRatio(std::size_t n);
/// Of a bank: Σ 32n / Σ (n + 32); 0 for none.
COUNTERPOINT_API double paperRatio(std::span<const std::size_t> n);

struct OneBitDrift {
    double kl = 0;          ///< KL(exact‖one-bit)
    double normBound = 0;   ///< ¼‖d‖²
    double rangeBound = 0;  ///< (max d − min d)²/8
};
/// The same of the other priors in the place of the one-bit ones: d_v = (Σ_exact η Δ − Σ_other η Δ)(v)/τ.
template <class Real>
COUNTERPOINT_API OneBitDrift driftBetween(std::span<const PriorTerm> exact, std::span<const PriorTerm> other,
                                          double temperature, std::span<const Real> logP);
/// `logP`: stage temperature with the exact priors, [V]; `exact`: the priors that match here; τ as in the recipe (0:
/// 1).
template <class Real>
COUNTERPOINT_API OneBitDrift oneBitDrift(std::span<const PriorTerm> exact, double temperature,
                                         std::span<const Real> logP);

}  // namespace counterpoint::compute
