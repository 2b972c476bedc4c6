#include "model/examplequality.h"

#include <algorithm>

namespace counterpoint::model {

using compute::Position;

namespace {

constexpr std::chrono::milliseconds kLook{100};  // nothing is said of a call that does not return
constexpr std::chrono::milliseconds kPass{5};

/// The base alone, over given ids.
Session baseOf(const Session& session) {
    Session base = session;
    base.specialists.clear();
    base.priors.clear();
    base.rule = compute::Rule::Product;
    base.mode = Mode::Score;
    base.decoding.scorePrompt = true;
    base.decoding.plausibility.reset();
    base.decoding.klBudget.reset();
    return base;
}

/// Scores one text after the other with one open base.
class Scorer {
  public:
    Scorer(const Session& session, const RunOptions& options)
        : m_session(baseOf(session)), m_options(options), m_engine(options.opener, options.patience) {
        compute::OpenOptions open;
        open.device = options.device.empty() ? "cpu" : options.device;
        open.dtype = options.dtype;
        open.threads = options.threads;
        open.cache = options.cache;
        m_engine.load({m_session, std::move(open), true});
    }
    /// False: stopped before the base was open.
    bool open() {
        const std::stop_callback onStop(m_options.stop, [this] { m_engine.stop(); });
        wait([this] { return m_loaded || m_idle; });
        return m_loaded && !m_options.stop.stop_requested();
    }
    /// False: stopped, and the trace may be cut short.
    bool score(std::vector<compute::TokenId> ids) {
        m_started.reset();
        m_ended.reset();
        DecodeRequest request;
        request.session = m_session;
        request.session.promptIds = std::move(ids);
        request.feedAll = false;
        const std::stop_callback onStop(m_options.stop, [this] { m_engine.stop(); });
        m_engine.decode(std::move(request));
        if (m_options.stop.stop_requested()) m_engine.stop();
        // A failure is told after the end that it makes.
        wait([this] { return m_ended && *m_ended != "error"; });
        return m_started && *m_ended != "user";
    }
    const TraceStarted& trace() const { return *m_started; }
    /// 0: as long as one likes.
    Position maxPositions() const { return m_maxPositions; }

  private:
    template <class Done>
    void wait(const Done& done) {
        while (!done()) {
            m_engine.waitForEvents(m_options.meanwhile ? kPass : kLook);
            if (m_options.meanwhile) m_options.meanwhile();
            if (m_engine.stuck()) m_engine.restart();  // it goes on with the end of what is left behind
            for (const Event& event : m_engine.drain()) read(event);
            if (m_failure) raise(*m_failure, m_session);
        }
    }
    void read(const Event& event) {
        if (const auto* loaded = std::get_if<SourceLoaded>(&event)) m_maxPositions = loaded->info.maxPositions;
        m_loaded = m_loaded || std::holds_alternative<Loaded>(event);
        if (const auto* idle = std::get_if<Idle>(&event)) m_idle = m_idle || idle->decode;
        if (const auto* failure = std::get_if<Failure>(&event)) m_failure = *failure;
        if (const auto* started = std::get_if<TraceStarted>(&event)) m_started = *started;
        if (const auto* ended = std::get_if<TraceEnded>(&event)) m_ended = ended->stop;
        if (const auto* progress = std::get_if<Progress>(&event);
            progress != nullptr && !m_loaded && m_options.progress)
            m_options.progress(*progress);
    }

    const Session m_session;
    const RunOptions& m_options;
    Engine m_engine;
    std::optional<TraceStarted> m_started;
    std::optional<Failure> m_failure;
    std::optional<std::string> m_ended;  ///< TraceEnded::stop
    Position m_maxPositions = 0;
    bool m_loaded = false, m_idle = false;
};

/// What there is to see of one text.
void count(QualityEstimate& estimate, const TraceStarted& trace, Position from, bool preferred,
           const compute::PriorSet& priors) {
    compute::ContextText context;
    PriorsAt at;
    QualityEstimate::Set& set = preferred ? estimate.preferred : estimate.other;
    const auto add = [](QualityEstimate::Count& count, bool right) {
        ++count.seen;
        count.right += right;
    };
    for (std::size_t i = 0; i < trace.tokens.size(); ++i) {
        const auto p = static_cast<Position>(i);
        const compute::TokenId token = trace.tokens[i];
        if (p >= std::max<Position>(from, 1)) {
            ++set.positions;
            at.look(&priors, context, p);
            for (const compute::PriorTerm& term : at.terms) {  // of the one prior
                const double moved = compute::movedBy(term, trace.store->row(p, 0), token);
                if (std::abs(moved) <= kLeastMove) continue;
                const bool right = (moved > 0) == preferred;
                add(estimate.everywhere, right);
                if (std::ranges::binary_search(term.tokens, token)) add(set.support, right);
            }
        }
        context.push(token, trace.tokenBytes[i]);
    }
}

/// q of what was counted.
void rate(QualityEstimate& estimate) {
    const std::int64_t least = std::min(estimate.preferred.positions, estimate.other.positions);
    double right = 0, seen = 0;
    for (QualityEstimate::Set* set : {&estimate.preferred, &estimate.other}) {
        if (least > 0) set->weight = static_cast<double>(least) / static_cast<double>(set->positions);
        right += set->weight * static_cast<double>(set->support.right);
        seen += set->weight * static_cast<double>(set->support.seen);
    }
    estimate.counted = compute::qualityFrom(right, seen);
    estimate.q = std::clamp(estimate.counted.mean, kLeastQuality, kMostEstimated);
}

}  // namespace

QualityEstimate estimateQuality(const compute::Prior& prior, const compute::Bank* bank,
                                std::span<const ExampleText> texts, std::span<const std::size_t> heldOut,
                                const Session& session, const RunOptions& options) {
    QualityEstimate estimate;
    compute::Prior plain = prior;
    plain.eta = 1;
    plain.enabled = true;
    compute::Bank alone;
    if (bank != nullptr) alone.features = bank->features;
    alone.priors = {std::make_shared<const compute::Prior>(std::move(plain))};
    const compute::BankUse use{std::make_shared<const compute::Bank>(std::move(alone))};

    Scorer scorer(session, options);
    std::shared_ptr<const compute::PriorSet> set;
    estimate.stopped = !scorer.open();
    for (const std::size_t i : heldOut) {
        if (estimate.stopped) break;
        if (options.progress)
            options.progress({"Scoring held-out texts",
                              static_cast<double>(estimate.texts) / static_cast<double>(heldOut.size()),
                              std::to_string(estimate.texts) + " of " + std::to_string(heldOut.size())});
        std::vector<compute::TokenId> ids = texts[i].before;
        ids.insert(ids.end(), texts[i].example.ids.begin(), texts[i].example.ids.end());
        const Position most = scorer.maxPositions() > 0 ? std::min(scorer.maxPositions(), kMostScored) : kMostScored;
        if (static_cast<Position>(ids.size()) > most) ids.resize(static_cast<std::size_t>(most));
        estimate.stopped = !scorer.score(std::move(ids));
        if (estimate.stopped) break;
        const TraceStarted& trace = scorer.trace();
        if (!set)
            set = compute::PriorSet::build({&use, 1}, {trace.tokenizer.get(), trace.store->vocabulary(), false},
                                           trace.tokenizer ? trace.tokenizer->fingerprint() : std::string());
        count(estimate, trace, static_cast<Position>(texts[i].before.size()), texts[i].example.preferred, *set);
        ++estimate.texts;
    }
    rate(estimate);
    return estimate;
}

}  // namespace counterpoint::model
