#pragma once
// Toy models of the Llama layout with addressed random weights, written as a model directory, and a plain float64
// forward pass that shares nothing with the code under test: whole sequence at once, no cache, textbook loops.

#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "compute/files/safetensors.h"
#include "compute/text/tokenizer.h"

namespace counterpoint::tests {

struct Toy {
    std::int64_t vocabulary = 300, hidden = 40, intermediate = 56, layers = 2, heads = 4, keyValueHeads = 1,
                 headDim = 16;
    std::int64_t maxPositions = 640;
    double epsilon = 1e-5, theta = 10000.0;
    bool tied = false, attentionBias = false, mlpBias = false;
    std::map<std::string, std::vector<float>> tensors;
    std::map<std::string, std::vector<std::int64_t>> shapes;
    std::string extraConfig;  ///< more keys, each with a comma before it

    void add(const std::string& name, std::vector<std::int64_t> shape, double scale, double centre,
             std::mt19937& random) {
        std::int64_t n = 1;
        for (const std::int64_t d : shape) n *= d;
        std::vector<float> values(static_cast<std::size_t>(n));
        for (float& v : values)  // uniform in centre ± scale, the same on every standard library
            v = static_cast<float>(centre + scale * (static_cast<double>(random()) / 2147483648.0 - 1.0));
        tensors[name] = std::move(values);
        shapes[name] = std::move(shape);
    }

    void fill(unsigned seed) {
        std::mt19937 random(seed);
        const auto matrix = [&](const std::string& name, std::int64_t out, std::int64_t in, bool bias) {
            add(name + ".weight", {out, in}, 1.6 / std::sqrt(static_cast<double>(in)), 0.0, random);
            if (bias) add(name + ".bias", {out}, 0.3, 0.0, random);
        };
        add("model.embed_tokens.weight", {vocabulary, hidden}, 1.0, 0.0, random);
        for (std::int64_t l = 0; l < layers; ++l) {
            const std::string p = "model.layers." + std::to_string(l) + ".";
            add(p + "input_layernorm.weight", {hidden}, 0.3, 1.0, random);
            matrix(p + "self_attn.q_proj", heads * headDim, hidden, attentionBias);
            matrix(p + "self_attn.k_proj", keyValueHeads * headDim, hidden, attentionBias);
            matrix(p + "self_attn.v_proj", keyValueHeads * headDim, hidden, attentionBias);
            matrix(p + "self_attn.o_proj", hidden, heads * headDim, attentionBias);
            add(p + "post_attention_layernorm.weight", {hidden}, 0.3, 1.0, random);
            matrix(p + "mlp.gate_proj", intermediate, hidden, mlpBias);
            matrix(p + "mlp.up_proj", intermediate, hidden, mlpBias);
            matrix(p + "mlp.down_proj", hidden, intermediate, mlpBias);
        }
        add("model.norm.weight", {hidden}, 0.3, 1.0, random);
        add("lm_head.weight", {vocabulary, hidden}, 0.5, 0.0, random);
    }

    std::string config() const {
        const auto n = [](std::int64_t x) { return std::to_string(x); };
        return R"({"architectures":["LlamaForCausalLM"],"model_type":"llama","hidden_act":"silu","vocab_size":)" +
               n(vocabulary) + ",\"hidden_size\":" + n(hidden) + ",\"intermediate_size\":" + n(intermediate) +
               ",\"num_hidden_layers\":" + n(layers) + ",\"num_attention_heads\":" + n(heads) +
               ",\"num_key_value_heads\":" + n(keyValueHeads) + ",\"head_dim\":" + n(headDim) +
               ",\"max_position_embeddings\":" + n(maxPositions) + ",\"rms_norm_eps\":0.00001,\"rope_theta\":10000.0" +
               ",\"tie_word_embeddings\":" + (tied ? "true" : "false") +
               ",\"attention_bias\":" + (attentionBias ? "true" : "false") +
               ",\"mlp_bias\":" + (mlpBias ? "true" : "false") + extraConfig + "}";
    }

    void write(const std::filesystem::path& directory) const {
        std::filesystem::create_directories(directory);
        std::ofstream(directory / "config.json") << config();
        std::vector<compute::TensorToWrite> list;
        for (const auto& [name, values] : tensors)
            list.push_back({name, compute::DType::F32, shapes.at(name), std::as_bytes(std::span(values))});
        compute::writeSafetensors(directory / "model.safetensors", list, {});
    }
};

/// logits [T][V] of the whole sequence in float64.
class PlainForward {
  public:
    explicit PlainForward(const Toy& toy) : m_toy(toy) {}

