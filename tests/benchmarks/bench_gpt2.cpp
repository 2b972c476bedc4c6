// A model of GPT-2 small's shape (random weights, 495 MB in float32): opening it, decoding, composing, reading a
// prompt.
//   bench_gpt2 [ROUNDS] [FOLDER]     prints JSON; medians over rounds; the model is written to FOLDER (default: a
//   temporary
// one) and kept where FOLDER is given. Every measure stands beside its limit, taken in the same round with the same
// threads: decoding beside reading as many bytes, a prompt beside the BLAS's matrix products of its shapes.

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <numeric>
#include <thread>

#include "compute/composition/compose.h"
#include "compute/decode/ensemble.h"
#include "compute/network/modelsource.h"
#include "compute/pool.h"
#include "compute/sources/source.h"
#include "tests/benchmarks/measuring.h"
#include "tests/benchmarks/priorbank.h"
#include "tests/support/toyfiles.h"

using namespace counterpoint;
using compute::OrderedJson;
using compute::TokenId;
using namespace counterpoint::benchmarks;

namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kVocabulary = 50'257, kWidth = 768, kLayers = 12, kPositions = 1024;
constexpr int kSteps = 6;     ///< decoded a round
constexpr int kPrompt = 512;  ///< tokens of a prompt
constexpr int kSpecialists = 2;

void writeModel(const fs::path& folder) {
    using namespace tests;
    std::vector<ToyTensor> tensors;
    std::uint64_t seed = 1;
    const auto add = [&](const std::string& name, std::vector<std::int64_t> shape) {
        tensors.push_back(randomTensor("transformer." + name, std::move(shape), ++seed, 0.03F));
    };
    add("wte.weight", {kVocabulary, kWidth});
    add("wpe.weight", {kPositions, kWidth});
    for (std::int64_t i = 0; i < kLayers; ++i) {
        const std::string layer = "h." + std::to_string(i) + ".";
        for (const char* norm : {"ln_1", "ln_2"}) {
            add(layer + norm + ".weight", {kWidth});
            add(layer + norm + ".bias", {kWidth});
        }
        const auto linear = [&](const std::string& name, std::int64_t in, std::int64_t out) {
            add(layer + name + ".weight", {in, out});
            add(layer + name + ".bias", {out});
        };
        linear("attn.c_attn", kWidth, 3 * kWidth);
        linear("attn.c_proj", kWidth, kWidth);
        linear("mlp.c_fc", kWidth, 4 * kWidth);
        linear("mlp.c_proj", 4 * kWidth, kWidth);
    }
    add("ln_f.weight", {kWidth});
    add("ln_f.bias", {kWidth});
    const compute::Json config = {{"architectures", {"GPT2LMHeadModel"}},
                                  {"model_type", "gpt2"},
                                  {"vocab_size", kVocabulary},
                                  {"n_positions", kPositions},
                                  {"n_ctx", kPositions},
                                  {"n_embd", kWidth},
                                  {"n_layer", kLayers},
                                  {"n_head", 12},
                                  {"activation_function", "gelu_new"},
                                  {"layer_norm_epsilon", 1e-5},
                                  {"tie_word_embeddings", true},
                                  {"bos_token_id", 1},
                                  {"eos_token_id", 2}};
    writeToyModel(folder, config, tensors, static_cast<int>(kVocabulary));
}

/// Reads as many bytes as a decode step does, split over the threads as the program's own products are.
class Memory {
  public:
    explicit Memory(std::int64_t bytes) : m_words(static_cast<std::size_t>(bytes / 8), 1) {}
    double read(int threads) const {
        constexpr std::size_t kRun = 1 << 16;
        const auto runs = static_cast<std::int64_t>(m_words.size() / kRun);
        std::vector<std::uint64_t> sums(static_cast<std::size_t>(runs));
        return timeOf([&] {
            compute::Pool::instance().run(threads, runs, [&](std::int64_t run, int) {
                const std::uint64_t* x = m_words.data() + static_cast<std::size_t>(run) * kRun;
                std::uint64_t sum = 0;
#pragma omp simd reduction(+ : sum)
                for (std::size_t i = 0; i < kRun; ++i) sum += x[i];
                sums[static_cast<std::size_t>(run)] = sum;
            });
            if (std::accumulate(sums.begin(), sums.end(), std::uint64_t{0}) == 1) std::cerr << ' ';
        });
    }

  private:
    std::vector<std::uint64_t> m_words;
};

/// y [m][n] = x [m][k] · w [k][n] by the BLAS that libtorch uses, on one thread.
class Blas {
  public:
    Blas() {
        void* library = ::dlopen("libblas.so.3", RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) return;
        m_sgemm = reinterpret_cast<Sgemm>(::dlsym(library, "cblas_sgemm"));
        if (const auto threads = reinterpret_cast<void (*)(int)>(::dlsym(library, "openblas_set_num_threads")))
            threads(1);
        if (const auto name = reinterpret_cast<const char* (*)()>(::dlsym(library, "openblas_get_corename")))
            m_core = name();
    }
    bool there() const { return m_sgemm != nullptr; }
    const std::string& core() const { return m_core; }
    void operator()(int m, int n, int k, const float* x, const float* w, float* y) const {
        m_sgemm(101, 111, 111, m, n, k, 1, x, k, w, n, 0, y, n);
    }

