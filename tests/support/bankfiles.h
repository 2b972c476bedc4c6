#pragma once
// Banks made on the spot: by hand, at random, and the tensors of a bank's file to change.

#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "compute/files/safetensors.h"
#include "compute/priors/bank.h"
#include "tests/support/randomtext.h"
#include "tests/support/toyfiles.h"

namespace counterpoint::tests {

inline compute::PriorPtr exact(const std::string& name, std::vector<std::pair<compute::TokenId, double>> delta) {
    compute::Prior prior;
    prior.name = name;
    prior.delta = std::move(delta);
    return std::make_shared<const compute::Prior>(std::move(prior));
}

inline compute::PriorPtr listed(const std::string& name, const std::vector<compute::TokenId>& promote,
                                const std::vector<compute::TokenId>& demote, double confidence = 1) {
    compute::Prior prior;
    prior.name = name;
    prior.confidence = confidence;
    for (const compute::TokenId id : promote) prior.promote.push_back({.text = {}, .id = id});
    for (const compute::TokenId id : demote) prior.demote.push_back({.text = {}, .id = id});
    return std::make_shared<const compute::Prior>(std::move(prior));
}

inline compute::PriorPtr named(const std::string& name, const std::string& text) {
    compute::Prior prior;
    prior.name = name;
    prior.promote = {{.text = text}};
    return std::make_shared<const compute::Prior>(std::move(prior));
}

inline compute::Bank banked(std::vector<compute::PriorPtr> priors) {
    compute::Bank bank;
    bank.priors = std::move(priors);
    return bank;
}

/// A bank with everything that a file may hold: texts of many scripts, ids in and out of order, explicit deltas of
/// every kind of number, unknown keys with 64-bit integers, priors that cannot be used, names twice.
inline compute::OrderedJson randomBank(std::mt19937& random) {
    using Json = compute::OrderedJson;
    const auto one = [&](std::initializer_list<Json> list) { return *(list.begin() + random() % list.size()); };
    const auto text = [&] { return randomText(random, 1 + static_cast<int>(random() % 6)); };
    const auto odds = [&](unsigned in) { return random() % in == 0; };
    const auto anything = [&] {
        return one({18446744073709551615u, std::numeric_limits<std::int64_t>::min(), -0.0, 5e-324, 0.1, "inf", nullptr,
                    true, text(), Json{{"a", {1, {{"b", nullptr}}}}}});
    };
    const auto entries = [&] {
        Json list = Json::array();
        compute::TokenId id = 0;
        const bool texts = odds(3), order = !odds(4);
        for (std::size_t n = random() % 6; n > 0; --n) {
            id = order ? id + 1 + static_cast<compute::TokenId>(random() % 90)
                       : static_cast<compute::TokenId>(random() % 300);
            list.push_back(texts && odds(2) ? Json(text()) : Json(id));
        }
        return list;
    };
    const auto deltas = [&] {
        Json object = Json::object();
        compute::TokenId id = 0;
        const bool equal = odds(3), order = !odds(4);
        for (std::size_t n = random() % 20; n > 0; --n) {
            id = order ? id + 1 + static_cast<compute::TokenId>(random() % 90)
                       : static_cast<compute::TokenId>(random() % 300);
            object[std::to_string(id)] = equal     ? Json(odds(2) ? 0.1 : -0.1)
                                         : odds(9) ? one({0, -0.0, "nan", "inf", 1e300, 5e-324, 1e-40})
                                                   : one({0.5, -0.25, 3, 0.3, -1e-3, 2.5, -7});
        }
        return object;
    };
    Json priors = Json::array();
    for (std::size_t n = random() % 7; n > 0; --n) {
        if (odds(20)) {
            priors.push_back(anything());
            continue;
        }
        Json prior = {{"name", odds(15) ? "twice" : text() + std::to_string(n)}};
        if (odds(2)) prior["kind"] = text();
        if (odds(2)) prior["task"] = text();
        if (odds(2)) prior["quality"] = one({0, 1, 0.5, 0.75, 1e-9, odds(6) ? Json(2) : Json(0.99)});
        if (odds(2)) prior["confidence"] = one({0, 1, 0.9, 0.5, odds(6) ? Json("nan") : Json(0.1)});
        if (!odds(3)) prior["promote"] = entries();
        if (!odds(3)) prior["demote"] = entries();
        if (odds(2)) prior["delta_plus"] = one({0, 2, 0.3, odds(6) ? Json(-1) : Json(1e300)});
        if (odds(2)) prior["delta_minus"] = one({0, 2, 0.3, -0.0});
        if (odds(2)) prior["delta"] = deltas();
        if (odds(2))
            prior["policy"] =
                one({"exact id", "single token", "first token with a leading space", odds(6) ? "none" : "first token"});
        if (odds(2))
            prior["when"] = one({nullptr,
                                 {{"kind", "always"}, {"later", 1}},
                                 {{"kind", "regex"}, {"pattern", text()}, {"chars", 7}},
                                 {{"kind", "tokens"}, {"ids", {3, 1, 3}}, {"pattern", "kept"}},
                                 {{"kind", "code_block"}, {"language", "c++"}},
                                 {{"kind", "feature"}, {"name", "f"}},
                                 {{"kind", odds(4) ? "sometimes" : "code_block"}}});
        if (odds(3)) prior["eta"] = one({nullptr, 2.5, 0, -1, 0.1});
        if (odds(3)) prior["enabled"] = odds(2);
        if (odds(3)) prior["source"] = text();
        if (odds(5)) prior["merged"] = {text(), text()};
        if (odds(3)) prior[one({"stored", "bits", "later", "level"}).get<std::string>()] = anything();
        priors.push_back(std::move(prior));
    }
    Json bank = {{"format", "counterpoint.bank/1"}};
    if (odds(2)) bank["later"] = anything();
    if (odds(2)) bank["name"] = odds(6) ? anything() : Json(text());
    if (odds(2)) bank["tokenizer"] = odds(6) ? anything() : Json(text());
    if (odds(3)) bank["stake"] = one({0, 2.5, 0.1, -1, "inf"});
    if (odds(3)) bank["level"] = one({0, 1, 2, 3, 4, "one"});
    if (odds(2))
        bank["features"] =
            one({Json::array(), 5, {{"f", {{"open", "a"}, {"close", "b"}, {"more", text()}}}, {text(), 7}}});
    bank["priors"] = std::move(priors);
    if (odds(3)) bank["z" + text()] = anything();
    return bank;
}

template <class T>
std::vector<T> numbers(const compute::Safetensors& file, const std::string& name) {
    const compute::TensorView& view = *file.find(name);
    std::vector<T> values(view.bytes.size() / sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), view.bytes.data(), view.bytes.size());
    return values;
}

