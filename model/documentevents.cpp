// Document's side of the outbox: what the lanes report becomes the window's state, once a tick.

#include <algorithm>
#include <cmath>
#include <utility>

#include "model/diagnostics.h"
#include "model/documentprivate.h"
#include "model/shownnumber.h"

namespace counterpoint::model {

namespace {

constexpr const char* kStopping = "Stopping";  // what the notice is about
constexpr int kRateMs = 500;       // a rate that changes faster cannot be read
constexpr int kFewestTimed = 2;    // of a rate while it runs
constexpr int kFewestDecoded = 5;  // of a rate at the end: the first step brings the prompt and what starts up

}  // namespace

void Document::tick() {
    Private& p = *m_private;
    p.sinceTick.start();
    if (p.timer.isActive() && p.timer.interval() != kTickMs) p.timer.start(kTickMs);
    // Asked before the outbox is emptied: what a quiet lane had to say is in it.
    const bool decodeQuiet = !m_engine->decoding(), analysisQuiet = !m_engine->analysing();
    for (const Event& event : m_engine->drain())
        std::visit([this](const auto& e) { on(e); }, event);
    settle(decodeQuiet, analysisQuiet);
    watchStuck();
    if (m_running && !m_paused && !p.rateClock.isValid() && p.decoded > 0) {
        // The first steps are not timed: with them came the load and the prompt.
        p.rateClock.start();
        p.rateTokens = 0;
    } else if (m_running && p.rateClock.isValid() && p.rateClock.elapsed() >= kRateMs && p.rateTokens >= kFewestTimed) {
        m_activity = shownRate(1000.0 * static_cast<double>(p.rateTokens) / static_cast<double>(p.rateClock.restart()));
        p.rateTokens = 0;
        p.tellStatus = true;
    }
    // The seconds move where nothing else does: libtorch comes before the first weight is read.
    if (const qint64 seconds = p.loadClock.isValid() ? p.loadClock.elapsed() / 1000 : 0; m_loading && seconds > 0 && !p.doing.empty()) {
        const std::string activity = p.doing + ", " + std::to_string(seconds) + " s";
        p.tellStatus = p.tellStatus || activity != m_activity;
        m_activity = activity;
    }
    if (!m_running && p.dialsMoved) {
        p.dialsMoved = false;
        requestRecompose();
    }
    takeDrift(analysisQuiet);
    askDrift();
    takeRouting();
    askRouting();
    followEnd();
    if (std::exchange(p.tellBanks, false)) Q_EMIT sessionChanged();
    if (std::exchange(p.tellSelected, false)) Q_EMIT traceSelected();
    if (std::exchange(p.tellTrace, false)) Q_EMIT traceChanged();
    if (std::exchange(p.tellView, false)) Q_EMIT viewChanged();
    if (std::exchange(p.tellStatus, false)) Q_EMIT statusChanged();
    if (std::exchange(p.tellRecomposed, false)) Q_EMIT recomposed();
    const bool answered = (!p.drift || p.drift->over) && !estimating();
    if (!m_engine->decoding() && !m_engine->analysing() && !busy() && answered) p.timer.stop();
}

void Document::takeDrift(bool analysisQuiet) {
    Private& p = *m_private;
    if (!p.drift) return;
    std::shared_ptr<const DriftWithout> answer;
    {
        const std::scoped_lock lock(p.drift->mutex);
        answer = p.drift->answer;
    }
    p.drift->over = p.drift->over || analysisQuiet;  // without an answer it failed, and is not asked again
    if (!answer) return;
    for (const auto& t : m_traces)
        if (t->id == p.drift->trace) t->driftWithout = answer;
    p.drift.reset();
    p.tellTrace = true;
}

void Document::askDrift() {
    Private& p = *m_private;
    const Trace* shown = trace();
    if (shown == nullptr || busy() || shown->steps.empty() || p.dialsMoved) return;
    const compute::PriorSet::Member* prior = shownPrior(*shown, m_view);
    if (prior == nullptr || !prior->acts || isOf(shown->driftWithout.get(), *shown, *prior)) return;
    if (p.drift) {
        const DriftWithout asked{p.drift->question.prior, p.drift->question.steps, {}};
        if (p.drift->trace == shown->id && isOf(&asked, *shown, *prior)) return;
        p.drift->stop.request_stop();
    }
    p.drift = std::make_shared<DriftAsked>();
    p.drift->trace = shown->id;
    p.drift->question = driftQuestion(*shown, *prior);
    m_engine->run(
        [asked = p.drift, engine = m_engine.get()](const std::stop_token& lane) {
            const std::stop_callback both(lane, [&asked] { asked->stop.request_stop(); });
            auto answer = driftWithout(
                asked->question, [engine] { engine->letPass(); }, asked->stop.get_token());
            const std::scoped_lock lock(asked->mutex);
            asked->answer = std::move(answer);
        },
        "Composing without a prior");
    wake();
}

void Document::watchStuck() {
    Private& p = *m_private;
    const std::optional<SourceCall> call = m_engine->stuck();
    if (call.has_value() == p.stuck) return;
    p.stuck = call.has_value();
    p.tellStatus = true;
    if (!call) return settled(kStopping);
    m_activity = kStopping;  // the last thing said is no longer what happens
    const std::string again = call->opening ? "" : " and loads the rack again";
    notify({.level = Notice::Level::Warning,
            .sentence = overdue(*call) + " and does not stop; restarting the engine leaves it behind" + again +
                        ", and session and traces stay.",
            .details = "Until the program ends it keeps its memory and a processor core; what it answers after all is thrown away.",
            .about = kStopping,
            .restarts = true});
}

bool Document::stuck() const { return m_private->stuck; }

void Document::restartEngine() {
    const std::optional<SourceCall> call = m_engine->stuck();
    if (!call || !m_engine->restart()) return;  // it has come back by now
    tick();                                     // what was decoded, and that it ended; what was open before a load is open again
    bool hung = false;
    for (std::size_t i = 0; call->opening && i < m_session.sourceCount(); ++i)
        hung = hung || m_session.resolve(m_session.source(i).path).string() == call->path;
    if (!m_loading && (m_ready || !hung)) loadSources();
}

void Document::on(const SourceLoaded& e) {
    m_private->sources[e.key] = {
        .state = SourceStatus::State::Ready, .info = e.info, .fingerprint = e.fingerprint, .message = {}};
    m_private->tellStatus = true;
}

void Document::on(const BankLoaded& e) {
    Private& p = *m_private;
    p.banks[e.file.path] = e.file;
    for (const std::string& warning : e.file.warnings) notify(Notice::Level::Warning, warning);
    if (!e.file.problem.empty()) notify(Notice::Level::Warning, e.file.problem);
    // What was read is the same document as before: nothing to undo, nothing unsaved.
    const auto fill = [this](Session& s) { fillBanks(s, [this](const std::string& path) { return bankOnDisk(path); }); };
    fill(m_session);
    fill(p.saved);
    for (auto* list : {&p.undo, &p.redo})
        for (Session& s : *list) fill(s);
    for (auto& [id, pending] : p.pending) fill(pending.session);
    p.tellBanks = p.tellStatus = true;
}

void Document::on(const Loaded& e) {
    m_private->tokenizer = e.tokenizer;
    m_private->priors = e.priors;  // most of what the present session asks for
    m_private->priorsOf.clear();
    m_private->priorsTokenizer.reset();
    for (const std::string& sentence : e.notices) notify(Notice::Level::Info, sentence);
    settled("Loading");
    m_private->before.reset();
    m_loading = false;
    m_ready = true;
    m_progress = -1;
    m_activity.clear();
    m_private->tellStatus = true;
}

void Document::on(const Progress& e) {
    m_activity = e.what;
    if (e.fraction >= 0) m_activity += ", " + std::to_string(std::lround(100 * e.fraction)) + " %";
    if (!e.rate.empty()) m_activity += ", " + e.rate;
    m_private->doing = m_activity;
    m_progress = e.fraction;
    m_private->tellStatus = true;
}

void Document::on(const Failure& e) {
    if (m_loading)
        for (auto& [key, status] : m_private->sources)
            if (status.state == SourceStatus::State::Loading)
                status = {.state = SourceStatus::State::Failed, .info = {}, .fingerprint = {}, .message = e.sentence};
    if (e.generation != 0 && e.generation == m_private->generation) {  // its lane may be long at work on something else
        m_recomposing = false;
        m_private->recomposing.reset();
    }
    notify(Notice::Level::Failure, e.sentence, e.details, e.operation);
    m_private->tellStatus = true;
}

void Document::on(const TraceStarted& e) {
    Private& p = *m_private;
    const auto found = p.pending.find(e.trace);
    if (found == p.pending.end()) {  // an older trace goes on
        for (const auto& t : m_traces)
            if (t->id == e.trace) t->stop.clear();
        return;
    }
    PendingTrace pending = std::move(found->second);
    p.pending.erase(found);
    auto trace = std::make_shared<Trace>();
    trace->id = e.trace;
    trace->parent = pending.parent;
    trace->branchedAt = pending.branchedAt;
    trace->session = trace->decodedWith = std::move(pending.session);
    trace->sources = e.sources;
    trace->tokens = e.tokens;
    trace->tokenBytes = e.tokenBytes;
    trace->promptLength = e.promptLength;
    trace->steps = std::move(pending.steps);
    trace->store = e.store;
    // A branch brings its parent's steps along, and with them the place from where on they are only teacher-forced.
    for (const StepPtr& step : trace->steps)
        if (!step->prompt && !step->forced && step->drawn != step->token) {
            trace->flip = step->position;
            break;
        }
    trace->tokenizer = e.tokenizer;
    trace->priors = e.priors;
    trace->stopIds = e.stopIds;
    trace->routers = e.routers;
    const auto siblings = std::count_if(m_traces.begin(), m_traces.end(), [&](const auto& t) { return t->parent == trace->parent; });
    const auto parent = std::find_if(m_traces.begin(), m_traces.end(), [&](const auto& t) { return t->id == trace->parent; });
    trace->name = (parent != m_traces.end() ? (*parent)->name + "." : std::string()) + std::to_string(siblings + 1);
    m_traces.push_back(std::move(trace));
    p.selected = e.trace;
    p.recomposing.reset();
    m_recomposing = false;
    m_follow = true;
    p.tellSelected = p.tellTrace = true;
}

void Document::on(const StepDone& e) {
    bool counts = !e.step->prompt;
    for (const auto& t : m_traces) {
        if (t->id != e.trace) continue;
        appendStep(*t, e.step);
        counts = counts || t->decodedWith.mode == Mode::Score;
    }
    m_private->rateTokens += counts ? 1 : 0;
    m_private->decoded += counts ? 1 : 0;
    m_progress = -1;
    m_private->tellTrace = true;
}

void Document::on(const TraceEnded& e) {
    Private& p = *m_private;
    p.pending.erase(e.trace);
    if (e.stop != "error") settled("Decoding");
    for (const auto& t : m_traces) {
        if (t->id != e.trace) continue;
        t->stop = e.stop;
        t->stopId = e.stopId == compute::kNoToken ? std::nullopt : std::optional(e.stopId);
        t->tokensPerSecond = e.tokensPerSecond;
    }
    if (e.trace == p.decoding) {
        m_running = m_paused = false;
        p.decoding = -1;
        m_progress = -1;
        m_activity = p.decoded >= kFewestDecoded ? shownRate(e.tokensPerSecond) : std::string();
    }
    p.tellStatus = p.tellTrace = true;
}

void Document::on(const Recomposed& e) {
    Private& p = *m_private;
    Trace* shown = present();
    if (e.generation != p.generation || shown == nullptr || shown->id != e.trace || !p.recomposing) return;
    for (const StepPtr& step : e.steps) {
        const auto place = std::lower_bound(shown->steps.begin(), shown->steps.end(), step->position,
                                            [](const StepPtr& s, compute::Position at) { return s->position < at; });
        if (place != shown->steps.end() && (*place)->position == step->position) *place = step;
    }
    if (auto aligned = alignedTo(*p.recomposing, shown->sources)) shown->session = std::move(*aligned);
    shown->priors = e.priors;
    if (e.flip >= 0 || e.last) shown->flip = e.flip >= 0 ? std::optional(e.flip) : std::nullopt;
    p.tellTrace = true;
    if (!e.last) return;
    settled("Recomposing");
    m_recomposing = false;
    p.recomposing.reset();
    p.tellRecomposed = p.tellStatus = true;
}

void Document::on(const Hashed& e) {
    m_private->hashes[e.path] = e.sha256;
    if (e.runsCode && (!m_private->codeIsNew || m_private->codeIsNew(e.sha256)))
        notify(Notice::Level::Warning, runsCodeSentence(e.path));
    for (auto& [key, status] : m_private->sources)
        if (status.info.path == e.path) status.info.weightsSha256 = e.sha256;
    for (std::size_t i = 0; i < m_session.sourceCount(); ++i) {
        const SourceEntry& s = m_session.source(i);
        if (m_session.resolve(s.path) == e.path && !s.sha256.empty() && s.sha256 != e.sha256)
            notify(Notice::Level::Warning, "Source '" + s.name + "': its weights are not those the session was saved with.",
                   "SHA-256 " + e.sha256 + " instead of " + s.sha256);
    }
    m_private->tellStatus = true;
}

void Document::on(const Idle&) { m_private->tellStatus = true; }

void Document::settle(bool decodeQuiet, bool analysisQuiet) {
    Private& p = *m_private;
    if (decodeQuiet && std::exchange(m_loading, false)) {
        // A load that was stopped or failed: what was open before is still open.
        for (auto& [key, status] : p.sources)
            if (status.state == SourceStatus::State::Loading) status.state = SourceStatus::State::Unloaded;
        m_progress = -1;
        m_activity.clear();
        p.tellStatus = true;
        openBefore();
    }
    if (analysisQuiet && std::exchange(m_recomposing, false)) {
        p.recomposing.reset();
        p.tellStatus = true;
    }
}

}  // namespace counterpoint::model
