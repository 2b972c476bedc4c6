#include "model/routingpicture.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "compute/error.h"
#include "model/routingverdict.h"

namespace counterpoint::model {

using compute::Outcome;
using compute::Position;

namespace {

constexpr int kFirstAnswer = 32;
constexpr std::array kGrid = {0.0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1.0};  // of ρ and of α
constexpr std::array kCapacityFactors = {0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0};

[[noreturn]] void notStored(Position position) {
    throw compute::Error({.where = "routing, position " + std::to_string(position),
                          .what = "the router logits of this position are not stored",
                          .expected = {},
                          .found = {},
                          .advice = "decode again with \"score_prompt\" on and the source switched on",
                          .details = {}});
}

compute::Coupling withRho(compute::Coupling coupling, double rho) {
    coupling.rho = rho;
    coupling.rhoOfGroup.clear();
    return coupling;
}
compute::Coupling withAlpha(compute::Coupling coupling, double alpha) {
    coupling.alpha = alpha;
    coupling.alphaOfPair.clear();
    return coupling;
}

/// Makes a picture part by part.
class Maker {
  public:
    Maker(const RoutingQuestion& question, const RoutingWatch& watch, const std::stop_token& stop)
        : m_question(question),
          m_watch(watch),
          m_stop(stop),
          m_text(routedText(*question.store, question.of.index, question.routers, question.of.positions)),
          m_asked(estimateQuestion(m_text, question.of.routing, question.of.capacity)) {
        m_asked.threads = question.threads;
        if (question.before)
            m_picture = *question.before;
        else
            m_picture.capacityFactors.assign(kCapacityFactors.begin(), kCapacityFactors.end());
        m_picture.of = question.of;
        m_picture.routers = question.routers;
        m_picture.whole = false;
        m_asked.capacityFactors = m_picture.capacityFactors;
        m_total = 3.0 * (question.of.draws + std::min(kFirstAnswer, question.of.draws)) +
                  2.0 * static_cast<double>(kGrid.size()) * question.curveDraws;
    }

    Outcome run() {
        const compute::Coupling coupled = m_asked.coupling;
        if (!m_picture.deterministic)
            m_picture.deterministic =
                std::make_shared<const std::vector<compute::DeterministicRouting>>(deterministicRouting(m_asked));
        // A first answer to everything before any of it is refined.
        for (const int draws : {std::min(kFirstAnswer, m_question.of.draws), m_question.of.draws}) {
            if (!estimated(&RoutingPicture::coupled, coupled, draws) || !closedForms() ||
                !estimated(&RoutingPicture::flat, flatOf(coupled), draws) ||
                !estimated(&RoutingPicture::independent, independentOf(coupled), draws))
                return Outcome::Cancelled;
        }
        for (const double rho : kGrid)
            if (!point(m_picture.againstRho, rho, withRho(coupled, rho))) return Outcome::Cancelled;
        for (const double alpha : kGrid)
            if (!point(m_picture.againstAlpha, alpha, withAlpha(coupled, alpha))) return Outcome::Cancelled;
        if (!tested()) return Outcome::Cancelled;
        m_picture.whole = true;
        tell();
        return Outcome::Done;
    }

  private:
    void tell() const { m_watch.tell(std::make_shared<const RoutingPicture>(m_picture)); }
    void count(int draws) {
        m_done += draws;
        const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - m_since).count();
        if (m_watch.progress && seconds > 0) m_watch.progress(std::min(1.0, m_done / m_total), m_done / seconds);
    }
    bool stopped() const { return m_stop.stop_requested(); }

    bool estimated(std::shared_ptr<const compute::Estimates> RoutingPicture::*into, compute::Coupling coupling,
                   int draws) {
        const auto known = [&] { return m_picture.*into ? (m_picture.*into)->draws : 0; };
        if (known() >= draws) return !stopped();
        m_asked.coupling = std::move(coupling);
        m_asked.draws = draws;
        int counted = 0;
        return estimate(
                   m_asked, m_stop,
                   [&](const compute::Estimates& all) {
                       count(all.draws - std::exchange(counted, all.draws));
                       if (all.draws <= known()) return;
                       m_picture.*into = std::make_shared<const compute::Estimates>(all);
                       tell();
                   },
                   m_watch.between) == Outcome::Done;
    }

    bool closedForms() {
        if (m_picture.closed) return !stopped();
        auto forms = independentForms(m_asked, m_watch.between, m_stop);
        if (stopped()) return false;
        m_picture.closed = std::make_shared<const std::vector<compute::IndependentForm>>(std::move(forms));
        tell();
        return true;
    }

