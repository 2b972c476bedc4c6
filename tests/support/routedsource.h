#pragma once
// A FakeSource with routed experts: router logits by position, layer and expert, routed by the product's own law under
// the settings it is given. Layers 0 and 2, six experts, two of them chosen.

#include "compute/routing/route.h"
#include "tests/support/fakesource.h"

namespace counterpoint::tests {

class RoutedSource : public FakeSource {
  public:
    static constexpr std::int64_t kLayers[] = {0, 2};
    static constexpr std::size_t kExperts = 6, kChosen = 2;

    RoutedSource(std::shared_ptr<const compute::Tokenizer> tokenizer, FakeScript script)
        : FakeSource(std::move(tokenizer), std::move(script)) {
        const_cast<compute::SourceInfo&>(info()).routers = {.layers = {std::begin(kLayers), std::end(kLayers)},
                                                            .experts = kExperts,
                                                            .chosen = kChosen,
                                                            .normTopkProb = true};
    }
    compute::Outcome forward(std::span<const compute::TokenId> ids, std::int64_t rows, std::span<float> logits,
                             std::stop_token stop) override {
        const compute::Position first = length();
        const compute::Outcome outcome = FakeSource::forward(ids, rows, logits, stop);
        if (outcome != compute::Outcome::Done) return outcome;
        m_rows.clear();
        for (std::size_t i = 0; i < ids.size(); ++i) m_rows.push_back(rowAt(first + static_cast<compute::Position>(i)));
        return outcome;
    }
    void setRouting(const compute::SourceRouting& routing) override { m_routing = routing; }
    std::span<const compute::RoutingRow> routing() const override { return m_rows; }
    std::unique_ptr<compute::Source> fork() const override { return std::make_unique<RoutedSource>(*this); }

  private:
    compute::RoutingRow rowAt(compute::Position position) const {
        compute::RoutingRow row;
        for (const std::int64_t layer : kLayers) {
            std::vector<float> logits;
            for (std::size_t e = 0; e < kExperts; ++e)
                logits.push_back(std::sin(0.9f * static_cast<float>(position) + 1.7f * static_cast<float>(e) +
                                          static_cast<float>(layer)));
            compute::RouterLaw law;
            law.chosen = static_cast<int>(kChosen);
            law.temperature = m_routing.temperature;
            if (const auto bias = m_routing.bias.find(layer); bias != m_routing.bias.end()) {
                law.bias = bias->second;
                law.bias.resize(kExperts);
            }
            compute::RouteMemory memory;
            compute::Routed routed;
            compute::routePosition(m_routing.noise, law, logits,
                                   {.layer = static_cast<std::uint32_t>(layer), .position = position}, memory, routed);
            row.logits.insert(row.logits.end(), logits.begin(), logits.end());
            row.experts.insert(row.experts.end(), routed.experts.begin(), routed.experts.end());
            for (const double weight : routed.weights) row.weights.push_back(static_cast<float>(weight));
        }
        return row;
    }
    compute::SourceRouting m_routing;
    std::vector<compute::RoutingRow> m_rows;
};

}  // namespace counterpoint::tests
