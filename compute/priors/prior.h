#pragma once
// R8: a sparse factor on tokens. log φ(v) = Δ(v) where the context matches and v is in the support, else 0.
//   Δ(v) = c·δ₊ for promoted tokens, −c·δ₋ for demoted ones; explicit `delta` values are final
//   η = log(q/(1−q)) clamped to [0, log(0.99/0.01)]; q < 0.5 switches off; an overridden η is exempt from the cap
// A Prior is what a person wrote; a Factor is what it became with one tokenizer. What cannot be used is a sentence in
// `problems`: the entry (or the prior, where `unusable`) does not act, the rest does, and what was written stays.
// Shapes: a support of n tokens, sorted, unique, zeros left out. Units: nats. Source: seeds 000/001, SPEC.md R8.
// Thread: any (values; a Prior is shared as const). Errors: none; see `problems`.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compute/export.h"
#include "compute/files/json.h"
#include "compute/step.h"
#include "compute/text/tokenizer.h"

namespace counterpoint::compute {

/// How a text becomes one token: the token (or first token) whose bytes in the middle of a text are the entry's, with a
/// blank before them (that of the entry, where it has one) or not. So "without a leading space" gives the bare piece
/// and "with" the one that carries the blank, whether the tokenizer puts a blank of its own before a text
/// (SentencePiece: encode("cat") is "▁cat") or not. The names in a file: policyName().
enum class Policy { ExactId, SingleToken, SingleTokenSpace, FirstToken, FirstTokenSpace };
COUNTERPOINT_API std::string_view policyName(Policy policy);  ///< "exact id", "single token with a leading space", …
/// nullopt: no policy. "without a leading space" is the plain form; the "a" may be missing; an id has no space.
COUNTERPOINT_API std::optional<Policy> policyOf(std::string_view name);

/// A promoted or demoted entry: a text, or an id.
struct PriorEntry {
    std::string text;
    TokenId id = kNoToken;  ///< kNoToken: `text` says it
    bool operator==(const PriorEntry&) const = default;
};

enum class ContextKind { Always, Regex, Tokens, CodeBlock, Feature };

/// R8 `when`: on the text and tokens before the position (context.h).
struct Context {
    ContextKind kind = ContextKind::Always;
    std::string pattern;  ///< Regex: found in the last `chars` code points
    std::int64_t chars = 200;
    std::vector<TokenId> ids;  ///< Tokens: the sequence ends with them
    std::string language;      ///< CodeBlock: of the fence; empty: any
    std::string name;          ///< Feature: inside this feature of the bank
    OrderedJson unknown = OrderedJson::object();
    bool operator==(const Context&) const = default;
};
/// One line for eyes: "always", "after /…/", "inside `python` code".
COUNTERPOINT_API std::string describe(const Context& context);

struct Prior {
    std::string name, kind, task;
    double quality = 0.5, confidence = 1;  ///< q, c
    std::vector<PriorEntry> promote, demote;
    double deltaPlus = 1, deltaMinus = 1;           ///< δ₊, δ₋
    std::vector<std::pair<TokenId, double>> delta;  ///< final values, in the order of the file
    Policy policy = Policy::SingleToken;
    Context when;
    std::optional<double> eta;
    bool enabled = true;
    std::string source;
    std::vector<std::string> merged;  ///< names of what level 2 or 3 joined into it (R10)
    OrderedJson unknown = OrderedJson::object();

    /// What its file says though it says nothing: keys at their default (a bit each, priorjson.cpp; all of them where
    /// there is no file) and a name that is only its place. Its JSON file is written again as it was; no part of its
    /// value.
    std::uint32_t stated = ~std::uint32_t{0};
    bool unnamed = false;

    bool unusable = false;  ///< it does not act; `written` is what stands in the file and is saved again
    OrderedJson written;
    std::vector<std::string> problems;  ///< sentences of reading it
};
/// By value; a NaN equals a NaN.
COUNTERPOINT_API bool operator==(const Prior& a, const Prior& b);

struct Eta {
    double raw = 0;           ///< log(q/(1−q)), ±inf at 0 and 1
    double eta = 0;           ///< what acts, before the bank's weight
    bool off = false;         ///< q < 0.5 and nothing overrides it
    bool capped = false;      ///< the cap bites
    bool overridden = false;  ///< `eta` of the prior or of `override`
};
constexpr double kMostQuality = 0.99, kEtaCap = 4.59511985013459;  ///< log(0.99/0.01)
/// `override`: a session's; it goes before the prior's own `eta`.
COUNTERPOINT_API Eta etaOf(const Prior& prior, std::optional<double> override = std::nullopt);

/// What a bank or a session may state as η, in size, and how an entry beyond it is refused. With |Δ| up to kMostDelta
/// and any number of priors the sum stays far from what a number holds.
constexpr double kMostEta = 1e6;
constexpr const char* kEtaExpected = "a number from -1000000 to 1000000, or null";

/// |Δ| above it does not act: with any weight it stays a float32.
constexpr double kMostDelta = 1e30;

/// What one entry became. It acts where `problem` is empty.
struct Became {
    std::string entry;         ///< as written
    TokenId token = kNoToken;  ///< kNoToken: nothing
    double delta = 0;          ///< Δ, nats; 0: it does not act
    std::string problem;       ///< a sentence: it became no token, or the token has its Δ from elsewhere or none
};

struct Factor {
    std::vector<TokenId> tokens;        ///< the support, sorted
    std::vector<double> delta;          ///< Δ of each, never 0
    std::vector<Became> entries;        ///< promote, demote, delta in the order of the file
    std::vector<std::string> problems;  ///< of the entries (20, then how many more); beside Prior::problems
    bool neverMatches = false;          ///< the context asks for ids that no text can have: told among the problems
};

/// What an entry may become.
struct IdSpace {
    const Tokenizer* tokenizer = nullptr;  ///< null: entries must be ids
    std::int64_t size = -1;                ///< ids are below it; −1: unknown (a bank without a session)
    bool foreignIds = false;  ///< the bank was made for another tokenizer: ids mean other tokens, texts are read anew
};
/// An unusable prior gives nothing. An id twice counts once; promoted and demoted it does neither; an explicit `delta`
/// of it is final.
COUNTERPOINT_API Factor resolve(const Prior& prior, const IdSpace& ids);

}  // namespace counterpoint::compute
