#include "model/sourcerouting.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <limits>
#include <set>

#include "compute/error.h"
#include "compute/files/jsonreader.h"
#include "model/opensession.h"

namespace counterpoint::model {

using compute::Coupling;
using compute::Error;
using compute::JsonReader;
using compute::RoutingMode;

namespace {

constexpr compute::Names<RoutingMode, 3> kModes = {{{"deterministic", RoutingMode::Deterministic},
                                                    {"independent", RoutingMode::Independent},
                                                    {"coupled", RoutingMode::Coupled}}};
constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int32_t>::max());
constexpr std::uint64_t kMostExperts = 65'535;  // a number that no model has takes no memory
constexpr std::uint64_t kMostDraws = 1'000'000;
constexpr const char* kSentences = "sentences";

void share(JsonReader& reader, const std::string& key, double& out) {
    reader.finite(key, out);
    if (!(out >= 0 && out <= 1)) reader.fail(key, "a number from 0 to 1", out);
}

void positive(JsonReader& reader, const std::string& key, double& out) {
    reader.finite(key, out);
    if (!(out > 0)) reader.fail(key, "a number above 0", out);
}

std::vector<std::int64_t> numbers(const JsonReader& reader, const std::string& key, const OrderedJson& list,
                                  const char* expected, std::uint64_t most = kMost) {
    if (!list.is_array()) reader.fail(key, expected, list);
    std::vector<std::int64_t> all;
    for (const OrderedJson& one : list) all.push_back(static_cast<std::int64_t>(reader.unsignedOf(key, one, most)));
    return all;
}

void readGroups(JsonReader& reader, Coupling& coupling) {
    compute::Position window = 8;
    reader.integer("window", window, kMost);
    if (window < 1) reader.fail("window", "a whole number from 1", window);
    coupling.groups = compute::windowsOf(window);
    const char* expected = "null, \"sentences\", or the first positions of the groups in ascending order";
    if (const auto groups = reader.takeNonNull("groups")) {
        if (*groups == kSentences) return void(coupling.groups = compute::groupsFrom({}));
        std::vector<std::int64_t> starts = numbers(reader, "groups", *groups, expected);
        if (std::adjacent_find(starts.begin(), starts.end(), std::greater_equal<>()) != starts.end())
            reader.fail("groups", expected, *groups);
        coupling.groups = compute::groupsFrom(std::move(starts));
    }
}

void readPairs(JsonReader& reader, Coupling& coupling) {
    const auto pairs = reader.takeNonNull("pairs");
    if (!pairs) return;
    const char* expected = "null, or a list of pairs of groups such as [[0,1],[2,3]]";
    if (!pairs->is_array()) reader.fail("pairs", expected, *pairs);
    coupling.pairs.emplace();
    for (const OrderedJson& pair : *pairs) {
        const auto both = numbers(reader, "pairs", pair, expected);
        if (both.size() != 2) reader.fail("pairs", expected, pair);
        coupling.pairs->push_back({both[0], both[1]});
    }
}

/// The number that an object's key is.
std::int64_t numberOf(const JsonReader& reader, const std::string& key, std::uint64_t most, const char* expected) {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), number);
    if (error != std::errc() || end != key.data() + key.size() || number > most) reader.fail({}, expected, key);
    return static_cast<std::int64_t>(number);
}

/// Biases of a layer as far as its entry names experts, −∞ for one that is off; empty: it names none.
std::vector<double> readBiases(JsonReader& reader, std::vector<std::string>* warnings) {
    std::vector<double> biases;
    std::set<std::int64_t> named;
    const auto set = [&](std::int64_t expert, double bias) {
        if (!named.insert(expert).second) reader.fail({}, "each expert once", expert);
        biases.resize(std::max(biases.size(), static_cast<std::size_t>(expert) + 1));
        biases[static_cast<std::size_t>(expert)] = bias;
    };
    if (const auto off = reader.takeNonNull("off"))
        for (const std::int64_t expert : numbers(reader, "off", *off, "a list of experts", kMostExperts))
            set(expert, -std::numeric_limits<double>::infinity());
    if (const auto bias = reader.takeNonNull("bias")) {
        JsonReader inner(*bias, reader.at("bias"));
        for (const auto& item : bias->items()) {
            double value = 0;
            inner.finite(item.key(), value);
            set(numberOf(inner, item.key(), kMostExperts, "the number of an expert"), value);
        }
    }
    if (warnings != nullptr) (void)reader.unknown(*warnings);
    return biases;
}

