// What a recording costs in the window's own engine: opening, scoring, looking at positions, recomposing.
//   bench_recording [POSITIONS] [VOCABULARY] [SOURCES] [FOLDER]     default 2000 256000 3; prints JSON
// The file (random rows, float32: 6 GB at the default) and the store behind it lie in FOLDER or the temporary folder;
// both are removed. open: until the engine is ready (the file's SHA-256, a job of its own, is not waited for); score:
// every position read, normalised, kept, composed with all of R5; scroll: one position composed again, positions at
// random; recompose: a weight moved, until the visible position is there, and until all are.

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <random>
#include <thread>

#include "compute/error.h"
#include "compute/files/json.h"
#include "compute/files/safetensors.h"
#include "model/engine.h"
#include "model/opensession.h"
#include "tests/benchmarks/measuring.h"

using namespace counterpoint;
using namespace counterpoint::model;
using compute::OrderedJson;
using namespace counterpoint::benchmarks;

namespace {

namespace fs = std::filesystem;

/// Rows of a base and of sources near it, from windows into one table of noise, written row by row.
void writeRecording(const fs::path& file, std::int64_t positions, std::int64_t vocabulary, int sources) {
    std::mt19937 gen(5);
    std::normal_distribution<float> normal(0, 3);
    std::vector<float> noise(static_cast<std::size_t>(vocabulary + 65536));
    for (float& x : noise) x = normal(gen);
    std::vector<std::int64_t> tokens(static_cast<std::size_t>(positions));
    for (std::int64_t& t : tokens) t = static_cast<std::int64_t>(gen()) % vocabulary;
    std::vector<compute::TensorToWrite> tensors{
        {"tokens", compute::DType::I64, {positions}, std::as_bytes(std::span(tokens))}};
    for (int s = 0; s < sources; ++s) {
        const auto rowsOf = [&noise, positions, vocabulary, s](const auto& write) {
            std::vector<float> row(static_cast<std::size_t>(vocabulary));
            for (std::int64_t t = 0; t < positions; ++t) {
                const float* common = noise.data() + (t * 977) % 32768;
                const float* own = noise.data() + 32768 + (t * 131 + s * 4099) % 32768;
                for (std::size_t v = 0; v < row.size(); ++v) row[v] = common[v] + 0.2F * own[v];
                write(std::as_bytes(std::span(row)));
            }
        };
        const std::string name = s == 0 ? "base" : std::to_string(s).insert(0, 1, 's');
        tensors.push_back({"logits." + name, compute::DType::F32, {positions, vocabulary}, {}, rowsOf});
    }
    compute::writeSafetensors(file, tensors, {{"format", "counterpoint.recording/1"}, {"base", "base"}});
}

/// Reads events until `done` says so.
template <class Done>
void wait(Engine& engine, const Done& done) {
    for (bool finished = false; !finished;) {
        engine.waitForEvents();
        for (Event& event : engine.drain()) {
            if (const auto* failure = std::get_if<Failure>(&event))
                throw compute::Error({.where = {}, .what = failure->sentence});
            finished = done(event) || finished;
        }
    }
}

OrderedJson measure(const fs::path& file) {
    OrderedJson json;
    std::vector<std::string> warnings;
    double start = seconds();
    Session session = openSession(file, warnings);
    Engine engine;
    engine.load({session, {}, false});
    wait(engine, [](const Event& e) { return std::holds_alternative<Loaded>(e); });
    json["open_s"] = seconds() - start;

    Trace trace;
    trace.session = session;
    start = seconds();
    DecodeRequest request;
    request.session = session;
    engine.decode(std::move(request));
    std::vector<compute::TokenId> stopIds;
    wait(engine, [&](const Event& e) {
        if (const auto* started = std::get_if<TraceStarted>(&e)) {
            trace.tokens = started->tokens;
            trace.tokenBytes = started->tokenBytes;
            trace.promptLength = started->promptLength;
            trace.sources = started->sources;
            trace.store = started->store;
            stopIds = started->stopIds;
        }
        return std::holds_alternative<TraceEnded>(e);
    });
    const double scored = seconds() - start;
    json["score_s"] = scored;
    json["positions_per_s"] = static_cast<double>(trace.tokens.size()) / scored;
    json["store_gb"] = 1e-9 * static_cast<double>(trace.store->bytes());
    json["own_memory_gb"] = residentMegabytes("RssAnon") / 1024;

    const auto recipeOf = [&](double weight) {
        compute::Recipe recipe;
        recipe.sourceNames = trace.sources;
        for (std::size_t i = 1; i < trace.sources.size(); ++i)
            recipe.specialists.push_back(
                {.name = trace.sources[i], .source = static_cast<int>(i), .weight = weight, .mask = {}});
        return recipe;
    };
    std::mt19937 gen(3);
    std::vector<double> looks;
    compute::Stages<float> stages;
    const compute::Position first = trace.store->first(), count = trace.store->end() - first;
    for (int i = 0; i < 200; ++i) {
        const compute::Position at = first + static_cast<compute::Position>(gen() % static_cast<std::uint64_t>(count));
        const double begin = seconds();
        (void)compute::makeStep(recipeOf(0.5), {}, trace.store->rows(at), stages);
        looks.push_back(seconds() - begin);
    }
    std::sort(looks.begin(), looks.end());
    json["scroll_ms"] = {{"median", 1e3 * looks[100]}, {"p95", 1e3 * looks[190]}, {"worst", 1e3 * looks.back()}};

    for (SourceEntry& specialist : session.specialists) specialist.weight = 0.6;
    RecomposeRequest again;
    again.generation = 1;
    again.session = session;
    again.stopIds = stopIds;
    again.sources = trace.sources;
    again.tokens = trace.tokens;
    again.tokenBytes = trace.tokenBytes;
    again.promptLength = trace.promptLength;
    again.store = trace.store;
    again.visible = first + count / 2;
    start = seconds();
    double visible = -1;
    engine.recompose(std::move(again));
    wait(engine, [&](const Event& e) {
        const auto* recomposed = std::get_if<Recomposed>(&e);
        if (recomposed != nullptr && visible < 0) visible = seconds() - start;
        return recomposed != nullptr && recomposed->last;
    });
    json["recompose_s"] = seconds() - start;
    json["recompose_visible_ms"] = 1e3 * visible;
    json["read_gb_per_s_while_recomposing"] = json["store_gb"].get<double>() / json["recompose_s"].get<double>();
    return json;
}

}  // namespace

int main(int argc, char** argv) {
    const auto number = [&](int i, std::int64_t otherwise) {
        return argc > i ? std::max<std::int64_t>(1, std::atoll(argv[i])) : otherwise;
    };
    const std::int64_t positions = number(1, 2000), vocabulary = number(2, 256'000), sources = number(3, 3);
    const fs::path folder = argc > 4 ? fs::path(argv[4]) : fs::temp_directory_path();
    const fs::path file = folder / ("counterpoint-recording-" + std::to_string(::getpid()) + ".safetensors");
    int status = 0;
    try {
        writeRecording(file, positions, vocabulary, static_cast<int>(sources));
        OrderedJson json = measure(file);
        json["conditions"] = {{"positions", positions}, {"vocabulary", vocabulary},
                              {"sources", sources},     {"file_gb", 1e-9 * static_cast<double>(fs::file_size(file))},
                              {"load", load()},         {"cores", std::thread::hardware_concurrency()}};
        std::cout << json.dump(2) << '\n';
    } catch (const std::exception& e) {
        std::cerr << e.what() << '\n';
        status = 1;
    }
    std::error_code ignored;
    fs::remove(file, ignored);
    return status;
}
