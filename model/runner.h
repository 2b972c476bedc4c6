#pragma once
// The commands' way through the same Engine: run a session to its end, write a run directory, decode again and compare.
// Thread: the caller's (blocking). Errors: Error.

#include "model/engine.h"

#include <filesystem>
#include <set>
#include <stop_token>
#include <string>

namespace counterpoint::model {

struct RunOptions {
    std::string device;                 ///< empty: cpu; replay: where the run was decoded
    std::string dtype;                  ///< empty: each model's own; replay: what the run was decoded in
    int threads = 0;
    bool cache = true;
    std::set<std::string> dumps;        ///< "log_prob", "sources"
    std::function<void(const Progress&)> progress;
    std::function<void()> meanwhile;    ///< called every few milliseconds while it waits (estimateQuality)
    SourceOpener opener;                ///< compute::openSource when empty
    /// Asked for: ends before the next token with stop "user"; what was decoded is kept. A call into a source that does not return
    /// within `patience` is left behind on its own thread, and the notices say so.
    std::stop_token stop;
    std::chrono::milliseconds patience = Engine::kPatience;
};

struct RunResult {
    Trace trace;
    std::string device;
    std::string dtype;                           ///< the sources' dtypes, each once, with commas between them
    int threads = 0;
    std::vector<std::pair<std::string, std::string>> versions;
    std::map<std::string, std::string> sha256;   ///< by source name
    std::vector<std::string> notices;
    std::optional<Failure> failure;              ///< what ended it midway; the steps before it are in the trace, stop is "error"
};

/// Decodes or scores the session to its end. A failure before the first step is an Error, a later one stands in the result.
RunResult runSession(const Session& session, const RunOptions& options);

/// The Error that a Failure was, for those who must not go on; it names the session's file where the sentence does not.
[[noreturn]] void raise(const Failure& failure, const Session& session);

/// Error unless `directory` is absent, empty or an earlier run's; worth asking before a long decode.
void requireRunDirectory(const std::filesystem::path& directory);

/// Error where a source of the session is a file that a run into `directory` would replace.
void requireSourcesOutside(const Session& session, const std::filesystem::path& directory);

/// trace.jsonl of a run: one object a line, floats in their shortest form that reads back to the same bits.
std::string traceJsonl(const Trace& trace);

/// SPEC.md 2: trace.jsonl, summary.json, session.json (paths relative to the run directory), dumps. What an earlier run wrote there
/// is removed first, its figures too. `more` writes what else belongs to the run: after it comes summary.json, without which a run
/// is no whole one. Returns a sentence for each dump that is left out because no row was decoded.
std::vector<std::string> writeRun(const RunResult& result, const std::filesystem::path& directory, const std::set<std::string>& dumps,
                                  const std::function<void()>& more = {});

struct ReplayVerdict {
    enum class Kind { Identical, WithinTolerance, Diverged } kind = Kind::Identical;
    compute::Position position = -1;   ///< first divergent
    double gap = 0;                    ///< largest |Δ log_probs.composed|
    std::string sentence;              ///< begins with what is not as it was: changed weights, a device that is not here
};
/// Decodes again from DIR/session.json, on the device and in the dtype of summary.json unless the options name others. identical:
/// ids and stored bits equal; within tolerance: 1e-4 on the same device, else 5e-3. A run that was stopped or that failed is
/// compared up to its last row; one without a row is an Error (exit code 1: it is neither confirmed nor diverged).
ReplayVerdict replay(const std::filesystem::path& directory, const RunOptions& options);

}  // namespace counterpoint::model
