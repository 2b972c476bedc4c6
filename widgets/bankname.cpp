#include "widgets/bankname.h"

#include "compute/error.h"

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

void requireFree(const std::filesystem::path& given, const std::filesystem::path& completed) {
    std::error_code none;
    if (given == completed || !std::filesystem::exists(completed, none)) return;
    throw compute::Error({.where = completed.string(),
                          .what = "nothing was written: there is such a file already, and the name that was given, '" +
                                  given.filename().string() + "', is not its whole name",
                          .expected = {},
                          .found = {},
                          .advice = "give another name, or the whole one to write over it",
                          .details = {}});
}

}  // namespace counterpoint::widgets
