// Recomposing a stored trace: the fused pass beside the read bandwidth of the same rows, interleaved, with the same
// threads.
//   bench_recompose [POSITIONS] [THREADS] [cpu]     prints JSON; medians over rounds; ratio = time to read / time taken
// cpu: processor time of one thread instead of wall time, for a machine that has other work.

#include <time.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <string_view>
#include <thread>
#include <vector>

#include "compute/composition/fusedrow.h"
#include "compute/pool.h"
#include "tests/benchmarks/measuring.h"

using namespace counterpoint;
using namespace counterpoint::compute;
using benchmarks::median;

namespace {

constexpr std::size_t kVocabulary = 50'257, kWide = 256'000;
constexpr int kSources = 5, kTop = 20, kRounds = 15;

/// Rows of a base and specialists near it, with their facts, as a store keeps them.
struct Rows {
    std::vector<std::vector<float>> data;
    std::vector<SourceRows<float>> positions;

    Rows(std::size_t count, std::size_t vocabulary) {
        std::mt19937 gen(11);
        std::vector<float> noise(1 << 16);
        std::normal_distribution<float> normal(0, 1);
        for (float& x : noise) x = normal(gen);
        std::vector<float> common(vocabulary), row(vocabulary);
        data.reserve(count * kSources);
        for (std::size_t t = 0; t < count; ++t) {
            SourceRows<float> rows;
            rows.position = static_cast<Position>(t);
            for (std::size_t v = 0; v < vocabulary; ++v) common[v] = 2.5f * noise[(v * 31 + t * 977) & 0xFFFF];
            for (int i = 0; i < kSources; ++i) {
                const std::size_t at = gen();
                for (std::size_t v = 0; v < vocabulary; ++v) row[v] = common[v] + 0.7f * noise[(v * 17 + at) & 0xFFFF];
                data.emplace_back(vocabulary);
                logSoftmax(row, 1, data.back(), "bench", rows.position);
                rows.rows.emplace_back(data.back());
                rows.facts.push_back(factsOf(data.back(), rows.rows[0]));
            }
            positions.push_back(std::move(rows));
        }
    }
};

Recipe recipeOf(double weight, double temperature, double topP) {
    Recipe recipe;
    recipe.sourceNames = {"base"};
    for (int i = 1; i < kSources; ++i) {
        SpecialistTerm term;
        term.name = std::to_string(i).insert(0, 1, 's');
        term.source = i;
        term.weight = weight == 1 ? 1 : weight + 0.05 * i;
        recipe.specialists.push_back(term);
        recipe.sourceNames.push_back(term.name);
    }
    recipe.temperature = temperature;
    recipe.topP = topP;
    recipe.stopIds = {0};
    return recipe;
}

clockid_t g_clock = CLOCK_MONOTONIC;

double microseconds(const std::function<void()>& work) {
    const auto now = [] {
        timespec t{};
        clock_gettime(g_clock, &t);
        return 1e6 * static_cast<double>(t.tv_sec) + 1e-3 * static_cast<double>(t.tv_nsec);
    };
    const double begin = now();
    work();
    return now() - begin;
}

float readRow(std::span<const float> row) {
    const float* x = row.data();
    const std::size_t n = row.size();
    std::int32_t bits = 0;
#pragma omp simd reduction(+ : bits)
    for (std::size_t v = 0; v < n; ++v) bits += std::bit_cast<std::int32_t>(x[v]);
    return static_cast<float>(bits);
}

/// Every byte of a position's rows.
float readAll(const SourceRows<float>& rows) {
    float sum = 0;
    for (const auto& row : rows.rows) sum += readRow(row);
    return sum;
}

volatile float g_sink = 0;

/// Log-sum-exp, drift, entropy and the top tokens of one position: the pass alone.
void few(const Recipe& recipe, const SourceRows<float>& rows, std::vector<TokenId>& top) {
    thread_local std::vector<float> score, blockTop;
    const std::size_t n = rows.rows[0].size();
    score.resize(n);
    blockTop.resize(fused::blocksOf(n));
    std::array<fused::Term, kSources> terms;
    for (std::size_t i = 0; i < recipe.specialists.size(); ++i)
        terms[i] = {rows.rows[i + 1].data(), rows.rows[0].data(), static_cast<float>(recipe.specialists[i].weight),
                    -INFINITY, false};
    const fused::Pass pass{.base = rows.rows[0].data(),
                           .n = n,
                           .terms = terms.data(),
                           .termCount = kSources - 1,
                           .inverseTau = static_cast<float>(1 / recipe.temperature),
                           .excluding = false,
                           .score = score.data(),
                           .blockTop = blockTop.data(),
                           .masses = nullptr,
                           .shift = nullptr};
    fused::Sums sums;
    fused::kernels().compose(pass, sums);
    const double logNormaliser = static_cast<double>(sums.top) / recipe.temperature + std::log(sums.massTau);
    const double drift = sums.tiltTau / sums.massTau - logNormaliser;
    const double entropy = logNormaliser - sums.scoreTau / sums.massTau / recipe.temperature;
    topTokens(std::span<const float>(score), std::span<const float>(blockTop), kTop, top);
    g_sink = g_sink + static_cast<float>(drift + entropy);
}

/// Everything of R5, stage rows, truncation and the top tokens.
void all(const Recipe& recipe, const SourceRows<float>& rows, Stages<float>& stages, std::vector<TokenId>& top,
         int threads = 1) {
    thread_local FusedRow fused;
    if (!fuse(recipe, {}, rows, stages, fused, threads)) std::abort();
    const Diagnostics d = diagnose(recipe, rows, stages, fused);
    topTokens(stages.temperature, fused.blockTop, kTop, top);
    g_sink = g_sink + static_cast<float>(d.drift);
}

struct Measure {
    const char* name;
    std::function<void(const SourceRows<float>&, int worker)> work;
};

void print(const char* name, double time, double read, std::size_t positions, bool last) {
    std::printf("  \"%s\": {\"us_per_position\": %.1f, \"read_us_per_position\": %.1f, \"ratio\": %.3f}%s\n", name,
                time / static_cast<double>(positions), read / static_cast<double>(positions), read / time,
                last ? "" : ",");
}

}  // namespace

