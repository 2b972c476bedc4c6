// How fast models decode here, with what limits them measured in the same run. Prints JSON; fails nothing.
//   bench_decode [--only gemv|prefill|decode|compose] [--tokens N]
// gemv: bytes of weights a second against a plain read of the same memory. prefill: multiply-adds of the matrix
// products. decode: one stories260K, greedy. compose: three models through Ensemble and makeStep, greedy, all of a step
// counted.

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iostream>
#include <thread>

#include "compute/composition/compose.h"
#include "compute/decode/ensemble.h"
#include "compute/files/json.h"
#include "compute/network/blocks.h"
#include "compute/network/convert.h"
#include "compute/network/modelsource.h"
#include "compute/sources/modules.h"
#include "tests/benchmarks/bandwidth.h"

using namespace counterpoint;
using compute::OrderedJson;
using compute::TokenId;
using network::WeightType;

namespace {

using benchmarks::best;
using benchmarks::readBandwidth;
using benchmarks::seconds;

OrderedJson gemv() {
    constexpr std::int64_t kRows = 50257, kColumns = 768;
    const std::vector<std::uint64_t> memory(static_cast<std::size_t>(kRows * kColumns / 2),
                                            0x3c003c003c003c00u);  // small numbers in every dtype
    const std::vector<float> x(kColumns, 0.01f);
    std::vector<float> y(kRows);
    OrderedJson rows = OrderedJson::array();
    for (const int threads : {1, 2}) {
        const double limit = readBandwidth(memory, threads);
        for (const WeightType type : {WeightType::Float32, WeightType::BFloat16, WeightType::Float16}) {
            const network::Matrix w{memory.data(), type, kRows, kColumns, {}};
            const double t = best(9, [&] { network::linear(w, nullptr, x.data(), 1, y.data(), threads); });
            const double rate = static_cast<double>(kRows * kColumns * network::typeSize(type)) * 1e-9 / t;
            rows.push_back({{"dtype", network::typeName(type)},
                            {"threads", threads},
                            {"ms", t * 1e3},
                            {"gb_per_second", rate},
                            {"read_gb_per_second", limit},
                            {"share_of_read", rate / limit}});
        }
    }
    return rows;
}

OrderedJson prefill() {
    constexpr std::int64_t kCount = 48;
    OrderedJson rows = OrderedJson::array();
    for (const auto& [out, in] : {std::pair<std::int64_t, std::int64_t>{768, 768}, {3072, 768}, {768, 3072}}) {
        const std::vector<float> w(static_cast<std::size_t>(out * in), 0.01f),
            x(static_cast<std::size_t>(kCount * in), 0.02f);
        std::vector<float> y(static_cast<std::size_t>(kCount * out));
        const network::Matrix matrix{w.data(), WeightType::Float32, out, in, {}};
        const double t = best(15, [&] { network::linear(matrix, nullptr, x.data(), kCount, y.data(), 1); });
        rows.push_back({{"rows", out},
                        {"columns", in},
                        {"positions", kCount},
                        {"threads", 1},
                        {"gflops", 2e-9 * static_cast<double>(out * in * kCount) / t}});
    }
    return rows;
}

std::unique_ptr<compute::Source> openStories(const std::string& name) {
    const char* given = std::getenv("COUNTERPOINT_SHARED");
    const std::filesystem::path root =
        given != nullptr ? given : std::filesystem::path(COUNTERPOINT_SOURCE_DIR) / ".." / "shared";
    return compute::openSource(root / "models" / name / "hf", {}, {});
}

OrderedJson decode(int tokens) {
    const double start = seconds();
    const auto source = openStories("stories260K");
    const double opened = seconds();
    const auto V = static_cast<std::size_t>(source->info().logitWidth);
    std::vector<float> row(V);
    const auto run = [&] {
        source->rewind(0);
        TokenId next = 1;
        for (int i = 0; i < tokens; ++i) {
            if (source->forward(std::span(&next, 1), 1, row, {}) != compute::Outcome::Done) return;
            next = static_cast<TokenId>(std::max_element(row.begin(), row.end()) - row.begin());
        }
    };
    const double t = best(5, run);
    const std::clock_t before = std::clock();  // its own time: what a busy machine leaves to others is not in it
    run();
    const double processor = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
    return {{"model", "stories260K"},
            {"tokens", tokens},
            {"tokens_per_second", tokens / t},
            {"us_per_forward", t / tokens * 1e6},
            {"us_of_processor", processor / tokens * 1e6},
            {"open_ms", (opened - start) * 1e3}};
}

OrderedJson composeThree(int tokens) {
    const std::vector<std::string> names = {"stories260K", "stories260K-dialogue", "stories260K-animals"};
    std::vector<compute::EnsembleMember> members;
    compute::Recipe recipe;
    recipe.temperature = 0;
    for (const std::string& name : names) {
        members.push_back({.name = name, .source = openStories(name), .prefix = {}});
        recipe.sourceNames.push_back(name);
    }
    for (int i = 1; i < 3; ++i)
        recipe.specialists.push_back({.name = names[static_cast<std::size_t>(i)], .source = i, .mask = {}});
    compute::Ensemble ensemble(std::move(members));
    recipe.stopIds = ensemble.stopIds();
    compute::Stages<float> stages;
    double forwards = 0, steps = 0, shortest = 1e300;
    const auto run = [&] {
        std::vector<TokenId> ids = {1, 403, 407, 261, 378};
        std::vector<compute::RawRows> raw;
        double reading = 0, composing = 0;
        for (int i = 0; i < tokens; ++i) {
            const double a = seconds();
            raw.clear();
            if (ensemble.forward(ids, static_cast<compute::Position>(ids.size()), raw, {}) != compute::Outcome::Done)
                return;
            const double b = seconds();
            compute::SourceRows<float> rows;
            for (const auto& r : raw.back().rows) rows.rows.emplace_back(r);
            rows.position = raw.back().position;
            ids.push_back(compute::makeStep(recipe, {}, rows, stages).drawn);
            reading += b - a;
            composing += seconds() - b;
        }
        if (reading + composing >= shortest) return;
        shortest = reading + composing;
        forwards = reading;
        steps = composing;
    };
    for (int i = 0; i < 5; ++i) run();
    return {{"models", names},
            {"tokens", tokens},
            {"tokens_per_second", tokens / shortest},
            {"us_per_step", shortest / tokens * 1e6},
            {"us_forward", forwards / tokens * 1e6},
            {"us_compose", steps / tokens * 1e6}};
}

OrderedJson conditions() {
    OrderedJson json;
    for (const auto& [key, value] : compute::networkVersions()) json[key] = value;
    const char* core = std::getenv("OPENBLAS_CORETYPE");
    json["OPENBLAS_CORETYPE"] = core != nullptr ? OrderedJson(core) : OrderedJson(nullptr);
    std::ifstream load("/proc/loadavg");
    std::string one;
    load >> one;
    json["load_average"] = one;
    json["processors"] = std::thread::hardware_concurrency();
    return json;
}

}  // namespace

int main(int argc, char** argv) {
    std::string only;
    int tokens = 250;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (std::string(argv[i]) == "--only") only = argv[i + 1];
        if (std::string(argv[i]) == "--tokens") tokens = std::clamp(std::atoi(argv[i + 1]), 1, 500);
    }
    const auto wanted = [&](const char* part) { return only.empty() || only == part; };
    try {
        OrderedJson json;
        const double start = seconds();
        compute::loadNetworkModule();
        const double loaded = seconds() - start;
        json["conditions"] = conditions();
        json["conditions"]["module_load_ms"] = loaded * 1e3;
        if (wanted("gemv")) json["gemv"] = gemv();
        if (wanted("prefill")) json["prefill"] = prefill();
        if (wanted("decode")) json["decode"] = decode(tokens);
        if (wanted("compose")) json["compose"] = composeThree(tokens);
        std::cout << json.dump(2) << '\n';
        return 0;
    } catch (const std::exception& e) {
        std::cerr << e.what() << '\n';
        return 1;
    }
}
