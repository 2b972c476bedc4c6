#pragma once
// The table of diagnostics: one function and one row each; dock, menu, export and tests follow from the row.
// Diagnostics read a trace and can never change a decode. Thread: the trace owner's.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/figure.h"
#include "model/trace.h"

namespace counterpoint::model {

struct DiagnosticRow {
    std::string_view id;        ///< "drift", "distribution", "ledger", …
    std::string_view title;
    std::string_view dock;      ///< dock it stands in: "distribution", "trace", "ledger", "priors", "routing"
    std::string_view equation;  ///< shown on hover: "KL(p̂‖p_b)"
    std::string_view source;    ///< rule number
    PlotData (*make)(const Trace& trace, const View& view);
};

/// Why strip, plots and tables are empty before the first decode.
constexpr const char* kLoading = "The sources of the rack are being loaded.";
constexpr const char* kNothingDecoded = "Nothing decoded yet. Press Generate to decode from the prompt.";

std::span<const DiagnosticRow> diagnostics();
const DiagnosticRow& diagnostic(std::string_view id);

/// Measures a token strip can be coloured by: value per step, NaN where there is none.
struct StripMeasure {
    std::string_view id, title, unit;
    double (*value)(const compute::Step& step);
    bool categorical;           ///< who won: value is a category index (0 base, 1.. specialist, -1 several, -2 nobody)
};
std::span<const StripMeasure> stripMeasures();

/// Values that the heat map of routing can show, by View::routingMeasure.
struct RoutingMeasure {
    std::string_view id, title, unit;
};
std::span<const RoutingMeasure> routingMeasures();
/// The source whose routing is shown: the view's where it has routers, else the first that has; none has.
std::optional<std::size_t> routedSource(const Trace& trace, const View& view);

/// A token for eyes: spaces as "␣", line ends "↵", tabs "⇥", control tokens by name, bytes that are no text "<0xE2>", without a
/// tokenizer "id 310".
std::string tokenLabel(const compute::Tokenizer* tokenizer, compute::TokenId token);
/// The token whose ledger is shown: the view's, else the position's own, else the most probable; kNoToken when there is no step.
compute::TokenId shownToken(const Trace& trace, const View& view);
/// The tokens the distribution shows: topCount most probable, and the position's own and the selected one where they are not among
/// them and the step knows them.
std::vector<compute::TopToken> shownTokens(const compute::Step& step, const View& view);

/// The ledger of `token` at `position` under the trace's session and priors (R4).
struct LedgerAt {
    compute::Ledger split;
    std::vector<std::size_t> priors;   ///< [split.prior] members of trace.priors
};
LedgerAt ledgerAt(const Trace& trace, compute::Position position, compute::TokenId token);

/// The member of trace.priors that the view's prior is; nullptr where none of its name acted when the steps were composed.
const compute::PriorSet::Member* shownPrior(const Trace& trace, const View& view);
/// Why a prior does not act wherever its context matches: "it has no tokens that act"; empty: it acts.
std::string whyIdle(const compute::PriorSet::Member& prior);
/// Whether a prior matched at a step.
bool matched(const compute::Step& step, const compute::PriorSet::Member& prior);
/// What a prior adds to the score of a token where it matches: η·Δ(token)/τ, nats; 0 off its support.
double addedTo(const Trace& trace, const compute::PriorSet::Member& prior, compute::TokenId token);
/// A position with a prior and without it, by two compositions of the stored rows. Errors: as ledgerAt.
struct WithAndWithout {
    bool matches = false;            ///< without a match both are the same
    double with = 0, without = 0;    ///< drift KL(p̂‖p_b), nats
    double token = 0, tokenWithout = 0;   ///< log p̂ of the token asked for
};
WithAndWithout withAndWithout(const Trace& trace, const compute::PriorSet::Member& prior, compute::Position position,
                              compute::TokenId token);

}  // namespace counterpoint::model
