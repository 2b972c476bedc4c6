// Document's estimates of routing: asked of the analysis lane while somebody looks, one question at a time; the newest
// replaces the one under way. Declared in document.h.

#include <algorithm>
#include <cmath>

#include "compute/error.h"
#include "model/documentprivate.h"
#include "model/sentences.h"
#include "model/shownnumber.h"
#include "model/sourcerouting.h"

namespace counterpoint::model {

namespace {

/// A question is left this long to give its first answer: while a dial is dragged something is to be seen.
constexpr int kFirstAnswerMs = 250;

/// The dials of a trace's source: the session's, or where its rack no longer has the source those it was decoded with.
const SourceEntry& entryOf(const Trace& trace, std::size_t source, const Session& now) {
    for (std::size_t i = 0; i < now.sourceCount(); ++i)
        if (now.source(i).name == trace.sources[source]) return now.source(i);
    return trace.decodedWith.source(source);
}

RoutingSubject subjectOf(const Trace& trace, std::size_t source, const SourceEntry& entry) {
    const std::string where = "source '" + entry.name + "', \"routing\"";
    RoutingSubject of{.source = trace.sources[source],
                      .index = source,
                      .positions = routedPositions(*trace.store, source),
                      .routing = fitted(sourceRouting(entry.routing, where), *trace.routers[source], where),
                      .capacity = routingCapacity(entry.routing),
                      .draws = routingDraws(entry.routing)};
    if (bySentences(entry.routing))
        of.routing.noise.coupling.groups = compute::groupsFrom(sentenceStarts(trace.tokenBytes));
    return of;
}

RoutingPicturePtr problemOf(const RoutingSubject& of, const compute::RouterInfo& routers, const compute::Error& error) {
    RoutingPicture picture;
    picture.of = of;
    picture.routers = routers;
    picture.problem = error.sentence();
    picture.whole = true;
    return std::make_shared<const RoutingPicture>(std::move(picture));
}

TokenPath pathOf(const Trace& trace, std::size_t source) {
    if (trace.decodedWith.mode == Mode::Score) return TokenPath::Scored;
    return sharesNoise(sourceRouting(trace.decodedWith.source(source).routing, {})) ? TokenPath::SharedNoise
                                                                                    : TokenPath::OwnNoise;
}

/// On the lane.
void estimate(const std::shared_ptr<RoutingAsked>& asked, const RoutingQuestion& question, Engine& engine,
              const std::stop_token& lane) {
    const std::stop_callback both(lane, [&asked] { asked->stop.request_stop(); });
    const auto deliver = [&asked](RoutingPicturePtr picture) {
        const std::scoped_lock lock(asked->mutex);
        asked->answer = std::move(picture);
    };
    const RoutingWatch watch{.tell = deliver,
                             .progress =
                                 [&asked](double share, double rate) {
                                     const std::scoped_lock lock(asked->mutex);
                                     asked->share = share;
                                     asked->rate = rate;
                                 },
                             .between = [&engine] { engine.letPass(); }};
    try {
        (void)routingPicture(question, watch, asked->stop.get_token());
    } catch (const compute::Error& error) {
        deliver(problemOf(question.of, question.routers, error));
    }
}

}  // namespace

void Document::setRoutingWanted(bool wanted) {
    Private& p = *m_private;
    if (wanted == p.routingWanted) return;
    p.routingWanted = wanted;
    stopRouting();
    p.routing.reset();  // what was stopped is asked again when somebody looks again
    askRouting();
}

bool Document::estimating() const { return m_private->routing && !m_private->routing->over; }

void Document::stopRouting() {
    Private& p = *m_private;
    if (!estimating()) return;
    p.routing->stop.request_stop();
    p.routing->over = true;
    if (m_activity == p.routingActivity) {
        m_activity = p.activityBefore;
        m_progress = -1;
        p.tellStatus = true;
    }
    wake();
}

void Document::takeRouting() {
    Private& p = *m_private;
    if (!estimating()) return;
    RoutingAsked& asked = *p.routing;
    RoutingPicturePtr answer;
    double share = 0, rate = 0;
    bool done = false;
    {
        const std::scoped_lock lock(asked.mutex);
        answer = std::move(asked.answer);
        asked.answer.reset();
        share = asked.share;
        rate = asked.rate;
        done = asked.done;
    }
    for (const auto& t : m_traces)
        if (answer && t->id == asked.trace) {
            t->routing = answer;
            t->routingStale = false;
            asked.answered = p.tellTrace = true;
        }
    if (done) return stopRouting();
    if (busy()) return;
    if (m_activity != p.routingActivity) p.activityBefore = m_activity;
    m_activity = p.routingActivity = "Estimating routing, " + std::to_string(std::lround(100 * share)) + " %" +
                                     (rate > 0 ? ", " + shownNumber(rate, 0) + " draws/s" : std::string());
    m_progress = share;
    p.tellStatus = true;
}

void Document::askRouting() {
    Private& p = *m_private;
    Trace* shown = present();
    if (!p.routingWanted || shown == nullptr || shown->steps.empty() || m_running || m_loading) return;
    const auto source = routedSource(*shown, m_view);
    if (!source) return;
    const compute::RouterInfo& routers = *shown->routers[*source];
    const auto layer = std::min(static_cast<std::size_t>(std::max(m_view.routingLayer, 0)), routers.layers.size() - 1);
    const auto show = [&](RoutingPicturePtr picture, bool stale) {
        if (shown->routing == picture && shown->routingStale == stale) return;
        shown->routing = std::move(picture);
        shown->routingStale = stale;
        p.tellTrace = true;
        wake();
    };
    RoutingSubject of;
    try {
        of = subjectOf(*shown, *source, entryOf(*shown, *source, m_session));
    } catch (const compute::Error& error) {
        stopRouting();
        const bool known = shown->routing && shown->routing->problem == error.sentence();
        of.source = shown->sources[*source];
        of.index = *source;
        return show(known ? shown->routing : problemOf(of, routers, error), false);
    }
    if (answers(shown->routing.get(), of, layer)) {
        stopRouting();
        p.routing.reset();
        return show(shown->routing, false);
    }
    show(shown->routing, shown->routing && shown->routing->of != of);
    if (p.routing && p.routing->trace == shown->id && p.routing->of == of && p.routing->layer == layer) return;
    const bool fresh = estimating() && !p.routing->answered && p.routing->since.elapsed() < kFirstAnswerMs;
    if (fresh && p.routing->trace == shown->id) return;
    stopRouting();
    RoutingQuestion question;
    question.of = of;
    question.routers = routers;
    question.store = shown->store;
    question.testedLayer = layer;
    question.path = pathOf(*shown, *source);
    if (shown->routing && shown->routing->of == of && shown->routing->problem.empty()) question.before = shown->routing;
    question.threads =
        std::max(1, static_cast<int>(std::thread::hardware_concurrency()) - 1);  // one core is the window's
    p.routing = std::make_shared<RoutingAsked>();
    p.routing->trace = shown->id;
    p.routing->of = std::move(of);
    p.routing->layer = layer;
    p.routing->since.start();
    m_engine->run(
        [asked = p.routing, question = std::move(question), engine = m_engine.get()](const std::stop_token& lane) {
            const std::shared_ptr<void> atEnd(nullptr, [&asked](void*) {
                const std::scoped_lock lock(asked->mutex);
                asked->done = true;
            });
            estimate(asked, question, *engine, lane);
        },
        "Estimating routing");
    wake();
}

}  // namespace counterpoint::model
