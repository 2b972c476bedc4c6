// makeStep and draw on rows shaped like a language model's, for 3 sources. Prints JSON: microseconds (best of several),
// and the bytes a step must touch over the read bandwidth measured in the same run (1 = as fast as memory allows).
#include <chrono>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>

#include "compute/composition/compose.h"

using namespace counterpoint::compute;

namespace {

double bestMicroseconds(int repeats, const std::function<void()>& work) {
    double best = 1e30;
    for (int i = 0; i < repeats; ++i) {
        const auto start = std::chrono::steady_clock::now();
        work();
        best =
            std::min(best, std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
    }
    return best;
}

struct Case {
    std::vector<std::vector<float>> data;
    SourceRows<float> rows;
    Recipe recipe;
};

Case caseOf(std::size_t vocabulary, int sources) {
    std::mt19937 gen(7);
    std::normal_distribution<float> normal(0, 3);
    Case c;
    std::vector<float> shared(vocabulary), logits(vocabulary);
    for (float& x : shared) x = normal(gen);
    c.data.resize(static_cast<std::size_t>(sources));
    for (int i = 0; i < sources; ++i) {
        for (std::size_t v = 0; v < vocabulary; ++v) logits[v] = shared[v] + 0.3f * normal(gen);
        c.data[static_cast<std::size_t>(i)].resize(vocabulary);
        logSoftmax(logits, 1.0, c.data[static_cast<std::size_t>(i)], "bench", 1);
        c.rows.rows.emplace_back(c.data[static_cast<std::size_t>(i)]);
        const std::string name(1, static_cast<char>('a' + i));
        c.recipe.sourceNames.push_back(name);
        if (i > 0) c.recipe.specialists.push_back({.name = name, .source = i, .mask = {}});
    }
    c.rows.position = 5;
    c.recipe.temperature = 0.7;
    c.recipe.stopIds = {2};
    return c;
}

double readGigabytesPerSecond() {
    std::vector<float> memory(64u << 20, 1.0f);
    volatile float sink = 0;
    const double micros = bestMicroseconds(5, [&] {
        float sum = 0;
        const float* x = memory.data();
#pragma omp simd reduction(+ : sum)
        for (std::size_t i = 0; i < memory.size(); ++i) sum += x[i];
        sink = sum;
    });
    return static_cast<double>(memory.size() * sizeof(float)) / micros * 1e-3;
}

}  // namespace

int main() {
    nlohmann::ordered_json out;
    out["read_gb_per_s"] = readGigabytesPerSecond();
    for (const auto& [vocabulary, repeats] : {std::pair<std::size_t, int>{512, 300}, {50257, 30}}) {
        const Case c = caseOf(vocabulary, 3);
        Stages<float> stages;
        Step step;
        const auto name = std::to_string(vocabulary);
        const double makeStepUs = bestMicroseconds(repeats, [&] { step = makeStep(c.recipe, {}, c.rows, stages); });
        out["make_step_us"][name] = makeStepUs;
        out["compose_us"][name] = bestMicroseconds(repeats, [&] { compose<float>(c.recipe, {}, c.rows, stages); });
        out["diagnose_us"][name] =
            bestMicroseconds(repeats, [&] { step.diagnostics = diagnose<float>(c.recipe, {}, c.rows, stages); });
        TokenId token = 0;
        Position position = 0;
        out["draw_us"][name] = bestMicroseconds(repeats, [&] { token += draw<float>(c.recipe, stages, ++position); });
        Recipe nucleus = c.recipe;
        nucleus.topP = 0.95;
        nucleus.topK = 500;
        out["compose_top_k_top_p_us"][name] =
            bestMicroseconds(repeats, [&] { compose<float>(nucleus, {}, c.rows, stages); });
        Recipe budget = c.recipe;
        budget.klBudget = 0.01;
        out["compose_kl_budget_us"][name] =
            bestMicroseconds(repeats, [&] { compose<float>(budget, {}, c.rows, stages); });
        const double bytes = static_cast<double>(vocabulary) * 6 * sizeof(float);  // 3 rows read, 3 stages written
        out["bandwidth_ratio"][name] = bytes / (makeStepUs * 1e-6) / (out["read_gb_per_s"].get<double>() * 1e9);
    }
    std::puts(out.dump(2).c_str());
    return 0;
}
