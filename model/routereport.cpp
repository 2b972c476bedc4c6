#include "model/routereport.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "compute/error.h"
#include "compute/files/jsonreader.h"
#include "model/shownnumber.h"
#include "model/sourcerouting.h"

namespace counterpoint::model {

using compute::Error;
using compute::Estimate;
using compute::number;

namespace {

namespace fs = std::filesystem;

const compute::RecordedSource& routedSource(const compute::Recording& recording, const std::string& name) {
    std::string names, routed;
    for (const compute::RecordedSource& source : recording.sources) {
        std::string& list = source.routing ? routed : names;
        list += (list.empty() ? "'" : ", '") + source.name + "'";
    }
    const compute::RecordedSource* source = name.empty() ? &recording.sources.front() : recording.find(name);
    if (source == nullptr)
        throw Error({.where = recording.file.string(),
                     .what = "the recording has no source '" + name + "'",
                     .expected = routed + (routed.empty() || names.empty() ? "" : ", ") + names,
                     .advice = "name one of them with --source"});
    if (!source->routing)
        throw Error({.where = recording.file.string(),
                     .what = "there are no router logits of source '" + source->name + "' in it",
                     .expected = "a tensor 'router_logits." + source->name + "'",
                     .found = routed.empty() ? "none of any source" : "those of " + routed,
                     .advice = routed.empty() ? "record a Mixture-of-Experts model with its router logits"
                                              : "name one that has them with --source"});
    return *source;
}

/// Tells of draws that are done, of two settings one after the other.
class Teller {
  public:
    Teller(const std::function<void(const Progress&)>& progress, int draws) : m_progress(progress), m_draws(draws) {}
    void tell(const char* what, int before, int done) const {
        if (!m_progress) return;
        const double seconds = std::chrono::duration<double>(Clock::now() - m_since).count();
        m_progress({what, (before + done) / (2.0 * m_draws),
                    done > 0 ? shownNumber((before + done) / seconds, 0) + " draws/s" : std::string()});
    }

