#include "compute/routing/estimates.h"

#include <algorithm>
#include <cmath>

#include "compute/freememory.h"
#include "compute/pool.h"
#include "compute/routing/copula.h"
#include "compute/routing/moments.h"
#include "compute/routing/question.h"
#include "compute/routing/refusal.h"

namespace counterpoint::compute {
namespace {

constexpr int kFirstAnswer = 32;
constexpr double kAtOnce = 2e6;  ///< positions · experts · draws: some hundredths of a second on two threads

/// One layer: what is asked of it and what its draws gave.
struct LayerDraws {
    std::uint32_t layer;
    int chosen;
    std::vector<std::int64_t> capacities;  ///< of the question's further factors
    std::vector<double> scaled;  ///< [T][E] ℓ'/T_r
    routing::Moments moments;
};

/// Memory of one thread.
struct Worker {
    std::vector<MetricsPlan> plans;  ///< one a layer
    std::vector<ExpertId> chosen;    ///< [T][K]
    std::vector<double> scores;      ///< [E]
    std::vector<std::int32_t> earlier;
    GroupMemory memory;
};

/// S_t of every position under one draw's noise.
void routeDraw(const NoiseAddress& address, const LayerDraws& layer, const Layout& layout, std::size_t experts,
               Worker& worker) {
    const auto K = static_cast<std::size_t>(layer.chosen);
    for (std::size_t g = 0; g < layout.placements.size(); ++g)
        for (Position t = layout.bounds[g]; t < layout.bounds[g + 1]; ++t) {
            routingNoise(address, layout.placements[g], t, worker.memory, worker.scores);
            const double* scaled = layer.scaled.data() + static_cast<std::size_t>(t) * experts;
            for (std::size_t e = 0; e < experts; ++e) worker.scores[e] += scaled[e];
            topK(worker.scores, {worker.chosen.data() + static_cast<std::size_t>(t) * K, K});
        }
}

Estimates estimatesOf(std::span<const LayerDraws> layers, int draws) {
    Estimates all{.draws = draws, .layers = {}, .pooled = {}};
    std::vector<const routing::Moments*> moments;
    for (const LayerDraws& layer : layers) {
        all.layers.push_back(routing::layerEstimates(layer.moments, draws, layer.capacities));
        moments.push_back(&layer.moments);
        const double gap = routing::identityGap(layer.moments, draws);
        if (!(gap <= 1e-9))
            routing::refuse("layer " + std::to_string(layer.layer),
                            "the moments of one set of draws contradict each other", "a gap of at most 1e-9",
                            routing::written(gap));
    }
    all.pooled = routing::pooledEstimates(moments, draws);
    return all;
}

/// Every draw is kept until the last: standard errors are of all of them.
void requireMemory(const EstimateQuestion& question, Position positions) {
    const auto E = static_cast<std::int64_t>(question.experts), L = static_cast<std::int64_t>(question.layers.size());
    const std::int64_t draw = sizeof(RoutingMetrics) + sizeof(std::int64_t) + E * sizeof(std::int32_t);
    const std::int64_t needed = L * (question.draws * draw + positions * E * (sizeof(double) + sizeof(std::uint32_t)));
    if (const auto free = freeMemory(); free && needed > *free)
        routing::refuse("\"draws\"", "there is not enough memory for so many", mebibytes(needed),
                        mebibytes(*free) + " free");
}

}  // namespace

Outcome estimate(const EstimateQuestion& question, const std::stop_token& stop,
                 const std::function<void(const Estimates&)>& progress, const std::function<void()>& between) {
    const Position T = routing::positionsOf(question);
    if (question.draws < 1)
        routing::refuse("\"draws\"", "an estimate needs draws", "1 or more", std::to_string(question.draws));
    requireMemory(question, T);
    const std::size_t E = question.experts, L = question.layers.size();
    std::vector<LayerDraws> layers;
    Worker fresh{.plans = {},
                 .chosen = {},
                 .scores = std::vector<double>(E),
                 .earlier = std::vector<std::int32_t>(E),
                 .memory = {}};
    fresh.memory.zeta.reserve(E);
    fresh.memory.scratch.reserve(E);
    for (const RouterLayer& layer : question.layers) {
        std::vector<double> scaled = routing::scaledLogits(layer.law, layer.logits, E, layer.layer);
        const MetricsPlan& plan =
            fresh.plans.emplace_back(metricsPlan(question.coupling, T, E, layer.law.chosen, question.capacityFactor));
        layers.push_back({layer.layer,
                          layer.law.chosen,
                          {},
                          std::move(scaled),
                          routing::momentsFor(static_cast<std::size_t>(T), E, question.draws, plan.distinct.size())});
        for (const double factor : question.capacityFactors)
            layers.back().capacities.push_back(capacityOf(factor, T, E, layer.law.chosen));
        fresh.chosen.resize(std::max(fresh.chosen.size(), static_cast<std::size_t>(T * layer.law.chosen)));
    }
    const int threads = std::max(1, question.threads);
    std::vector<Worker> workers(static_cast<std::size_t>(threads), fresh);
    const auto atOnce = static_cast<std::int64_t>(
        std::max(static_cast<double>(threads), kAtOnce / (static_cast<double>(T) * static_cast<double>(E))));
    for (int done = 0; done < question.draws;) {
        const int upTo = std::min(question.draws, done == 0 ? kFirstAnswer : 2 * done);
        const auto tasks = static_cast<std::int64_t>(upTo - done) * static_cast<std::int64_t>(L);
        const auto keep = [&](std::int64_t task, int who) {
            if (stop.stop_requested()) return;
            const std::size_t at = static_cast<std::size_t>(task) % L;
            const int draw = done + static_cast<int>(task / static_cast<std::int64_t>(L));
            Worker& worker = workers[static_cast<std::size_t>(who)];
            MetricsPlan& plan = worker.plans[at];
            const NoiseAddress address{question.seed, static_cast<std::uint32_t>(draw) + 1, layers[at].layer};
            routeDraw(address, layers[at], plan.layout, E, worker);
            const std::span<const ExpertId> chosen(worker.chosen.data(), static_cast<std::size_t>(T) * plan.chosen);
            routing::keepDraw(layers[at].moments, draw, plan, chosen, worker.earlier);
        };
        for (std::int64_t first = 0; first < tasks; first += atOnce) {
            Pool::instance().run(threads, std::min(atOnce, tasks - first),
                                 [&](std::int64_t task, int who) { keep(first + task, who); });
            if (between) between();
        }
        if (stop.stop_requested()) return Outcome::Cancelled;
        done = upTo;
        progress(estimatesOf(layers, done));
    }
    return Outcome::Done;
}

std::vector<DeterministicRouting> deterministicRouting(const EstimateQuestion& question) {
    const Position T = routing::positionsOf(question);
    std::vector<DeterministicRouting> all;
    for (const RouterLayer& layer : question.layers) {
        const std::vector<double> scaled =
            routing::scaledLogits(layer.law, layer.logits, question.experts, layer.layer);
        MetricsPlan plan =
            metricsPlan(question.coupling, T, question.experts, layer.law.chosen, question.capacityFactor);
        DeterministicRouting routing{{},
                                     std::vector<std::int32_t>(question.experts),
                                     std::vector<ExpertId>(static_cast<std::size_t>(T) * plan.chosen)};
        for (std::size_t t = 0; t < static_cast<std::size_t>(T); ++t)
            topK({scaled.data() + t * question.experts, question.experts},
                 {routing.chosen.data() + t * plan.chosen, plan.chosen});
        routing.metrics = measure(plan, routing.chosen, routing.load);
        all.push_back(std::move(routing));
    }
    return all;
}

}  // namespace counterpoint::compute
