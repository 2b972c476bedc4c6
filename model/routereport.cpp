#include "model/routereport.h"

#include <algorithm>
#include <chrono>
#include <numeric>

#include "compute/error.h"
#include "compute/files/jsonreader.h"
#include "compute/routing/inclusion.h"
#include "model/shownnumber.h"

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

compute::EstimateQuestion questionOf(const compute::RecordedSource& source, const RouteDials& dials,
                                     std::span<const float> logits, int threads) {
    const compute::RecordedRouting& routing = source.routing.value();
    compute::EstimateQuestion question;
    question.experts = static_cast<std::size_t>(routing.logits.shape[2]);
    const std::size_t size = logits.size() / routing.layers.size();
    for (std::size_t l = 0; l < routing.layers.size(); ++l)
        question.layers.push_back({.layer = static_cast<std::uint32_t>(routing.layers[l]),
                                   .logits = logits.subspan(l * size, size),
                                   .law = {.chosen = static_cast<int>(routing.expertsPerToken),
                                           .normTopkProb = routing.normTopkProb,
                                           .temperature = dials.routerTemperature,
                                           .bias = {}}});
    question.coupling = {.groups = compute::windowsOf(dials.window),
                         .pairs = dials.pairs,
                         .rho = dials.rho,
                         .alpha = dials.alpha,
                         .rhoOfGroup = {},
                         .alphaOfPair = {}};
    question.seed = dials.seed;
    question.capacityFactor = dials.capacity;
    question.draws = dials.draws;
    question.threads = threads;
    return question;
}

OrderedJson json(const Estimate& estimate) { return {{"mean", number(estimate.mean)}, {"se", number(estimate.se)}}; }

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
    const std::vector<float> logits = readRouterLogits(recording, source);
    compute::EstimateQuestion question = questionOf(source, dials, logits, threads);
    RouteReport report{.dials = dials,
                       .positions = static_cast<compute::Position>(recording.tokens.size()),
                       .experts = question.experts,
                       .expertsPerToken = question.layers.front().law.chosen,
                       .normTopkProb = source.routing->normTopkProb,
                       .layers = source.routing->layers,
                       .current = {},
                       .flat = {},
                       .independentVariance = {},
                       .independentLoad = {},
                       .published = deterministicRouting(question)};
    report.dials.source = source.name;
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
    for (const compute::RouterLayer& layer : question.layers) {
        if (stop.stop_requested()) return {};
        compute::IndependentForm form =
            independentForm(layer.law, layer.logits, question.experts, layer.layer, threads);
        report.independentVariance.push_back(form.loadVariance);
        report.independentLoad.push_back(std::move(form.load));
    }
    return report;
}

OrderedJson toJson(const RouteReport& report) {
    const RouteDials& dials = report.dials;
    const auto L = static_cast<double>(report.layers.size());
    OrderedJson layers = OrderedJson::array();
    std::vector<compute::RoutingMetrics> deterministic;
    for (std::size_t l = 0; l < report.layers.size(); ++l) {
        const compute::LayerEstimates& current = report.current.layers[l];
        const compute::DeterministicRouting& published = report.published[l];
        OrderedJson layer = {{"layer", report.layers[l]}};
        write(layer, current.metrics, report.flat.layers[l].metrics, report.independentVariance[l]);
        std::vector<double> load, error;
        for (const Estimate& one : current.load) {
            load.push_back(one.mean);
            error.push_back(one.se);
        }
        layer["load"] = json(load);
        layer["load_se"] = json(error);
        layer["independent_load"] = json(report.independentLoad[l]);
        layer["deterministic"] = {{"cv", number(published.metrics.cv)},
                                  {"overflow", number(published.metrics.overflow)},
                                  {"load", published.load}};
        deterministic.push_back(published.metrics);
        layers.push_back(std::move(layer));
    }
    OrderedJson pooled = OrderedJson::object();
    write(pooled, report.current.pooled, report.flat.pooled,
          std::accumulate(report.independentVariance.begin(), report.independentVariance.end(), 0.0) / L);
    const compute::RoutingMetrics mean = compute::pooled(deterministic);
    pooled["deterministic"] = {{"cv", number(mean.cv)}, {"overflow", number(mean.overflow)}};
    return {{"dials",
             {{"source", dials.source},
              {"rho", number(dials.rho)},
              {"alpha", number(dials.alpha)},
              {"window", dials.window},
              {"pairs", dials.pairs ? OrderedJson(*dials.pairs) : OrderedJson()},
              {"draws", dials.draws},
              {"seed", dials.seed},
              {"router_temperature", number(dials.routerTemperature)},
              {"capacity", number(dials.capacity)},
              {"positions", report.positions},
              {"experts", report.experts},
              {"experts_per_token", report.expertsPerToken},
              {"norm_topk_prob", report.normTopkProb},
              {"changes_the_law", dials.routerTemperature != 1}}},
            {"layers", std::move(layers)},
            {"pooled", std::move(pooled)},
            {"scope",
             "one layer at a time, given its stored router logits: the law of each token is kept there; no end-to-end "
             "statement"}};
}

}  // namespace counterpoint::model