    std::vector<std::vector<double>> operator()(const std::vector<std::int32_t>& ids) const {
        const std::int64_t C = m_toy.hidden, D = m_toy.headDim, share = m_toy.heads / m_toy.keyValueHeads;
        const std::size_t T = ids.size();
        std::vector<Row> x;
        for (const std::int32_t id : ids) {
            const float* row = m_toy.tensors.at("model.embed_tokens.weight").data() + id * C;
            x.emplace_back(row, row + C);
        }
        for (std::int64_t l = 0; l < m_toy.layers; ++l) {
            const std::string p = "model.layers." + std::to_string(l) + ".";
            std::vector<Row> q(T), k(T), v(T);
            for (std::size_t t = 0; t < T; ++t) {
                const Row h = norm(x[t], p + "input_layernorm.weight");
                q[t] = turn(times(p + "self_attn.q_proj", h), t);
                k[t] = turn(times(p + "self_attn.k_proj", h), t);
                v[t] = times(p + "self_attn.v_proj", h);
            }
            for (std::size_t t = 0; t < T; ++t) {
                Row mixed(static_cast<std::size_t>(m_toy.heads * D), 0.0);
                for (std::int64_t head = 0; head < m_toy.heads; ++head) {
                    const std::int64_t mine = head * D, theirs = head / share * D;
                    Row score(t + 1);
                    double sum = 0;
                    for (std::size_t s = 0; s <= t; ++s) {
                        for (std::int64_t d = 0; d < D; ++d) score[s] += q[t][mine + d] * k[s][theirs + d];
                        score[s] = std::exp(score[s] / std::sqrt(static_cast<double>(D)));
                        sum += score[s];
                    }
                    for (std::size_t s = 0; s <= t; ++s)
                        for (std::int64_t d = 0; d < D; ++d) mixed[mine + d] += score[s] / sum * v[s][theirs + d];
                }
                add(x[t], times(p + "self_attn.o_proj", mixed));
                const Row h = norm(x[t], p + "post_attention_layernorm.weight");
                Row gate = times(p + "mlp.gate_proj", h);
                const Row up = times(p + "mlp.up_proj", h);
                for (std::size_t i = 0; i < gate.size(); ++i) gate[i] = gate[i] / (1.0 + std::exp(-gate[i])) * up[i];
                add(x[t], times(p + "mlp.down_proj", gate));
            }
        }
        std::vector<Row> logits;
        const std::string head = m_toy.tied ? "model.embed_tokens" : "lm_head";
        for (std::size_t t = 0; t < T; ++t) logits.push_back(times(head, norm(x[t], "model.norm.weight")));
        return logits;
    }

  private:
    using Row = std::vector<double>;
    const Toy& m_toy;

    static void add(Row& x, const Row& y) {
        for (std::size_t i = 0; i < x.size(); ++i) x[i] += y[i];
    }
    Row norm(const Row& x, const std::string& name) const {
        double squares = 0;
        for (const double v : x) squares += v * v;
        const double scale = 1.0 / std::sqrt(squares / static_cast<double>(x.size()) + m_toy.epsilon);
        Row out(x.size());
        for (std::size_t i = 0; i < x.size(); ++i) out[i] = x[i] * scale * m_toy.tensors.at(name)[i];
        return out;
    }
    Row times(const std::string& name, const Row& x) const {
        const std::vector<float>& w = m_toy.tensors.at(name + ".weight");
        Row y(w.size() / x.size(), 0.0);
        for (std::size_t n = 0; n < y.size(); ++n)
            for (std::size_t i = 0; i < x.size(); ++i) y[n] += static_cast<double>(w[n * x.size() + i]) * x[i];
        if (const auto bias = m_toy.tensors.find(name + ".bias"); bias != m_toy.tensors.end())
            for (std::size_t n = 0; n < y.size(); ++n) y[n] += bias->second[n];
        return y;
    }
    /// Rotary: pairs (i, i + D/2) of every head turned by position · theta^(−2i/D).
    Row turn(Row x, std::size_t position) const {
        const std::size_t D = static_cast<std::size_t>(m_toy.headDim), half = D / 2;
        for (std::size_t head = 0; head < x.size(); head += D)
            for (std::size_t i = 0; i < half; ++i) {
                const double angle = static_cast<double>(position) /
                                     std::pow(m_toy.theta, 2.0 * static_cast<double>(i) / static_cast<double>(D));
                const double a = x[head + i], b = x[head + half + i];
                x[head + i] = a * std::cos(angle) - b * std::sin(angle);
                x[head + half + i] = a * std::sin(angle) + b * std::cos(angle);
            }
        return x;
    }
};

/// Ids without a vocabulary: as many as asked for, no text.
class CountingTokenizer final : public compute::Tokenizer {
  public:
    explicit CountingTokenizer(std::int64_t size) : m_size(size) {}
    std::int64_t size() const override { return m_size; }
    std::vector<compute::TokenId> encode(std::string_view, compute::EncodeOptions) const override { return {}; }
    std::string_view bytes(compute::TokenId) const override { return "x"; }
    std::string piece(compute::TokenId id) const override { return std::to_string(id); }
    bool isToken(compute::TokenId id) const override { return id >= 0 && id < m_size; }
    bool isControl(compute::TokenId) const override { return false; }
    bool dropsLeadingSpace() const override { return false; }
    std::optional<compute::TokenId> bos() const override { return {}; }
    std::optional<compute::TokenId> eos() const override { return {}; }
    bool addsBos() const override { return false; }
    std::span<const compute::AddedToken> addedTokens() const override { return {}; }
    std::string fingerprint() const override { return std::to_string(m_size); }

  private:
    std::int64_t m_size;
};

}  // namespace counterpoint::tests
