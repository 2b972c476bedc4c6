#include "compute/routing/question.h"

#include <algorithm>
#include <string>

#include "compute/routing/refusal.h"

namespace counterpoint::compute::routing {

std::vector<double> scaledLogits(const RouterLaw& law, std::span<const float> logits, std::size_t experts,
                                 std::uint32_t layer) {
    check(law, experts);
    std::vector<double> scaled(logits.size());
    for (std::size_t at = 0; at + experts <= scaled.size(); at += experts) {
        const std::span<double> row(scaled.data() + at, experts);
        biasedLogits(law, logits.subspan(at, experts), row, {layer, static_cast<Position>(at / experts)});
        routingScores(law, row, {}, row);
    }
    return scaled;
}

Position positionsOf(const EstimateQuestion& question) {
    if (question.experts < 1 || question.layers.empty())
        refuse("\"router_logits\"", "there is nothing to route", "a layer with experts", "none");
    const std::size_t size = question.layers.front().logits.size();
    for (const RouterLayer& layer : question.layers)
        if (layer.logits.size() != size || size % question.experts != 0 || size == 0)
            refuse("layer " + std::to_string(layer.layer), "the router's logits have another shape",
                   std::to_string(std::max<std::size_t>(1, size / question.experts)) + " × " +
                       std::to_string(question.experts) + " numbers",
                   std::to_string(layer.logits.size()));
    return static_cast<Position>(size / question.experts);
}

}  // namespace counterpoint::compute::routing
