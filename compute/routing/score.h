#pragma once
// R16: the score of the Gaussian latents of R11 (PAPERS.md 5.6), the terms of one position and of one pair. Internal to
// this folder. Shapes: rows [E]. ρ and α in the open interval (0, 1), α may be 0. Thread: any.

#include <cmath>
#include <span>

namespace counterpoint::compute::routing {

/// ∂_ρ log p(z | ζ) of a position, d = z − √ρ ζ.
inline double rhoScore(double rho, std::span<const double> zeta, std::span<const double> z) noexcept {
    const double root = std::sqrt(rho), rest = 1.0 - rho;
    double cross = 0, squares = 0;
    for (std::size_t e = 0; e < z.size(); ++e) {
        const double d = z[e] - root * zeta[e];
        cross += d * zeta[e];
        squares += d * d;
    }
    return cross / (2.0 * root * rest) - squares / (2.0 * rest * rest) + static_cast<double>(z.size()) / (2.0 * rest);
}

/// ∂_α log p(ζ_g' | ζ_g) of a pair, w = ζ_g' + α ζ_g.
inline double alphaScore(double alpha, std::span<const double> first, std::span<const double> second) noexcept {
    const double rest = (1.0 - alpha) * (1.0 + alpha);
    double cross = 0, squares = 0;
    for (std::size_t e = 0; e < first.size(); ++e) {
        const double w = second[e] + alpha * first[e];
        cross += w * first[e];
        squares += w * w;
    }
    return static_cast<double>(first.size()) * alpha / rest - cross / rest - alpha * squares / (rest * rest);
}

}  // namespace counterpoint::compute::routing
