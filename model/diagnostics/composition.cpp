// Diagnostics of one position: the distribution (R2) and the ledger of one token (R4).
#include <algorithm>
#include <cmath>

#include "compute/composition/compose.h"
#include "compute/error.h"
#include "compute/printable.h"
#include "compute/text/tokenlabel.h"
#include "model/banks.h"
#include "model/diagnostics/families.h"
#include "model/shownnumber.h"

namespace counterpoint::model {
namespace {

using compute::kNoToken;
using compute::Ledger;
using compute::Step;
using compute::TokenId;
using compute::TopToken;

constexpr const char* kNoStep =
    "There is no step at the cursor. Click a token of the text to look at its distribution.";

const TopToken* find(const std::vector<TopToken>& tokens, TokenId id) {
    const auto it = std::find_if(tokens.begin(), tokens.end(), [id](const TopToken& t) { return t.token == id; });
    return it == tokens.end() ? nullptr : &*it;
}

/// Within a sentence a token "," must not be taken for its comma.
std::string quoted(const std::string& label) {
    return std::string("'").append(compute::printable(label)).append(1, '\'');
}

std::string sourceName(const Trace& trace, std::size_t i) {
    return i < trace.sources.size() ? trace.sources[i] : "source " + std::to_string(i);
}

void term(Series& s, Axis& axis, std::string name, double value, double& running, int colour) {
    s.x.push_back(static_cast<double>(s.x.size()));
    s.y.push_back(value);
    s.low.push_back(running);
    running += value;
    s.high.push_back(running);
    s.pointColours.push_back(colour);
    axis.categories.push_back(std::move(name));
}

/// The priors that say something of the token; where they are many, the largest by name and the rest together.
void addPriorTerms(const Trace& trace, const LedgerAt& at, Series& s, Axis& axis, double& running) {
    constexpr std::size_t kNamed = 6;
    std::vector<std::size_t> say;
    for (std::size_t i = 0; i < at.split.prior.size(); ++i)
        if (at.split.prior[i] != 0) say.push_back(i);
    std::vector<std::size_t> largest = say;
    std::stable_sort(largest.begin(), largest.end(),
                     [&](std::size_t a, std::size_t b) { return std::abs(at.split.prior[a]) > std::abs(at.split.prior[b]); });
    if (largest.size() > kNamed + 1) largest.resize(kNamed);
    double rest = 0;
    for (const std::size_t i : say) {
        if (std::find(largest.begin(), largest.end(), i) == largest.end())
            rest += at.split.prior[i];
        else
            term(s, axis, trace.priors->members()[at.priors[i]].prior->name, at.split.prior[i], running, -1);
    }
    if (say.size() > largest.size())
        term(s, axis, std::to_string(say.size() - largest.size()) + " more priors", rest, running, -1);
}

}  // namespace

std::string tokenLabel(const compute::Tokenizer* tokenizer, TokenId token) {
    if (token == kNoToken) return "–";
    return tokenizer == nullptr ? "id " + std::to_string(token) : compute::tokenLabel(*tokenizer, token);
}

TokenId shownToken(const Trace& trace, const View& view) {
    const Step* step = trace.at(view.cursor);
    if (step == nullptr) return kNoToken;
    if (view.token != kNoToken) return view.token;
    if (step->token != kNoToken) return step->token;
    return step->top.empty() ? kNoToken : step->top.front().token;
}

std::vector<TopToken> shownTokens(const Step& step, const View& view) {
    const std::size_t count = std::min(step.top.size(), static_cast<std::size_t>(std::max(1, view.topCount)));
    std::vector<TopToken> tokens(step.top.begin(), step.top.begin() + static_cast<std::ptrdiff_t>(count));
    for (const TokenId id : {step.token, view.token}) {
        if (id == kNoToken || find(tokens, id) != nullptr) continue;
        if (const TopToken* known = find(step.top, id)) {
            tokens.push_back(*known);
        } else if (id == step.token) {
            TopToken own;
            own.token = id;
            own.kept = static_cast<std::size_t>(step.keptCount) > step.top.size();
            own.source = step.logProbs;
            own.composed = step.composedLogProb;
            own.priors = step.composedLogProb;
            own.temperature = step.logProb;
            tokens.push_back(std::move(own));
        }
    }
    std::stable_sort(tokens.begin() + static_cast<std::ptrdiff_t>(count), tokens.end(),
                     [](const TopToken& a, const TopToken& b) { return a.temperature > b.temperature; });
    return tokens;
}

LedgerAt ledgerAt(const Trace& trace, compute::Position position, TokenId token) {
    const compute::Recipe recipe = toRecipe(trace.session, trace.stopIds, 0);
    const compute::SourceRows<float> rows = families::storedRows(trace, position);
    compute::Stages<float> stages;
    PriorsAt priors;
    priors.look(trace.priors.get(), contextOf(trace), position);
    compute::compose<float>(recipe, priors.terms, rows, stages);
    return {compute::ledger<float>(recipe, priors.terms, rows, stages, token), std::move(priors.matching)};
}

namespace families {

compute::SourceRows<float> storedRows(const Trace& trace, compute::Position position) {
    if (trace.store == nullptr || position < trace.store->first() || position >= trace.store->end())
        throw compute::Error({.where = "position " + std::to_string(position),
                              .what = "no log-probabilities are stored there",
                              .expected = {},
                              .found = {},
                              .advice = "decode the trace again",
                              .details = {}});
    return trace.store->rows(position);
}

PlotData distribution(const Trace& trace, const View& view) {
    PlotData plot;
    plot.x.title = "Token";
    plot.y.title = "Probability";
    plot.y.logarithmic = view.logScale;
    const Step* step = trace.at(view.cursor);
    if (step == nullptr) {
        plot.empty = trace.steps.empty() ? kNothingDecoded : kNoStep;
        return plot;
    }
    const std::vector<TopToken> tokens = shownTokens(*step, view);
    const std::size_t sources = trace.sources.size();
    for (std::size_t i = 0; i <= sources; ++i) {
        const bool composed = i == sources;
        Series s;
        s.name = composed ? "composed" : trace.sources[i];
        s.kind = SeriesKind::Bars;
        s.colour = composed ? -2 : static_cast<int>(i);
        double shown = 0;
        bool hasSay = composed;
        for (const TopToken& t : tokens) {
            hasSay = hasSay || i < t.source.size();
            const double logP = composed ? t.temperature : i < t.source.size() ? t.source[i] : compute::kExcluded;
            s.x.push_back(static_cast<double>(s.x.size()));
            s.y.push_back(std::exp(logP));
            s.grey.push_back(!t.kept);
            shown += s.y.back();
        }
        if (!hasSay) continue;  // a source that was not fed gave no row
        s.x.push_back(static_cast<double>(s.x.size()));
        s.y.push_back(std::max(0.0, 1.0 - shown));
        s.grey.push_back(static_cast<std::size_t>(step->keptCount) <= tokens.size());
        plot.series.push_back(std::move(s));
    }
    const TokenId selected = shownToken(trace, view);
    for (std::size_t k = 0; k < tokens.size(); ++k) {
        plot.x.categories.push_back(tokenLabel(trace.tokenizer.get(), tokens[k].token));
        if (tokens[k].token == selected) plot.cursorX = static_cast<double>(k);
    }
    plot.x.categories.push_back("others");
    plot.note = "Position " + std::to_string(step->position);
    if (step->token != kNoToken)
        plot.note += (step->prompt   ? ": given "
                      : step->forced ? ": chosen by hand "
                                     : ": drawn ") +
                     quoted(tokenLabel(trace.tokenizer.get(), step->token)) +
                     ", p = " + shownCell(std::exp(static_cast<double>(step->logProb)));
    plot.note += "; " + std::to_string(step->keptCount) + (step->keptCount == 1 ? " token" : " tokens") + " kept";
    return plot;
}

PlotData ledger(const Trace& trace, const View& view) {
    PlotData plot;
    plot.x.title = "Term";
    plot.y.title = "Share of log p (nats)";
    if (trace.at(view.cursor) == nullptr) {
        plot.empty = trace.steps.empty() ? kNothingDecoded : kNoStep;
        return plot;
    }
    const TokenId token = shownToken(trace, view);
    if (token == kNoToken) {
        plot.empty = "Select a token of the distribution to see what moved it.";
        return plot;
    }
    const std::string label = tokenLabel(trace.tokenizer.get(), token);
    LedgerAt at;
    try {
        at = ledgerAt(trace, view.cursor, token);
    } catch (const compute::Error& error) {
        plot.empty = error.sentence();
        return plot;
    }
    const Ledger& split = at.split;
    if (!split.excludedBy.empty()) {
        plot.empty = quoted(label) + " is excluded by " + split.excludedBy + ": its probability is 0 and has no split.";
        return plot;
    }
    // After the last token nothing was chosen: the split is of the most probable one, and is not called by its name.
    const bool chosen = token == view.token || trace.at(view.cursor)->token != kNoToken;
    Series s;
    s.name = chosen ? "log p(" + label + ")" : "log p (likeliest)";
    s.kind = SeriesKind::Waterfall;
    s.colour = -2;
    double running = 0;
    // A sum of probabilities has no split by source in log p: it is one term.
    const bool mixture = trace.session.rule == compute::Rule::Mixture;
    term(s, plot.x, mixture ? "mixture" : sourceName(trace, 0), split.base, running, mixture ? -1 : 0);
    for (std::size_t i = 0; !mixture && i < split.source.size(); ++i)
        term(s, plot.x, sourceName(trace, i + 1), split.source[i], running, static_cast<int>(i) + 1);
    addPriorTerms(trace, at, s, plot.x, running);
    if (split.shift != 0) term(s, plot.x, "shared shift", split.shift, running, -1);
    if (split.eos != 0) term(s, plot.x, "end of text", split.eos, running, -1);
    if (split.clamp != 0) term(s, plot.x, "clamp", split.clamp, running, -1);
    term(s, plot.x, "−log Z", 0.0 - split.logNormaliser, running, -1);
    running = 0;
    term(s, plot.x, "total", split.total, running, -2);
    plot.series.push_back(std::move(s));
    plot.note = (chosen ? quoted(label) : "likeliest") + ": log p = " + shownCell(split.total) +
                ", p = " + shownCell(std::exp(split.total));
    return plot;
}

}  // namespace families
}  // namespace counterpoint::model
