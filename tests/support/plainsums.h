#pragma once
// What the fused pass says of a step beside the plain formula in float64: the sums of R5 and the rows of the stages.

#include "compute/composition/compose.h"
#include "tests/support/near.h"

namespace counterpoint::tests {

inline void compareSums(const compute::Diagnostics& d, const compute::Diagnostics& wanted,
                        const compute::Stages<float>& stages, const compute::Stages<double>& plain, std::uint64_t seed) {
    NEAR(d.drift, wanted.drift, "drift");
    NEAR(d.driftComposed, wanted.driftComposed, "drift_composed");
    NEAR(d.driftDrawn, wanted.driftDrawn, "drift_drawn");
    NEAR(d.klFromBase, wanted.klFromBase, "kl_from_base");
    NEAR(d.js, wanted.js, "js");
    NEAR(d.tv, wanted.tv, "tv");
    NEAR(d.entropy, wanted.entropy, "entropy");
    NEAR(d.interference, wanted.interference, "interference");
    NEAR(d.logNormaliser, wanted.logNormaliser, "log_normaliser");
    NEAR(d.eosComposed, wanted.eosComposed, "eos");
    NEAR(stages.logNormaliserComposed, plain.logNormaliserComposed, "log_normaliser of composed");
    NEAR(stages.logNormaliserPriors, plain.logNormaliserPriors, "log_normaliser of priors");
    QCOMPARE(d.noSay, wanted.noSay);
    QCOMPARE(static_cast<int>(d.winner), static_cast<int>(wanted.winner));
    for (std::size_t v = 0; v < plain.composed.size(); ++v) {
        NEAR(stages.composed[v], plain.composed[v], "composed");
        NEAR(stages.temperature[v], plain.temperature[v], "temperature");
    }
}

}  // namespace counterpoint::tests
