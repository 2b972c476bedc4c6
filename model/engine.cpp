#include "model/engine.h"

#include "model/decodeloop.h"
#include "model/recompose.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <new>
#include <optional>
#include <set>
#include <thread>
#include <utility>

namespace counterpoint::model {

using compute::Outcome;

struct Engine::State {
    struct Job {
        std::function<void(std::stop_token)> work;
        std::string what;
    };
    using DecodeLaneJob = std::variant<LoadRequest, DecodeRequest>;

    explicit State(SourceOpener opener) : rack(std::move(opener)) {}

    Outbox outbox;
    std::mutex mutex;
    std::condition_variable wake;   ///< something was asked for, or pausing ended
    bool quit = false;

    // Guarded by mutex: the decode lane's mailboxes.
    std::deque<DecodeLaneJob> decodeJobs;
    std::stop_source decodeStop;
    bool decodeBusy = false, decodeIsTrace = false, paused = false;
    std::optional<Session> dials;

    // Guarded by mutex: the analysis lane's mailboxes.
    std::optional<RecomposeRequest> recompose;
    std::deque<Job> jobs;
    std::stop_source analysisStop;
    bool analysisBusy = false, analysisIsRecompose = false;

    LoadedRack rack;                ///< decode lane only
    std::set<std::string> hashed;   ///< decode lane only: paths whose hash was asked for
    std::jthread decodeLane, analysisLane;

    /// The lanes' catcher: whatever is thrown becomes a Failure, and what there was before stays. `what`: its first word is
    /// the operation.
    template <class Work>
    void guarded(const std::string& what, const Work& work) {
        const auto fail = [&](std::string sentence, std::string details) {
            outbox.push(Failure{std::move(sentence), std::move(details), what.substr(0, what.find(' '))});
        };
        try {
            work();
        } catch (const compute::Error& e) {
            fail(e.sentence(), e.parts().details);
        } catch (const std::bad_alloc&) {
            fail(what + ": there is not enough memory; close traces or use smaller models.", {});
        } catch (const std::exception& e) {
            fail(what + " failed unexpectedly.", e.what());
        } catch (...) {
            fail(what + " failed unexpectedly.", "an exception of unknown type");
        }
    }

    void runDecodeLane() {
        std::unique_lock lock(mutex);
        for (;;) {
            wake.wait(lock, [&] { return quit || !decodeJobs.empty(); });
            if (quit) return;
            DecodeLaneJob job = std::move(decodeJobs.front());
            decodeJobs.pop_front();
            decodeStop = std::stop_source();
            decodeBusy = true;
            decodeIsTrace = std::holds_alternative<DecodeRequest>(job);
            const std::stop_token stop = decodeStop.get_token();
            lock.unlock();
            if (const auto* load = std::get_if<LoadRequest>(&job))
                guarded("Loading", [&] { (void)rack.load(*load, outbox, stop); });
            else
                guarded("Decoding", [&] { decode(std::get<DecodeRequest>(job), stop); });
            hashNew();
            lock.lock();
            decodeBusy = false;
            outbox.push(Idle{decodeJobs.empty(), analysisIdle()});
        }
    }

    void decode(const DecodeRequest& request, const std::stop_token& stop) {
        const DecodeControls controls{
            .stop = stop,
            .takeRecipe =
                [&] {
                    const std::scoped_lock lock(mutex);
                    return std::exchange(dials, std::nullopt);
                },
            .waitWhilePaused =
                [&] {
                    std::unique_lock lock(mutex);
                    wake.wait(lock, [&] { return !paused || quit || stop.stop_requested(); });
                }};
        decodeTrace(rack, request, controls, outbox);
    }

    /// Weights that were opened and not hashed yet, on the other lane.
    void hashNew() {
        for (const std::string& path : rack.paths()) {
            if (!std::filesystem::exists(path) || !hashed.insert(path).second) continue;
            const std::scoped_lock lock(mutex);
            jobs.push_back({[this, path](const std::stop_token& stop) {
                                std::string hash = compute::hashWeights(path, stop);
                                if (!hash.empty()) outbox.push(Hashed{path, std::move(hash)});
                            },
                            "Hashing " + path});
        }
        wake.notify_all();
    }

    bool analysisIdle() const { return !analysisBusy && jobs.empty() && !recompose; }

