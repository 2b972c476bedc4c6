#include "compute/routing/controller.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "compute/files/jsonreader.h"
#include "compute/routing/logistic.h"
#include "compute/routing/question.h"

namespace counterpoint::compute {
namespace {

constexpr std::pair<const char*, double Controller::*> kNumbers[] = {
    {"a", &Controller::a}, {"b", &Controller::b}, {"c", &Controller::c}, {"mean_entropy", &Controller::meanEntropy}};

}  // namespace

double rhoOf(const Controller& controller, double entropy) noexcept {
    return routing::kLeastRho +
           routing::kRhoSpan * routing::logistic(controller.a + controller.b * (entropy - controller.meanEntropy));
}

double alphaOf(const Controller& controller) noexcept { return routing::kMostAlpha * routing::logistic(controller.c); }

double gateEntropy(std::span<const double> biased) noexcept {
    const double top = *std::max_element(biased.begin(), biased.end());
    double mass = 0, sum = 0;  // of e^{ℓ' − top}, and of (ℓ' − top) e^{ℓ' − top}
    for (const double ell : biased) {
        const double p = std::exp(ell - top);
        mass += p;
        if (p > 0) sum += (ell - top) * p;
    }
    return std::log(mass) - sum / mass;
}

std::vector<double> groupEntropies(const EstimateQuestion& question) {
    const Layout layout = layoutOf(question.coupling, routing::positionsOf(question));
    std::vector<double> entropies(layout.placements.size()), biased(question.experts);
    for (const RouterLayer& layer : question.layers) {
        check(layer.law, question.experts);
        for (std::size_t g = 0; g < entropies.size(); ++g)
            for (Position t = layout.bounds[g]; t < layout.bounds[g + 1]; ++t) {
                const std::size_t at = static_cast<std::size_t>(t) * question.experts;
                biasedLogits(layer.law, layer.logits.subspan(at, question.experts), biased, {layer.layer, t});
                entropies[g] += gateEntropy(biased);
            }
    }
    for (std::size_t g = 0; g < entropies.size(); ++g)
        entropies[g] /=
            static_cast<double>(layout.bounds[g + 1] - layout.bounds[g]) * static_cast<double>(question.layers.size());
    return entropies;
}

std::vector<double> controllingEntropies(const Controller& controller, std::span<const double> entropies,
                                         EntropyOf of) {
    std::vector<double> controlling(entropies.begin(), entropies.end());
    if (of == EntropyOf::PreviousGroup) controlling.insert(controlling.begin(), controller.meanEntropy);
    return controlling;
}

Coupling controlled(const Controller& controller, Coupling coupling, std::span<const double> entropies, EntropyOf of) {
    coupling.rho = rhoOf(controller, controller.meanEntropy);
    coupling.alpha = alphaOf(controller);
    coupling.alphaOfPair.clear();
    coupling.rhoOfGroup = controllingEntropies(controller, entropies, of);
    for (double& value : coupling.rhoOfGroup) value = rhoOf(controller, value);
    return coupling;
}

OrderedJson toJson(const Controller& controller) {
    OrderedJson json = OrderedJson::object();
    for (const auto& [key, value] : kNumbers) json[key] = number(controller.*value);
    for (const auto& [key, value] : controller.unknown.items()) json[key] = value;
    return json;
}

Controller controllerFromJson(const OrderedJson& json, const std::string& where, std::vector<std::string>& warnings) {
    JsonReader reader(json, where);
    Controller controller;
    for (const auto& [key, value] : kNumbers) {
        if (!json.contains(key)) throw reader.missing(key, "a finite number");
        reader.finite(key, controller.*value);
    }
    controller.unknown = reader.unknown(warnings);
    return controller;
}

}  // namespace counterpoint::compute
