#pragma once
// Which paths are models that can be opened: a folder with a config.json, or a .gguf file. Thread: any.

#include <filesystem>

namespace counterpoint::model {

bool isModel(const std::filesystem::path& path);

}  // namespace counterpoint::model
