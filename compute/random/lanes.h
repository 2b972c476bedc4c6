#pragma once
// Elementary functions of one float64 written so that a loop over them vectorises: no branch, no table, no call. Files
// that include this are compiled without contraction, so that every instruction set gives the same bits, and one number
// the same as a row. Everything is inlined. Pure; thread: any.

#include <bit>
#include <cmath>
#include <cstdint>

namespace counterpoint::compute::detail {

/// Σ c_i x^i by Horner's rule, unrolled.
template <std::size_t I = 0, std::size_t N>
[[gnu::always_inline]] inline double polynomial(double x, const double (&c)[N]) noexcept {
    if constexpr (I + 1 == N)
        return c[I];
    else
        return polynomial<I + 1>(x, c) * x + c[I];
}

/// log x of a normal x > 0 (the polynomial of fdlibm; under one unit of the last place).
[[gnu::always_inline]] inline double laneLog(double x) noexcept {
    constexpr std::uint64_t kRootHalf = 0x3FE6A09E667F3BCDu, kMantissa = 0x000FFFFFFFFFFFFFu;
    const std::uint64_t offset = std::bit_cast<std::uint64_t>(x) - kRootHalf + (1023ull << 52);
    const double k = std::bit_cast<double>((offset >> 52) | 0x4330000000000000u) - (0x1p52 + 1023.0);
    const double f = std::bit_cast<double>((offset & kMantissa) + kRootHalf) - 1.0;  // √½ <= 1 + f < √2
    constexpr double kC[] = {6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01,
                             2.222219843214978396e-01, 1.818357216161805012e-01, 1.531383769920937332e-01,
                             1.479819860511658591e-01};
    const double s = f / (2.0 + f), z = s * s, half = 0.5 * f * f;
    const double rest = s * (half + z * polynomial(z, kC));
    return k * 6.93147180369123816490e-01 - ((half - (rest + k * 1.90821492927058770002e-10)) - f);
}

/// e^x for −700 <= x <= 700; relative error 3e-16.
[[gnu::always_inline]] inline double laneExp(double x) noexcept {
    constexpr double kRound = 0x1.8p52;  // its low mantissa bits become the rounded integer
    const double shifted = x * 1.44269504088896340736 + kRound, n = shifted - kRound;
    const double r = (x - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10;
    constexpr double kC[] = {
        1.0,        1.0,         1.0 / 2,      1.0 / 6,       1.0 / 24,       1.0 / 120,       1.0 / 720,
        1.0 / 5040, 1.0 / 40320, 1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800.0};
    return std::bit_cast<double>(std::bit_cast<std::uint64_t>(polynomial(r, kC)) +
                                 (std::bit_cast<std::uint64_t>(shifted) << 52));
}

// Φ⁻¹(u) by Wichura's AS 241 (PPND16): relative error 1e-16 between its exact inputs, the tail p = min(u, 1 − u).
struct QuantileCoefficients {
    static constexpr double kCentre[] = {3.3871328727963666080e0,  1.3314166789178437745e+2, 1.9715909503065514427e+3,
                                         1.3731693765509461125e+4, 4.5921953931549871457e+4, 6.7265770927008700853e+4,
                                         3.3430575583588128105e+4, 2.5090809287301226727e+3};
    static constexpr double kCentreUnder[] = {1.0,
                                              4.2313330701600911252e+1,
                                              6.8718700749205790830e+2,
                                              5.3941960214247511077e+3,
                                              2.1213794301586595867e+4,
                                              3.9307895800092710610e+4,
                                              2.8729085735721942674e+4,
                                              5.2264952788528545610e+3};
    static constexpr double kTail[] = {1.42343711074968357734e0,  4.63033784615654529590e0, 5.76949722146069140550e0,
                                       3.64784832476320460504e0,  1.27045825245236838258e0, 2.41780725177450611770e-1,
                                       2.27238449892691845833e-2, 7.74545014278341407640e-4};
    static constexpr double kTailUnder[] = {1.0,
                                            2.05319162663775882187e0,
                                            1.67638483018380384940e0,
                                            6.89767334985100004550e-1,
                                            1.48103976427480074590e-1,
                                            1.51986665636164571966e-2,
                                            5.47593808499534494600e-4,
                                            1.05075007164441684324e-9};
    static constexpr double kFar[] = {6.65790464350110377720e0,  5.46378491116411436990e0,  1.78482653991729133580e0,
                                      2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                      2.71155556874348757815e-5, 2.01033439929228813265e-7};
    static constexpr double kFarUnder[] = {1.0,
                                           5.99832206555887937690e-1,
                                           1.36929880922735805310e-1,
                                           1.48753612908506148525e-2,
                                           7.86869131145613259100e-4,
                                           1.84631831751005468180e-5,
                                           1.42151175831644588870e-7,
                                           2.04426310338993978564e-15};
};

/// Tails below it (e^−25) are one draw in 3.6e10: laneFarNormal.
constexpr double kFarTail = 1.388794386496402e-11;

[[gnu::always_inline]] inline double laneNormal(double u) noexcept {
    using C = QuantileCoefficients;
    const double q = u - 0.5, p = u < 0.5 ? u : 1.0 - u;
    const double r = 0.180625 - q * q;
    const double centre = q * polynomial(r, C::kCentre) / polynomial(r, C::kCentreUnder);
    const double t = std::sqrt(-laneLog(p)) - 1.6;
    const double tail = polynomial(t, C::kTail) / polynomial(t, C::kTailUnder);
    const double signedTail = q < 0.0 ? -tail : tail;
    return r >= 0.0 ? centre : signedTail;
}

[[gnu::always_inline]] inline double laneFarNormal(double u) noexcept {
    using C = QuantileCoefficients;
    const double t = std::sqrt(-laneLog(u < 0.5 ? u : 1.0 - u)) - 5.0;
    const double tail = polynomial(t, C::kFar) / polynomial(t, C::kFarUnder);
    return u < 0.5 ? -tail : tail;
}

}  // namespace counterpoint::compute::detail
