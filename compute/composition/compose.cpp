#include "compute/composition/compose.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "compute/composition/check.h"
#include "compute/composition/divergence.h"
#include "compute/composition/fusedrow.h"
#include "compute/composition/rowmath.h"
#include "compute/composition/score.h"
#include "compute/composition/scratch.h"
#include "compute/composition/stage.h"
#include "compute/composition/truncate.h"
#include "compute/error.h"

namespace counterpoint::compute {
namespace {

using namespace rowmath;

/// out = score/τ − log Σ exp(score/τ); returns that logarithm. The maximum is taken away before dividing, so that a
/// small τ does not cost digits.
template <class Real>
double normalise(const double* score, double tau, std::size_t n, std::vector<Real>& out) {
    out.resize(n);
    const double top = maxOf(score, n);
    if (top == kMinusInfinity<double>) return top;
    const double rest = std::log(sumExp<Real>(score, top, 1 / tau, n));
    Real* row = out.data();
#pragma omp simd
    for (std::size_t v = 0; v < n; ++v) row[v] = static_cast<Real>((score[v] - top) / tau - rest);
    return top / tau + rest;
}

/// Stage composed with λ for `budget`.
template <class Real>
void composeSources(const Recipe& recipe, const SourceRows<Real>& rows, double budget, double* score,
                    Stages<Real>& stages) {
    const score::Score found = score::scoreRow(recipe, rows, budget, score);
    stages.noSay = found.noSay;
    stages.scale = found.scale;
    if (score::isBaseAlone(recipe, rows.position)) {
        stages.composed.assign(rows.rows[0].begin(), rows.rows[0].end());
        stages.logNormaliserComposed = 0;
        return;
    }
    stages.logNormaliserComposed = normalise(score, 1.0, rows.rows[0].size(), stages.composed);
    if (stages.logNormaliserComposed == kMinusInfinity<double>) throwNothingLeft(recipe, rows);
    if (!std::isfinite(stages.logNormaliserComposed)) throwNotFinite(recipe, rows);
}

/// κ holds for the row as it is kept: rounding it to Real may carry its drift over the budget that λ was found for.
template <class Real>
void keepBudget(const Recipe& recipe, const SourceRows<Real>& rows, double* score, Stages<Real>& stages) {
    constexpr int kTries = 8;
    double budget = *recipe.klBudget, slack = budget * static_cast<double>(std::numeric_limits<Real>::epsilon());
    for (int i = 0; i < kTries && stages.scale > 0; ++i) {
        const Real *row = stages.composed.data(), *base = rows.rows[0].data();
        const std::size_t n = rows.rows[0].size();
        const double drift = std::max(divergence::compare(row, base, n).klForward, divergence::kl(row, base, n));
        if (!(drift > *recipe.klBudget)) return;
        budget = std::max(0.0, budget - (drift - *recipe.klBudget) - slack);
        slack *= 2;  // the drift of a rounded row does not fall with λ step by step
        composeSources(recipe, rows, budget, score, stages);
    }
}

}  // namespace

void gatherPriors(std::span<const PriorTerm> priors, std::size_t n, std::vector<TokenId>& touched,
                  std::vector<double>& push) {
    thread_local std::vector<std::uint64_t> words;  // a bit per token, so that nothing is sorted
    thread_local std::vector<double> sums;
    touched.clear();
    push.clear();
    if (priors.empty()) return;
    if (sums.size() < n) sums.resize(n);
    words.assign((n + 63) / 64, 0);
    for (const PriorTerm& prior : priors) {
        if (prior.eta == 0) continue;
        for (std::size_t j = 0; j < prior.tokens.size(); ++j) {
            const auto v = static_cast<std::size_t>(prior.tokens[j]);
            const std::uint64_t bit = std::uint64_t{1} << (v % 64);
            if ((words[v / 64] & bit) == 0) sums[v] = 0;
            words[v / 64] |= bit;
            sums[v] += prior.eta * prior.delta[j];
        }
    }
    for (std::size_t w = 0; w < words.size(); ++w)
        for (std::uint64_t left = words[w]; left != 0; left &= left - 1) {
            const std::size_t v = 64 * w + static_cast<std::size_t>(std::countr_zero(left));
            touched.push_back(static_cast<TokenId>(v));
            push.push_back(sums[v]);
        }
}

float priorsLogProb(const Stages<float>& stages, TokenId token) {
    const auto at = std::lower_bound(stages.touched.begin(), stages.touched.end(), token);
    const bool moved = at != stages.touched.end() && *at == token;
    const double push = moved ? stages.push[static_cast<std::size_t>(at - stages.touched.begin())] : 0.0;
    return static_cast<float>(static_cast<double>(stages.composed[static_cast<std::size_t>(token)]) +
                              (stages.logNormaliserComposed - stages.logNormaliserPriors) + push);
}

template <class Real>
void truncate(const Recipe& recipe, std::int64_t left, Stages<Real>& stages) {
    const std::span<const Real> row = stages.temperature;
    Bound bound = topKBound(row, recipe.topK);
    bound = stricter(bound, topPBound(row, recipe.topP, bound));
    bound = stricter(bound, shareBound(row, recipe.minP));

    const bool all = bound.logProb == kMinusInfinity<double>;
    if (all && left == static_cast<std::int64_t>(row.size())) {
        stages.kept.assign(row.size(), 1);
        stages.keptCount = left;
        stages.logKept = 0;
        return;
    }
    stages.kept.resize(row.size());
    stages.keptCount = keep(row, bound, stages.kept.data());
    double mass = 0;
    if (!all) forEachKept(stages.kept, [&](std::size_t v) { mass += std::exp(static_cast<double>(row[v])); });
    stages.logKept = all ? 0.0 : std::log(mass);
}

template <class Real>
void composePlainly(const Recipe& recipe, std::span<const PriorTerm> priors, const SourceRows<Real>& rows,
                    Stages<Real>& stages) {
    check(recipe, priors, rows);
    const std::size_t n = rows.rows[0].size();
    double* score = scratch().row(n);
    composeSources(recipe, rows, recipe.klBudget.value_or(0), score, stages);
    if (recipe.klBudget) keepBudget(recipe, rows, score, stages);

    gatherPriors(priors, n, stages.touched, stages.push);
    if (stages.touched.empty()) {
        stages.priors.assign(stages.composed.begin(), stages.composed.end());
        stages.logNormaliserPriors = stages.logNormaliserComposed;
    } else {
        for (std::size_t k = 0; k < stages.touched.size(); ++k)
            score[static_cast<std::size_t>(stages.touched[k])] += stages.push[k];
        stages.logNormaliserPriors = normalise(score, 1.0, n, stages.priors);
        if (!std::isfinite(stages.logNormaliserPriors))
            throw Error({.where = "the priors at position " + std::to_string(rows.position),
                         .what = "what they add together is not a finite number",
                         .advice = "lower their weights"});
    }

    stages.greedy = isGreedy(recipe);
    if (stages.greedy || recipe.temperature == 1.0) {
        stages.temperature.assign(stages.priors.begin(), stages.priors.end());
        stages.logNormaliser = stages.logNormaliserPriors;
    } else {
        stages.logNormaliser = normalise(score, recipe.temperature, n, stages.temperature);
    }
    truncate(recipe, kUnknown, stages);
}

template <>
void compose<float>(const Recipe& recipe, std::span<const PriorTerm> priors, const SourceRows<float>& rows,
                    Stages<float>& stages) {
    FusedRow row;
    if (!fuse(recipe, priors, rows, stages, row)) return composePlainly(recipe, priors, rows, stages);
    stages.priors.assign(stages.composed.begin(), stages.composed.end());
    if (stages.touched.empty()) return;
    const auto shift = static_cast<float>(stages.logNormaliserComposed - stages.logNormaliserPriors);
    for (float& x : stages.priors) x += shift;
    for (std::size_t k = 0; k < stages.touched.size(); ++k)
        stages.priors[static_cast<std::size_t>(stages.touched[k])] = priorsLogProb(stages, stages.touched[k]);
}

template <>
void compose<double>(const Recipe& recipe, std::span<const PriorTerm> priors, const SourceRows<double>& rows,
                     Stages<double>& stages) {
    composePlainly(recipe, priors, rows, stages);
}

template void composePlainly<float>(const Recipe&, std::span<const PriorTerm>, const SourceRows<float>&,
                                    Stages<float>&);
template void composePlainly<double>(const Recipe&, std::span<const PriorTerm>, const SourceRows<double>&,
                                     Stages<double>&);
template void truncate<float>(const Recipe&, std::int64_t, Stages<float>&);

}  // namespace counterpoint::compute
