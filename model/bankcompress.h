#pragma once
// What compressing one bank keeps and costs (R9, R10; PAPERS.md 1, 3): the window's dialog, `bank compress`, `bank
// report` and the figures of a run all read it here. What is compressed is the bank as its session has it act,
// overrides included.
//   levels 0..3   priors, bytes of the file, both ratios, squared error (compute/priors/hierarchy.h)
//   KL            KL(p̂ with the bank as it is ‖ p̂ at the level) over the steps of a trace, at stage temperature, beside
//                 ¼‖d‖² and (max d − min d)²/8, d_v = Σ η(Δ − Δ at the level)(v)/τ; it never exceeds either (R9)
//   each prior    support n, α = mean |Δ|, Σ(Δ − α sign Δ)² and its share of Σ Δ²
// Units: nats, bytes. Errors: Error for a bank of another tokenizer, a threshold outside 0 to 1, a bank that was not
// read. Thread: any (values; nobody changes an input's trace). Stopped: nothing is published.

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "compute/priors/hierarchy.h"
#include "model/engine.h"
#include "model/figure.h"

namespace counterpoint::model {

/// A prior under R9.
struct PriorOneBit {
    std::string name;
    std::size_t support = 0, promoted = 0;
    std::size_t unread = 0;        ///< entries that became no token
    double plus = 0, minus = 0;  ///< mean |Δ| of the promoted and of the demoted; 0 where there are none
    double alpha = 0, squaredError = 0, squares = 0;  ///< Σ(Δ − Δ̂)² and Σ Δ²
    double share() const { return squares > 0 ? squaredError / squares : 0; }
    std::uint64_t bytes = 0, exactBytes = 0;  ///< of the file, by signs and one scale, and as it stands
    bool acts = false;                        ///< else compression leaves it as it is
    std::vector<std::string> problems;        ///< what of it cannot be used
};
std::vector<PriorOneBit> oneBitOfPriors(const compute::Bank& bank, const compute::IdSpace& ids);

struct CompressionInput {
    BankEntry entry;
    std::shared_ptr<const compute::Tokenizer> tokenizer;  ///< null: entries must be ids
    std::int64_t vocabulary = -1;
    compute::CompressOptions options{.level = 3};
    std::shared_ptr<const Trace> trace;  ///< its session has `entry` at `bank`; null: `unmeasured` says why
    std::size_t bank = 0;
    std::string unmeasured;
};
/// Bank `bank` of a session, to be measured on `trace` with the session's dials where that can be; null: there is none.
/// The tokenizer is the trace's where there is one.
CompressionInput compressionInput(const Session& session, std::size_t bank, const Trace* trace,
                                  std::shared_ptr<const compute::Tokenizer> tokenizer);
/// Whether compressionInput() with these would have the same report; nothing is copied of the trace.
bool isStillOf(const CompressionInput& input, const Session& session, std::size_t bank, const Trace* trace,
               std::shared_ptr<const compute::Tokenizer> tokenizer, const compute::CompressOptions& options);

struct MeanAndMost {
    double mean = 0, most = 0;
};
struct LevelKl {
    MeanAndMost kl, normBound, rangeBound;
};
struct CompressionLevel {
    compute::LevelReport report;
    BankPtr bank;           ///< what a file of this level holds
    double errorShare = 0;  ///< squaredError/Σ Δ² of the priors that act; NaN at levels 2 and 3
    std::optional<LevelKl> onTrace;
};
struct CompressionReport {
    std::string name;                         ///< of the bank
    std::vector<CompressionLevel> levels;     ///< [0..options.level]
    std::vector<PriorOneBit> priors;          ///< of the bank as it is
    std::int64_t positions = 0, matched = 0;  ///< of the trace; those where a prior of the bank matched
    std::string unmeasured;                   ///< why there is no KL; empty: there is
};
/// nullopt: it was stopped.
std::optional<CompressionReport> compressionReport(const CompressionInput& input,
                                                   const std::function<void(const Progress&)>& progress = {},
                                                   const std::stop_token& stop = {});

/// Mean KL against bytes, a point for each level.
PlotData levelsPlot(const CompressionReport& report);

/// What levels 2 and 3 joined, and what stays apart and why: a sentence a line, the first 500 of a level.
std::string mergesText(const CompressionReport& report);

/// The session with a level's bank in the place of bank `bank`, under `file` (as an entry writes it), without the
/// overrides, which are part of it. Its content is not written anywhere.
Session withCompressed(Session session, std::size_t bank, BankPtr level, const std::string& file);
/// "habits.level2.bank.safetensors" beside the bank's own file, with a number where there is such a file.
std::string levelFile(const Session& session, std::size_t bank, int level);

}  // namespace counterpoint::model
