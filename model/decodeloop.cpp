#include "model/decodeloop.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "compute/composition/fusedrow.h"
#include "model/sessionerror.h"

namespace counterpoint::model {

using compute::kNoToken;
using compute::Outcome;
using compute::Position;
using compute::TokenId;

namespace {

using Clock = std::chrono::steady_clock;

/// Rows of the prompt that are computed at once: enough for a fast prefill, few enough to hold.
constexpr Position kPrefillRows = 64;

double milliseconds(Clock::duration d) { return std::chrono::duration<double, std::milli>(d).count(); }

class Decoder {
  public:
    Decoder(LoadedRack& rack, const DecodeRequest& request, const DecodeControls& controls, Lane& lane)
        : m_rack(rack), m_request(request), m_controls(controls), m_lane(lane), m_session(request.session) {}

    void run() {
        if (m_rack.require(m_session, !m_request.feedAll, m_lane, m_controls.stop) == Outcome::Cancelled) return end("user");
        start();
        const bool score = m_session.mode == Mode::Score && m_request.ids.empty();
        m_scoring = score;
        const bool resumed = m_store->end() > 0;
        const Position given = length();
        const bool lastIsForced = isForced(given - 1);
        const bool everyPosition = score || m_session.decoding.scorePrompt;
        const Position from = resumed ? (lastIsForced ? given - 1 : given) : (everyPosition ? 1 : m_promptLength);
        m_firstRow = everyPosition || m_request.everyRow ? 1 : m_promptLength;
        for (Position p = from; p < given; ++p)
            if (!publish(p, m_tokens[index(p)])) return end("user");
        if (score) return end(publish(given, kNoToken) ? "limit" : "user");
        if (lastIsForced && stops(m_tokens.back())) return endAt(m_tokens.back());
        generate();
    }

    void fail() { end("error"); }

  private:
    Position length() const { return static_cast<Position>(m_tokens.size()); }
    static std::size_t index(Position p) { return static_cast<std::size_t>(p); }
    bool isForced(Position p) const {
        return std::find(m_request.forced.begin(), m_request.forced.end(), p) != m_request.forced.end();
    }
    bool stops(TokenId id) const { return std::binary_search(m_recipe.stopIds.begin(), m_recipe.stopIds.end(), id); }

    void start() {
        const auto tokenizer = m_rack.tokenizer();
        m_tokens = m_request.ids.empty() ? tokensToBegin(tokenizer.get()) : m_request.ids;
        requireStopIds(m_session, m_rack.vocabulary());
        m_promptLength = m_request.promptLength < 0 ? length() : std::min(m_request.promptLength, length());
        m_rack.prepare(m_session, m_request.feedAll);
        m_limit = m_rack.maxPositions(m_session);
        m_rack.requireRoom(m_session, length());
        m_store = m_request.store ? m_request.store : std::make_shared<LogitStore>(m_rack.vocabulary(), m_session.sourceCount());
        m_recipe = toRecipe(m_session, m_rack.statedStopIds(m_session), m_revision);
        m_maxNewTokens = m_session.decoding.maxNewTokens;
        for (std::size_t i = 0; i < m_tokens.size(); ++i) {
            m_bytes.push_back(standingBytes(tokenizer.get(), m_tokens, i));
            m_text.push(m_tokens[i], m_bytes.back());
        }
        m_priors = m_rack.priors(m_session, nullptr);
        m_lane.push(TraceStarted{m_request.trace, m_tokens, m_bytes, m_promptLength, m_session.sourceNames(), m_store,
                                 tokenizer, m_rack.statedStopIds(m_session), m_session.decoding.seed, m_priors,
                                 m_rack.routers()});
    }

    /// SPEC.md 2: scoring goes over the prompt, or over a recording's own tokens.
    std::vector<TokenId> tokensToBegin(const compute::Tokenizer* tokenizer) const {
        if (m_session.mode == Mode::Score && !m_session.promptIds)
            if (std::vector<TokenId> recorded = m_rack.recordedTokens(m_session); !recorded.empty()) return recorded;
        return promptTokens(m_session, tokenizer, m_rack.vocabulary());
    }

    /// Dials that act on stored rows; the rack itself (paths, prefixes, temperatures) stays as the trace began.
    void takeRecipe() {
        const auto latest = m_controls.takeRecipe();
        if (!latest) return;
        const auto aligned = alignedTo(*latest, m_session.sourceNames());
        if (!aligned) return;
        const auto stated = m_rack.statedStopIds(*aligned);
        m_priors = m_rack.priors(*aligned, m_priors.get());
        m_recipe = toRecipe(*aligned, stated, ++m_revision);
        m_maxNewTokens = aligned->decoding.maxNewTokens;
    }

    /// The store holds the row about p. Reads up to kPrefillRows known tokens at once.
    Outcome need(Position p) {
        while (m_store->end() <= p) {
            const Position first = m_store->end() > 0 ? m_store->end() : m_firstRow;
            const Position last = std::min(length(), first + kPrefillRows - 1);
            std::vector<compute::RawRows> rows;
            if (last > p) m_lane.push(Progress{"Reading the prompt", static_cast<double>(first) / static_cast<double>(length()), {}});
            if (m_rack.forward(std::span(m_tokens).first(index(last)), first, rows, m_controls.stop) == Outcome::Cancelled)
                return Outcome::Cancelled;
            for (const compute::RawRows& row : rows) m_store->append(row);
        }
        return Outcome::Done;
    }

