#include <algorithm>
#include <numeric>

#include "compute/composition/compose.h"
#include "compute/composition/score.h"
#include "compute/composition/scratch.h"

namespace counterpoint::compute {
namespace {

using score::kOut;

template <class Real>
void productTerms(const Recipe& recipe, const SourceRows<Real>& rows, double scale, Ledger& out) {
    double sum = 0;
    bool excluded = false;
    for (std::size_t i = 0; i < recipe.specialists.size(); ++i) {
        const score::Say say = score::sayAt(recipe, recipe.specialists[i], rows, out.token);
        if (say.excludes && !excluded) out.excludedBy = recipe.specialists[i].name;
        excluded = excluded || say.excludes;
        out.source[i] = say.excludes ? kOut : scale * say.term;
        out.clamp += scale * say.clamp;
        sum += say.total();
    }
    if (recipe.commonShift) {
        score::shiftOf(recipe, rows, static_cast<std::size_t>(out.token), 1, &out.shift);
        out.shift *= scale;
    }
    if (!excluded && recipe.eosPolicy != EosPolicy::Sum && score::isStop(recipe, out.token)) {
        const SpecialistTerm* active =
            recipe.eosPolicy == EosPolicy::Active ? score::mostActive(recipe, rows) : nullptr;
        out.eos = scale * (score::endOfTextAt(recipe, rows, active, out.token) - sum);
    }
}

}  // namespace

template <class Real>
Ledger ledger(const Recipe& recipe, std::span<const PriorTerm> priors, const SourceRows<Real>& rows,
              const Stages<Real>& stages, TokenId token) {
    Ledger out;
    out.token = token;
    out.source.assign(recipe.specialists.size(), 0.0);
    out.prior.assign(priors.size(), 0.0);
    const auto v = static_cast<std::size_t>(token);
    const auto base = static_cast<double>(rows.rows[0][v]);
    const double tau = stages.greedy ? 1.0 : recipe.temperature;

    if (recipe.rule == Rule::Mixture) {
        out.base = score::mixtureScoreAt(recipe, rows, stages.scale, token);
        if (out.base == kOut) out.excludedBy = recipe.sourceNames.empty() ? "base" : recipe.sourceNames[0];
    } else {
        out.base = base;
        if (base == kOut)
            out.excludedBy = recipe.sourceNames.empty() ? "base" : recipe.sourceNames[0];
        else if (stages.scale != 0)
            productTerms(recipe, rows, stages.scale, out);
    }
    if (out.excludedBy.empty() && !score::plausibleBound(recipe, rows).keeps(base, token))
        out.excludedBy = "plausibility";

    for (std::size_t m = 0; m < priors.size(); ++m) {
        const auto& tokens = priors[m].tokens;
        const auto at = std::find(tokens.begin(), tokens.end(), token);
        if (at != tokens.end())
            out.prior[m] = priors[m].eta * priors[m].delta[static_cast<std::size_t>(at - tokens.begin())] / tau;
    }
    out.base /= tau;
    for (double& s : out.source) s /= tau;
    out.shift /= tau;
    out.eos /= tau;
    out.clamp /= tau;
    out.logNormaliser = stages.logNormaliser;
    out.total = out.excludedBy.empty() ? std::accumulate(out.source.begin(), out.source.end(), 0.0) +
                                             std::accumulate(out.prior.begin(), out.prior.end(), 0.0) + out.base +
                                             out.shift + out.eos + out.clamp - out.logNormaliser
                                       : kOut;
    return out;
}

template Ledger ledger<float>(const Recipe&, std::span<const PriorTerm>, const SourceRows<float>&, const Stages<float>&,
                              TokenId);
template Ledger ledger<double>(const Recipe&, std::span<const PriorTerm>, const SourceRows<double>&,
                               const Stages<double>&, TokenId);

}  // namespace counterpoint::compute
