// Which files of a model directory hold the weights: the index's shards, or the one file.
#include <algorithm>

#include "compute/error.h"
#include "compute/files/json.h"
#include "compute/files/safetensors.h"

namespace counterpoint::compute {
namespace {

namespace fs = std::filesystem;

constexpr const char* kAgain = "copy or download it again";

fs::path onlyFile(const fs::path& directory) {
    const fs::path usual = directory / "model.safetensors";
    std::error_code error;
    if (fs::exists(usual, error)) return usual;
    std::vector<fs::path> found;
    bool pickled = false;
    for (const fs::directory_entry& entry : fs::directory_iterator(directory, error)) {
        if (entry.path().extension() == ".safetensors") found.push_back(entry.path());
        pickled = pickled || entry.path().extension() == ".bin" || entry.path().extension() == ".pth";
    }
    if (error) throw Error({.where = directory.string(), .what = "the folder cannot be read: " + error.message()});
    if (found.size() == 1) return found.front();
    if (found.empty())
        throw Error(
            {.where = directory.string(),
             .what = "there are no weights in this folder",
             .expected = "model.safetensors or shards with model.safetensors.index.json",
             .advice = pickled ? "pickled weights (.bin, .pth) are never opened: save them as safetensors" : ""});
    throw Error(
        {.where = directory.string(),
         .what = "several .safetensors files but no model.safetensors.index.json that says which belong together",
         .advice = "copy or download the index too"});
}

struct Index {
    fs::path file;
    std::map<std::string, std::string> shardOf;  ///< tensor -> file name
};

Index readIndex(const fs::path& file) {
    const Json json = readJson(file);
    const auto fail = [&](std::string what) {
        throw Error({.where = file.string(), .what = std::move(what), .advice = kAgain});
    };
    if (!json.is_object() || !json.contains("weight_map") || !json["weight_map"].is_object())
        fail("the index has no object 'weight_map'");
    Index index{.file = file, .shardOf = {}};
    for (const auto& [tensor, shard] : json["weight_map"].items()) {
        if (!shard.is_string()) fail("the shard of tensor '" + tensor + "' is not a file name");
        const std::string name = shard.get<std::string>();
        if (name.empty() || name == "." || name == ".." || name.find_first_of("/\\") != std::string::npos ||
            name.find('\0') != std::string::npos)
            fail("the shard of tensor '" + tensor + "' must be the name of a file in the same folder, not a path");
        index.shardOf[tensor] = name;
    }
    if (index.shardOf.empty()) fail("the index names no tensor");
    return index;
}

}  // namespace

std::vector<fs::path> weightFiles(const fs::path& directory) {
    const fs::path indexFile = directory / "model.safetensors.index.json";
    std::error_code error;
    if (!fs::exists(indexFile, error)) return {onlyFile(directory)};
    std::vector<fs::path> files;
    for (const auto& [tensor, shard] : readIndex(indexFile).shardOf) files.push_back(directory / shard);
    std::sort(files.begin(), files.end());
    files.erase(std::unique(files.begin(), files.end()), files.end());
    for (const fs::path& file : files)
        if (!fs::exists(file, error))
            throw Error({.where = indexFile.string(),
                         .what = "the shard '" + file.filename().string() + "' that the index names is not there",
                         .advice = kAgain});
    return files;
}

Safetensors Safetensors::openDirectory(const fs::path& directory) {
    const std::vector<fs::path> files = weightFiles(directory);
    const fs::path indexFile = directory / "model.safetensors.index.json";
    std::error_code error;
    if (!fs::exists(indexFile, error)) return openFile(files.front());
    std::map<std::string, Safetensors> shards;
    Safetensors result;
    for (const fs::path& file : files) {
        const Safetensors& shard = shards.emplace(file.filename().string(), openFile(file)).first->second;
        result.m_metadata.insert(shard.m_metadata.begin(), shard.m_metadata.end());
    }
    for (const auto& [tensor, name] : readIndex(indexFile).shardOf) {
        const TensorView* view = shards.at(name).find(tensor);
        if (view == nullptr)
            throw Error({.where = (directory / name).string(),
                         .what = "tensor '" + tensor + "' is missing, though the index says it is in this shard",
                         .advice = kAgain});
        result.m_tensors.emplace(tensor, *view);
    }
    result.m_files = files;
    result.m_index = indexFile;
    return result;
}

}  // namespace counterpoint::compute
