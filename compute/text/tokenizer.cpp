#include "compute/text/tokenizer.h"

#include "compute/error.h"
#include "compute/files/posix.h"
#include "compute/sources/modules.h"

namespace counterpoint::compute {

Tokenizer::~Tokenizer() = default;

std::string_view Tokenizer::firstBytes(TokenId id) const {
    std::string_view text = bytes(id);
    if (dropsLeadingSpace() && text.starts_with(' ')) text.remove_prefix(1);
    return text;
}

std::string Tokenizer::decode(std::span<const TokenId> ids) const {
    std::string text;
    bool first = true;
    for (const TokenId id : ids) {
        if (!isToken(id) || isControl(id)) continue;
        text += first ? firstBytes(id) : bytes(id);
        first = false;
    }
    return text;
}

std::shared_ptr<const Tokenizer> openTokenizer(const std::filesystem::path& directory) {
    // A folder that cannot be looked into is not one without a tokenizer.
    const auto isThere = [&](const std::filesystem::path& path) {
        std::error_code error;
        const bool there = std::filesystem::exists(path, error);
        if (error) posix::fail(directory, "the tokenizer's folder cannot be read", error.value());
        return there;
    };
    const std::filesystem::path json = directory / "tokenizer.json", model = directory / "tokenizer.model";
    if (isThere(json)) return openTokenizerJson(json);
    if (isThere(model)) return spm().open(model, directory);
    if (!isThere(directory)) posix::fail(directory, "there is no tokenizer", ENOENT);
    if (!std::filesystem::is_directory(directory))
        throw Error({.where = directory.string(),
                     .what = "this is not the folder of a tokenizer but a file",
                     .expected = "a folder with tokenizer.json or tokenizer.model, or a .gguf file",
                     .advice = "name the folder it lies in"});
    const bool pair = isThere(directory / "vocab.json");
    throw Error({.where = directory.string(),
                 .what = "there is no tokenizer in this folder",
                 .expected = "tokenizer.json or tokenizer.model",
                 .found = pair ? "only vocab.json" : "",
                 .advice = pair ? "save the tokenizer as tokenizer.json" : "put the model's tokenizer in it"});
}

}  // namespace counterpoint::compute
