// Routing under copula dials (R11-R14), T = 512, E = 64, K = 8, one layer. Prints JSON: seconds of 256 draws and of the
// first answer (best and median of five), nanoseconds a (layer, expert) of noise and Top-K in a decode step, cost
// beside half the draws and half the positions; flat coupling, independent noise and the closed form apart.
//   bench_routing [THREADS]
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>
#include <random>

#include "compute/routing/estimates.h"
#include "compute/routing/inclusion.h"
#include "compute/routing/route.h"
#include "tests/benchmarks/measuring.h"

using namespace counterpoint::compute;
using counterpoint::benchmarks::load;
using counterpoint::benchmarks::median;
using counterpoint::benchmarks::seconds;
using counterpoint::benchmarks::timeOf;

namespace {

constexpr std::size_t kExperts = 64;
constexpr int kChosen = 8;

RouterLaw law() { return {.chosen = kChosen, .bias = {}}; }

EstimateQuestion questionOf(std::span<const float> logits, int draws, int threads) {
    EstimateQuestion q;
    q.layers = {{.layer = 0, .logits = logits, .law = law()}};
    q.experts = kExperts;
    q.draws = draws;
    q.threads = threads;
    return q;
}

/// Until the first answer and until the last.
struct Times {
    double first = 0, all = 0;
};
Times timesOf(const EstimateQuestion& question) {
    const double start = seconds();
    Times times;
    estimate(question, {}, [&](const Estimates&) {
        times.all = seconds() - start;
        if (times.first == 0) times.first = times.all;
    });
    return times;
}

/// Of all threads of this process: what a busy machine does not lengthen.
double processorSeconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

nlohmann::ordered_json secondsOf(const EstimateQuestion& question) {
    std::vector<double> first, all, processor;
    for (int i = 0; i < 5; ++i) {
        const double start = processorSeconds();
        const Times times = timesOf(question);
        processor.push_back(processorSeconds() - start);
        first.push_back(times.first);
        all.push_back(times.all);
    }
    return {{"best", *std::min_element(all.begin(), all.end())},
            {"median", median(all)},
            {"first_answer_best", *std::min_element(first.begin(), first.end())},
            {"first_answer_median", median(first)},
            {"processor_median", median(processor)}};
}

/// A decode step: one position after another, each layer with a memory of its own.
double nanosecondsPerExpert(std::span<const float> logits, double (*clock)()) {
    constexpr std::uint32_t kLayers = 16;
    const RoutingSettings settings{.mode = RoutingMode::Coupled, .coupling = {}, .seed = 7};
    const RouterLaw rule = law();
    std::vector<RouteMemory> memory(kLayers);
    Routed routed;
    const auto positions = static_cast<Position>(logits.size() / kExperts);
    std::vector<double> runs;
    for (int i = 0; i < 9; ++i) {
        const double start = clock();
        for (Position t = 0; t < positions; ++t)
            for (std::uint32_t layer = 0; layer < kLayers; ++layer)
                routePosition(settings, rule, logits.subspan(static_cast<std::size_t>(t) * kExperts, kExperts),
                              {layer, t}, memory[layer], routed);
        runs.push_back((clock() - start) / static_cast<double>(positions) / kLayers / kExperts * 1e9);
    }
    return median(runs);
}

}  // namespace

int main(int argc, char** argv) {
    const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
    std::mt19937 gen(7);
    std::normal_distribution<float> normal(0, 1);
    std::vector<float> logits(512 * kExperts);
    for (float& x : logits) x = normal(gen);
    nlohmann::ordered_json out;
    out["threads"] = threads;
    out["load_before"] = load();
    const EstimateQuestion question = questionOf(logits, 256, threads);
    out["current_256_draws_s"] = secondsOf(question);
    EstimateQuestion other = question;
    other.coupling = flatOf(question.coupling);
    out["flat_256_draws_s"] = secondsOf(other);
    other.coupling = independentOf(question.coupling);
    out["independent_256_draws_s"] = secondsOf(other);
    out["current_128_draws_s"] = secondsOf(questionOf(logits, 128, threads));
    out["half_the_positions_s"] = secondsOf(questionOf(std::span(logits).first(256 * kExperts), 256, threads));
    out["current_256_draws_one_thread_s"] = secondsOf(questionOf(logits, 256, 1));
    std::vector<double> closed;
    for (int i = 0; i < 5; ++i)
        closed.push_back(timeOf([&] { (void)independentForm(law(), logits, kExperts, 0, threads); }));
    out["closed_form_s"] = median(closed);
    out["decode_step_ns_per_layer_expert"] = nanosecondsPerExpert(logits, seconds);
    out["decode_step_processor_ns_per_layer_expert"] = nanosecondsPerExpert(logits, processorSeconds);
    out["load_after"] = load();
    std::puts(out.dump(2).c_str());
    return 0;
}
