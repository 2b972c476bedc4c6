#include "model/engine.h"

#include "compute/files/filesystemerror.h"
#include "compute/sources/filekind.h"
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

namespace {

constexpr int kNoTrace = -1;
constexpr std::chrono::milliseconds kLook{20};

}  // namespace

struct Engine::State {
    struct Job {
        std::function<void(std::stop_token)> work;
        std::string what;
    };
    using DecodeLaneJob = std::variant<LoadRequest, DecodeRequest>;

    /// What a decode lane alone works on; with one that is left behind it goes.
    struct Own {
        Own(Outbox& outbox, const SourceOpener& opener) : lane(outbox), rack(opener) {}
        Lane lane;
        LoadedRack rack;
        std::set<std::string> hashed;   ///< paths whose hash was asked for
    };

    State(SourceOpener sourceOpener, std::chrono::milliseconds patienceMs)
        : opener(std::move(sourceOpener)), patience(patienceMs), decoding(std::make_shared<Own>(outbox, opener)) {}

    const SourceOpener opener;
    const std::chrono::milliseconds patience;
    Outbox outbox;
    std::mutex mutex;
    std::condition_variable wake;   ///< something was asked for, or pausing ended
    std::condition_variable over;   ///< a lane has ended
    bool quit = false, decodeOver = false;

    // Guarded by mutex: the decode lane's mailboxes.
    std::shared_ptr<Own> decoding;
    std::deque<DecodeLaneJob> decodeJobs;
    std::stop_source decodeStop;
    std::chrono::steady_clock::time_point stopAsked;   ///< of decodeStop
    bool decodeBusy = false, paused = false;
    int trace = kNoTrace;           ///< of the decode that runs
    std::optional<Session> dials;

    // Guarded by mutex: the analysis lane's mailboxes.
    std::optional<RecomposeRequest> recompose;
    std::deque<Job> jobs;
    std::stop_source analysisStop, recomposeStop;
    bool analysisBusy = false, recomposing = false;
    PriorSetPtr kept;               ///< the analysis lane's: of the last what-if; most of it is the next one's

    /// The lanes' catcher: whatever is thrown becomes a Failure, and what there was before stays. `what`: its first word is
    /// the operation. `outlet`: where the lane speaks.
    template <class Outlet, class Work>
    static void guarded(Outlet& outlet, const std::string& what, const Work& work, std::uint64_t generation = 0) {
        const auto fail = [&](std::string sentence, std::string details) {
            outlet.push(Failure{std::move(sentence), std::move(details), what.substr(0, what.find(' ')), generation});
        };
        try {
            work();
        } catch (const compute::Error& e) {
            fail(e.sentence(), e.parts().details);
        } catch (const std::bad_alloc&) {
            fail(what + ": there is not enough memory; close traces or use smaller models.", {});
        } catch (const std::filesystem::filesystem_error& e) {
            fail(compute::sentenceOf(e), {});
        } catch (const std::exception& e) {
            fail(what + " failed unexpectedly.", e.what());
        } catch (const LeftBehind&) {
        } catch (...) {
            fail(what + " failed unexpectedly.", "an exception of unknown type");
        }
    }

    void runDecodeLane(Own& own) {
        std::unique_lock lock(mutex);
        for (;;) {
            wake.wait(lock, [&] { return quit || !decodeJobs.empty(); });
            if (quit) break;
            DecodeLaneJob job = std::move(decodeJobs.front());
            decodeJobs.pop_front();
            decodeStop = std::stop_source();
            decodeBusy = true;
            const auto* request = std::get_if<DecodeRequest>(&job);
            trace = request != nullptr ? request->trace : kNoTrace;
            const std::stop_token stop = decodeStop.get_token();
            lock.unlock();
            if (request != nullptr)
                guarded(own.lane, "Decoding", [&] { decode(own, *request, stop); });
            else
                guarded(own.lane, "Loading", [&] { (void)own.rack.load(std::get<LoadRequest>(job), own.lane, stop); });
            if (own.lane.leftBehind()) return;  // another lane has the mailboxes
            hashNew(own);
            lock.lock();
            decodeBusy = false;
            outbox.push(Idle{decodeJobs.empty(), analysisIdle()});
        }
        decodeOver = true;
        over.notify_all();
    }

    void decode(Own& own, const DecodeRequest& request, const std::stop_token& stop) {
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
        decodeTrace(own.rack, request, controls, own.lane);
    }

    /// Weights that were opened and not hashed yet, on the other lane; a file that runs code each time it is opened.
    void hashNew(Own& own) {
        for (const auto& [path, runsCode] : own.rack.takeOpened()) {
            if (!std::filesystem::exists(path) || (!own.hashed.insert(path).second && !runsCode)) continue;
            const std::scoped_lock lock(mutex);
            hash(path, runsCode);
        }
        wake.notify_all();
    }

    /// With the mutex held.
    void hash(const std::string& path, bool runsCode) {
        jobs.push_back({[this, path, runsCode](const std::stop_token& stop) {
                            std::string sha256 = compute::hashWeights(path, stop);
                            if (!sha256.empty()) outbox.push(Hashed{path, std::move(sha256), runsCode});
                        },
                        "Hashing " + path});
    }

    /// Of a lane that was left behind while it opened a script: it says no more itself. With the mutex held.
    void hashScript(const std::string& path) {
        jobs.push_back({[this, path](const std::stop_token&) {
                            if (!compute::runsCode(path)) return;
                            const std::scoped_lock lock(mutex);
                            hash(path, true);
                        },
                        "Hashing " + path});
    }

    /// With the mutex held, as the three below.
    void askToStop() {
        if (decodeStop.request_stop()) stopAsked = std::chrono::steady_clock::now();
    }

