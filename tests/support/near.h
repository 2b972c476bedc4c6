#pragma once
// Numbers of the fused pass against the formula in float64: what float32 holds of them.

#include <cmath>

#include "tests/support/fixture.h"

namespace counterpoint::tests {

inline bool near(double got, double wanted) {
    return got == wanted || (std::isnan(got) && std::isnan(wanted)) ||
           (std::isfinite(wanted) && std::abs(got - wanted) <= 2e-5 + 2e-5 * std::abs(wanted));
}

}  // namespace counterpoint::tests

/// In a test that has a `seed` at hand.
#define NEAR(got, wanted, what)                                                                                  \
    QVERIFY2(counterpoint::tests::near(got, wanted), qPrintable(QStringLiteral("seed %1, %2: got %3, wanted %4") \
                                                                    .arg(seed)                                   \
                                                                    .arg(what)                                   \
                                                                    .arg(double(got), 0, 'g', 12)                \
                                                                    .arg(double(wanted), 0, 'g', 12)))
