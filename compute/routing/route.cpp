#include "compute/routing/route.h"

#include <tuple>

namespace counterpoint::compute {

bool asPublished(const SourceRouting& routing) {
    return routing.noise.mode == RoutingMode::Deterministic && routing.bias.empty();
}

std::optional<Position> differFrom(const SourceRouting& a, const SourceRouting& b) {
    if (a == b) return {};
    const auto others = [](const SourceRouting& r) {
        return std::tie(r.noise.mode, r.noise.seed, r.temperature, r.bias, r.prefixFirst, r.prefixLength);
    };
    const std::optional<Position> from = differFrom(a.noise.coupling, b.noise.coupling);
    if (others(a) != others(b) || !from) return 0;
    return *from < a.prefixFirst ? *from : *from + a.prefixLength;  // positions of the shared sequence
}

void route(const RouterLaw& law, std::span<const float> logits, std::span<const double> gamma, const RouterPlace& place,
           RouteMemory& memory, Routed& routed) {
    check(law, logits.size());
    memory.biased.resize(logits.size());
    memory.scores.resize(logits.size());
    routed.experts.resize(static_cast<std::size_t>(law.chosen));
    routed.weights.resize(static_cast<std::size_t>(law.chosen));
    biasedLogits(law, logits, memory.biased, place);
    routingScores(law, memory.biased, gamma, memory.scores);
    topK(memory.scores, routed.experts);
    mixtureWeights(law, memory.biased, routed.experts, routed.weights);
}

void routePosition(const RoutingSettings& settings, const RouterLaw& law, std::span<const float> logits,
                   const RouterPlace& place, RouteMemory& memory, Routed& routed) {
    if (settings.mode == RoutingMode::Deterministic) return route(law, logits, {}, place, memory, routed);
    Placement placed = placementAt(settings.coupling, place.position);
    if (settings.mode == RoutingMode::Independent) placed.rho = 0;
    memory.gamma.resize(logits.size());
    routingNoise({settings.seed, 0, place.layer}, placed, place.position, memory.group, memory.gamma);
    route(law, logits, memory.gamma, place, memory, routed);
}

}  // namespace counterpoint::compute