    void runAnalysisLane() {
        std::unique_lock lock(mutex);
        for (;;) {
            wake.wait(lock, [&] { return quit || recompose || !jobs.empty(); });
            if (quit) return;
            analysisStop = std::stop_source();
            analysisBusy = true;
            const std::stop_token stop = analysisStop.get_token();
            if (auto request = std::exchange(recompose, std::nullopt)) {
                analysisIsRecompose = true;
                lock.unlock();
                guarded("Recomposing", [&] { (void)recomposeTrace(*request, outbox, stop); });
            } else {
                const Job job = std::move(jobs.front());
                jobs.pop_front();
                analysisIsRecompose = false;
                lock.unlock();
                guarded(job.what, [&] { job.work(stop); });
            }
            lock.lock();
            analysisBusy = false;
            outbox.push(Idle{!decodeBusy && decodeJobs.empty(), analysisIdle()});
        }
    }

    /// Decode requests that have not begun end as if stopped. Called with the mutex held.
    void dropWaiting(bool loadsToo) {
        std::deque<DecodeLaneJob> kept;
        for (DecodeLaneJob& job : decodeJobs) {
            if (const auto* request = std::get_if<DecodeRequest>(&job))
                outbox.push(TraceEnded{request->trace, "user", compute::kNoToken, 0});
            else if (!loadsToo)
                kept.push_back(std::move(job));
        }
        decodeJobs = std::move(kept);
    }
};

Engine::Engine(SourceOpener opener)
    : m_state(std::make_unique<State>(opener ? std::move(opener) : SourceOpener(compute::openSource))) {
    State& s = *m_state;
    s.decodeLane = std::jthread([&s] { s.runDecodeLane(); });
    s.analysisLane = std::jthread([&s] { s.runAnalysisLane(); });
}

Engine::~Engine() {
    {
        const std::scoped_lock lock(m_state->mutex);
        m_state->quit = true;
        m_state->decodeStop.request_stop();
        m_state->analysisStop.request_stop();
    }
    m_state->wake.notify_all();
    m_state->decodeLane.join();
    m_state->analysisLane.join();
}

void Engine::load(LoadRequest request) {
    {
        const std::scoped_lock lock(m_state->mutex);
        std::erase_if(m_state->decodeJobs, [](const auto& job) { return std::holds_alternative<LoadRequest>(job); });
        m_state->decodeJobs.emplace_back(std::move(request));
    }
    m_state->wake.notify_all();
}

void Engine::decode(DecodeRequest request) {
    {
        const std::scoped_lock lock(m_state->mutex);
        m_state->dropWaiting(false);
        m_state->dials.reset();  // the request carries the newest
        if (m_state->decodeBusy && m_state->decodeIsTrace) m_state->decodeStop.request_stop();
        m_state->decodeJobs.emplace_back(std::move(request));
    }
    m_state->wake.notify_all();
}

void Engine::setRecipeSession(Session session) {
    const std::scoped_lock lock(m_state->mutex);
    m_state->dials = std::move(session);
}

void Engine::pause(bool paused) {
    {
        const std::scoped_lock lock(m_state->mutex);
        m_state->paused = paused;
    }
    m_state->wake.notify_all();
}

void Engine::stop() {
    {
        const std::scoped_lock lock(m_state->mutex);
        m_state->dropWaiting(true);
        m_state->decodeStop.request_stop();
        // A lane that had not begun says nothing by itself.
        if (!m_state->decodeBusy) m_state->outbox.push(Idle{true, m_state->analysisIdle()});
    }
    m_state->wake.notify_all();
}

void Engine::recompose(RecomposeRequest request) {
    {
        const std::scoped_lock lock(m_state->mutex);
        m_state->recompose = std::move(request);
        if (m_state->analysisBusy && m_state->analysisIsRecompose) m_state->analysisStop.request_stop();
    }
    m_state->wake.notify_all();
}

void Engine::run(std::function<void(std::stop_token)> job, std::string what) {
    {
        const std::scoped_lock lock(m_state->mutex);
        m_state->jobs.push_back({std::move(job), std::move(what)});
    }
    m_state->wake.notify_all();
}

bool Engine::decoding() const {
    const std::scoped_lock lock(m_state->mutex);
    return m_state->decodeBusy || !m_state->decodeJobs.empty();
}

bool Engine::analysing() const {
    const std::scoped_lock lock(m_state->mutex);
    return !m_state->analysisIdle();
}

std::vector<Event> Engine::drain() { return m_state->outbox.drain(); }

void Engine::waitForEvents() { m_state->outbox.wait(); }

}  // namespace counterpoint::model
