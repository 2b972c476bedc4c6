#include "compute/network/router.h"

#include <algorithm>
#include <cmath>

#include "compute/error.h"

namespace counterpoint::network {

using compute::Position;
using compute::RouterLaw;
using compute::RoutingRow;

namespace {

[[noreturn]] void refuse(std::int64_t layer, std::string what, std::string expected, std::string found) {
    throw compute::Error({.where = "routing, layer " + std::to_string(layer),
                          .what = std::move(what),
                          .expected = std::move(expected),
                          .found = std::move(found),
                          .advice = {},
                          .details = {}});
}

}  // namespace

Router::Router(const Shape& shape)
    : m_experts(static_cast<std::size_t>(shape.mixture.experts)),
      m_chosen(static_cast<std::size_t>(shape.mixture.chosen)) {
    for (const LayerKind& kind : shape.kinds) {
        m_place.push_back(kind.routed ? static_cast<int>(m_layers.size()) : -1);
        if (!kind.routed) continue;
        RoutedLayer& layer = m_layers.emplace_back();
        layer.law.chosen = static_cast<int>(m_chosen);
        layer.law.normTopkProb = shape.mixture.normTopkProb;
    }
}

void Router::set(const compute::SourceRouting& routing) {
    if (routing == m_routing) return;
    compute::check(routing.noise.coupling);
    std::vector<RouterLaw> laws;
    for (const RoutedLayer& layer : m_layers) {
        RouterLaw& law = laws.emplace_back(layer.law);
        law.temperature = routing.temperature;
        law.bias.clear();
    }
    for (const auto& [layer, bias] : routing.bias) {
        const bool known = layer >= 0 && layer < static_cast<std::int64_t>(m_place.size());
        const int place = known ? m_place[static_cast<std::size_t>(layer)] : -1;
        if (place < 0)
            refuse(layer, "there are no routed experts in this layer to switch off or bias", "a routed layer", {});
        laws[static_cast<std::size_t>(place)].bias = bias;
        const auto off = static_cast<std::size_t>(
            std::count_if(bias.begin(), bias.end(), [](double b) { return std::isinf(b) && b < 0.0; }));
        if (bias.size() == m_experts && m_experts - off < m_chosen)
            refuse(layer, "too few experts are left to choose from", std::to_string(m_chosen) + " or more",
                   std::to_string(m_experts - off));
    }
    for (const RouterLaw& law : laws) check(law, m_experts);
    for (std::size_t i = 0; i < laws.size(); ++i) m_layers[i].law = std::move(laws[i]);
    m_routing = routing;
}

void Router::begin(Position first, std::int64_t n) {
    m_first = first;
    m_rows.resize(static_cast<std::size_t>(n));
    for (RoutingRow& row : m_rows) {
        row.logits.resize(m_layers.size() * m_experts);
        row.experts.resize(m_layers.size() * m_chosen);
        row.weights.resize(m_layers.size() * m_chosen);
    }
}

void Router::route(std::int64_t layer, Position first, std::int64_t T, const float* logits) {
    const auto place = static_cast<std::size_t>(m_place[static_cast<std::size_t>(layer)]);
    RoutedLayer& routed = m_layers[place];
    const Position prefixEnd = m_routing.prefixFirst + m_routing.prefixLength;
    for (std::int64_t t = 0; t < T; ++t) {
        const std::span row(logits + t * static_cast<std::int64_t>(m_experts), m_experts);
        const Position own = first + t;
        const bool ofPrefix = own >= m_routing.prefixFirst && own < prefixEnd;
        const compute::RouterPlace at{static_cast<std::uint32_t>(layer),
                                      own < m_routing.prefixFirst || ofPrefix ? own : own - m_routing.prefixLength};
        if (ofPrefix)
            compute::route(routed.law, row, {}, at, routed.memory, m_routed);
        else
            compute::routePosition(m_routing.noise, routed.law, row, at, routed.memory, m_routed);
        RoutingRow& kept = m_rows[static_cast<std::size_t>(own - m_first)];
        std::ranges::copy(row, kept.logits.begin() + static_cast<std::ptrdiff_t>(place * m_experts));
        std::ranges::copy(m_routed.experts, kept.experts.begin() + static_cast<std::ptrdiff_t>(place * m_chosen));
        std::ranges::transform(m_routed.weights, kept.weights.begin() + static_cast<std::ptrdiff_t>(place * m_chosen),
                               [](double w) { return static_cast<float>(w); });
    }
}

Choice Router::choice(std::int64_t layer, Position position) const {
    const auto at = static_cast<std::size_t>(m_place[static_cast<std::size_t>(layer)]) * m_chosen;
    const RoutingRow& row = m_rows[static_cast<std::size_t>(position - m_first)];
    return {std::span(row.experts).subspan(at, m_chosen), std::span(row.weights).subspan(at, m_chosen)};
}

void group(const Router& router, std::int64_t layer, Position first, std::int64_t T, Grouped& g) {
    const auto E = static_cast<std::size_t>(router.experts());
    g.begins.assign(E + 1, 0);
    for (std::int64_t t = 0; t < T; ++t)
        for (const compute::ExpertId e : router.choice(layer, first + t).experts)
            ++g.begins[static_cast<std::size_t>(e) + 1];
    for (std::size_t e = 0; e < E; ++e) g.begins[e + 1] += g.begins[e];
    g.positions.resize(static_cast<std::size_t>(g.begins.back()));
    g.weights.resize(g.positions.size());
    for (std::int64_t t = 0; t < T; ++t) {
        const Choice choice = router.choice(layer, first + t);
        for (std::size_t k = 0; k < choice.experts.size(); ++k) {
            const auto row = static_cast<std::size_t>(g.begins[static_cast<std::size_t>(choice.experts[k])]++);
            g.positions[row] = t;
            g.weights[row] = choice.weights[k];
        }
    }
    std::rotate(g.begins.begin(), g.begins.end() - 1, g.begins.end());  // each has become the next one's
    g.begins.front() = 0;
}

}  // namespace counterpoint::network