    std::optional<SourceCall> stuck() const {
        const bool asked = decodeBusy && decodeStop.stop_requested();
        if (!asked || std::chrono::steady_clock::now() - stopAsked < patience) return std::nullopt;
        return decoding->lane.call();
    }

    bool leaveBehind() { return stuck() && decoding->lane.leaveBehind(); }

    bool analysisIdle() const { return !analysisBusy && jobs.empty() && !recompose; }

    /// The what-if that waits, outside of the lock.
    void recomposeNow(std::unique_lock<std::mutex>& lock) {
        const RecomposeRequest request = std::move(*recompose);
        recompose.reset();
        recomposeStop = std::stop_source();
        recomposing = true;
        const std::stop_token stop = recomposeStop.get_token();
        lock.unlock();
        guarded(
            outbox, "Recomposing", [&] { (void)recomposeTrace(request, outbox, kept, stop); }, request.generation);
        lock.lock();
        recomposing = false;
    }

    void letPass() {
        std::unique_lock lock(mutex);
        while (recompose && !quit) recomposeNow(lock);
    }

    void runAnalysisLane() {
        std::unique_lock lock(mutex);
        for (;;) {
            wake.wait(lock, [&] { return quit || recompose || !jobs.empty(); });
            if (quit) return;
            analysisBusy = true;
            if (recompose) {
                recomposeNow(lock);
            } else {
                const Job job = std::move(jobs.front());
                jobs.pop_front();
                analysisStop = std::stop_source();
                const std::stop_token stop = analysisStop.get_token();
                lock.unlock();
                guarded(outbox, job.what, [&] { job.work(stop); });
                lock.lock();
            }
            analysisBusy = false;
            outbox.push(Idle{!decodeBusy && decodeJobs.empty(), analysisIdle()});
        }
    }

    /// An engine that is gone has no more to do; a lane that was left behind keeps the State alive.
    void drop() {
        jobs.clear();
        decodeJobs.clear();
        recompose.reset();
        (void)outbox.drain();
    }

    /// Decode requests that have not begun end as if stopped.
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

Engine::Engine(SourceOpener opener, std::chrono::milliseconds patience)
    : m_state(std::make_shared<State>(opener ? std::move(opener) : SourceOpener(compute::openSource), patience)),
      m_decodeLane([state = m_state, own = m_state->decoding] { state->runDecodeLane(*own); }),
      m_analysisLane([state = m_state] { state->runAnalysisLane(); }) {}

Engine::~Engine() {
    bool left = false;
    {
        std::unique_lock lock(m_state->mutex);
        m_state->quit = true;
        m_state->askToStop();
        m_state->analysisStop.request_stop();
        m_state->recomposeStop.request_stop();
        m_state->wake.notify_all();
        const auto isOver = [&] { return m_state->decodeOver; };
        m_state->over.wait_until(lock, m_state->stopAsked + m_state->patience, isOver);
        while (!isOver() && !left) {  // one that is in no call comes back
            left = m_state->leaveBehind();
            if (!left) m_state->over.wait_for(lock, kLook, isOver);
        }
    }
    if (left)
        m_decodeLane.detach();
    else
        m_decodeLane.join();
    m_analysisLane.join();
    m_state->drop();
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
        if (m_state->decodeBusy && m_state->trace != kNoTrace) m_state->askToStop();
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
        m_state->askToStop();
        // A lane that had not begun says nothing by itself.
        if (!m_state->decodeBusy) m_state->outbox.push(Idle{true, m_state->analysisIdle()});
    }
    m_state->wake.notify_all();
}

std::optional<SourceCall> Engine::stuck() const {
    const std::scoped_lock lock(m_state->mutex);
    return m_state->stuck();
}

bool Engine::restart() {
    State& s = *m_state;
    {
        const std::scoped_lock lock(s.mutex);
        const std::optional<SourceCall> call = s.stuck();
        if (!s.leaveBehind()) return false;
        if (call && call->opening) s.hashScript(call->path);
        if (s.trace != kNoTrace) s.outbox.push(TraceEnded{s.trace, "user", compute::kNoToken, 0});
        s.dropWaiting(false);
        s.decodeBusy = false;
        s.decoding = std::make_shared<State::Own>(s.outbox, s.opener);
        s.outbox.push(Idle{s.decodeJobs.empty(), s.analysisIdle()});
    }
    s.wake.notify_all();
    m_decodeLane.detach();
    m_decodeLane = std::jthread([state = m_state, own = s.decoding] { state->runDecodeLane(*own); });
    return true;
}

void Engine::recompose(RecomposeRequest request) {
    {
        const std::scoped_lock lock(m_state->mutex);
        m_state->recompose = std::move(request);
        if (m_state->recomposing) m_state->recomposeStop.request_stop();
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

void Engine::letPass() { m_state->letPass(); }

bool Engine::decoding() const {
    const std::scoped_lock lock(m_state->mutex);
    return m_state->decodeBusy || !m_state->decodeJobs.empty();
}

bool Engine::analysing() const {
    const std::scoped_lock lock(m_state->mutex);
    return !m_state->analysisIdle();
}

std::vector<Event> Engine::drain() { return m_state->outbox.drain(); }

std::string overdue(const SourceCall& call) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - call.since);
    return call.path + (call.opening ? " has not finished opening after " : " has not come back from a call after ") +
           std::to_string(seconds.count()) + " s";
}

std::string runsCodeSentence(const std::string& path) {
    return path + " is a TorchScript file: decoding with it runs code of whoever made it.";
}

void Engine::waitForEvents() { m_state->outbox.wait(); }

void Engine::waitForEvents(std::chrono::milliseconds atMost) { m_state->outbox.wait(atMost); }

}  // namespace counterpoint::model
