#pragma once
// A prior from two sets of texts, preferred and not: what is read, how it is split, what a person proposes from it and
// the prior that comes of it (compute/priors/examples.h has the mathematics, examplequality.h the quality).
//   a set       text files (one text each), a folder of .txt, .md, .text, .jsonl and .ndjson, JSON lines
//               {"text", "preferred": true|false, "weight"?}, where a set's file may leave "preferred" out; or traces
//   the split   every k-th different text of a side, from the (seed mod k)-th on, is held out; the same text is never
//   on both
//               sides of the split
// A text's own ids count; what stands before them (BOS, a trace's prompt) is context only.
// Bounds: kMostTextBytes a file, kMostTexts texts, the first kMostIds ids of a text. Errors: Error where a file cannot
// be read; what is wrong with one text is a sentence of `problems`, and the others are used. Thread: any (values).

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "compute/priors/examples.h"
#include "model/trace.h"

namespace counterpoint::model {

constexpr std::uint64_t kMostTextBytes = 16u << 20;
constexpr std::size_t kMostTexts = 10'000, kMostIds = 100'000;

struct ExampleText {
    std::string text;                      ///< empty where the ids are given
    std::string from;                      ///< "good.jsonl, line 3", "trace 1.2"
    std::vector<compute::TokenId> before;  ///< context only
    compute::Example example;              ///< its ids, side and weight
};
struct ExamplesRead {
    std::vector<ExampleText> texts;     ///< not tokenised yet
    std::vector<std::string> problems;  ///< the first 20, then how many more
};
/// `preferred`: the side of what does not say it itself; nullopt: every text must. Error also where a folder has no
/// such file.
ExamplesRead readExamples(const std::filesystem::path& path, std::optional<bool> preferred,
                          const std::stop_token& stop = {});
/// What a trace generated, after its prompt; nothing generated: no ids.
ExampleText exampleOf(const Trace& trace, bool preferred);
/// Gives the texts that have none their ids, and what the session puts before a text. Those without any are left out,
/// and told.
/// `meanwhile` is called before each text.
void tokenise(ExamplesRead& read, const Session& session, const compute::Tokenizer& tokenizer,
              const std::stop_token& stop = {}, const std::function<void()>& meanwhile = {});

struct ExampleSplit {
    std::vector<std::size_t> training, heldOut;  ///< places in the texts, ascending
    std::string problem;                         ///< why quality cannot be estimated; then everything is training
};
ExampleSplit splitExamples(std::span<const ExampleText> texts, std::size_t every, std::uint64_t seed);

/// Of the training texts alone. Error where a side has no token.
std::vector<compute::Candidate> proposeFrom(std::span<const ExampleText> texts, std::span<const std::size_t> training);

struct ExamplePrior {
    std::string name = {}, kind = {}, task = {};
    bool explicitDelta = true;  ///< Δ = the log-odds, which the Dirichlet prior shrinks; else c·δ₊, −c·δ₋
    double deltaPlus = 1, deltaMinus = 1;
    compute::Context when = {};
    std::string source = {};  ///< provenance
};
/// c of the chosen tokens from the training texts (compute/priors/examples.h); buildPrior gives it to the prior.
double confidenceFrom(std::span<const compute::Candidate> chosen, std::span<const ExampleText> texts,
                      std::span<const std::size_t> training);
/// Ids under "exact id", c from the training texts; quality 0.5, which an estimate replaces. Error: no name, or no
/// token chosen.
compute::Prior buildPrior(std::span<const compute::Candidate> chosen, std::span<const ExampleText> texts,
                          std::span<const std::size_t> training, const ExamplePrior& options);
/// The prior at the end of a bank, whose ids are of this tokenizer (bankids.h). Error where the bank was not read or is
/// another tokenizer's.
Session withExamplePrior(Session session, std::size_t bank, compute::Prior prior, const compute::Tokenizer& tokenizer);

}  // namespace counterpoint::model
