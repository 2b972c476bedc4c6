#include "model/document.h"

#include "model/documentprivate.h"

#include <algorithm>
#include <utility>

namespace counterpoint::model {

using compute::Position;
using compute::TokenId;

namespace {

/// Dials that act on stored rows are equal: weights, switches, masks, references and the decoding block.
bool sameDials(const Session& a, const Session& b) {
    const auto sameEntry = [](const SourceEntry& x, const SourceEntry& y) {
        return x.name == y.name && x.enabled == y.enabled && x.weight == y.weight && x.reference == y.reference && x.mask == y.mask;
    };
    return a.rule == b.rule && storedDials(a.decoding) == storedDials(b.decoding) && a.priors == b.priors &&
           std::equal(a.specialists.begin(), a.specialists.end(), b.specialists.begin(), b.specialists.end(), sameEntry);
}

bool sameRack(const Session& a, const Session& b) {
    if (a.sourceCount() != b.sourceCount()) return false;
    for (std::size_t i = 0; i < a.sourceCount(); ++i)
        if (a.source(i).name != b.source(i).name || a.sourceKey(i) != b.sourceKey(i)) return false;
    return true;
}

}  // namespace

Document::Document(QObject* parent, SourceOpener opener, std::chrono::milliseconds patience)
    : QObject(parent), m_private(std::make_unique<Private>()), m_engine(std::make_unique<Engine>(std::move(opener), patience)) {
    m_private->saved = m_session;
    connect(&m_private->timer, &QTimer::timeout, this, &Document::tick);
}

Document::~Document() = default;

// -- session ----------------------------------------------------------------------------------------------------------

void Document::setSession(Session session, const std::string& merge) {
    if (session == m_session) return;
    Private& p = *m_private;
    const bool joins = !merge.empty() && merge == p.merge && !p.undo.empty();
    if (!joins) p.undo.push_back(m_session);
    p.redo.clear();
    p.merge = merge;
    replaceSession(std::move(session), m_view);
}

void Document::endMerge() { m_private->merge.clear(); }
bool Document::canUndo() const { return !m_private->undo.empty(); }
bool Document::canRedo() const { return !m_private->redo.empty(); }
bool Document::modified() const { return m_session != m_private->saved || !modifiedBanks().empty(); }

void Document::undo() {
    Private& p = *m_private;
    if (p.undo.empty()) return;
    Session before = std::move(p.undo.back());
    p.undo.pop_back();
    p.redo.push_back(m_session);
    p.merge.clear();
    replaceSession(std::move(before), m_view);
}

void Document::redo() {
    Private& p = *m_private;
    if (p.redo.empty()) return;
    Session after = std::move(p.redo.back());
    p.redo.pop_back();
    p.undo.push_back(m_session);
    p.merge.clear();
    replaceSession(std::move(after), m_view);
}

void Document::replaceSession(Session session, View view) {
    fillBanks(session, [this](const std::string& path) { return bankOnDisk(path); });
    const Session before = std::exchange(m_session, std::move(session));
    const bool unread = std::any_of(m_session.priors.begin(), m_session.priors.end(), [this](const BankEntry& entry) {
        return !entry.content && !m_private->banks.contains(m_session.resolve(entry.bank).string());
    });
    const bool rackMoved = !sameRack(before, m_session) || unread;
    if (view != m_view) {
        m_view = view;
        m_private->tellView = true;
    }
    Q_EMIT sessionChanged();
    if (rackMoved) loadSources();
    dialsChanged();
    askRouting();
}

void Document::dialsChanged() {
    if (m_running) {
        m_engine->setRecipeSession(m_session);
        m_private->dialsMoved = true;
    } else {
        requestRecompose();
    }
}

// -- engine -----------------------------------------------------------------------------------------------------------

void Document::wake() {
    Private& p = *m_private;
    if (p.timer.isActive()) return;
    const qint64 since = p.sinceTick.isValid() ? p.sinceTick.elapsed() : kTickMs;
    p.timer.start(static_cast<int>(std::clamp<qint64>(kTickMs - since, kFirstTickMs, kTickMs)));
}

void Document::loadSources() {
    Private& p = *m_private;
    for (std::size_t i = 0; i < m_session.sourceCount(); ++i) {
        SourceStatus& status = p.sources[m_session.sourceKey(i)];
        if (status.state != SourceStatus::State::Ready || status.info.device != m_device)
            status = {.state = SourceStatus::State::Loading, .info = {}, .fingerprint = {}, .message = {}};
    }
    compute::OpenOptions options;
    options.device = m_device;
    m_loading = true;
    m_ready = false;
    m_progress = -1;
    p.doing.clear();
    p.loadClock.start();
    m_engine->load({m_session, std::move(options), false});
    Q_EMIT statusChanged();
    wake();
}

void Document::setDevice(const std::string& device) {
    if (device == m_device) return;
    m_device = device;
    if (!m_session.base.path.empty()) loadSources();
}

BankPtr Document::bankOnDisk(const std::string& path) const {
    const auto found = m_private->banks.find(path);
    return found == m_private->banks.end() ? nullptr : found->second.bank;
}

std::string Document::bankProblem(std::size_t bank) const {
    const BankEntry& entry = m_session.priors.at(bank);
    const auto found = m_private->banks.find(m_session.resolve(entry.bank).string());
    return entry.content || found == m_private->banks.end() ? std::string() : found->second.problem;
}

bool Document::bankModified(std::size_t bank) const {
    const BankEntry& entry = m_session.priors.at(bank);
    return entry.content != nullptr && entry.content != bankOnDisk(m_session.resolve(entry.bank).string());
}

std::vector<std::size_t> Document::modifiedBanks() const {
    std::vector<std::size_t> banks;
    for (std::size_t i = 0; i < m_session.priors.size(); ++i)
        if (bankModified(i)) banks.push_back(i);
    return banks;
}

PriorSetPtr Document::priors() const {
    Private& p = *m_private;
    if (!p.priors || p.priorsOf != m_session.priors || p.priorsTokenizer != p.tokenizer) {
        p.priors = priorSetOf(m_session, p.tokenizer.get(), p.tokenizer ? p.tokenizer->size() : -1, p.priors.get());
        p.priorsOf = m_session.priors;
        p.priorsTokenizer = p.tokenizer;
    }
    return p.priors;
}

SourceStatus Document::status(std::size_t source) const {
    if (source >= m_session.sourceCount()) return {};
    const auto found = m_private->sources.find(m_session.sourceKey(source));
    return found != m_private->sources.end() ? found->second : SourceStatus{};
}

// -- traces and view --------------------------------------------------------------------------------------------------

Trace* Document::present() {
    for (const auto& t : m_traces)
        if (t->id == m_private->selected) return t.get();
    return nullptr;
}

const Trace* Document::trace() const { return const_cast<Document*>(this)->present(); }

bool Document::shows(const Session& session) const {
    const Trace* shown = trace();
    if (shown == nullptr) return true;
    const auto aligned = alignedTo(session, shown->sources);
    return !aligned || sameDials(*aligned, shown->session);
}

void Document::requestRecompose() {
    Private& p = *m_private;
    const Trace* shown = trace();
    if (shown == nullptr || shown->steps.empty() || m_running) return;
    const bool same = p.recomposing ? sameDials(*p.recomposing, m_session) : shows(m_session);
    if (same || !alignedTo(m_session, shown->sources)) return;
    p.recomposing = m_session;
    RecomposeRequest request{.trace = shown->id,
                             .generation = ++p.generation,
                             .session = m_session,
                             .stopIds = shown->stopIds,
                             .sources = shown->sources,
                             .tokens = shown->tokens,
                             .tokenBytes = shown->tokenBytes,
                             .promptLength = shown->promptLength,
                             .forced = {},
                             .store = shown->store,
                             .tokenizer = shown->tokenizer,
                             .priors = shown->priors,
                             .visible = m_view.cursor,
                             .end = shown->steps.back()->position + 1};
    for (const StepPtr& step : shown->steps)
        if (step->forced) request.forced.push_back(step->position);
    m_recomposing = true;
    m_engine->recompose(std::move(request));
    wake();
}

void Document::selectTrace(int id) {
    const bool known = std::any_of(m_traces.begin(), m_traces.end(), [&](const auto& t) { return t->id == id; });
    if (!known || id == m_private->selected) return;
    m_private->selected = id;
    m_private->recomposing.reset();
    m_follow = true;
    followEnd();
    Q_EMIT traceSelected();
    Q_EMIT viewChanged();
    // A branch remembers its dials: they come back with it, as one undo step.
    const Session remembered = trace()->session;
    if (remembered.sourceNames() == m_session.sourceNames()) {
        Session session = m_session;
        session.rule = remembered.rule;
        session.decoding = remembered.decoding;
        for (std::size_t i = 0; i < session.specialists.size(); ++i) {
            const SourceEntry& then = remembered.specialists[i];
            SourceEntry& now = session.specialists[i];
            now.enabled = then.enabled;
            now.weight = then.weight;
            now.reference = then.reference;
            now.mask = then.mask;
        }
        for (BankEntry& now : session.priors)
            for (const BankEntry& then : remembered.priors)
                if (then.bank == now.bank) {
                    now.enabled = then.enabled;
                    now.weight = then.weight;
                    now.overrides = then.overrides;
                }
        if (!m_running) setSession(std::move(session));
    }
    requestRecompose();
    askRouting();
}

void Document::setView(View view) {
    if (view == m_view) return;
    const Position cursor = view.cursor;
    view.cursor = m_view.cursor;
    m_view = std::move(view);
    askDrift();
    askRouting();
    if (cursor != m_view.cursor) return setCursor(cursor);
    Q_EMIT viewChanged();
}

void Document::setCursor(Position position) {
    const Trace* shown = trace();
    if (shown == nullptr || shown->steps.empty()) {
        m_view.cursor = -1;
    } else {
        const Position last = shown->steps.back()->position;
        m_view.cursor = std::clamp(position, shown->steps.front()->position, last);
        m_follow = m_view.cursor == last;
    }
    Q_EMIT viewChanged();
}

void Document::followEnd() {
    const Trace* shown = trace();
    const Position last = shown == nullptr || shown->steps.empty() ? -1 : shown->steps.back()->position;
    if (!m_follow && m_view.cursor >= 0 && m_view.cursor <= last) return;
    if (m_view.cursor == last) return;
    m_view.cursor = last;
    m_view.token = compute::kNoToken;
    m_private->tellView = true;
}

PlotData Document::plot(std::string_view diagnosticId) const {
    const DiagnosticRow& row = diagnostic(diagnosticId);
    if (const Trace* shown = trace()) return row.make(*shown, m_view);
    PlotData empty;
    empty.id = row.id;
    empty.title = row.title;
    empty.empty = m_loading ? kLoading
                  : m_ready ? kNothingDecoded
                            : "Nothing to decode with: a source of the rack is not loaded. Open a session or a model.";
    return empty;
}

// -- notices ----------------------------------------------------------------------------------------------------------

void Document::notify(Notice::Level level, std::string sentence, std::string details, std::string about) {
    notify({.level = level, .sentence = std::move(sentence), .details = std::move(details), .about = std::move(about)});
}

void Document::notify(Notice notice) {
    const bool changed = retire([&](const Notice& n) { return !notice.about.empty() && n.about == notice.about; });
    // The same fact about three sources is one line to read, not three.
    const auto same = [&](const Notice& n) {
        return notice.level == Notice::Level::Info && n.level == notice.level && n.sentence == notice.sentence;
    };
    if (std::any_of(m_notices.begin(), m_notices.end(), same)) {
        if (changed) Q_EMIT noticesChanged();
        return;
    }
    notice.id = m_private->nextNotice++;
    m_notices.push_back(std::move(notice));
    Q_EMIT noticesChanged();
}

bool Document::retire(const std::function<bool(const Notice&)>& over) {
    constexpr std::size_t kPast = 100;
    const auto going = std::stable_partition(m_notices.begin(), m_notices.end(), [&](const Notice& n) { return !over(n); });
    const bool any = going != m_notices.end();
    m_past.insert(m_past.end(), std::make_move_iterator(going), std::make_move_iterator(m_notices.end()));
    m_notices.erase(going, m_notices.end());
    if (m_past.size() > kPast) m_past.erase(m_past.begin(), m_past.end() - kPast);
    return any;
}

void Document::settled(std::string_view about) {
    if (retire([about](const Notice& n) { return !about.empty() && n.about == about; })) Q_EMIT noticesChanged();
}

void Document::dismiss(int id) {
    if (retire([id](const Notice& n) { return n.id == id; })) Q_EMIT noticesChanged();
}

}  // namespace counterpoint::model
