#include "model/recompose.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <mutex>
#include <thread>

#include "compute/pool.h"
#include "model/decodeloop.h"

namespace counterpoint::model {

using compute::kNoToken;
using compute::Outcome;
using compute::Position;

namespace {

/// A chunk is sent when this much time has passed: a few frames of the window.
constexpr std::chrono::milliseconds kChunk{50};
/// Positions a thread is given at once: the stop token is read between.
constexpr Position kPerThread = 4;

/// steps[i] = compose(i, worker), on `threads` threads; the first error is thrown when all have ended.
template <class Compose>
void composeAll(std::vector<StepPtr>& steps, int threads, const Compose& compose) {
    std::mutex mutex;
    std::exception_ptr error;
    compute::Pool::instance().run(threads, static_cast<std::int64_t>(steps.size()), [&](std::int64_t i, int worker) {
        try {
            steps[static_cast<std::size_t>(i)] = compose(static_cast<std::size_t>(i), static_cast<std::size_t>(worker));
        } catch (...) {
            const std::scoped_lock lock(mutex);
            if (!error) error = std::current_exception();
        }
    });
    if (error) std::rethrow_exception(error);
}

}  // namespace

Outcome recomposeTrace(const RecomposeRequest& request, Outbox& outbox, PriorSetPtr& kept, std::stop_token stop) {
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
    const int threads =
        std::max(1, static_cast<int>(std::thread::hardware_concurrency()) - 1);  // one core is the window's
    const compute::PriorSet* before = kept ? kept.get() : request.priors.get();
    const PriorSetPtr set = kept = priorSetOf(*session, request.tokenizer.get(), request.store->vocabulary(), before);
    compute::ContextText text;
    for (std::size_t i = 0; !set->empty() && i < request.tokens.size(); ++i) text.push(request.tokens[i], request.tokenBytes.at(i));
    struct Room {
        compute::Stages<float> stages;
        PriorsAt priors;
    };
    std::vector<Room> rooms(static_cast<std::size_t>(threads));
    const auto stepAt = [&](Position p, Room& room, int within = 1) {
        const auto i = static_cast<std::size_t>(p);
        const compute::TokenId token = i < request.tokens.size() ? request.tokens[i] : kNoToken;
        room.priors.look(set.get(), text, p);
        auto step = std::make_shared<compute::Step>(
            stepFor(recipe, set.get(), room.priors, request.store->rows(p), room.stages, token, within));
        step->prompt = p < request.promptLength;
        step->forced = std::find(request.forced.begin(), request.forced.end(), p) != request.forced.end();
        if (token != kNoToken && i < request.tokenBytes.size()) step->bytes = request.tokenBytes[i];
        step->routing = request.store->routing(p);
        step->revision = recipe.revision;
        return step;
    };
    if (request.visible >= request.store->first() && request.visible < last)
        outbox.push(
            Recomposed{request.trace, request.generation, {stepAt(request.visible, rooms[0], threads)}, false, -1, set});

    std::vector<StepPtr> chunk;
    Position flip = -1;
    auto sent = std::chrono::steady_clock::now();
    for (Position p = request.store->first(); p < last;) {
        if (stop.stop_requested()) return Outcome::Cancelled;
        std::vector<StepPtr> steps(static_cast<std::size_t>(std::min<Position>(last - p, threads * kPerThread)));
        composeAll(steps, threads, [&](std::size_t i, std::size_t worker) {
            return stepAt(p + static_cast<Position>(i), rooms[worker]);
        });
        p += static_cast<Position>(steps.size());
        for (StepPtr& step : steps) {
            const bool given = step->prompt || step->forced || step->token == kNoToken;
            if (flip < 0 && !given && step->drawn != step->token) flip = step->position;
            chunk.push_back(std::move(step));
        }
        if (const auto now = std::chrono::steady_clock::now(); now - sent > kChunk && p < last) {
            outbox.push(Recomposed{request.trace, request.generation, std::move(chunk), false, flip, set});
            chunk.clear();
            sent = now;
        }
    }
    outbox.push(Recomposed{request.trace, request.generation, std::move(chunk), true, flip, set});
    return Outcome::Done;
}

}  // namespace counterpoint::model
