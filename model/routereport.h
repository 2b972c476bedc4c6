#pragma once
// What `counterpoint route` says of a recording's router logits under the dials of R11: R13's metrics over redrawn
// noise with their standard errors, and the load variance of independent noise (closed form, so without an error) and
// of flat coupling beside (R14). Layer by layer, given each layer's stored router logits: no end-to-end statement.
// Units: positions, selections. Errors: Error for a source that is not there or has no router logits, and those of
// compute/routing. Thread: any (values). Stopped: nothing is published.

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "compute/sources/recording.h"
#include "model/engine.h"
#include "model/routingpicture.h"

namespace counterpoint::model {

struct RouteDials {
    std::string source;  ///< empty: the recording's base
    double rho = 0.5, alpha = 0.5;
    compute::Position window = 8;
    std::optional<std::vector<compute::GroupPair>> pairs;  ///< none: (0,1), (2,3), …
    int draws = 256;
    std::uint64_t seed = 7;
    double routerTemperature = 1, capacity = 1;
    std::map<std::int64_t, std::vector<double>> bias;  ///< of layers of the model, −∞: off
};

struct RouteReport {
    RouteDials dials;  ///< the source by its name
    compute::Position positions = 0;
    compute::RouterInfo routers;
    compute::Estimates current, flat;
    std::vector<compute::IndependentForm> independent;     ///< [L]
    std::vector<compute::DeterministicRouting> published;  ///< [L] without noise
};

/// The recording that a file is, or that lies in a run's directory.
std::filesystem::path recordingOf(const std::filesystem::path& recordingOrRun);
/// What a run's session says of a source's experts: RouteDials::bias; empty where it says nothing or there is no
/// session.
std::map<std::int64_t, std::vector<double>> switchedIn(const std::filesystem::path& recordingOrRun,
                                                       const std::string& source);
/// A list of pairs of groups as JSON, [[0,1],[2,3]]; `groups`: how many the text has.
std::vector<compute::GroupPair> readPairs(const std::filesystem::path& file, compute::GroupIndex groups);
/// nullopt: it was stopped.
std::optional<RouteReport> routeReport(const compute::Recording& recording, const RouteDials& dials, int threads,
                                       const std::function<void(const Progress&)>& progress = {},
                                       const std::stop_token& stop = {});
/// {"dials", "layers", "pooled", "scope"} (SPEC.md 3).
OrderedJson toJson(const RouteReport& report);

}  // namespace counterpoint::model
