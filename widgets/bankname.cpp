#include "widgets/bankname.h"

namespace counterpoint::widgets {

bool isBank(const std::filesystem::path& file) {
    const std::string name = file.filename().string();
    return name.ends_with(".bank.json") || name.ends_with(".bank.safetensors");
}

std::filesystem::path bankPath(const std::filesystem::path& file) {
    if (isBank(file)) return file;
    std::filesystem::path path = file;
    const bool compressed = path.extension() == ".safetensors";
    if (compressed || path.extension() == ".json") path.replace_extension();
    if (path.extension() == ".bank") path.replace_extension();
    path += compressed ? ".bank.safetensors" : ".bank.json";
    return path;
}

}  // namespace counterpoint::widgets
