#pragma once
// Small recordings made on the spot: random logits of named sources over given tokens.

#include "tests/support/toyfiles.h"

namespace counterpoint::tests {

inline ToyTensor idTensor(const std::string& name, const std::vector<std::int64_t>& ids) {
    ToyTensor tensor{name,
                     compute::DType::I64,
                     {static_cast<std::int64_t>(ids.size())},
                     std::vector<std::byte>(ids.size() * sizeof(std::int64_t))};
    if (!ids.empty()) std::memcpy(tensor.bytes.data(), ids.data(), tensor.bytes.size());
    return tensor;
}

/// What a file is written from; change it to write a bad one.
struct ToyRecording {
    std::vector<ToyTensor> tensors;
    std::map<std::string, std::string> metadata{{"format", "counterpoint.recording/1"}, {"base", "base"}};

    ToyRecording(const std::vector<std::int64_t>& tokens, std::int64_t width, const std::vector<std::string>& sources) {
        tensors.push_back(idTensor("tokens", tokens));
        std::uint64_t seed = 1;
        for (const std::string& name : sources)
            tensors.push_back(
                randomTensor("logits." + name, {static_cast<std::int64_t>(tokens.size()), width}, seed++, 4));
    }
    ToyTensor& tensor(const std::string& name) {
        for (ToyTensor& t : tensors)
            if (t.name == name) return t;
        return tensors.emplace_back(ToyTensor{name, compute::DType::F32, {}, {}});
    }
    std::vector<float> values(const std::string& source) {
        const ToyTensor& t = tensor("logits." + source);
        std::vector<float> out(t.bytes.size() / sizeof(float));
        std::memcpy(out.data(), t.bytes.data(), t.bytes.size());
        return out;
    }
    void write(const std::filesystem::path& file) const { writeTensors(file, tensors, metadata); }
};

}  // namespace counterpoint::tests
