#pragma once
// R14: the closed form of independent routing. With λ_e = e^{ℓ'_te/T_r}, the noise makes expert e arrive at an
// exponential time of rate λ_e, and the K first are chosen:
//   π_te = ∫ λ_e e^{−λ_e s} P(fewer than K of the others arrived by s) ds
// P by the Poisson-binomial recursion, from both ends, so that nothing is divided. The integral by 64-point
// Gauss-Legendre in x = e^{−cs}, c = Σλ/K, where that gives Σ_e π_te = K to 1e-12; elsewhere (the integrand is no
// polynomial of x, least of all for a router that is sure of itself) by the trapezoidal rule in log s. Load: mean Σ_t
// π, variance Σ_t π(1 − π). Error under 1e-12. Experts 50 nats out of reach are never chosen, and always where it is
// the others that are. Thread: any.

#include <span>
#include <stop_token>
#include <vector>

#include "compute/export.h"
#include "compute/routing/topk.h"

namespace counterpoint::compute {

/// π [E] of scaled logits ℓ'/T_r [E], −∞ for what is off; at least K are not.
COUNTERPOINT_API void inclusionProbabilities(std::span<const double> scaled, int K, std::span<double> inclusion);

struct IndependentForm {
    std::vector<double> inclusion;  ///< [T][E] π
    std::vector<double> load;       ///< [E] Σ_t π
    double loadVariance = 0;        ///< Σ_e Σ_t π(1 − π)
};
/// Of a layer's router logits [T][E]. Stopped: the answer is none.
COUNTERPOINT_API IndependentForm independentForm(const RouterLaw& law, std::span<const float> logits,
                                                 std::size_t experts, std::uint32_t layer, int threads,
                                                 const std::stop_token& stop = {});

}  // namespace counterpoint::compute
