#include <algorithm>
#include <cmath>
#include <limits>

#include "compute/composition/compose.h"
#include "compute/composition/divergence.h"
#include "compute/composition/fusedrow.h"
#include "compute/composition/rowmath.h"
#include "compute/composition/score.h"
#include "compute/composition/scratch.h"
#include "compute/composition/truncate.h"

namespace counterpoint::compute {
namespace {

using namespace rowmath;

template <class Real>
double stopMass(const Recipe& recipe, const Real* row, std::size_t n) {
    double sum = 0;
    for (const TokenId id : recipe.stopIds)
        if (static_cast<std::size_t>(id) < n) sum += std::exp(static_cast<double>(row[static_cast<std::size_t>(id)]));
    return sum;
}

/// KL(truncated p̂‖p_b); logKept renormalises the survivors.
template <class Real>
double driftDrawn(const Stages<Real>& stages, const Real* base) {
    const Real* p = stages.temperature.data();
    double sum = 0;
    forEachKept(stages.kept, [&](std::size_t v) {
        const double logP = static_cast<double>(p[v]) - stages.logKept;
        sum += std::exp(logP) * (logP - static_cast<double>(base[v]));
    });
    return std::max(sum, 0.0);
}

/// The lowest id of a source's maximum.
template <class Real>
std::size_t bestOf(const SourceRows<Real>& rows, std::size_t source) {
    const std::span<const Real> row = rows.rows[source];
    const bool known = rows.facts.size() == rows.rows.size() && rows.facts[source].proper;
    return known ? static_cast<std::size_t>(rows.facts[source].best) : argMax(row.data(), row.size());
}

template <class Real>
void findWinner(const Recipe& recipe, const SourceRows<Real>& rows, std::size_t best, Diagnostics& out) {
    out.winner = WinnerKind::Base;
    if (bestOf(rows, 0) == best) return;
    int agreeing = 0;
    for (const SpecialistTerm& term : recipe.specialists) {
        if (!score::counts(term) || bestOf(rows, static_cast<std::size_t>(term.source)) != best) continue;
        if (agreeing++ == 0) out.winnerSource = term.source;
    }
    out.winner = agreeing == 0 ? WinnerKind::Nobody : agreeing == 1 ? WinnerKind::Specialist : WinnerKind::Several;
    if (agreeing != 1) out.winnerSource = 0;
}

/// log Z(A): of p_b exp λ Σ_{i∈A} w_i c_i δ_i; `first`..`last` are A, λ = `scale` > 0 is kl_budget's (R1: all weights
/// are scaled by it).
template <class Real>
double logZ(const Recipe& recipe, const SourceRows<Real>& rows, double scale, std::size_t first, std::size_t last) {
    const std::span<const Real> base = rows.rows[0];
    double* say = scratch().row(base.size());
    std::fill(say, say + base.size(), 0.0);
    for (std::size_t i = first; i < last; ++i) score::addSpecialist(recipe, recipe.specialists[i], rows, say);
#pragma omp simd
    for (std::size_t v = 0; v < base.size(); ++v) say[v] = static_cast<double>(base[v]) + scale * say[v];
    return logSumExp<Real>(say, base.size());
}

/// log Σ e^x of a source's row.
double logMassOf(const SourceRows<float>& rows, std::size_t source) {
    const bool known = rows.facts.size() == rows.rows.size() && rows.facts[source].proper;
    return known ? rows.facts[source].logMass : logSumExp<float>(rows.rows[source].data(), rows.rows[source].size());
}

/// argMax(), looking only where a block's bound reaches the largest of what was seen.
std::size_t bestOf(std::span<const float> row, std::span<const float> blockTop) {
    std::size_t best = row.size();
    float top = kMinusInfinity<float>;
    for (std::size_t b = 0; b < blockTop.size(); ++b) {
        if (!(blockTop[b] > top)) continue;
        const std::size_t from = b * fused::kBlock, n = std::min(fused::kBlock, row.size() - from);
        const std::size_t v = argMax(row.data() + from, n);
        if (v == n || !(row[from + v] > top)) continue;
        best = from + v;
        top = row[best];
    }
    return best;
}

/// What of R5 is about single tokens and about the sources themselves.
template <class Real>
void describe(const Recipe& recipe, const SourceRows<Real>& rows, const Stages<Real>& stages, std::size_t best,
              Diagnostics& out) {
    const std::size_t n = rows.rows[0].size();
    out.driftDrawn = stages.logKept == 0 ? out.drift : driftDrawn(stages, rows.rows[0].data());
    out.logNormaliser = stages.logNormaliser;
    out.scale = stages.scale;
    out.noSay = stages.noSay;
    out.activity.assign(rows.rows.size(), 0.0);
    for (const SpecialistTerm& term : recipe.specialists)
        if (static_cast<std::size_t>(term.source) < rows.rows.size())
            out.activity[static_cast<std::size_t>(term.source)] = score::activity(term, rows);
    out.eos.assign(rows.rows.size(), 0.0);
    for (std::size_t i = 0; i < rows.rows.size(); ++i)
        if (!rows.rows[i].empty()) out.eos[i] = stopMass(recipe, rows.rows[i].data(), n);
    out.eosComposed = stopMass(recipe, stages.temperature.data(), n);
    findWinner(recipe, rows, best, out);
}

/// Each Z over Z of nobody, so that what rounding leaves of Σ p_b = 1 does not count once per specialist.
template <class Real>
double interference(const Recipe& recipe, const SourceRows<Real>& rows, const Stages<Real>& stages) {
    if (recipe.rule == Rule::Mixture) return std::numeric_limits<double>::quiet_NaN();  // it has no Z(A)
    const auto& all = recipe.specialists;
    const auto speaking =
        std::count_if(all.begin(), all.end(), [&](const auto& t) { return score::speaksAt(t, rows.position); });
    if (speaking < 2 || stages.scale == 0) return 0;  // λ = 0: nobody speaks
    const double nobody = logSumExp<Real>(rows.rows[0].data(), rows.rows[0].size());
    // Without those clauses stage composed has summed the same already.
    const bool summed =
        !recipe.commonShift && !recipe.plausibility && (recipe.eosPolicy == EosPolicy::Sum || recipe.stopIds.empty());
    double sum = (summed ? stages.logNormaliserComposed : logZ(recipe, rows, stages.scale, 0, all.size())) - nobody;
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (!score::speaksAt(all[i], rows.position)) continue;
        const double alone = logZ(recipe, rows, stages.scale, i, i + 1);
        if (alone == kMinusInfinity<double>) return 0;  // it leaves nothing alone
        sum -= alone - nobody;
    }
    return sum;
}

}  // namespace