int main(int argc, char** argv) {
    const std::size_t count = argc > 1 ? static_cast<std::size_t>(std::max(1, std::atoi(argv[1]))) : 256;
    const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    const bool cpu = argc > 3 && std::string_view(argv[3]) == "cpu";
    const int threads = cpu ? 1 : argc > 2 ? std::max(1, std::atoi(argv[2])) : std::max(1, cores - 1);
    if (cpu) g_clock = CLOCK_THREAD_CPUTIME_ID;
    const Rows rows(count, kVocabulary);
    const auto over = [&](const Measure& m) {
        Pool::instance().run(threads, static_cast<std::int64_t>(count), [&](std::int64_t t, int worker) {
            m.work(rows.positions[static_cast<std::size_t>(t)], worker);
        });
    };
    std::vector<Stages<float>> stages(static_cast<std::size_t>(threads));
    std::vector<std::vector<TokenId>> tops(static_cast<std::size_t>(threads));
    const auto top = [&](int w) -> std::vector<TokenId>& { return tops[static_cast<std::size_t>(w)]; };
    const auto stage = [&](int w) -> Stages<float>& { return stages[static_cast<std::size_t>(w)]; };
    const Recipe unit = recipeOf(1, 0.7, 1), moved = recipeOf(0.4, 0.7, 1), cut = recipeOf(1, 0.7, 0.95);
    const std::vector<Measure> measures{
        {"lse_drift_entropy_top20", [&](const auto& r, int w) { few(moved, r, top(w)); }},
        {"all_of_r5_top20", [&](const auto& r, int w) { all(unit, r, stage(w), top(w)); }},
        {"all_of_r5_top20_four_moved_weights", [&](const auto& r, int w) { all(moved, r, stage(w), top(w)); }},
        {"all_of_r5_top20_top_p", [&](const auto& r, int w) { all(cut, r, stage(w), top(w)); }},
        {"whole_step_with_draw", [&](const auto& r, int w) { (void)makeStep(unit, {}, r, stage(w)); }},
    };
    const Measure reading{"read", [](const auto& r, int) { g_sink = g_sink + readAll(r); }};

    std::vector<std::vector<double>> times(measures.size()), reads(measures.size());
    for (int round = 0; round < kRounds; ++round)
        for (std::size_t i = 0; i < measures.size(); ++i) {
            reads[i].push_back(microseconds([&] { over(reading); }));
            times[i].push_back(microseconds([&] { over(measures[i]); }));
        }

    Stages<float> one;
    (void)makeStep(unit, {}, rows.positions[0], one);
    std::vector<double> draws;
    Recipe drawn = unit;
    for (int i = 0; i < 300; ++i) {
        drawn.seed = static_cast<std::uint64_t>(i);
        draws.push_back(microseconds([&] { g_sink = g_sink + static_cast<float>(draw(drawn, one, i)); }));
    }
    const Rows wide(8, kWide);
    std::vector<double> wideReads, wideTimes, wideSteps;
    for (int i = 0; i < 80; ++i) {
        const auto& r = wide.positions[static_cast<std::size_t>(i) % 8];
        wideReads.push_back(microseconds([&] {
            Pool::instance().run(threads, static_cast<std::int64_t>(r.rows.size()), [&](std::int64_t source, int) {
                g_sink = g_sink + readRow(r.rows[static_cast<std::size_t>(source)]);
            });
        }));
        wideTimes.push_back(microseconds([&] { all(unit, r, one, top(0), threads); }));
        wideSteps.push_back(microseconds([&] { (void)makeStep(unit, {}, r, one, threads); }));
    }
    const double megabytes =
        1e-6 * static_cast<double>(kVocabulary * sizeof(float) * kSources) * static_cast<double>(count);
    std::printf("{\n  \"positions\": %zu, \"vocabulary\": %zu, \"sources\": %d, \"threads\": %d, \"cores\": %d,\n",
                count, kVocabulary, kSources, threads, cores);
    std::printf("  \"clock\": \"%s\", \"kernels\": \"%s\", \"load\": %.1f, \"read_gb_per_s\": %.1f,\n",
                cpu ? "cpu" : "wall", fused::kernels().name, benchmarks::load(), 1e3 * megabytes / median(reads[0]));
    for (std::size_t i = 0; i < measures.size(); ++i)
        print(measures[i].name, median(times[i]), median(reads[i]), count, false);
    std::printf("  \"draw_us\": %.1f,\n", median(draws));
    std::printf("  \"one_position_of_%zu_us\": %.1f, \"read_us\": %.1f, \"ratio\": %.3f, \"with_draw_us\": %.1f\n}\n",
                kWide, median(wideTimes), median(wideReads), median(wideReads) / median(wideTimes), median(wideSteps));
    return 0;
}
