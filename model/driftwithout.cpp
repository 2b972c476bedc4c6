#include "model/driftwithout.h"

#include <algorithm>
#include <limits>

#include "compute/composition/compose.h"
#include "model/banks.h"

namespace counterpoint::model {

DriftQuestion driftQuestion(const Trace& trace, const compute::PriorSet::Member& prior) {
    return {.prior = {prior.bank, prior.prior->name},
            .recipe = toRecipe(trace.session, trace.stopIds, 0),
            .store = trace.store,
            .priors = trace.priors,
            .text = contextOf(trace),
            .steps = trace.steps};
}

bool isOf(const DriftWithout* known, const Trace& trace, const compute::PriorSet::Member& prior) {
    return known != nullptr && known->prior.bank == prior.bank && known->prior.name == prior.prior->name &&
           known->steps == trace.steps;
}

std::shared_ptr<const DriftWithout> driftWithout(const DriftQuestion& question, const std::function<void()>& between,
                                                 const std::stop_token& stop) {
    auto answer = std::make_shared<DriftWithout>(DriftWithout{question.prior, question.steps, {}});
    compute::Stages<float> stages;
    PriorsAt at;
    for (const StepPtr& step : question.steps) {
        if (stop.stop_requested()) return nullptr;
        answer->drift.push_back(step->diagnostics.drift);
        const auto& matched = step->matchedPriors;
        if (std::find(matched.begin(), matched.end(), question.prior) == matched.end()) continue;
        if (question.store->row(step->position, 0).empty()) {
            answer->drift.back() = std::numeric_limits<double>::quiet_NaN();
            continue;
        }
        const compute::SourceRows<float> rows = question.store->rows(step->position);
        at.look(question.priors.get(), question.text, step->position);
        std::erase_if(at.terms, [&](const compute::PriorTerm& term) {
            return term.bank == question.prior.bank && term.name == question.prior.name;
        });
        answer->drift.back() = compute::makeStep(question.recipe, at.terms, rows, stages).diagnostics.drift;
        between();
    }
    return answer;
}

}  // namespace counterpoint::model
