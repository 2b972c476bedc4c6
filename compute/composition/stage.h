#pragma once
// What the plain formula (compose.cpp) and the fused pass (fusedrow.cpp) share. Internal to compute. Thread: any.

#include "compute/composition/compose.h"

namespace counterpoint::compute {

/// τ = 0; below it dividing by τ would overflow float32 for ordinary differences.
inline bool isGreedy(const Recipe& recipe) noexcept { return recipe.temperature < 1e-30; }

/// compose() by the plain formula, clause by clause in float64.
template <class Real>
void composePlainly(const Recipe& recipe, std::span<const PriorTerm> priors, const SourceRows<Real>& rows,
                    Stages<Real>& stages);

/// R2's truncation of stages.temperature: kept, keptCount, logKept. `left`: tokens that are not excluded, where known.
template <class Real>
void truncate(const Recipe& recipe, std::int64_t left, Stages<Real>& stages);
constexpr std::int64_t kUnknown = -1;

/// What the priors add together, by token ascending: costs the tokens they name and a bit of every other.
void gatherPriors(std::span<const PriorTerm> priors, std::size_t n, std::vector<TokenId>& touched,
                  std::vector<double>& push);
/// Stage priors of one token where the fused pass left the row out.
float priorsLogProb(const Stages<float>& stages, TokenId token);

}  // namespace counterpoint::compute
