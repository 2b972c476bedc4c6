#include "compute/routing/training.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "compute/pool.h"
#include "compute/routing/copula.h"
#include "compute/routing/gumbel.h"
#include "compute/routing/inclusion.h"
#include "compute/routing/logistic.h"
#include "compute/routing/moments.h"
#include "compute/routing/question.h"
#include "compute/routing/refusal.h"
#include "compute/routing/score.h"

namespace counterpoint::compute {
namespace {

constexpr std::size_t kParameters = 3;
using Gradient = std::array<double, kParameters>;

/// The dials of a controller on the plan's text, and how they move with a, b and c.
struct Dials {
    Coupling coupling;
    Layout layout;
    std::vector<double> rhoByA, rhoByB;  ///< [G]
    double alphaByC = 0;
};

Dials dialsAt(const TrainingPlan& plan, const Controller& controller) {
    const EstimateQuestion& routing = plan.question.routing;
    Dials dials;
    dials.coupling = controlled(controller, routing.coupling, plan.entropies, plan.question.entropy);
    dials.layout = layoutOf(dials.coupling, plan.layers.front().metrics.layout.bounds.back());
    const std::vector<double> h = controllingEntropies(controller, plan.entropies, plan.question.entropy);
    for (std::size_t g = 0; g < plan.entropies.size(); ++g) {
        const double off = h[g] - controller.meanEntropy;
        dials.rhoByA.push_back(routing::kRhoSpan * routing::logisticSlope(controller.a + controller.b * off));
        dials.rhoByB.push_back(dials.rhoByA[g] * off);
    }
    dials.alphaByC = routing::kMostAlpha * routing::logisticSlope(controller.c);
    return dials;
}

/// Memory of one thread.
struct Worker {
    std::vector<MetricsPlan> plans;        ///< one a layer
    std::vector<double> zeta, partner, z;  ///< [E]
    std::vector<ExpertId> chosen;          ///< [T][K]
    std::vector<std::int32_t> load;        ///< [E]
};

/// One layer under one draw.
struct Rolled {
    double coherence = 0, load = 0, overflow = 0;
    Gradient score{};
};

/// S_t of every position, and the score of the latents they come from.
Gradient routeDraw(const NoiseAddress& address, const Dials& dials, const TrainingPlan::Layer& layer, Worker& worker) {
    const std::size_t E = worker.z.size(), K = layer.metrics.chosen;
    Gradient score{};
    for (std::size_t g = 0; g < dials.layout.placements.size(); ++g) {
        const Placement& placed = dials.layout.placements[g];
        groupNormals(address, placed, worker.zeta, worker.partner);
        if (placed.partnerFirst >= 0 && placed.alpha > 0.0)
            score[2] += dials.alphaByC * routing::alphaScore(placed.alpha, worker.partner, worker.zeta);
        double byRho = 0;
        for (Position t = dials.layout.bounds[g]; t < dials.layout.bounds[g + 1]; ++t) {
            positionNormals(address, placed, t, worker.zeta, worker.z);
            byRho += routing::rhoScore(placed.rho, worker.zeta, worker.z);
            gumbelsOfNormals(worker.z);
            const double* scaled = layer.scaled.data() + static_cast<std::size_t>(t) * E;
            for (std::size_t e = 0; e < E; ++e) worker.z[e] += scaled[e];
            topK(worker.z, {worker.chosen.data() + static_cast<std::size_t>(t) * K, K});
        }
        score[0] += dials.rhoByA[g] * byRho;
        score[1] += dials.rhoByB[g] * byRho;
    }
    return score;
}

Rolled measured(const Gradient& score, const TrainingPlan::Layer& layer, MetricsPlan& plan, Worker& worker,
                std::span<const ExpertId> chosen) {
    const RoutingMetrics metrics = measure(plan, chosen, worker.load);
    Rolled rolled{std::isnan(metrics.coherence) ? 0.0 : metrics.coherence, 0.0, metrics.overflow, score};
    for (std::size_t e = 0; e < worker.load.size(); ++e) {
        const double off = worker.load[e] - layer.load[e];
        rolled.load += off * off;
    }
    const double selections = static_cast<double>(chosen.size());
    rolled.load /= selections;
    rolled.overflow /= selections;
    return rolled;
}

/// Draws as they add up over layers.
struct Sums {
    std::vector<Rolled> draws;         ///< [D]
    std::vector<double> crossEntropy;  ///< [D]
};

ObjectiveEstimate estimateOf(const Sums& sums, const ObjectiveWeights& weights) {
    const int D = static_cast<int>(sums.draws.size());
    const auto objective = [&](std::size_t d) {
        const Rolled& r = sums.draws[d];
        return weights.coherence * r.coherence - weights.crossEntropy * sums.crossEntropy[d] - weights.load * r.load -
               weights.overflow * r.overflow;
    };
    ObjectiveEstimate all;
    all.objective = routing::meanOf(D, objective);
    all.coherence = routing::meanOf(D, [&](std::size_t d) { return sums.draws[d].coherence; });
    all.crossEntropy = routing::meanOf(D, [&](std::size_t d) { return sums.crossEntropy[d]; });
    all.load = routing::meanOf(D, [&](std::size_t d) { return sums.draws[d].load; });
    all.overflow = routing::meanOf(D, [&](std::size_t d) { return sums.draws[d].overflow; });
    // J less the mean of the others is D/(D − 1) times J less the mean of all.
    const double without = D / (D - 1.0);
    for (std::size_t i = 0; i < kParameters; ++i)
        all.gradient[i] = routing::meanOf(
            D, [&](std::size_t d) { return sums.draws[d].score[i] * without * (objective(d) - all.objective.mean); });
    return all;
}

void requireNumber(const char* key, double value, bool good, const char* expected) {
    if (!good || !std::isfinite(value))
        routing::refuse(key, "the value is outside its bounds", expected, routing::written(value));
}

}  // namespace

TrainingPlan trainingPlan(TrainingQuestion question) {
    const Position T = routing::positionsOf(question.routing);
    if (question.routing.draws < 2)
        routing::refuse("\"draws\"", "a gradient needs draws to compare", "2 or more",
                        std::to_string(question.routing.draws));
    requireNumber("\"rate\"", question.rate, question.rate > 0, "above 0");
    for (const double weight :
         {question.weights.coherence, question.weights.crossEntropy, question.weights.load, question.weights.overflow})
        requireNumber("\"weights\"", weight, weight >= 0, "0 or more");
    TrainingPlan plan;
    plan.entropies = groupEntropies(question.routing);
    for (const RouterLayer& layer : question.routing.layers) {
        const std::size_t E = question.routing.experts;
        plan.layers.push_back(
            {layer.layer, routing::scaledLogits(layer.law, layer.logits, E, layer.layer),
             independentForm(layer.law, layer.logits, E, layer.layer, question.routing.threads).load,
             metricsPlan(question.routing.coupling, T, E, layer.law.chosen, question.routing.capacityFactor)});
    }
    question.routing.layers.clear();
    plan.question = std::move(question);
    return plan;
}

std::optional<ObjectiveEstimate> objectiveAt(const TrainingPlan& plan, const Controller& controller,
                                             std::uint32_t first, int count, const std::stop_token& stop) {
    const EstimateQuestion& routing = plan.question.routing;
    const Dials dials = dialsAt(plan, controller);
    const std::size_t E = routing.experts, L = plan.layers.size(), D = static_cast<std::size_t>(count);
    const auto T = static_cast<std::size_t>(dials.layout.bounds.back());
    Worker fresh{{}, std::vector<double>(E),      std::vector<double>(E), std::vector<double>(E),
                 {}, std::vector<std::int32_t>(E)};
    for (const TrainingPlan::Layer& layer : plan.layers) {
        fresh.plans.push_back(layer.metrics);
        fresh.chosen.resize(std::max(fresh.chosen.size(), T * layer.metrics.chosen));
    }
    const int threads = std::max(1, routing.threads);
    std::vector<Worker> workers(static_cast<std::size_t>(threads), fresh);
    std::vector<Rolled> rolled(D * L);
    std::vector<std::vector<std::vector<ExpertId>>> kept(plan.question.crossEntropy ? D : 0);
    for (auto& layers : kept) layers.resize(L);
    Pool::instance().run(threads, static_cast<std::int64_t>(D * L), [&](std::int64_t task, int who) {
        if (stop.stop_requested()) return;
        const std::size_t d = static_cast<std::size_t>(task) / L, l = static_cast<std::size_t>(task) % L;
        Worker& worker = workers[static_cast<std::size_t>(who)];
        const TrainingPlan::Layer& layer = plan.layers[l];
        const NoiseAddress address{routing.seed, first + static_cast<std::uint32_t>(d), layer.layer};
        const Gradient score = routeDraw(address, dials, layer, worker);
        const std::span<const ExpertId> chosen(worker.chosen.data(), T * layer.metrics.chosen);
        rolled[d * L + l] = measured(score, layer, worker.plans[l], worker, chosen);
        if (!kept.empty()) kept[d][l].assign(chosen.begin(), chosen.end());
    });
    if (stop.stop_requested()) return {};
    Sums sums{std::vector<Rolled>(D), std::vector<double>(D)};
    for (std::size_t d = 0; d < D; ++d) {
        Rolled& sum = sums.draws[d];
        for (std::size_t l = 0; l < L; ++l) {
            const Rolled& one = rolled[d * L + l];
            sum.coherence += one.coherence / static_cast<double>(L);
            sum.load += one.load / static_cast<double>(L);
            sum.overflow += one.overflow / static_cast<double>(L);
            for (std::size_t i = 0; i < kParameters; ++i) sum.score[i] += one.score[i];
        }
        if (kept.empty()) continue;
        const auto ce = plan.question.crossEntropy(
            {dials.coupling, routing.seed, first + static_cast<std::uint32_t>(d), kept[d]}, stop);
        if (!ce || stop.stop_requested()) return {};
        if (!std::isfinite(*ce))
            routing::refuse("draw " + std::to_string(first + d),
                            "the cross-entropy under this draw's noise is no number", "a finite number of nats",
                            routing::written(*ce));
        sums.crossEntropy[d] = *ce;
    }
    return estimateOf(sums, plan.question.weights);
}

Training beginTraining(const TrainingPlan& plan, Controller from) {
    double mean = 0;
    for (const double h : plan.entropies) mean += h / static_cast<double>(plan.entropies.size());
    from.a += from.b * (mean - from.meanEntropy);
    from.meanEntropy = mean;
    return {.controller = std::move(from)};
}

std::optional<TrainingStep> trainStep(const TrainingPlan& plan, const Training& state, const std::stop_token& stop) {
    constexpr double kFirst = 0.9, kSecond = 0.999, kLeast = 1e-8;
    const int D = plan.question.routing.draws;
    const std::uint64_t before = std::uint64_t{state.steps} * static_cast<std::uint64_t>(D);
    if (before + static_cast<std::uint64_t>(D) > std::numeric_limits<std::uint32_t>::max())
        routing::refuse("\"steps\"", "the draws of this seed are used up", "fewer than 2^32 in all",
                        std::to_string(before));
    const auto estimate = objectiveAt(plan, state.controller, static_cast<std::uint32_t>(before) + 1, D, stop);
    if (!estimate) return {};
    TrainingStep step{state, *estimate};
    Training& after = step.after;
    ++after.steps;
    double* const parameters[] = {&after.controller.a, &after.controller.b, &after.controller.c};
    for (std::size_t i = 0; i < kParameters; ++i) {
        const double gradient = estimate->gradient[i].mean;
        after.first[i] = kFirst * after.first[i] + (1.0 - kFirst) * gradient;
        after.second[i] = kSecond * after.second[i] + (1.0 - kSecond) * gradient * gradient;
        const double mean = after.first[i] / (1.0 - std::pow(kFirst, after.steps));
        const double square = after.second[i] / (1.0 - std::pow(kSecond, after.steps));
        *parameters[i] += plan.question.rate * mean / (std::sqrt(square) + kLeast);
    }
    return step;
}

}  // namespace counterpoint::compute
