#pragma once
// What stands in a run directory.

#include <filesystem>
#include <string>
#include <vector>

#include "compute/files/atomicfile.h"
#include "compute/files/json.h"

namespace counterpoint::tests {

/// The rows of trace.jsonl.
inline std::vector<compute::Json> rowsOf(const std::filesystem::path& directory) {
    std::vector<compute::Json> rows;
    const std::string text = compute::readFile(directory / "trace.jsonl");
    for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
        rows.push_back(compute::Json::parse(text.substr(at, text.find('\n', at) - at)));
    return rows;
}

/// Of the files that equal sessions give equal.
inline std::string allBytes(const std::filesystem::path& directory) {
    std::string all;
    for (const char* name : {"trace.jsonl", "session.json", "log_prob.safetensors", "sources.safetensors"})
        all += compute::readFile(directory / name);
    return all;
}

}  // namespace counterpoint::tests
