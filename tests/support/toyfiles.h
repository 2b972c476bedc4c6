#pragma once
// Small model directories made on the spot: config.json, model.safetensors with given tensors, a tokenizer.json of n
// ids.

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "compute/files/atomicfile.h"
#include "compute/files/json.h"
#include "compute/files/safetensors.h"

namespace counterpoint::tests {

/// A tensor that owns its bytes.
struct ToyTensor {
    std::string name;
    compute::DType dtype = compute::DType::F32;
    std::vector<std::int64_t> shape;
    std::vector<std::byte> bytes;
};

inline ToyTensor floatTensor(std::string name, std::vector<std::int64_t> shape, const std::vector<float>& values) {
    ToyTensor tensor{std::move(name), compute::DType::F32, std::move(shape),
                     std::vector<std::byte>(values.size() * sizeof(float))};
    if (const std::size_t size = tensor.bytes.size(); size > 0) std::memcpy(tensor.bytes.data(), values.data(), size);
    return tensor;
}

/// Numbers in [-scale, scale) that depend on the seed only (a 64-bit linear congruence, Knuth's constants, top 24
/// bits).
inline std::vector<float> toyNumbers(std::size_t n, std::uint64_t seed, float scale) {
    std::vector<float> values(n);
    for (float& value : values) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        value = scale * (static_cast<float>(seed >> 40) / 8388608.0F - 1.0F);
    }
    return values;
}

inline ToyTensor randomTensor(std::string name, std::vector<std::int64_t> shape, std::uint64_t seed,
                              float scale = 0.1F) {
    std::size_t n = 1;
    for (const std::int64_t size : shape) n *= static_cast<std::size_t>(size);
    return floatTensor(std::move(name), std::move(shape), toyNumbers(n, seed, scale));
}

inline void writeTensors(const std::filesystem::path& file, const std::vector<ToyTensor>& tensors,
                         const std::map<std::string, std::string>& metadata = {{"format", "pt"}}) {
    std::vector<compute::TensorToWrite> views;
    for (const ToyTensor& tensor : tensors) views.push_back({tensor.name, tensor.dtype, tensor.shape, tensor.bytes});
    compute::writeSafetensors(file, views, metadata);
}

/// The name of id `id` in toyTokenizer(): 0 <unk>, 1 <s>, 2 </s>; then from 259 ids on the 256 byte tokens; then
/// "w<id>".
inline std::string toyPiece(int id, int size) {
    if (id < 3) return id == 0 ? "<unk>" : id == 1 ? "<s>" : "</s>";
    if (size < 259 || id >= 259) return "w" + std::to_string(id);
    constexpr const char* digits = "0123456789ABCDEF";
    return std::string("<0x") + digits[(id - 3) >> 4] + digits[(id - 3) & 15] + ">";
}

/// A tokenizer.json (BPE, byte fallback, no merges, BOS 1, EOS 2) with these pieces, ids in order. The first three are
/// the control tokens.
inline compute::Json tokenizerOf(const std::vector<std::string>& pieces) {
    using compute::Json;
    Json vocab = Json::object();
    for (std::size_t id = 0; id < pieces.size(); ++id) vocab[pieces[id]] = id;
    Json added = Json::array();
    for (std::size_t id = 0; id < 3; ++id)
        added.push_back({{"id", id}, {"content", pieces[id]}, {"special", true}, {"normalized", false}});
    const Json special = {{"SpecialToken", {{"id", pieces[1]}, {"type_id", 0}}}};
    const Json text = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
    return {{"version", "1.0"},
            {"added_tokens", added},
            {"normalizer", nullptr},
            {"pre_tokenizer", nullptr},
            {"post_processor", {{"type", "TemplateProcessing"}, {"single", Json::array({special, text})}}},
            {"decoder",
             {{"type", "Sequence"}, {"decoders", Json::array({{{"type", "ByteFallback"}}, {{"type", "Fuse"}}})}}},
            {"model",
             {{"type", "BPE"},
              {"unk_token", pieces[0]},
              {"fuse_unk", true},
              {"byte_fallback", true},
              {"vocab", vocab},
              {"merges", Json::array()}}}};
}

inline std::vector<std::string> toyPieces(int size) {
    std::vector<std::string> pieces;
    for (int id = 0; id < size; ++id) pieces.push_back(toyPiece(id, size));
    return pieces;
}

inline void writeJson(const std::filesystem::path& file, const compute::Json& json) {
    compute::writeFile(file, json.dump(1));
}

/// config.json, model.safetensors and a tokenizer.json of `ids` ids, in a folder that is made when it is not there.
inline void writeToyModel(const std::filesystem::path& directory, const compute::Json& config,
                          const std::vector<ToyTensor>& tensors, int ids) {
    std::filesystem::create_directories(directory);
    writeJson(directory / "config.json", config);
    writeTensors(directory / "model.safetensors", tensors);
    writeJson(directory / "tokenizer.json", tokenizerOf(toyPieces(ids)));
}

}  // namespace counterpoint::tests
