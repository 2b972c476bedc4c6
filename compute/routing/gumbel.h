#pragma once
// R11: from a standard normal z to the Gumbel noise of routing, γ = −log(−log Φ(z)), without a detour over a Φ that
// saturates (HAZARDS A4): with L = −log Φ(−|z|), below 0 γ = −log L, above 0 γ = L − log(−log(1 − e^−L) / e^−L).
// L = z²/2 − log F(|z|), F(x) = e^{x²/2} Φ(−x) by a polynomial of (x − 4)/(x + 4), relative error 1.2e-15. Numerics:
// float64; error 1e-14 of max(1, |γ|); finite and increasing for |z| <= 38; not a number stays so. The same bits on
// every instruction set, one by one and in a row. Pure; thread: any.

#include <span>

#include "compute/export.h"

namespace counterpoint::compute {

/// γ(z).
COUNTERPOINT_API double gumbelOfNormal(double z) noexcept;
/// Each z becomes γ(z).
COUNTERPOINT_API void gumbelsOfNormals(std::span<double> z) noexcept;

}  // namespace counterpoint::compute
