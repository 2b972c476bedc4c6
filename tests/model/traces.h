#pragma once
// Small traces whose numbers are written here, as the diagnostics read them: three sources, positions 1..4; the same with
// rows that are stored, and with a prior that matched.

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "compute/composition/compose.h"
#include "model/banks.h"
#include "model/diagnostics.h"
#include "tests/model/scripted.h"

namespace counterpoint::tests {

using model::BankEntry;
using model::LogitStore;
using model::Trace;
using model::View;

/// Bytes as given, nothing else.
class Pieces : public ByteTokenizer {
  public:
    explicit Pieces(std::vector<std::string> pieces) : ByteTokenizer(static_cast<std::int64_t>(pieces.size())), m_pieces(std::move(pieces)) {}
    std::string_view bytes(TokenId id) const override { return m_pieces[static_cast<std::size_t>(id)]; }
    bool isToken(TokenId id) const override { return id >= 0 && id < static_cast<TokenId>(m_pieces.size()); }

  private:
    std::vector<std::string> m_pieces;
};

/// Three sources, positions 1..4: every number is another one; the last row is about no token.
inline Trace smallTrace() {
    Trace trace;
    trace.sources = {"base", "math", "poetry"};
    trace.session = sessionOf({"model", "math", "poetry"});
    trace.tokenizer = std::make_shared<Pieces>(std::vector<std::string>{"", "", "", " dog", "\n", "x"});
    trace.tokens = {1, 3, 4, 5};
    trace.tokenBytes = {"", " dog", "\n", "x"};
    trace.promptLength = 2;
    for (int p = 1; p <= 4; ++p) {
        auto step = std::make_shared<compute::Step>();
        const double x = 0.01 * p;
        step->position = p;
        step->prompt = p < 2;
        step->token = p < 4 ? trace.tokens[static_cast<std::size_t>(p)] : compute::kNoToken;
        step->logProb = -1.5f * static_cast<float>(p);
        compute::Diagnostics& d = step->diagnostics;
        d.drift = 0.5 + x;
        d.driftComposed = 0.6 + x;
        d.driftDrawn = 0.7 + x;
        d.klFromBase = 0.8 + x;
        d.js = 0.3 + x;
        d.tv = 0.2 + x;
        d.entropy = 2 + x;
        d.interference = -0.4 + x;
        d.activity = {0, p == 2 ? 0.05 : 0.2 + x, 0.15 + x};
        d.eos = {0.11 + x, 0.22 + x, 0.33 + x};
        d.eosComposed = 0.44 + x;
        trace.steps.push_back(step);
    }
    trace.flip = 3;
    return trace;
}

/// One row of stored log-probabilities per source about position 1, under weights 1.2 and −0.8, a clamp and a shared shift.
inline Trace storedTrace() {
    Trace trace = smallTrace();
    trace.session.specialists[0].weight = 1.2;
    trace.session.specialists[1].weight = -0.8;
    trace.session.decoding.floor = 0.5;
    trace.session.decoding.temperature = 0.6;
    trace.session.decoding.stopIds = {{2}};
    trace.session.decoding.eosPolicy = compute::EosPolicy::Mean;
    trace.store = std::make_shared<LogitStore>(6, 3);
    compute::RawRows rows{1, {}};
    for (const std::vector<float>& logits : {std::vector<float>{1, .5f, 0, -.5f, -1.5f, .2f}, {0, 1.5f, 1.2f, -1.5f, -3.5f, 1.4f},
                                             {-.5f, -.3f, 1.8f, .9f, -3, -.6f}}) {
        rows.rows.emplace_back(6);
        compute::logSoftmax(logits, 1, rows.rows.back(), "row", 1);
    }
    trace.store->append(rows);
    return trace;
}

/// The same with a prior of η = log 3 that promotes " dog" by 2; it matched at positions 1 and 3.
inline Trace priorTrace() {
    Trace trace = storedTrace();
    auto prior = std::make_shared<compute::Prior>();
    prior->name = "nudge";
    prior->quality = 0.75;
    prior->delta = {{3, 2.0}};
    auto bank = std::make_shared<compute::Bank>();
    bank->priors.push_back(prior);
    BankEntry entry;
    entry.bank = "b.bank.json";
    entry.content = bank;
    trace.session.priors.push_back(entry);
    trace.priors = model::priorSetOf(trace.session, trace.tokenizer.get(), 6);
    for (const std::size_t i : {0, 2}) {
        auto step = std::make_shared<compute::Step>(*trace.steps[i]);
        step->matchedPriors = {{0, "nudge"}};
        trace.steps[i] = step;
    }
    return trace;
}

inline View nudged(compute::Position cursor) {
    View view;
    view.cursor = cursor;
    view.priorBank = 0;
    view.prior = "nudge";
    return view;
}

inline View at(compute::Position cursor) {
    View view;
    view.cursor = cursor;
    return view;
}

inline bool same(const std::vector<double>& a, const std::vector<double>& b) {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i)
        if (!(std::isnan(a[i]) ? std::isnan(b[i]) : a[i] == b[i] || std::abs(a[i] - b[i]) < 1e-12)) return false;
    return true;
}

}  // namespace counterpoint::tests
