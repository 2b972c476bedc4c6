#pragma once
// R11: from a standard normal z to the Gumbel noise of routing, γ = −log(−log Φ(z)), without a detour over a Φ that
// saturates (HAZARDS A4): below 0 through log Φ, above 0 through log(1 − Φ). Numerics: float64; relative error 1e-14 of
// log Φ and log(1 − Φ); γ finite and increasing for |z| <= 38; not a number stays so. Pure; thread: any.

#include "compute/export.h"

namespace counterpoint::compute {

/// log Φ(z).
COUNTERPOINT_API double logNormalCdf(double z) noexcept;

/// γ(z).
COUNTERPOINT_API double gumbelOfNormal(double z) noexcept;

}  // namespace counterpoint::compute
