#pragma once
// The toy models of tests/data/architectures: config.json as stored, weights by the formula of make.py, the logits that
// transformers gave, and the same directory written for the code under test.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compute/files/json.h"
#include "compute/network/convert.h"
#include "compute/step.h"
#include "tests/support/folders.h"
#include "tests/support/toyfiles.h"

namespace counterpoint::tests {

inline std::filesystem::path goldenFolder() { return checkout() / "tests" / "data" / "architectures"; }

/// Every stored model, in name order.
inline std::vector<std::string> goldenNames() {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(goldenFolder()))
        if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
    std::sort(names.begin(), names.end());
    return names;
}

inline std::uint32_t mixedBits(std::uint32_t x) {
    x = (x ^ (x >> 16)) * 0x7FEB352Du;
    x = (x ^ (x >> 15)) * 0x846CA68Bu;
    return x ^ (x >> 16);
}

class GoldenModel {
  public:
    explicit GoldenModel(const std::string& name) : m_json(compute::readJson(goldenFolder() / (name + ".json"))) {}

    const compute::Json& config() const { return m_json.at("config"); }
    /// Keys of config() may be changed before writing: what a planted fault looks like.
    compute::Json& config() { return m_json.at("config"); }
    /// Takes tensors away before writing: those whose name `gone` is true of.
    template <class Gone>
    void leaveOut(const Gone& gone) {
        compute::Json& tensors = m_json.at("tensors");
        for (auto it = tensors.begin(); it != tensors.end();) it = gone(it.key()) ? tensors.erase(it) : std::next(it);
    }
    std::int64_t vocabulary() const { return config().at("vocab_size").get<std::int64_t>(); }

    const compute::Json& operator[](const char* key) const { return m_json.at(key); }

    std::vector<compute::TokenId> ids() const {
        std::vector<compute::TokenId> ids(m_json.at("positions").back().get<std::size_t>() + 1);
        for (std::size_t t = 0; t < ids.size(); ++t)
            ids[t] = static_cast<compute::TokenId>(mixedBits(0x5EEDu + static_cast<std::uint32_t>(t) * 0x9E3779B9u) %
                                                   static_cast<std::uint32_t>(vocabulary()));
        return ids;
    }

    /// A model directory with a tokenizer; `rename` may change the tensors' names, `extra` are more of them.
    template <class Rename>
    void write(const std::filesystem::path& directory, compute::DType dtype, Rename&& rename,
               std::vector<ToyTensor> extra = {}) const {
        std::vector<ToyTensor> tensors = std::move(extra);
        for (const auto& [name, law] : m_json.at("tensors").items())
            tensors.push_back(tensor(salt() + name, rename(name), law, dtype));
        std::sort(tensors.begin(), tensors.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
        writeToyModel(directory, config(), tensors, static_cast<int>(vocabulary()));
    }
    void write(const std::filesystem::path& directory, compute::DType dtype = compute::DType::F32) const {
        write(directory, dtype, [](const std::string& name) { return name; });
    }

    /// The numbers of every tensor in float32, in no order.
    std::vector<ToyTensor> tensors() const {
        std::vector<ToyTensor> all;
        for (const auto& [name, law] : m_json.at("tensors").items())
            all.push_back(tensor(salt() + name, name, law, compute::DType::F32));
        return all;
    }

    /// How far `rows` [T][V] are from transformers' at the stored positions, as a part of the largest logit; a part of
    /// the log-sum-exp counts too, so that no logit that is not stored can be wrong.
    /// `normalised`: the rows are log-probabilities.
    double distance(std::span<const float> rows, const std::string& dtype, bool normalised = false) const {
        const compute::Json& golden = m_json.contains(dtype) ? m_json.at(dtype) : m_json.at("float32");
        const auto V = static_cast<std::size_t>(vocabulary());
        const auto ids = m_json.at("ids").get<std::vector<std::size_t>>();
        double worst = 0;
        const auto apart = [&](double a, double b) {
            worst = std::isfinite(a) ? std::max(worst, std::abs(a - b)) : std::numeric_limits<double>::infinity();
        };
        for (std::size_t i = 0; i < m_json.at("positions").size(); ++i) {
            const std::span row = rows.subspan(m_json.at("positions").at(i).get<std::size_t>() * V, V);
            const auto expected = golden.at("logits").at(i).get<std::vector<double>>();
            const auto logSum = golden.at("log_sum_exp").at(i).get<double>();
            double sum = 0;
            for (const float x : row) sum += std::exp(static_cast<double>(x));
            for (std::size_t j = 0; j < ids.size(); ++j) apart(row[ids[j]], expected[j] - (normalised ? logSum : 0.0));
            apart(std::log(sum), normalised ? 0.0 : logSum);
        }
        return worst / golden.at("largest").get<double>();
    }

    /// The median over all positions of the largest distance of `logProbs` from the log-probabilities of `logits`, as a
    /// part of the largest stored logit.
    double typicalDistance(std::span<const float> logits, std::span<const float> logProbs) const {
        const auto V = static_cast<std::size_t>(vocabulary());
        std::vector<double> apart(logits.size() / V);
        for (std::size_t t = 0; t < apart.size(); ++t) {
            double sum = 0;
            for (const float x : logits.subspan(t * V, V)) sum += std::exp(static_cast<double>(x));
            for (std::size_t i = t * V; i < (t + 1) * V; ++i)
                apart[t] = std::max(apart[t], std::abs(logits[i] - std::log(sum) - logProbs[i]));
        }
        const auto middle = apart.begin() + static_cast<std::ptrdiff_t>(apart.size() / 2);
        std::nth_element(apart.begin(), middle, apart.end());
        return *middle / m_json.at("float32").at("largest").get<double>();
    }
    /// What transformers' own bfloat16 costs by that measure; kept of the models with routed layers.
    std::optional<double> bfloat16Apart() const {
        if (!m_json.contains("bfloat16_apart")) return std::nullopt;
        return m_json.at("bfloat16_apart").get<double>();
    }

  private:
    std::string salt() const { return m_json.value("salt", std::string()); }
    static ToyTensor tensor(const std::string& hashed, const std::string& stored, const compute::Json& law,
                            compute::DType dtype) {
        const auto shape = law.at(0).get<std::vector<std::int64_t>>();
        const double centre = law.at(1).get<double>(), step = law.at(2).get<double>();
        const auto most = law.at(3).get<std::uint32_t>();
        std::uint32_t hash = 0x811C9DC5u;
        for (const char c : hashed) hash = (hash ^ static_cast<unsigned char>(c)) * 0x01000193u;
        std::size_t n = 1;
        for (const std::int64_t size : shape) n *= static_cast<std::size_t>(size);
        std::vector<float> values(n);
        for (std::size_t i = 0; i < n; ++i) {
            const std::uint32_t bits = mixedBits(hash + static_cast<std::uint32_t>(i) * 0x9E3779B9u);
            const double k = static_cast<double>(bits % (2 * most + 1)) - static_cast<double>(most);
            values[i] = static_cast<float>(centre + step * k);
        }
        ToyTensor wide = floatTensor(stored, shape, values);
        if (dtype == compute::DType::F32) return wide;
        const auto type = dtype == compute::DType::BF16 ? network::WeightType::BFloat16 : network::WeightType::Float16;
        ToyTensor narrow{stored, dtype, shape, std::vector<std::byte>(n * 2)};
        network::convert(values.data(), network::WeightType::Float32, static_cast<std::int64_t>(n), type,
                         narrow.bytes.data());
        return narrow;
    }

    compute::Json m_json;
};

}  // namespace counterpoint::tests
