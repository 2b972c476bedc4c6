#include "compute/routing/topk.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "compute/routing/refusal.h"

namespace counterpoint::compute {
namespace {

using routing::refuse;
using routing::written;

constexpr double kOff = -std::numeric_limits<double>::infinity();

std::string written(const RouterPlace& place) {
    return "layer " + std::to_string(place.layer) + ", position " + std::to_string(place.position);
}

}  // namespace

void check(const RouterLaw& law, std::size_t experts) {
    if (law.chosen < 1 || static_cast<std::size_t>(law.chosen) > experts)
        refuse("\"experts_per_token\"", "a position chooses among the experts that there are",
               "1 to " + std::to_string(experts), std::to_string(law.chosen));
    if (!(law.temperature > 0.0) || !std::isfinite(law.temperature))
        refuse("\"temperature\"", "the router's temperature is outside its bounds", "above 0",
               written(law.temperature));
    if (!law.bias.empty() && law.bias.size() != experts)
        refuse("\"bias\"", "there is one bias for each expert", std::to_string(experts),
               std::to_string(law.bias.size()));
    for (const double b : law.bias)
        if (std::isnan(b) || b == -kOff)
            refuse("\"bias\"", "a bias is a number, or minus infinity for an expert that is off", "below infinity",
                   written(b));
}

void biasedLogits(const RouterLaw& law, std::span<const float> logits, std::span<double> biased,
                  const RouterPlace& place) {
    std::size_t left = 0;
    for (std::size_t e = 0; e < logits.size(); ++e) {
        biased[e] = static_cast<double>(logits[e]) + (law.bias.empty() ? 0.0 : law.bias[e]);
        const double scaled = biased[e] / law.temperature;
        if (std::isnan(biased[e]) || biased[e] == -kOff || (std::isinf(scaled) && std::isfinite(biased[e])))
            refuse(written(place) + ", expert " + std::to_string(e), "the router's logit is no finite number",
                   "a finite number, or minus infinity for an expert that is off",
                   written(std::isfinite(biased[e]) ? scaled : biased[e]));
        left += biased[e] > kOff;
    }
    if (left < static_cast<std::size_t>(law.chosen))
        refuse(written(place), "too few experts are left to choose from", std::to_string(law.chosen) + " or more",
               std::to_string(left));
}

void routingScores(const RouterLaw& law, std::span<const double> biased, std::span<const double> gamma,
                   std::span<double> scores) noexcept {
    for (std::size_t e = 0; e < biased.size(); ++e)
        scores[e] = biased[e] / law.temperature + (gamma.empty() ? 0.0 : gamma[e]);
}

void topK(std::span<const double> scores, std::span<ExpertId> chosen) noexcept {
    std::size_t held = 0;
    double worst = kOff;  // score of the last held once all places are taken
    for (std::size_t e = 0; e < scores.size(); ++e) {
        const double score = scores[e];
        if (!(score > worst)) continue;
        std::size_t place = held < chosen.size() ? held++ : held - 1;
        for (; place > 0 && score > scores[static_cast<std::size_t>(chosen[place - 1])]; --place)
            chosen[place] = chosen[place - 1];
        chosen[place] = static_cast<ExpertId>(e);
        if (held == chosen.size()) worst = scores[static_cast<std::size_t>(chosen.back())];
    }
}

void mixtureWeights(const RouterLaw& law, std::span<const double> biased, std::span<const ExpertId> chosen,
                    std::span<double> weights) noexcept {
    double top = kOff;
    for (const ExpertId e : chosen) top = std::max(top, biased[static_cast<std::size_t>(e)]);
    if (!law.normTopkProb) top = *std::max_element(biased.begin(), biased.end());
    double mass = 0;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
        weights[i] = std::exp(biased[static_cast<std::size_t>(chosen[i])] - top);
        mass += weights[i];
    }
    if (!law.normTopkProb) {
        mass = 0;
        for (const double ell : biased) mass += std::exp(ell - top);
    }
    for (double& w : weights) w /= mass;
}

}  // namespace counterpoint::compute