template <class Real>
Diagnostics diagnose(const Recipe& recipe, std::span<const PriorTerm> /*priors*/, const SourceRows<Real>& rows,
                     const Stages<Real>& stages) {
    const std::size_t n = rows.rows[0].size();
    const Real* base = rows.rows[0].data();
    Diagnostics out;
    const divergence::Pair pair = divergence::compare(stages.temperature.data(), base, n);
    out.drift = pair.klForward;
    out.klFromBase = pair.klBackward;
    out.js = pair.js;
    out.tv = pair.tv;
    out.entropy = pair.entropy;
    const bool warm = !stages.greedy && recipe.temperature != 1.0;
    out.driftComposed = warm ? divergence::kl(stages.priors.data(), base, n) : out.drift;
    out.interference = interference(recipe, rows, stages);
    describe(recipe, rows, stages, argMax(stages.temperature.data(), n), out);
    return out;
}

Diagnostics diagnose(const Recipe& recipe, const SourceRows<float>& rows, const Stages<float>& stages,
                     const FusedRow& row) {
    const fused::Sums& sums = row.sums;
    const bool warm = !stages.greedy && recipe.temperature != 1.0;
    const double tau = warm ? recipe.temperature : 1.0;
    Diagnostics out;
    out.drift = std::max(0.0, sums.tiltTau / sums.massTau - stages.logNormaliser);
    out.driftComposed = warm ? std::max(0.0, sums.tilt / sums.mass - stages.logNormaliserPriors) : out.drift;
    out.entropy = std::max(0.0, stages.logNormaliser - sums.scoreTau / sums.massTau / tau);
    out.klFromBase = row.klFromBase;
    out.js = row.js;
    out.tv = row.tv;

    const double nobody = logMassOf(rows, 0);
    int speaking = 0;
    double together = 0;
    for (const double alone : row.logAlone) {
        if (std::isnan(alone)) continue;
        ++speaking;
        together = alone == kMinusInfinity<double> ? alone : together + (alone - nobody);
        if (alone == kMinusInfinity<double>) break;
    }
    const bool told = speaking > 1 && together > kMinusInfinity<double>;
    out.interference = told ? stages.logNormaliserComposed - nobody - together : 0.0;
    describe(recipe, rows, stages, bestOf(std::span<const float>(stages.temperature), row.blockTop), out);
    return out;
}

template Diagnostics diagnose<float>(const Recipe&, std::span<const PriorTerm>, const SourceRows<float>&,
                                     const Stages<float>&);
template Diagnostics diagnose<double>(const Recipe&, std::span<const PriorTerm>, const SourceRows<double>&,
                                      const Stages<double>&);

}  // namespace counterpoint::compute
