#pragma once
// The decode lane's work on one request: HOUSE.md's "one step as data", forward -> compose -> draw -> observe -> keep -> commit.
// The recipe is taken once, at the start of a step. Cancelled publishes nothing. Thread: the decode lane.

#include "model/loadedrack.h"

#include <functional>
#include <optional>

namespace counterpoint::model {

struct DecodeControls {
    std::stop_token stop;
    std::function<std::optional<Session>()> takeRecipe;  ///< the newest dials since the last call
    std::function<void()> waitWhilePaused;               ///< returns when not paused or stop is asked for
};

void decodeTrace(LoadedRack& rack, const DecodeRequest& request, const DecodeControls& controls, Lane& lane);

/// A step for the row `rows` under `recipe` and the priors that act there; `token` is what the text has there (nullopt:
/// what R3 draws). A very long row is composed on up to `threads` threads.
compute::Step stepFor(const compute::Recipe& recipe, const compute::PriorSet* set, const PriorsAt& priors,
                      const compute::SourceRows<float>& rows,
                      compute::Stages<float>& stages, std::optional<compute::TokenId> token, int threads = 1);

}  // namespace counterpoint::model
