#pragma once
// R15 for a person: the invariance panel of one layer as a table of p-values and one plain sentence, with what it
// speaks of (R12's scope). Positions are fixed beforehand, at a quarter, the middle and three quarters of the text.
// Errors: those of compute/routing. Thread: any (values).

#include <optional>
#include <stop_token>

#include "model/routingpicture.h"

namespace counterpoint::model {

/// `layer`: among the question's. nullopt: it was stopped.
std::optional<InvariancePanel> invariancePanel(const compute::EstimateQuestion& question,
                                               const compute::SourceRouting& routing, std::size_t layer, int draws,
                                               TokenPath path, const std::stop_token& stop);

}  // namespace counterpoint::model
