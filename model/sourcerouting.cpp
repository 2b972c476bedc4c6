#include "model/sourcerouting.h"

#include <algorithm>
#include <functional>
#include <limits>

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

void share(JsonReader& reader, const std::string& key, double& out) {
    reader.finite(key, out);
    if (!(out >= 0 && out <= 1)) reader.fail(key, "a number from 0 to 1", out);
}

void positive(JsonReader& reader, const std::string& key, double& out) {
    reader.finite(key, out);
    if (!(out > 0)) reader.fail(key, "a number above 0", out);
}

std::vector<std::int64_t> numbers(const JsonReader& reader, const std::string& key, const OrderedJson& list,
                                  const char* expected) {
    if (!list.is_array()) reader.fail(key, expected, list);
    std::vector<std::int64_t> all;
    for (const OrderedJson& one : list) all.push_back(static_cast<std::int64_t>(reader.unsignedOf(key, one, kMost)));
    return all;
}

void readGroups(JsonReader& reader, Coupling& coupling) {
    compute::Position window = 8;
    reader.integer("window", window, kMost);
    if (window < 1) reader.fail("window", "a whole number from 1", window);
    coupling.groups = compute::windowsOf(window);
    const char* expected = "null, or the first positions of the groups in ascending order";
    if (const auto groups = reader.takeNonNull("groups")) {
        std::vector<std::int64_t> starts = numbers(reader, "groups", *groups, expected);
        if (std::adjacent_find(starts.begin(), starts.end(), std::greater_equal<>()) != starts.end()) reader.fail("groups", expected, *groups);
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

/// Whether positions share noise: those of a group, or groups that are paired.
bool shares(const compute::SourceRouting& routing) {
    const Coupling& coupling = routing.noise.coupling;
    const bool longer = coupling.groups.window != 1 || coupling.groups.starts.size() > 1;
    const bool paired = coupling.alpha > 0 && !(coupling.pairs && coupling.pairs->empty());
    return routing.noise.mode == RoutingMode::Coupled && coupling.rho > 0 && (longer || paired);
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
    double capacity = 1;  // of estimates; nothing in a decode asks for it
    positive(reader, "capacity", capacity);
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

std::string lawOf(const Session& session) {
    for (std::size_t i = 0; i < session.sourceCount(); ++i)
        if (const auto routing = sourceRouting(session.source(i).routing, {});
            session.uses(i) && routing.noise.mode != RoutingMode::Deterministic && routing.temperature != 1)
            return "changed";
    for (std::size_t i = 0; i < session.sourceCount(); ++i)
        if (session.mode == Mode::Generate && session.uses(i) && shares(sourceRouting(session.source(i).routing, {})))
            return "scored only";
    return "exact";
}

}  // namespace counterpoint::model
