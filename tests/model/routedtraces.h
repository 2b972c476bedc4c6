#pragma once
// A small trace of two sources that are one model with routed experts, the base without noise and the other with it,
// and questions about its routing. The router logits are random, and where each position went is computed from them.

#include "compute/routing/route.h"
#include "model/routingpicture.h"
#include "tests/model/traces.h"
#include "tests/support/routing.h"

namespace counterpoint::tests {

constexpr std::size_t kRoutedLayers = 2, kRoutedExperts = 5, kRoutedChosen = 2, kRoutedPositions = 14;

inline RouterInfo smallRouters() {
    return {.layers = {1, 3}, .experts = kRoutedExperts, .chosen = kRoutedChosen, .normTopkProb = true};
}

inline SourceRouting coupledRouting(double rho = 0.5, double alpha = 0.75, Position window = 4) {
    SourceRouting routing;
    routing.noise.mode = RoutingMode::Coupled;
    routing.noise.coupling.groups = windowsOf(window);
    routing.noise.coupling.rho = rho;
    routing.noise.coupling.alpha = alpha;
    routing.noise.seed = 11;
    return routing;
}

/// One position's row under `routing`.
inline RoutingRow routedRow(const SourceRouting& routing, std::span<const float> logits, Position position) {
    RoutingRow row;
    for (std::size_t l = 0; l < kRoutedLayers; ++l) {
        const auto of = logits.subspan(l * kRoutedExperts, kRoutedExperts);
        RouteMemory memory;
        Routed routed;
        const auto layer = static_cast<std::uint32_t>(smallRouters().layers[l]);
        routePosition(routing.noise, {.chosen = kRoutedChosen, .bias = {}}, of, {layer, position}, memory, routed);
        row.logits.insert(row.logits.end(), of.begin(), of.end());
        row.experts.insert(row.experts.end(), routed.experts.begin(), routed.experts.end());
        for (const double w : routed.weights) row.weights.push_back(static_cast<float>(w));
    }
    return row;
}

/// Positions 1 to 14 are stored: input positions 0 to 13.
inline Trace routedTrace() {
    Trace trace;
    trace.sources = {"base", "noisy"};
    trace.session = sessionOf({"model", "noisy"});
    trace.session.specialists[0].path = "model";
    trace.session.specialists[0].routing = {
        {"mode", "coupled"}, {"rho", 0.5}, {"alpha", 0.75}, {"window", 4}, {"seed", 11}};
    trace.decodedWith = trace.session;
    trace.routers = {smallRouters(), smallRouters()};
    trace.tokenizer = std::make_shared<Pieces>(std::vector<std::string>{"", "", "", " dog", ".", "x"});
    trace.store = std::make_shared<LogitStore>(6, 2);
    const std::vector<float> logits = someLogits(kRoutedPositions * kRoutedLayers * kRoutedExperts);
    for (std::size_t t = 0; t <= kRoutedPositions; ++t) {
        trace.tokens.push_back(t % 5 == 4 ? 4 : 3);
        trace.tokenBytes.emplace_back(trace.tokenizer->bytes(trace.tokens.back()));
        if (t == kRoutedPositions) break;
        const auto position = static_cast<Position>(t);
        const auto of = std::span(logits).subspan(t * kRoutedLayers * kRoutedExperts, kRoutedLayers * kRoutedExperts);
        trace.store->append({position + 1,
                             {std::vector<float>(6, -std::log(6.0F)), std::vector<float>(6, -std::log(6.0F))},
                             {routedRow({}, of, position), routedRow(coupledRouting(), of, position)}});
        auto step = std::make_shared<compute::Step>();
        step->position = position + 1;
        step->diagnostics.drift = 0.25 + 0.01 * static_cast<double>(t);
        step->diagnostics.activity = {0, 0.5 + 0.01 * static_cast<double>(t)};
        step->routing = trace.store->routing(position + 1);
        trace.steps.push_back(step);
    }
    for (std::size_t t = 0; t < kRoutedPositions; ++t)
        std::const_pointer_cast<compute::Step>(trace.steps[t])->token = trace.tokens[t + 1];
    trace.promptLength = 2;
    return trace;
}

inline model::RoutingQuestion questionOf(const Trace& trace, std::size_t source = 1) {
    model::RoutingQuestion question;
    question.of = {.source = trace.sources[source],
                   .index = source,
                   .positions = model::routedPositions(*trace.store, source),
                   .routing = coupledRouting(),
                   .capacity = 1.25,
                   .draws = 100};
    question.routers = *trace.routers[source];
    question.store = trace.store;
    question.curveDraws = 40;
    question.testDraws = 400;
    return question;
}

/// All pictures that were told.
inline std::vector<model::RoutingPicturePtr> picturesOf(const model::RoutingQuestion& question) {
    std::vector<model::RoutingPicturePtr> told;
    const model::RoutingWatch watch{
        .tell = [&](model::RoutingPicturePtr picture) { told.push_back(std::move(picture)); },
        .progress = {},
        .between = {}};
    if (model::routingPicture(question, watch, {}) != Outcome::Done) throw std::logic_error("stopped");
    return told;
}

/// The trace with its picture.
inline Trace picturedTrace() {
    Trace trace = routedTrace();
    trace.routing = picturesOf(questionOf(trace)).back();
    return trace;
}

}  // namespace counterpoint::tests
