#pragma once
// What a trace's drift would be without one of its priors (R5, R8): at every step where it matched, the stored rows are
// composed again without it; elsewhere it changed nothing. Cost: a composition for each match. Thread: any (values).

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "model/trace.h"

namespace counterpoint::model {

struct DriftWithout {
    compute::PriorName prior;
    std::vector<StepPtr> steps;  ///< those it is of
    std::vector<double> drift;   ///< [steps] KL(p̂‖p_b) without the prior, nats; NaN where no row is stored
};

/// A trace's own, and what does not change while it is answered.
struct DriftQuestion {
    compute::PriorName prior;
    compute::Recipe recipe;
    std::shared_ptr<const LogitStore> store;
    std::shared_ptr<const compute::PriorSet> priors;
    compute::ContextText text;
    std::vector<StepPtr> steps;
};
DriftQuestion driftQuestion(const Trace& trace, const compute::PriorSet::Member& prior);
/// Whether `known` answers driftQuestion(trace, prior).
bool isOf(const DriftWithout* known, const Trace& trace, const compute::PriorSet::Member& prior);
/// `between` is called between compositions. nullptr: it was stopped.
std::shared_ptr<const DriftWithout> driftWithout(const DriftQuestion& question, const std::function<void()>& between,
                                                 const std::stop_token& stop);

}  // namespace counterpoint::model
