#pragma once
// R15: p-values against laws that are known; each is the chance of a statistic at least as far out.
// Numerics: float64, by Boost.Math but for Kolmogorov's series. Pure; thread: any.

#include <cstdint>
#include <span>

#include "compute/export.h"
#include "compute/routing/topk.h"

namespace counterpoint::compute {

struct ChiSquare {
    double statistic = 0;
    int degrees = 0;  ///< 0: a single cell, nothing to test
    double pValue = 1;
};
/// Of the first min(K,2) places of lists [D][K] against Plackett-Luce of ℓ'/T_r [E]: P(e) = λ_e/Λ, P(e,f) = P(e) λ_f/(Λ
/// − λ_e). Cells with an expectation under 5 are pooled; what cannot happen and did has p = 0.
COUNTERPOINT_API ChiSquare plackettLuceTest(std::span<const ExpertId> lists, int chosen,
                                            std::span<const double> scaled);

/// Two-sided and exact: `count` successes among `draws` of probability p.
COUNTERPOINT_API double binomialPValue(std::int64_t count, std::int64_t draws, double p);

/// Two-sided, of a standard normal.
COUNTERPOINT_API double normalPValue(double z);

struct KolmogorovSmirnov {
    double distance = 0, pValue = 1;
};
/// Of x, which it sorts, against e^{−e^{−x}}; Kolmogorov's limit with Stephens' correction for n.
COUNTERPOINT_API KolmogorovSmirnov gumbelTest(std::span<double> x);

/// Each p-value becomes Holm's: at least one under a level, by chance, no oftener than that level says.
COUNTERPOINT_API void correctByHolm(std::span<double> pValues);

}  // namespace counterpoint::compute
