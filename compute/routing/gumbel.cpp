#include "compute/routing/gumbel.h"

#include "compute/clones.h"
#include "compute/random/lanes.h"

namespace counterpoint::compute {
namespace {

/// e^{x²/2} Φ(−x) · (1 + 2.5 x) in powers of (x − 4)/(x + 4): Chebyshev interpolation in mpmath, 60 digits.
constexpr double kF[] = {
    1.0385170543216582,     0.013837889006356453,    -0.15156979619783204,    0.17906202114155162,
    -0.1267917997297148,    0.0575783868945078,      -0.013267289589253717,   -0.0016722781869802823,
    0.0020180191548602863,  -0.00016774554395382202, -0.00026260541743268966, 4.618702259539139e-05,
    4.052235156658179e-05,  -7.360748546109441e-06,  -7.52438676159105e-06,   7.44345729587644e-07,
    1.5215518268968532e-06, 3.5447309167585444e-08,  -2.924695217530587e-07,  -3.423964492802214e-08,
    4.479644309987826e-08,  5.362866390025401e-09,   -3.8840478164095955e-09};
/// artanh(s)/s in powers of s² on [0, 1/9], made likewise; relative error 2.2e-16.
constexpr double kArtanh[] = {1.0,
                              0.33333333333341286,
                              0.199999999976438,
                              0.1428571455582858,
                              0.11111095430673142,
                              0.09091429900236955,
                              0.07681838124445817,
                              0.06795652742789947,
                              0.04940394524382393,
                              0.08890381913056651};

[[gnu::always_inline]] inline double laneGumbel(double z) noexcept {
    const double x = z < 0.0 ? -z : z;
    const double F = detail::polynomial((x - 4.0) / (x + 4.0), kF) / (1.0 + 2.5 * x);
    const double L = 0.5 * x * x - detail::laneLog(F);
    const double Q = detail::laneExp(L < 700.0 ? -L : -700.0), s = Q / (2.0 - Q);
    const double ratio = 2.0 / (2.0 - Q) * detail::polynomial(s * s, kArtanh);  // −log(1 − Q)/Q
    const double rest = detail::laneLog(z < 0.0 ? L : ratio);
    return z < 0.0 ? -rest : L - rest;
}

COUNTERPOINT_CLONES void gumbels(double* z, std::size_t n) noexcept {
#pragma omp simd
    for (std::size_t i = 0; i < n; ++i) z[i] = laneGumbel(z[i]);
}

}  // namespace

double gumbelOfNormal(double z) noexcept { return laneGumbel(z); }

void gumbelsOfNormals(std::span<double> z) noexcept { gumbels(z.data(), z.size()); }

}  // namespace counterpoint::compute