  private:
    using Sgemm = void (*)(int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*,
                           int);
    Sgemm m_sgemm = nullptr;
    std::string m_core;
};

/// Multiply-adds of the layers' matrix products for a prompt; attention and the head's one row are not among them.
constexpr double kProducts = 12.0 * kWidth * kWidth * kLayers * kPrompt;

/// Seconds the BLAS takes for the products of one layer, times the layers.
double blasPrompt(const Blas& blas) {
    static const std::vector<float> x(static_cast<std::size_t>(kPrompt * 4 * kWidth), 0.01F),
        w(static_cast<std::size_t>(4 * kWidth * kWidth), 0.01F);
    static std::vector<float> y(static_cast<std::size_t>(kPrompt * 4 * kWidth));
    return kLayers * timeOf([&] {
               for (const auto& [out, in] : {std::pair{3, 1}, {1, 1}, {4, 1}, {1, 4}})
                   blas(kPrompt, out * int{kWidth}, in * int{kWidth}, x.data(), w.data(), y.data());
           });
}

TokenId best(const std::vector<float>& row) {
    return static_cast<TokenId>(std::max_element(row.begin(), row.begin() + kVocabulary) - row.begin());
}

/// Decodes kSteps tokens from the same beginning; seconds a token.
double decode(compute::Source& source) {
    static std::vector<float> row;
    row.resize(static_cast<std::size_t>(source.info().logitWidth));
    source.rewind(0);
    TokenId next = 11;
    (void)source.forward(std::span(&next, 1), 1, row, {});
    return timeOf([&] {
               for (int i = 0; i < kSteps; ++i) {
                   next = best(row);
                   (void)source.forward(std::span(&next, 1), 1, row, {});
               }
           }) /
           kSteps;
}

/// A step of the model alone, composed, diagnosed, drawn, with a bank of 10,000 priors and without, in turns.
class WithPriors {
  public:
    explicit WithPriors(const fs::path& folder) : m_source(compute::openSource(folder, {}, {})) {
        const std::vector<compute::BankUse> uses{{largeBank(kVocabulary)}};
        m_set = compute::PriorSet::build(uses, {nullptr, kVocabulary, false}, {});
        m_recipe.temperature = 0.8;
        m_recipe.sourceNames = {"base"};
        m_logits.resize(static_cast<std::size_t>(m_source->info().logitWidth));
        m_row.resize(static_cast<std::size_t>(kVocabulary));
    }
    /// Seconds a step.
    double decode(bool priors) {
        m_source->rewind(0);
        TokenId next = 11;
        const auto step = [&] {
            (void)m_source->forward(std::span(&next, 1), 1, m_logits, {});
            compute::logSoftmax(m_logits, 1, m_row, "base", 1);
            const compute::SourceRows<float> rows{.rows = {m_row}, .position = 1};
            m_terms.clear();
            if (priors) {
                m_set->matching(m_text, m_text.length(), m_members);
                m_set->terms(m_members, m_terms);
            }
            next = compute::makeStep(m_recipe, m_terms, rows, m_stages).drawn;
        };
        step();
        return timeOf([&] {
                   for (int i = 0; i < kSteps; ++i) step();
               }) /
               kSteps;
    }

  private:
    std::unique_ptr<compute::Source> m_source;
    std::shared_ptr<const compute::PriorSet> m_set;
    compute::ContextText m_text = wordsToMatch();
    compute::Recipe m_recipe;
    compute::Stages<float> m_stages;
    std::vector<float> m_logits, m_row;
    std::vector<std::size_t> m_members;
    std::vector<compute::PriorTerm> m_terms;
};

struct Composed {
    compute::Ensemble ensemble;
    compute::Recipe recipe;

    static Composed of(const fs::path& folder) {
        std::vector<compute::EnsembleMember> members;
        compute::Recipe recipe;
        recipe.temperature = 0.8;
        for (int i = 0; i <= kSpecialists; ++i) {
            const std::string name = i == 0 ? "base" : "s" + std::to_string(i);
            members.push_back({.name = name, .source = compute::openSource(folder, {}, {}), .prefix = {}});
            if (i > 0) members.back().prefix = {static_cast<TokenId>(20 + i)};
            recipe.sourceNames.push_back(name);
            if (i > 0) recipe.specialists.push_back({.name = name, .source = i, .mask = {}});
        }
        Composed composed{compute::Ensemble(std::move(members)), std::move(recipe)};
        composed.recipe.stopIds = composed.ensemble.stopIds();
        return composed;
    }
    /// A whole step: every source's row, composed, diagnosed, drawn. Seconds a step.
    double decode() {
        compute::Stages<float> stages;
        std::vector<compute::RawRows> raw;
        std::vector<TokenId> ids{11};
        const auto step = [&] {
            raw.clear();
            (void)ensemble.forward(ids, static_cast<compute::Position>(ids.size()), raw, {});
            compute::SourceRows<float> rows;
            for (const auto& r : raw.back().rows) rows.rows.emplace_back(r);
            rows.position = raw.back().position;
            ids.push_back(compute::makeStep(recipe, {}, rows, stages).drawn);
        };
        step();
        return timeOf([&] {
                   for (int i = 0; i < kSteps; ++i) step();
               }) /
               kSteps;
    }
};

