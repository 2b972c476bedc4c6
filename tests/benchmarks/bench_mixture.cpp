// A decode step of routed layers: OLMoE's shape cut to 2 layers, random bfloat16 weights. Prints JSON; fails nothing.
//   bench_mixture [STEPS]
// mixture: the routed layers alone (router, noise, chosen experts), the bytes that they read by their own counter
// against the bytes of the experts chosen, and their rate against a plain read of the same memory. step: all of a
// forward pass. Memory: 2.1 GB.

#include <cstdlib>
#include <iostream>
#include <random>
#include <set>

#include "compute/files/json.h"
#include "compute/network/decoder.h"
#include "tests/benchmarks/bandwidth.h"

using namespace counterpoint;
using benchmarks::seconds;
using compute::OrderedJson;
using network::Matrix;

namespace {

/// Numbers in bfloat16, four in each word, of about 2^-7.
class Memory {
  public:
    explicit Memory(std::size_t numbers) : m_words(numbers / 4) {
        std::uint64_t state = 1;
        for (std::uint64_t& word : m_words) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            // sign and mantissa at random
            word = 0x3c003c003c003c00u | ((state ^ (state >> 29)) & 0x807f807f807f807fu);
        }
    }
    Matrix take(std::int64_t rows, std::int64_t columns) {
        const void* data = reinterpret_cast<const std::uint16_t*>(m_words.data()) + m_taken;
        m_taken += static_cast<std::size_t>(rows * columns);
        return {.data = data, .type = network::WeightType::BFloat16, .rows = rows, .columns = columns, .owner = {}};
    }
    const std::vector<std::uint64_t>& words() const { return m_words; }

  private:
    std::vector<std::uint64_t> m_words;
    std::size_t m_taken = 0;
};

network::Shape olmoeCut() {
    network::Shape s;
    s.architecture = "OlmoeForCausalLM";
    s.vocabulary = 50304;
    s.hidden = 2048;
    s.intermediate = 1024;
    s.layers = 2;
    s.heads = s.keyValueHeads = 16;
    s.headDim = 128;
    s.maxPositions = 4096;
    s.kinds.assign(2, {.window = 0, .rotary = 0, .routed = true});
    s.rotaries.push_back({});
    s.rotaries.front().frequencies = network::plainFrequencies(10000.0, 64);
    s.attentionScale = 0.088F;
    s.headNormsAsOne = true;
    s.mixture = {.experts = 64, .chosen = 8, .width = 1024, .sharedWidth = 0, .normTopkProb = false};
    return s;
}

network::Norm ones(std::int64_t n) {
    return {.weight = std::vector<float>(static_cast<std::size_t>(n), 1.0F), .bias = {}};
}

network::Weights weightsIn(Memory& memory, const network::Shape& s) {
    const std::int64_t C = s.hidden, F = s.mixture.width;
    network::Weights w;
    w.shape = s;
    w.embedding = memory.take(s.vocabulary, C);
    w.head = memory.take(s.vocabulary, C);
    w.norm = ones(C);
    for (std::int64_t i = 0; i < s.layers; ++i) {
        network::Layer& l = w.layers.emplace_back();
        l.attentionNorm = l.mlpNorm = l.queryNorm = l.keyNorm = ones(C);
        for (network::Linear* linear : {&l.query, &l.key, &l.value, &l.output}) linear->weight = memory.take(C, C);
        l.router = memory.take(s.mixture.experts, C);
        for (std::int64_t e = 0; e < s.mixture.experts; ++e)
            l.experts.push_back({memory.take(F, C), memory.take(F, C), memory.take(C, F)});
    }
    return w;
}

compute::SourceRouting coupled() {
    compute::SourceRouting routing;
    routing.noise.mode = compute::RoutingMode::Coupled;
    return routing;
}

OrderedJson mixtures(const network::Weights& w, double limit, int threads, int steps) {
    const network::Shape& s = w.shape;
    network::Router router(s);
    router.set(coupled());
    network::MixtureScratch scratch;
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    std::vector<float> x(static_cast<std::size_t>(s.hidden)), out(x.size());
    std::vector<double> times;
    std::set<std::pair<std::int64_t, compute::ExpertId>> met;
    for (int step = 0; step < steps; ++step)
        for (std::int64_t i = 0; i < s.layers; ++i) {
            for (float& v : x) v = normal(random);
            router.begin(step, 1);
            times.push_back(benchmarks::timeOf([&] {
                network::mixture(s, w.layers[static_cast<std::size_t>(i)], i, step, x.data(), 1, router, scratch,
                                 out.data(), threads);
            }));
            for (const compute::ExpertId e : router.choice(i, step).experts) met.insert({i, e});
        }
    const double chosen = static_cast<double>(s.mixture.chosen * 3 * s.hidden * s.mixture.width * 2);
    const double read = static_cast<double>(scratch.bytesRead) / static_cast<double>(times.size());
    const double t = benchmarks::median(times), rate = read * 1e-9 / t;
    return {{"threads", threads},
            {"layers_timed", times.size()},
            {"experts_met", met.size()},
            {"us_per_layer", t * 1e6},
            {"bytes_read_of_bytes_chosen", read / chosen},
            {"gb_per_second", rate},
            {"read_gb_per_second", limit},
            {"share_of_read", rate / limit}};
}

OrderedJson wholeSteps(const std::shared_ptr<const network::Weights>& w, int threads, int steps) {
    network::Decoder decoder(w, threads);
    decoder.router()->set(coupled());
    std::mt19937 random(8);
    std::vector<float> logits(static_cast<std::size_t>(w->shape.vocabulary));
    std::vector<double> times;
    for (int step = 0; step < steps; ++step) {
        const auto id = static_cast<compute::TokenId>(random() % 50304);
        times.push_back(benchmarks::timeOf([&] {
            if (decoder.forward(step, std::span(&id, 1), 1, logits, {}) != compute::Outcome::Done) std::abort();
        }));
    }
    return {{"threads", threads}, {"ms_per_step", benchmarks::median(times) * 1e3}};
}

}  // namespace

int main(int argc, char** argv) {
    const int steps = argc > 1 ? std::max(1, std::atoi(argv[1])) : 64;
    const network::Shape shape = olmoeCut();
    Memory memory(static_cast<std::size_t>(2 * shape.vocabulary * 2048 + 2 * (4 * 2048 + 64) * 2048) +
                  std::size_t{2} * 64 * 3 * 2048 * 1024);
    const auto weights = std::make_shared<const network::Weights>(weightsIn(memory, shape));
    OrderedJson json = {{"kernels", network::kernels().name}, {"load_average", benchmarks::load()}};
    for (const int threads : {1, 2}) {
        const double limit = benchmarks::readBandwidth(memory.words(), threads);
        json["mixture"].push_back(mixtures(*weights, limit, threads, steps));
        json["step"].push_back(wholeSteps(weights, threads, steps));
    }
    std::cout << json.dump(2) << '\n';
    return 0;
}