    /// One step about p; `token` is what stands there, nullopt: the draw. False: cancelled, nothing was published.
    bool publish(Position p, std::optional<TokenId> token) {
        m_controls.waitWhilePaused();
        if (m_controls.stop.stop_requested()) return false;
        takeRecipe();
        const auto begin = Clock::now();
        if (need(p) == Outcome::Cancelled) return false;
        const auto forwarded = Clock::now();
        m_priorsAt.look(m_priors.get(), m_text, p);
        auto step = std::make_shared<compute::Step>(stepFor(m_recipe, m_priors.get(), m_priorsAt, m_store->rows(p), m_stages, token));
        step->prompt = p < m_promptLength;
        step->forced = isForced(p);
        if (!token) {
            m_tokens.push_back(step->token);
            m_bytes.push_back(standingBytes(m_rack.tokenizer().get(), m_tokens, index(p)));
        }
        if (!token) m_text.push(m_tokens.back(), m_bytes.back());
        if (step->token != kNoToken) step->bytes = m_bytes[index(p)];
        step->routing = m_store->routing(p);
        step->revision = m_recipe.revision;
        step->forwardMs = milliseconds(forwarded - begin);
        step->composeMs = milliseconds(Clock::now() - forwarded);
        if (!token || m_scoring) {
            m_newTokens += 1;
            m_decodeMs += step->forwardMs + step->composeMs;
            if (m_newTokens == 1) m_firstMs = m_decodeMs;
        }
        m_lane.push(StepDone{m_request.trace, std::move(step)});
        return true;
    }

    void generate() {
        for (;;) {
            takeRecipe();
            if (m_newTokens >= (m_request.maxNewTokens >= 0 ? m_request.maxNewTokens : m_maxNewTokens)) return finish("limit");
            if (m_limit > 0 && length() >= m_limit) {
                if (goesOn() && !m_rack.recordedTokens(m_session).empty()) refuseToGoOn();
                return finish("context");
            }
            if (!publish(length(), std::nullopt)) return end("user");
            if (stops(m_tokens.back())) return endAt(m_tokens.back());
        }
    }

    /// A trace that is there already was asked for more, and nothing more has come.
    bool goesOn() const { return !m_request.ids.empty() && m_newTokens == 0; }
    [[noreturn]] static void refuseToGoOn() {
        throw compute::Error({.where = "the recording",
                              .what = "it ends here, and a recording cannot go on",
                              .expected = {},
                              .found = {},
                              .advice = "open the model itself to decode more",
                              .details = {}});
    }

    void endAt(TokenId id) {
        m_stopId = id;
        finish("eos");
    }
    void finish(const std::string& reason) {
        if (m_request.everyRow && need(length()) == Outcome::Cancelled) return end("user");
        end(reason);
    }
    void end(const std::string& reason) {
        // A first step brings the prompt and what starts up with it. Scoring is made of such steps.
        const bool apart = !m_scoring && m_newTokens > 1;
        const double milliseconds = apart ? m_decodeMs - m_firstMs : m_decodeMs;
        const auto steps = static_cast<double>(apart ? m_newTokens - 1 : m_newTokens);
        const double rate = milliseconds > 0 ? 1000.0 * steps / milliseconds : 0.0;
        m_lane.push(TraceEnded{m_request.trace, reason, m_stopId, rate});
    }

    LoadedRack& m_rack;
    const DecodeRequest& m_request;
    const DecodeControls& m_controls;
    Lane& m_lane;
    const Session& m_session;
    std::vector<TokenId> m_tokens;
    std::vector<std::string> m_bytes;
    Position m_promptLength = 0, m_firstRow = 1, m_limit = 0;
    std::shared_ptr<LogitStore> m_store;
    PriorSetPtr m_priors;
    compute::ContextText m_text;
    PriorsAt m_priorsAt;
    compute::Recipe m_recipe;
    compute::Stages<float> m_stages;
    std::uint64_t m_revision = 1;
    bool m_scoring = false;
    std::int64_t m_newTokens = 0;  ///< drawn; in score mode the positions scored
    std::int64_t m_maxNewTokens = 0;
    double m_decodeMs = 0, m_firstMs = 0;  ///< of those; of the first of them
    TokenId m_stopId = kNoToken;
};

}  // namespace

compute::Step stepFor(const compute::Recipe& recipe, const compute::PriorSet* set, const PriorsAt& priors,
                      const compute::SourceRows<float>& rows,
                      compute::Stages<float>& stages, std::optional<TokenId> token, int threads) {
    compute::Step step = compute::makeStep(recipe, priors.terms, rows, stages, threads);
    for (const std::size_t i : priors.bounded) {
        const compute::PriorSet::Member& member = set->members()[i];
        step.boundedPriors.push_back({member.bank, member.prior->name});
    }
    step.position = rows.position;
    step.token = token.value_or(step.drawn);
    step.logProbs.assign(rows.rows.size(), compute::kExcluded);
    step.composedLogProb = step.logProb = compute::kExcluded;
    if (step.token == kNoToken) return step;
    const auto v = static_cast<std::size_t>(step.token);
    for (std::size_t i = 0; i < rows.rows.size(); ++i)
        if (!rows.rows[i].empty()) step.logProbs[i] = rows.rows[i][v];
    step.composedLogProb = stages.composed[v];
    step.logProb = stages.temperature[v];
    return step;
}

void decodeTrace(LoadedRack& rack, const DecodeRequest& request, const DecodeControls& controls, Lane& lane) {
    Decoder decoder(rack, request, controls, lane);
    try {
        namingTheSession(request.session, [&] { decoder.run(); });
    } catch (...) {
        decoder.fail();
        throw;
    }
}

}  // namespace counterpoint::model
