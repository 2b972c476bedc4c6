// Diagnostics of one prior over a trace: where it matched and what it added there (R8, R4).
#include <algorithm>
#include <cmath>

#include "compute/composition/compose.h"
#include "compute/error.h"
#include "compute/printable.h"
#include "model/banks.h"
#include "model/diagnostics/families.h"
#include "model/driftwithout.h"
#include "model/shownnumber.h"

namespace counterpoint::model {

using compute::PriorSet;
using compute::Step;
using compute::TokenId;

const PriorSet::Member* shownPrior(const Trace& trace, const View& view) {
    if (!trace.priors || view.priorBank < 0 || view.prior.empty()) return nullptr;
    const PriorSet::Member* namesake = nullptr;
    for (const PriorSet::Member* m : trace.priors->named(view.prior)) {
        if (m->bank == static_cast<std::size_t>(view.priorBank)) return m;
        namesake = m;  // banks were moved in the rack since
    }
    return namesake;
}

std::string whyIdle(const PriorSet::Member& prior) {
    if (prior.acts) return {};
    return prior.factor->tokens.empty() ? "it has no tokens that act"
                                        : "it is off, its weight is 0, or its context cannot match";
}

bool matched(const Step& step, const PriorSet::Member& prior) {
    return std::any_of(step.matchedPriors.begin(), step.matchedPriors.end(), [&](const compute::PriorName& name) {
        return name.bank == prior.bank && name.name == prior.prior->name;
    });
}

double addedTo(const Trace& trace, const PriorSet::Member& prior, TokenId token) {
    const compute::Factor& factor = *prior.factor;
    const auto at = std::lower_bound(factor.tokens.begin(), factor.tokens.end(), token);
    if (at == factor.tokens.end() || *at != token) return 0;
    const double tau = trace.session.decoding.temperature;
    return prior.weight * factor.delta[static_cast<std::size_t>(at - factor.tokens.begin())] / (tau > 0 ? tau : 1);
}

WithAndWithout withAndWithout(const Trace& trace, const PriorSet::Member& prior, compute::Position position,
                              TokenId token) {
    const compute::Recipe recipe = toRecipe(trace.session, trace.stopIds, 0);
    const compute::SourceRows<float> rows = families::storedRows(trace, position);
    PriorsAt priors;
    priors.look(trace.priors.get(), contextOf(trace), position);
    const auto drift = [&](double& logP) {
        compute::Stages<float> stages;
        compute::compose<float>(recipe, priors.terms, rows, stages);
        if (token >= 0 && static_cast<std::size_t>(token) < stages.temperature.size())
            logP = stages.temperature[static_cast<std::size_t>(token)];
        return compute::diagnose<float>(recipe, priors.terms, rows, stages).drift;
    };
    WithAndWithout out;
    out.with = drift(out.token);
    out.without = out.with;
    out.tokenWithout = out.token;
    const auto own = std::find_if(priors.matching.begin(), priors.matching.end(),
                                  [&](std::size_t i) { return &trace.priors->members()[i] == &prior; });
    if (own == priors.matching.end()) return out;
    out.matches = true;
    priors.terms.erase(priors.terms.begin() + (own - priors.matching.begin()));
    out.without = drift(out.tokenWithout);
    return out;
}

namespace families {

PlotData priorEffect(const Trace& trace, const View& view) {
    PlotData plot;
    plot.x.title = "Position";
    plot.y.title = "Added to the token (nats)";
    plot.cursorIsPosition = true;
    const std::string quoted = std::string("'").append(compute::printable(view.prior)).append(1, '\'');
    if (trace.steps.empty()) {
        plot.empty = kNothingDecoded;
        return plot;
    }
    if (view.priorBank < 0 || view.prior.empty()) {
        plot.empty = "Select a prior in the Priors panel to see what it added to each token.";
        return plot;
    }
    const PriorSet::Member* prior = shownPrior(trace, view);
    if (prior == nullptr) {
        plot.empty = "The prior " + quoted + " was not in the rack when this trace was composed.";
        return plot;
    }
    Series s;
    s.name = view.prior;
    s.kind = SeriesKind::Bars;
    s.colour = -2;
    std::size_t hits = 0;
    for (const StepPtr& step : trace.steps) {
        const bool here = matched(*step, *prior);
        hits += here ? 1 : 0;
        s.x.push_back(static_cast<double>(step->position));
        s.y.push_back(here && step->token != compute::kNoToken ? addedTo(trace, *prior, step->token) : 0);
    }
    if (hits == 0) {
        plot.empty = "The prior " + quoted +
                     (prior->acts ? " matches nowhere in this trace." : " does not act: " + whyIdle(*prior) + '.');
        return plot;
    }
    plot.series.push_back(std::move(s));
    plot.cursorX = static_cast<double>(view.cursor);
    if (trace.flip) plot.flipX = static_cast<double>(*trace.flip);
    plot.y2.title = "Drift (nats)";
    Series drift;
    drift.secondAxis = true;
    drift.x = plot.series.front().x;
    if (isOf(trace.driftWithout.get(), trace, *prior)) {  // it comes a little later
        drift.name = "drift without it";
        drift.colour = 2;
        drift.y = trace.driftWithout->drift;
        plot.series.push_back(drift);
        drift.y.clear();
    }
    drift.name = "drift with it";
    drift.colour = -1;
    for (const StepPtr& step : trace.steps) drift.y.push_back(step->diagnostics.drift);
    plot.series.push_back(std::move(drift));
    plot.note = "matched " + std::to_string(hits) + " of " + std::to_string(trace.steps.size()) + " positions";
    try {
        const TokenId token = shownToken(trace, view);
        const WithAndWithout at = withAndWithout(trace, *prior, view.cursor, token);
        plot.note += "; position " + std::to_string(view.cursor) + ": ";
        plot.note += !at.matches ? "no match"
                                 : "drift " + shownCell(at.with) + " with it, " + shownCell(at.without) + " without";
    } catch (const compute::Error&) {
        plot.note += "; nothing is stored at the cursor";
    }
    return plot;
}

}  // namespace families
}  // namespace counterpoint::model
