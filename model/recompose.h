#pragma once
// Recompose: other dials on a stored trace, without a forward pass. The visible position first, then all in order, in chunks;
// the flip (R3) is the first position, prompt and forced ones excepted, where the draw differs from the trace's token.
// Positions are composed on all cores but one, which is the window's; the answer does not depend on how many there are.
// Results are new immutable steps. Cancelled: what was sent stays valid for its generation. Thread: the analysis lane.

#include "model/outbox.h"

#include <stop_token>

namespace counterpoint::model {

/// `kept`: the priors of the last call; those of this one after it.
compute::Outcome recomposeTrace(const RecomposeRequest& request, Outbox& outbox, PriorSetPtr& kept, std::stop_token stop);

}  // namespace counterpoint::model
