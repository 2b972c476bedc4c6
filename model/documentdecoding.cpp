// The document's decoding: generate, continue, one step, a branch, pause and stop, each a request to the engine. Declared
// in document.h.

#include <algorithm>

#include "model/documentprivate.h"
#include "model/sourcerouting.h"

namespace counterpoint::model {

using compute::Position;
using compute::TokenId;

namespace {

/// Why a trace cannot be decoded further under `now`; empty: it can. Its rows and those to come are of one rack: the
/// same sources in the same order, each of the same files, prefix, temperature and routing.
std::string whyNotOn(const Trace& trace, const Session& now) {
    if (trace.sources != now.sourceNames()) return "The rack has changed since this trace was decoded";
    for (std::size_t i = 0; i < now.sourceCount(); ++i) {
        const SourceEntry &then = trace.decodedWith.source(i), &own = now.source(i);
        const char* other = trace.decodedWith.sourceKey(i) != now.sourceKey(i) ? "file"
                            : then.prefix != own.prefix                        ? "prefix"
                            : then.temperature != own.temperature              ? "temperature"
                            : sourceRouting(then.routing, {}) != sourceRouting(own.routing, {}) ||
                                    bySentences(then.routing) != bySentences(own.routing)
                                ? "routing"
                                : nullptr;
        if (other != nullptr)
            return "Source '" + own.name + "' has another " + other + " than when this trace was decoded";
    }
    return {};
}

}  // namespace

void Document::startDecode(DecodeRequest request) {
    request.session = m_session;
    m_private->decoding = request.trace;
    m_private->dialsMoved = false;
    m_private->decoded = 0;
    m_private->rateClock.invalidate();
    m_engine->pause(m_paused = false);
    m_running = true;
    m_engine->decode(std::move(request));
    Q_EMIT statusChanged();
    wake();
}

void Document::generate() {
    DecodeRequest request;
    request.trace = m_private->nextTrace++;
    m_private->pending[request.trace] = {.session = m_session, .parent = -1, .branchedAt = 0, .steps = {}};
    startDecode(std::move(request));
}

void Document::stepOnce() {
    if (trace() == nullptr) {
        DecodeRequest request;
        request.trace = m_private->nextTrace++;
        request.maxNewTokens = 1;
        m_private->pending[request.trace] = {.session = m_session, .parent = -1, .branchedAt = 0, .steps = {}};
        return startDecode(std::move(request));
    }
    resume(1);
}

void Document::continueDecode() {
    if (trace() == nullptr) return generate();
    resume(-1);
}

void Document::resume(std::int64_t maxNewTokens) {
    const Trace& shown = *trace();
    if (m_running && m_private->decoding == shown.id) return;
    if (const std::string why = whyNotOn(shown, m_session); !why.empty())
        return notify(Notice::Level::Warning, why + "; generate a new one.");
    DecodeRequest request;
    request.trace = shown.id;
    request.ids = shown.tokens;
    request.promptLength = shown.promptLength;
    request.store = shown.store;
    request.maxNewTokens = maxNewTokens;
    for (const StepPtr& step : shown.steps)
        if (step->forced && step->position + 1 < static_cast<Position>(shown.tokens.size())) request.forced.push_back(step->position);
    startDecode(std::move(request));
}

void Document::branch(Position position, TokenId token) {
    const Trace* shown = trace();
    if (shown == nullptr || shown->store->row(position, 0).empty() || position > static_cast<Position>(shown->tokens.size())) return;
    if (const std::string why = whyNotOn(*shown, m_session); !why.empty())
        return notify(Notice::Level::Warning, why + "; generate a new one to branch from.");
    DecodeRequest request;
    request.trace = m_private->nextTrace++;
    request.ids.assign(shown->tokens.begin(), shown->tokens.begin() + position);
    request.ids.push_back(token);
    request.promptLength = std::min(shown->promptLength, position);
    request.store = shown->store->branch(position + 1);
    PendingTrace pending{.session = m_session, .parent = shown->id, .branchedAt = position, .steps = {}};
    for (const StepPtr& step : shown->steps) {
        if (step->position >= position) break;
        if (step->forced) request.forced.push_back(step->position);
        pending.steps.push_back(step);
    }
    request.forced.push_back(position);
    m_private->pending[request.trace] = std::move(pending);
    startDecode(std::move(request));
}

void Document::pause(bool paused) {
    if (!m_running || paused == m_paused) return;
    m_paused = paused;
    m_private->rateClock.invalidate();  // waiting is no decoding
    m_engine->pause(paused);
    Q_EMIT statusChanged();
}

void Document::stop() {
    m_engine->stop();
    stopRouting();
    if (m_paused) pause(false);
    wake();
}

}  // namespace counterpoint::model
