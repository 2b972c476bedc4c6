#include "model/recompose.h"

#include "model/decodeloop.h"

#include <algorithm>
#include <chrono>

namespace counterpoint::model {

using compute::kNoToken;
using compute::Outcome;
using compute::Position;

namespace {

/// A chunk is sent when this much time has passed: a few frames of the window.
constexpr std::chrono::milliseconds kChunk{50};

}  // namespace

Outcome recomposeTrace(const RecomposeRequest& request, Outbox& outbox, std::stop_token stop) {
    const auto session = alignedTo(request.session, request.sources);
    if (!session)
        throw compute::Error({.where = "stored trace",
                              .what = "the rack has a source that this trace was decoded without",
                              .expected = {},
                              .found = {},
                              .advice = "generate again to hear it",
                              .details = {}});
    const compute::Recipe recipe = toRecipe(*session, request.stopIds, request.generation);
    const Position last = request.end < 0 ? request.store->end() : std::min(request.end, request.store->end());
    compute::Stages<float> stages;
    const auto stepAt = [&](Position p) {
        const auto i = static_cast<std::size_t>(p);
        const compute::TokenId token = i < request.tokens.size() ? request.tokens[i] : kNoToken;
        auto step = std::make_shared<compute::Step>(stepFor(recipe, request.store->rows(p), stages, token));
        step->prompt = p < request.promptLength;
        step->forced = std::find(request.forced.begin(), request.forced.end(), p) != request.forced.end();
        if (token != kNoToken && i < request.tokenBytes.size()) step->bytes = request.tokenBytes[i];
        step->revision = recipe.revision;
        return step;
    };
    if (request.visible >= request.store->first() && request.visible < last)
        outbox.push(Recomposed{request.trace, request.generation, {stepAt(request.visible)}, false, -1});

    std::vector<StepPtr> chunk;
    Position flip = -1;
    auto sent = std::chrono::steady_clock::now();
    for (Position p = request.store->first(); p < last; ++p) {
        if (stop.stop_requested()) return Outcome::Cancelled;
        StepPtr step = stepAt(p);
        const bool given = step->prompt || step->forced || step->token == kNoToken;
        if (flip < 0 && !given && step->drawn != step->token) flip = p;
        chunk.push_back(std::move(step));
        if (const auto now = std::chrono::steady_clock::now(); now - sent > kChunk && p + 1 < last) {
            outbox.push(Recomposed{request.trace, request.generation, std::move(chunk), false, flip});
            chunk.clear();
            sent = now;
        }
    }
    outbox.push(Recomposed{request.trace, request.generation, std::move(chunk), true, flip});
    return Outcome::Done;
}

}  // namespace counterpoint::model