    bool point(std::vector<RoutingCurvePoint>& curve, double at, compute::Coupling coupling) {
        if (!curve.empty() && curve.back().at >= at) return !stopped();
        m_asked.coupling = std::move(coupling);
        m_asked.draws = m_question.curveDraws;
        RoutingCurvePoint found{at, {}};
        const auto keep = [&](const compute::Estimates& all) {
            found.layers.clear();
            for (const compute::LayerEstimates& layer : all.layers) found.layers.push_back(layer.metrics);
        };
        if (estimate(m_asked, m_stop, keep, m_watch.between) != Outcome::Done) return false;
        curve.push_back(std::move(found));
        count(m_question.curveDraws);
        tell();
        return true;
    }

    bool tested() {
        const std::size_t layer = std::min(m_question.testedLayer, m_asked.layers.size() - 1);
        if (m_picture.invariance && m_picture.invariance->layer == layer) return !stopped();
        auto panel =
            invariancePanel(m_asked, m_question.of.routing, layer, m_question.testDraws, m_question.path, m_stop);
        if (!panel) return false;
        m_picture.invariance = std::make_shared<const InvariancePanel>(std::move(*panel));
        return true;
    }

    const RoutingQuestion& m_question;
    const RoutingWatch& m_watch;
    const std::stop_token& m_stop;
    RoutedText m_text;
    compute::EstimateQuestion m_asked;
    RoutingPicture m_picture;
    double m_total = 0, m_done = 0;  ///< draws
    std::chrono::steady_clock::time_point m_since = std::chrono::steady_clock::now();
};

}  // namespace

Position routedPositions(const LogitStore& store, std::size_t source) {
    if (store.first() != 1) return 0;
    Position positions = 0;
    while (positions + 1 < store.end() && store.routing(positions + 1, source) != nullptr) ++positions;
    return positions;
}

RoutedText routedText(const LogitStore& store, std::size_t source, const compute::RouterInfo& routers,
                      Position positions) {
    RoutedText text{routers, positions, {}};
    if (positions < 1) notStored(0);
    const auto E = static_cast<std::size_t>(routers.experts), T = static_cast<std::size_t>(positions);
    const std::size_t L = routers.layers.size();
    text.logits.resize(L * T * E);
    for (std::size_t t = 0; t < T; ++t) {
        const auto row = store.routing(static_cast<Position>(t) + 1, source);
        if (row == nullptr || row->logits.size() != L * E) notStored(static_cast<Position>(t));
        for (std::size_t l = 0; l < L; ++l)
            std::copy_n(row->logits.begin() + static_cast<std::ptrdiff_t>(l * E), E,
                        text.logits.begin() + static_cast<std::ptrdiff_t>((l * T + t) * E));
    }
    return text;
}

compute::EstimateQuestion estimateQuestion(const RoutedText& text, const compute::SourceRouting& routing,
                                           double capacity) {
    compute::EstimateQuestion question;
    const compute::RouterInfo& routers = text.routers;
    question.experts = static_cast<std::size_t>(routers.experts);
    const std::size_t size = static_cast<std::size_t>(text.positions) * question.experts;
    for (std::size_t l = 0; l < routers.layers.size(); ++l) {
        const auto bias = routing.bias.find(routers.layers[l]);
        question.layers.push_back({.layer = static_cast<std::uint32_t>(routers.layers[l]),
                                   .logits = std::span(text.logits).subspan(l * size, size),
                                   .law = {.chosen = static_cast<int>(routers.chosen),
                                           .normTopkProb = routers.normTopkProb,
                                           .temperature = routing.temperature,
                                           .bias = bias != routing.bias.end() ? bias->second : std::vector<double>()}});
    }
    question.coupling = routing.noise.coupling;
    question.seed = routing.noise.seed;
    question.capacityFactor = capacity;
    return question;
}

std::vector<compute::IndependentForm> independentForms(const compute::EstimateQuestion& question,
                                                       const std::function<void()>& between,
                                                       const std::stop_token& stop) {
    std::vector<compute::IndependentForm> forms;
    for (const compute::RouterLayer& layer : question.layers) {
        forms.push_back(
            independentForm(layer.law, layer.logits, question.experts, layer.layer, question.threads, stop));
        if (stop.stop_requested()) return {};
        if (between) between();
    }
    return forms;
}

bool answers(const RoutingPicture* known, const RoutingSubject& of, std::size_t testedLayer) {
    if (known == nullptr || !known->whole || known->of != of) return false;
    if (!known->problem.empty()) return true;
    const std::size_t layers = known->routers.layers.size();
    return known->invariance && known->invariance->layer == std::min(testedLayer, layers - 1);
}

Outcome routingPicture(const RoutingQuestion& question, const RoutingWatch& watch, const std::stop_token& stop) {
    return Maker(question, watch, stop).run();
}

}  // namespace counterpoint::model
