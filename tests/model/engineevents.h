#pragma once
// An engine driven from a test: what it said until both lanes were idle, and a gate to hold a source by.

#include <condition_variable>
#include <cstring>
#include <mutex>

#include "tests/model/scripted.h"

namespace counterpoint::tests {

using compute::kNoToken;
using namespace counterpoint::model;

/// Everything the engine said until both lanes were idle, sorted by kind.
struct Said {
    std::vector<TraceStarted> started;
    std::vector<StepPtr> steps;
    std::vector<TraceEnded> ended;
    std::vector<Failure> failures;
    std::vector<Loaded> loaded;
    std::vector<Recomposed> recomposed;
    std::vector<BankLoaded> banks;
    void operator()(const SourceLoaded&) {}
    void operator()(const BankLoaded& e) { banks.push_back(e); }
    void operator()(const Progress&) {}
    void operator()(const Hashed&) {}
    void operator()(const Loaded& e) { loaded.push_back(e); }
    void operator()(const Failure& e) { failures.push_back(e); }
    void operator()(const TraceStarted& e) { started.push_back(e); }
    void operator()(const StepDone& e) { steps.push_back(e.step); }
    void operator()(const TraceEnded& e) { ended.push_back(e); }
    void operator()(const Recomposed& e) { recomposed.push_back(e); }
    void operator()(const Idle&) {}

    std::vector<TokenId> tokens() const {
        std::vector<TokenId> ids = started.at(0).tokens;
        for (const StepPtr& s : steps)
            if (s->position == static_cast<Position>(ids.size()) && s->token != kNoToken) ids.push_back(s->token);
        return ids;
    }
    std::string stop() const { return ended.empty() ? "" : ended.back().stop; }
};

inline Said wait(Engine& engine) {
    Said said;
    const auto read = [&] {
        for (const Event& e : engine.drain()) std::visit(said, e);
    };
    // While a lane is busy after the outbox was emptied, its Idle is still to come.
    do {
        engine.waitForEvents();
        read();
    } while (engine.decoding() || engine.analysing());
    read();
    return said;
}

inline DecodeRequest request(const Session& session) {
    DecodeRequest r;
    r.session = session;
    return r;
}

/// The trace that `then` made, composed again under `session`.
inline RecomposeRequest again(const Session& session, const Said& then) {
    RecomposeRequest r;
    r.session = session;
    r.stopIds = then.started.at(0).stopIds;
    r.sources = then.started.at(0).sources;
    r.tokens = then.tokens();
    r.promptLength = then.started.at(0).promptLength;
    r.store = then.started.at(0).store;
    r.tokenizer = then.started.at(0).tokenizer;
    return r;
}

inline Said decode(Engine& engine, const DecodeRequest& r) {
    engine.decode(r);
    return wait(engine);
}

/// Two threads meet: the source waits inside its forward until the test lets it go on.
class Gate {
  public:
    void arrive() {
        std::unique_lock lock(m_mutex);
        ++m_arrived;
        m_changed.notify_all();
        m_changed.wait(lock, [&] { return m_passes > 0; });
        --m_passes;
    }
    void awaitArrival(int n) {
        std::unique_lock lock(m_mutex);
        m_changed.wait(lock, [&] { return m_arrived >= n; });
    }
    void pass(int n = 1) {
        const std::scoped_lock lock(m_mutex);
        m_passes += n;
        m_changed.notify_all();
    }

  private:
    std::mutex m_mutex;
    std::condition_variable m_changed;
    int m_arrived = 0, m_passes = 0;
};

inline bool sameNumbers(const compute::Step& a, const compute::Step& b) {
    const auto same = [](double x, double y) { return std::memcmp(&x, &y, sizeof x) == 0; };
    bool top = a.top.size() == b.top.size();
    for (std::size_t i = 0; top && i < a.top.size(); ++i)
        top = a.top[i].token == b.top[i].token && a.top[i].temperature == b.top[i].temperature && a.top[i].source == b.top[i].source;
    return top && a.position == b.position && a.token == b.token && a.drawn == b.drawn && a.prompt == b.prompt && a.forced == b.forced &&
           a.bytes == b.bytes && a.logProbs == b.logProbs && same(a.logProb, b.logProb) && same(a.composedLogProb, b.composedLogProb) &&
           same(a.diagnostics.drift, b.diagnostics.drift) && same(a.diagnostics.entropy, b.diagnostics.entropy);
}

}  // namespace counterpoint::tests