void readExperts(JsonReader& reader, compute::SourceRouting& routing, std::vector<std::string>* warnings) {
    const auto experts = reader.takeNonNull("experts");
    if (!experts) return;
    const JsonReader layers(*experts, reader.at("experts"));
    for (const auto& item : experts->items()) {
        const std::int64_t layer = numberOf(layers, item.key(), kMost, "the number of a layer");
        JsonReader inner(item.value(), layers.at(item.key()));
        if (std::vector<double> biases = readBiases(inner, warnings); !biases.empty())
            routing.bias[layer] = std::move(biases);
    }
}

}  // namespace

compute::SourceRouting sourceRouting(const OrderedJson& json, const std::string& where,
                                     std::vector<std::string>* warnings) {
    compute::SourceRouting routing;
    if (json.is_null()) return routing;
    JsonReader reader(json, where);
    reader.choice("mode", kModes, routing.noise.mode);
    share(reader, "rho", routing.noise.coupling.rho);
    share(reader, "alpha", routing.noise.coupling.alpha);
    readGroups(reader, routing.noise.coupling);
    readPairs(reader, routing.noise.coupling);
    positive(reader, "temperature", routing.temperature);
    reader.integer("seed", routing.noise.seed, std::numeric_limits<std::uint64_t>::max());
    double capacity = 1;  // routingCapacity
    positive(reader, "capacity", capacity);
    int draws = 256;  // routingDraws
    reader.integer("draws", draws, kMostDraws);
    if (draws < 2) reader.fail("draws", "a whole number from 2", draws);  // one draw has no error
    readExperts(reader, routing, warnings);
    if (warnings != nullptr) (void)reader.unknown(*warnings);
    try {
        check(routing.noise.coupling);
    } catch (const Error& error) {
        compute::ErrorParts parts = error.parts();
        parts.where = where;
        throw Error(std::move(parts));
    }
    return routing;
}

compute::SourceRouting fitted(compute::SourceRouting routing, const compute::RouterInfo& routers,
                              const std::string& where) {
    for (auto& [layer, bias] : routing.bias) {
        const auto refuse = [&, layer = layer](std::string what, std::string expected, std::string found) {
            throw Error({.where = where + ", \"experts\", layer " + std::to_string(layer),
                         .what = std::move(what),
                         .expected = std::move(expected),
                         .found = std::move(found)});
        };
        if (std::find(routers.layers.begin(), routers.layers.end(), layer) == routers.layers.end())
            refuse("there are no routed experts in this layer to switch off or bias", "a routed layer", {});
        const auto E = static_cast<std::size_t>(routers.experts);
        if (bias.size() > E)
            refuse("there is no expert " + std::to_string(bias.size() - 1), "0 to " + std::to_string(E - 1), {});
        bias.resize(E);
        const auto left = static_cast<std::int64_t>(
            std::count_if(bias.begin(), bias.end(), [](double b) { return std::isfinite(b); }));
        if (left < routers.chosen)
            refuse("too few experts are left to choose from", std::to_string(routers.chosen) + " or more",
                   std::to_string(left));
    }
    return routing;
}

bool bySentences(const OrderedJson& routing) {
    const auto groups = routing.is_object() ? routing.find("groups") : routing.end();
    return groups != routing.end() && *groups == kSentences;
}

double routingCapacity(const OrderedJson& routing) {
    const auto capacity = routing.is_object() ? routing.find("capacity") : routing.end();
    return capacity != routing.end() && capacity->is_number() ? capacity->get<double>() : 1;
}

int routingDraws(const OrderedJson& routing) {
    const auto draws = routing.is_object() ? routing.find("draws") : routing.end();
    return draws != routing.end() && draws->is_number_integer() ? draws->get<int>() : 256;
}

bool sharesNoise(const compute::SourceRouting& routing) {
    const Coupling& coupling = routing.noise.coupling;
    const bool longer = coupling.groups.window != 1 || coupling.groups.starts.size() > 1;
    const bool paired = coupling.alpha > 0 && !(coupling.pairs && coupling.pairs->empty());
    return routing.noise.mode == RoutingMode::Coupled && coupling.rho > 0 && (longer || paired);
}

std::string lawOf(const Session& session) {
    bool shared = false;
    for (std::size_t i = 0; i < session.sourceCount(); ++i) {
        if (!session.uses(i)) continue;
        const compute::SourceRouting routing = sourceRouting(session.source(i).routing, {});
        const bool noise = routing.noise.mode != RoutingMode::Deterministic;
        if (!routing.bias.empty() || (noise && routing.temperature != 1)) return "changed";
        shared = shared || (session.mode == Mode::Generate && sharesNoise(routing));
    }
    return shared ? "scored only" : "exact";
}

}  // namespace counterpoint::model