/// The tensors and metadata of a bank's file, to be changed and written again.
class BankTensors {
  public:
    explicit BankTensors(const std::filesystem::path& file) {
        const compute::Safetensors all = compute::Safetensors::openFile(file);
        metadata = all.metadata();
        for (const auto& [name, view] : all.tensors())
            m_tensors.push_back({name, view.dtype, view.shape, {view.bytes.begin(), view.bytes.end()}});
    }
    std::map<std::string, std::string> metadata;

    ToyTensor& tensor(const std::string& name) {
        for (ToyTensor& one : m_tensors)
            if (one.name == name) return one;
        return m_tensors.emplace_back(ToyTensor{name, compute::DType::F32, {0}, {}});
    }
    template <class T>
    T& at(const std::string& name, std::size_t i) {
        return reinterpret_cast<T*>(tensor(name).bytes.data())[i];
    }
    void resize(const std::string& name, std::size_t n) {
        ToyTensor& one = tensor(name);
        one.shape = {static_cast<std::int64_t>(n)};
        one.bytes.resize(n * compute::dtypeSize(one.dtype));
    }
    void remove(const std::string& name) {
        std::erase_if(m_tensors, [&](const ToyTensor& one) { return one.name == name; });
    }
    void write(const std::filesystem::path& file) const { writeTensors(file, m_tensors, metadata); }

  private:
    std::vector<ToyTensor> m_tensors;
};

}  // namespace counterpoint::tests
