#pragma once
// R1, R2 and R5 of one row in one pass over the sources (fused/kernels.h), where the recipe is the product rule with
// the weights, references, intervals and temperature of the rack, and priors: what a person drags. Everything else
// (mixtures, token masks, plausibility, shift, budget, other EOS policies, weights beyond float32's digits, priors that
// move a token out of sight of the rest) is computed by the plain formula of compose.cpp and diagnose.cpp, which is
// also this one's reference in the tests. Thread: any; scratch per thread, so a FusedRow is read before the next call
// on its thread. Exported for the benchmark.

#include "compute/composition/compose.h"
#include "compute/composition/fused/kernels.h"

namespace counterpoint::compute {

struct FusedRow {
    fused::Sums sums{};  ///< of stage priors and, warm, of stage temperature
    double tv = 0, js = 0, klFromBase = 0;
    std::vector<double> logAlone;     ///< [specialists] log Z(i alone); NaN where it was not asked for
    std::span<const float> blockTop;  ///< [blocks] an upper bound of stage temperature in each block
};

/// Fills `stages` but for `priors` (priorsLogProb() in stage.h). false: the plain formula has to do it, and says what
/// is wrong where something is. A row of more than 32,768 tokens is shared out to up to `threads` threads of the pool;
/// their number changes no bit. With more than one the caller must be no task of the pool itself.
COUNTERPOINT_API bool fuse(const Recipe& recipe, std::span<const PriorTerm> priors, const SourceRows<float>& rows,
                           Stages<float>& stages, FusedRow& out, int threads = 1);

/// makeStep() of compose.h, on that many threads.
COUNTERPOINT_API Step makeStep(const Recipe& recipe, std::span<const PriorTerm> priors, const SourceRows<float>& rows,
                               Stages<float>& stages, int threads);

/// R5 from the pass.
COUNTERPOINT_API Diagnostics diagnose(const Recipe& recipe, const SourceRows<float>& rows, const Stages<float>& stages,
                                      const FusedRow& row);

/// topTokens() that passes over blocks below the worst of the list.
COUNTERPOINT_API void topTokens(std::span<const float> row, std::span<const float> blockTop, int n,
                                std::vector<TokenId>& out);

}  // namespace counterpoint::compute
