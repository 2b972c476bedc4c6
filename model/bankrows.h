#pragma once
// What everything about banks on a trace shares: whose ids count, a bank as its session has it act, and the trace's
// rows with the priors that acted there. Errors: none but where said. Thread: any (a trace that nobody changes).

#include <stop_token>

#include "compute/composition/compose.h"
#include "model/banks.h"
#include "model/trace.h"

namespace counterpoint::model {

/// `vocabulary`: of the rows, where there is no tokenizer to say it; −1: unknown.
inline compute::IdSpace idsFor(const compute::Bank& bank, const compute::Tokenizer* tokenizer,
                               std::int64_t vocabulary) {
    const bool foreign = bank.tokenizer && tokenizer != nullptr && *bank.tokenizer != tokenizer->fingerprint();
    return {tokenizer, tokenizer != nullptr ? tokenizer->size() : vocabulary, foreign};
}

/// The bank as the session has it act: what it says of single priors is theirs, so that a level joins what acts as it
/// acts. Error as of readOverrides().
inline BankPtr withOverrides(const BankEntry& entry) {
    const compute::PriorOverrides overrides = readOverrides(entry.overrides, "bank '" + entry.bank + "'");
    if (overrides.empty()) return entry.content;
    compute::Bank bank = *entry.content;
    for (compute::PriorPtr& prior : bank.priors) {
        const auto own = overrides.find(prior->name);
        if (own == overrides.end()) continue;
        compute::Prior changed = *prior;
        if (own->second.eta) changed.eta = own->second.eta;
        changed.enabled = own->second.enabled.value_or(changed.enabled);
        prior = std::make_shared<const compute::Prior>(std::move(changed));
    }
    return std::make_shared<const compute::Bank>(std::move(bank));
}

/// Every step's row at stage temperature with the priors of `set` that acted there.
template <class Use>
void forEachRow(const Trace& trace, const compute::PriorSet* set, const std::stop_token& stop, const Use& use) {
    const compute::Recipe recipe = toRecipe(trace.session, trace.stopIds, 0);
    const compute::ContextText text = contextOf(trace);
    compute::Stages<float> stages;
    PriorsAt priors;
    for (const StepPtr& step : trace.steps) {
        if (stop.stop_requested()) return;
        priors.look(set, text, step->position);
        compute::compose<float>(recipe, priors.terms, trace.store->rows(step->position), stages);
        use(step->position, text, priors, stages, recipe);
    }
}

}  // namespace counterpoint::model