  private:
    using Clock = std::chrono::steady_clock;
    const std::function<void(const Progress&)>& m_progress;
    int m_draws;
    Clock::time_point m_since = Clock::now();
};

RoutedText textOf(const compute::Recording& recording, const compute::RecordedSource& source) {
    const compute::RecordedRouting& routing = source.routing.value();
    return {.routers = {.layers = routing.layers,
                        .experts = routing.logits.shape[2],
                        .chosen = routing.expertsPerToken,
                        .normTopkProb = routing.normTopkProb},
            .positions = static_cast<compute::Position>(recording.tokens.size()),
            .logits = readRouterLogits(recording, source)};
}

compute::EstimateQuestion questionOf(const RoutedText& text, const RouteDials& dials, int threads) {
    compute::SourceRouting routing;
    routing.bias = dials.bias;
    routing = fitted(std::move(routing), text.routers, "source '" + dials.source + "'");
    routing.temperature = dials.routerTemperature;
    routing.noise.seed = dials.seed;
    routing.noise.coupling.groups = compute::windowsOf(dials.window);
    routing.noise.coupling.pairs = dials.pairs;
    routing.noise.coupling.rho = dials.rho;
    routing.noise.coupling.alpha = dials.alpha;
    compute::EstimateQuestion question = estimateQuestion(text, routing, dials.capacity);
    question.draws = dials.draws;
    question.threads = threads;
    return question;
}

OrderedJson json(const Estimate& estimate) { return {{"mean", number(estimate.mean)}, {"se", number(estimate.se)}}; }

/// As a session says it.
OrderedJson expertsJson(const std::map<std::int64_t, std::vector<double>>& biases) {
    OrderedJson layers = OrderedJson::object();
    for (const auto& [layer, bias] : biases) {
        OrderedJson off = OrderedJson::array(), moved = OrderedJson::object();
        for (std::size_t e = 0; e < bias.size(); ++e) {
            if (std::isinf(bias[e]))
                off.push_back(e);
            else if (bias[e] != 0)
                moved[std::to_string(e)] = bias[e];
        }
        layers[std::to_string(layer)] = {{"off", std::move(off)}, {"bias", std::move(moved)}};
    }
    return layers;
}

OrderedJson json(const std::vector<double>& values) {
    OrderedJson list = OrderedJson::array();
    for (const double value : values) list.push_back(number(value));
    return list;
}

void write(OrderedJson& to, const compute::MetricEstimates& current, const compute::MetricEstimates& flat,
           double independentVariance) {
    const std::pair<const char*, Estimate compute::MetricEstimates::*> metrics[] = {
        {"coherence", &compute::MetricEstimates::coherence},
        {"boundary", &compute::MetricEstimates::boundary},
        {"boundary_paired", &compute::MetricEstimates::boundaryPaired},
        {"boundary_unpaired", &compute::MetricEstimates::boundaryUnpaired},
        {"distinct", &compute::MetricEstimates::distinct},
        {"cv", &compute::MetricEstimates::cv},
        {"overflow", &compute::MetricEstimates::overflow},
        {"load_variance", &compute::MetricEstimates::loadVariance}};
    for (const auto& [key, metric] : metrics) to[key] = json(current.*metric);
    to["independent_load_variance"] = json(Estimate{independentVariance, 0});
    to["flat_load_variance"] = json(flat.loadVariance);
}

}  // namespace

fs::path recordingOf(const fs::path& recordingOrRun) {
    std::error_code error;
    if (!fs::is_directory(recordingOrRun, error)) return recordingOrRun;
    fs::path dump = recordingOrRun / "sources.safetensors";
    if (fs::exists(dump, error)) return dump;
    const bool run = fs::exists(recordingOrRun / "trace.jsonl", error);
    throw Error({.where = recordingOrRun.string(),
                 .what = run ? "this run was not made with --dump sources, so it holds no router logits"
                             : "this folder is no run that was made with --dump sources",
                 .expected = "sources.safetensors in it",
                 .advice = "give a recording, or run the session again with --dump sources"});
}

std::map<std::int64_t, std::vector<double>> switchedIn(const fs::path& recordingOrRun, const std::string& source) {
    const fs::path file = recordingOrRun / "session.json";
    std::error_code error;
    if (!fs::is_directory(recordingOrRun, error) || !fs::exists(file, error)) return {};
    std::vector<std::string> warnings;
    const Session session = readSession(file, warnings);
    for (std::size_t i = 0; i < session.sourceCount(); ++i)
        if (session.source(i).name == source) return sourceRouting(session.source(i).routing, file.string()).bias;
    return {};
}

std::vector<compute::GroupPair> readPairs(const fs::path& file, compute::GroupIndex groups) {
    const OrderedJson json = compute::readOrderedJson(file);
    const std::string expected = "a list of pairs of groups such as [[0,1],[2,3]]";
    const auto refuse = [&](const OrderedJson& found) {
        throw Error({.where = file.string(),
                     .what = "these are no pairs of groups",
                     .expected = expected,
                     .found = compute::shortly(found)});
    };
    if (!json.is_array()) refuse(json);
    compute::Coupling coupling{.groups = {}, .pairs = {{}}, .rhoOfGroup = {}, .alphaOfPair = {}};
    for (const OrderedJson& pair : json) {
        if (!pair.is_array() || pair.size() != 2) refuse(pair);
        for (const OrderedJson& group : pair) {
            if (!group.is_number_unsigned()) refuse(pair);
            if (group.get<std::uint64_t>() >= static_cast<std::uint64_t>(groups))
                throw Error(
                    {.where = file.string(),
                     .what = "the pair " + compute::shortly(pair) + " names a group that the text does not have",
                     .expected = "groups 0 to " + std::to_string(groups - 1),
                     .found = compute::shortly(group)});
        }
        coupling.pairs->push_back({pair[0].get<compute::GroupIndex>(), pair[1].get<compute::GroupIndex>()});
    }
    try {
        check(coupling);
    } catch (const Error& error) {
        compute::ErrorParts parts = error.parts();
        parts.where = file.string();
        throw Error(std::move(parts));
    }
    return *coupling.pairs;
}

std::optional<RouteReport> routeReport(const compute::Recording& recording, const RouteDials& dials, int threads,
                                       const std::function<void(const Progress&)>& progress,
                                       const std::stop_token& stop) {
    const compute::RecordedSource& source = routedSource(recording, dials.source);
    const RoutedText text = textOf(recording, source);
    RouteDials named = dials;
    named.source = source.name;
    compute::EstimateQuestion question = questionOf(text, named, threads);
    RouteReport report{.dials = named,
                       .positions = text.positions,
                       .routers = text.routers,
                       .current = {},
                       .flat = {},
                       .independent = {},
                       .published = deterministicRouting(question)};
    const Teller teller(progress, dials.draws);
    const auto estimated = [&](const char* what, int before, compute::Estimates& into) {
        teller.tell(what, before, 0);
        return estimate(question, stop, [&](const compute::Estimates& all) {
                   teller.tell(what, before, all.draws);
                   into = all;
               }) == compute::Outcome::Done;
    };
    if (!estimated("routing under the dials", 0, report.current)) return {};
    question.coupling = flatOf(question.coupling);
    if (!estimated("routing under flat coupling", dials.draws, report.flat)) return {};
    report.independent = independentForms(question, {}, stop);
    if (stop.stop_requested()) return {};
    return report;
}

OrderedJson toJson(const RouteReport& report) {
    const RouteDials& dials = report.dials;
    const auto L = static_cast<double>(report.routers.layers.size());
    OrderedJson layers = OrderedJson::array();
    std::vector<compute::RoutingMetrics> deterministic;
    double independentVariance = 0;
    for (std::size_t l = 0; l < report.routers.layers.size(); ++l) {
        const compute::LayerEstimates& current = report.current.layers[l];
        const compute::DeterministicRouting& published = report.published[l];
        const compute::IndependentForm& independent = report.independent[l];
        independentVariance += independent.loadVariance;
        OrderedJson layer = {{"layer", report.routers.layers[l]}};
        write(layer, current.metrics, report.flat.layers[l].metrics, independent.loadVariance);
        std::vector<double> load, error;
        for (const Estimate& one : current.load) {
            load.push_back(one.mean);
            error.push_back(one.se);
        }
        layer["load"] = json(load);
        layer["load_se"] = json(error);
        layer["independent_load"] = json(independent.load);
        layer["deterministic"] = {{"cv", number(published.metrics.cv)},
                                  {"overflow", number(published.metrics.overflow)},
                                  {"load", published.load}};
        deterministic.push_back(published.metrics);
        layers.push_back(std::move(layer));
    }
    OrderedJson pooled = OrderedJson::object();
    write(pooled, report.current.pooled, report.flat.pooled, independentVariance / L);
    const compute::RoutingMetrics mean = compute::pooled(deterministic);
    pooled["deterministic"] = {{"cv", number(mean.cv)}, {"overflow", number(mean.overflow)}};
    OrderedJson told = {{"source", dials.source},
                        {"rho", number(dials.rho)},
                        {"alpha", number(dials.alpha)},
                        {"window", dials.window},
                        {"pairs", dials.pairs ? OrderedJson(*dials.pairs) : OrderedJson()},
                        {"draws", dials.draws},
                        {"seed", dials.seed},
                        {"router_temperature", number(dials.routerTemperature)},
                        {"capacity", number(dials.capacity)},
                        {"positions", report.positions},
                        {"experts", report.routers.experts},
                        {"experts_per_token", report.routers.chosen},
                        {"norm_topk_prob", report.routers.normTopkProb},
                        {"changes_the_law", dials.routerTemperature != 1 || !dials.bias.empty()}};
    if (!dials.bias.empty()) told["switched_experts"] = expertsJson(dials.bias);
    return {{"dials", std::move(told)},
            {"layers", std::move(layers)},
            {"pooled", std::move(pooled)},
            {"scope",
             "one layer at a time, given its stored router logits: the law of each token is kept there; no end-to-end "
             "statement"}};
}

}  // namespace counterpoint::model