OrderedJson measure(const fs::path& folder, int rounds) {
    const int threads = network::threadCount(0);
    compute::loadNetworkModule();
    OrderedJson json;
    const double before = residentMegabytes("RssAnon");
    std::vector<double> openings;
    std::unique_ptr<compute::Source> source;
    for (int i = 0; i < std::max(3, rounds / 2); ++i) {
        source.reset();
        openings.push_back(timeOf([&] { source = compute::openSource(folder, {}, {}); }));
    }
    (void)decode(*source);
    json["open"] = {{"seconds", median(openings)},
                    {"weights_mb", static_cast<double>(source->info().weightBytes) / (1 << 20)},
                    {"own_memory_mb", residentMegabytes("RssAnon") - before},
                    {"mapped_mb", residentMegabytes("RssFile")}};

    compute::OpenOptions narrow;
    narrow.dtype = "bfloat16";
    const auto half = compute::openSource(folder, narrow, {});
    Composed composed = Composed::of(folder);
    const Memory memory(source->info().weightBytes);
    const Blas blas;
    std::vector<TokenId> prompt(kPrompt);
    for (int i = 0; i < kPrompt; ++i) prompt[static_cast<std::size_t>(i)] = (i * 7919) % static_cast<int>(kVocabulary);
    std::vector<float> row(static_cast<std::size_t>(source->info().logitWidth));
    WithPriors withPriors(folder);
    std::vector<double> bare, primed;
    std::vector<double> reads, steps, halves, composites, prompts, products;
    for (int i = 0; i < rounds; ++i) {
        reads.push_back(memory.read(threads));
        steps.push_back(decode(*source));
        halves.push_back(decode(*half));
        composites.push_back(composed.decode());
        bare.push_back(withPriors.decode(false));
        primed.push_back(withPriors.decode(true));
        source->rewind(0);
        prompts.push_back(timeOf([&] { (void)source->forward(prompt, 1, row, {}); }));
        if (blas.there()) products.push_back(blasPrompt(blas) / threads);
    }
    const double base = median(steps);
    json["decode_float32"] = {{"ms", 1e3 * base},
                              {"read_ms", 1e3 * median(reads)},
                              {"read_gb_per_s", 1e-9 * static_cast<double>(source->info().weightBytes) / median(reads)},
                              {"ratio", median(reads) / base}};
    json["decode_bfloat16"] = {{"ms", 1e3 * median(halves)}, {"of_float32", median(halves) / base}};
    json["composed"] = {{"specialists", kSpecialists},
                        {"ms", 1e3 * median(composites)},
                        {"of_base_steps", median(composites) / base / (kSpecialists + 1)}};
    std::vector<double> shares;
    for (std::size_t i = 0; i < bare.size(); ++i) shares.push_back(primed[i] / bare[i] - 1);
    json["priors"] = {{"in_bank", kPriors},
                      {"matching", kMatching},
                      {"ms_without", 1e3 * median(bare)},
                      {"ms_with", 1e3 * median(primed)},
                      {"added_of_step", median(shares)}};
    json["prompt"] = {
        {"tokens", kPrompt}, {"ms", 1e3 * median(prompts)}, {"gflops", 2e-9 * kProducts / median(prompts)}};
    if (blas.there()) {
        json["prompt"]["blas_gflops"] = 2e-9 * kProducts / median(products);
        json["prompt"]["ratio"] = median(products) / median(prompts);
    }
    const char* core = std::getenv("OPENBLAS_CORETYPE");
    json["conditions"] = {
        {"threads", threads},       {"rounds", rounds}, {"cores", std::thread::hardware_concurrency()},
        {"blas_core", blas.core()}, {"load", load()},   {"OPENBLAS_CORETYPE", core != nullptr ? core : ""}};
    for (auto& [name, version] : compute::networkVersions()) json["conditions"][name] = version;
    return json;
}

}  // namespace

int main(int argc, char** argv) {
    const int rounds = argc > 1 ? std::clamp(std::atoi(argv[1]), 1, 1000) : 9;
    const bool kept = argc > 2;
    const fs::path folder =
        kept ? fs::path(argv[2]) : fs::temp_directory_path() / ("counterpoint-gpt2-" + std::to_string(::getpid()));
    int status = 0;
    try {
        if (!fs::exists(folder / "model.safetensors")) writeModel(folder);
        std::cout << measure(folder, rounds).dump(2) << '\n';
    } catch (const std::exception& e) {
        std::cerr << e.what() << '\n';
        status = 1;
    }
    std::error_code ignored;
    if (!kept) fs::remove_all(folder, ignored);
    return status;
}
