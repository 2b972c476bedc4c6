#pragma once
// Engine: the two lanes of work, each a std::jthread with one owner. decode: sources and KV caches; analysis: recompose, export.
// Requests go in through mailboxes (latest wins for recipes), results come out as values through a lossless outbox that a
// timer on the window thread drains (<= 30 Hz). No payload in a Qt signal; nothing with a mutex, tensor or QObject crosses.
// A lane that does not come back from a call into a source can be left behind (restart); a new one takes its place, and the old one
// touches nothing of what others share. The destructor asks both lanes to stop and joins them, but for a decode lane that is in such a
// call `patience` after it was asked: that one is left behind too. Thread: public methods from the owner's thread.

#include "compute/error.h"
#include "compute/sources/source.h"
#include "model/banks.h"
#include "model/trace.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <variant>
#include <vector>

namespace counterpoint::model {

/// How a source is opened; compute::openSource unless a test gives its own.
using SourceOpener = std::function<std::unique_ptr<compute::Source>(const std::filesystem::path&, const compute::OpenOptions&,
                                                                    std::stop_token)>;

struct LoadRequest {
    Session session;               ///< sources already open under the same path, device and dtype are kept
    compute::OpenOptions options;
    bool onlyUsed = false;         ///< true: sources without a say are not opened (commands)
};
struct DecodeRequest {
    int trace = 0;                 ///< id its events carry
    Session session;
    /// Empty: tokenize the session's prompt. Else the exact ids to start from (a branch: prefix + the forced token).
    std::vector<compute::TokenId> ids;
    compute::Position promptLength = -1;  ///< with ids: how many of them were given as prompt (-1: all)
    std::vector<compute::Position> forced;///< positions chosen by hand
    std::shared_ptr<LogitStore> store;    ///< a branch continues this store (rows up to the forced position); null: a new one
    std::int64_t maxNewTokens = -1;       ///< -1: the session's; 1 = "step"
    /// true: every loaded source is fed, also one that is switched off, so that it can be tried on the stored trace. What it
    /// costs is its forward pass. false: only sources with a say (commands).
    bool feedAll = true;
    /// true: the store also gets the rows about prompt tokens that are not scored and the row after the last token.
    bool everyRow = false;
};
struct RecomposeRequest {
    int trace = 0;
    std::uint64_t generation = 0;
    Session session;
    std::vector<compute::TokenId> stopIds;
    std::vector<std::string> sources;     ///< of the trace's store
    std::vector<compute::TokenId> tokens;
    std::vector<std::string> tokenBytes;
    compute::Position promptLength = 0;
    std::vector<compute::Position> forced;
    std::shared_ptr<const LogitStore> store;
    std::shared_ptr<const compute::Tokenizer> tokenizer;
    PriorSetPtr priors = nullptr;         ///< those it was composed with: what the first what-if need not resolve again
    compute::Position visible = 0;        ///< done first
    compute::Position end = -1;           ///< one past the last position that has a step; -1: all rows
};

struct SourceLoaded { std::size_t index; std::string name; std::string key; compute::SourceInfo info; std::string fingerprint; };
struct Loaded { Session session; std::vector<std::string> sources; std::vector<std::string> notices; std::vector<compute::TokenId> stopIds;
                std::shared_ptr<const compute::Tokenizer> tokenizer; PriorSetPtr priors; };
struct BankLoaded { BankFile file; };                                          ///< a bank of the rack was read, or could not be
struct Progress { std::string what; double fraction; std::string rate; };      ///< fraction < 0: unknown
struct Failure {
    std::string sentence, details, operation;
    std::uint64_t generation = 0;
};  ///< operation: "Loading", "Exporting"; generation: of a what-if; earlier results stay
struct TraceStarted { int trace; std::vector<compute::TokenId> tokens; std::vector<std::string> tokenBytes; compute::Position promptLength;
                      std::vector<std::string> sources; std::shared_ptr<LogitStore> store; std::shared_ptr<const compute::Tokenizer> tokenizer;
                      std::vector<compute::TokenId> stopIds;
                      std::uint64_t seed;
                      PriorSetPtr priors;
                      std::vector<std::optional<compute::RouterInfo>> routers = {};
};
struct StepDone { int trace; StepPtr step; };                                   ///< in order of position
struct TraceEnded { int trace; std::string stop; compute::TokenId stopId; double tokensPerSecond; };
struct Recomposed { int trace; std::uint64_t generation; std::vector<StepPtr> steps; bool last; compute::Position flip; PriorSetPtr priors; };  ///< flip -1: none so far
struct Hashed { std::string path; std::string sha256; bool runsCode = false; };  ///< runsCode: the file is a script
struct Idle { bool decode; bool analysis; };
using Event = std::variant<SourceLoaded, BankLoaded, Loaded, Progress, Failure, TraceStarted, StepDone, TraceEnded, Recomposed, Hashed, Idle>;

/// A call into a source that has not returned.
struct SourceCall {
    std::string path;
    bool opening = false;                         ///< the source is being opened; else it computes
    std::chrono::steady_clock::time_point since;
};

/// "/models/mine.pt has not come back from a call after 9 s": the beginning of a sentence.
std::string overdue(const SourceCall& call);
/// SPEC.md 2, of a source whose Hashed says so.
std::string runsCodeSentence(const std::string& path);

class Engine {
  public:
    /// SPEC.md 2: how long a call may take to return after Stop before it is spoken of.
    static constexpr std::chrono::milliseconds kPatience{5000};
    explicit Engine(SourceOpener opener = {}, std::chrono::milliseconds patience = kPatience);
    ~Engine();
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    void load(LoadRequest request);
    void decode(DecodeRequest request);           ///< waits behind a running decode after asking it to stop
    void setRecipeSession(Session session);       ///< mailbox: dials of the running decode, from the next step on
    void pause(bool paused);
    void stop();                                  ///< decode lane: before the next token; TraceEnded with stop "user"
    /// The call that holds the decode lane up, `patience` after it was asked to stop.
    std::optional<SourceCall> stuck() const;
    /// Leaves the decode lane behind in its call: decodes, its own and those that wait, end with stop "user"; a load that waits stays. The
    /// new lane has no source open. The old thread runs on as long as its call does. False where it has come back by now: nothing is done.
    bool restart();
    void recompose(RecomposeRequest request);     ///< replaces one not yet finished; goes before the jobs
    void run(std::function<void(std::stop_token)> job, std::string what);  ///< analysis lane: exports; a throw becomes Failure
    /// What-ifs that wait, now: a long job calls it every few milliseconds, on the analysis lane, so that dials do not wait for it.
    void letPass();
    bool decoding() const;                        ///< the decode lane has work, loading included
    bool analysing() const;
    std::vector<Event> drain();
    /// Blocks until the outbox is not empty; every job ends with an Idle event. For commands that wait without a timer.
    void waitForEvents();
    void waitForEvents(std::chrono::milliseconds atMost);

  private:
    struct State;
    std::shared_ptr<State> m_state;               ///< the lanes' too: one that was left behind may outlive the engine
    std::jthread m_decodeLane, m_analysisLane;
};

}  // namespace counterpoint::model
