#include "compute/text/tokenizer.h"

#include "compute/error.h"
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
    std::error_code error;
    const std::filesystem::path json = directory / "tokenizer.json", model = directory / "tokenizer.model";
    if (std::filesystem::exists(json, error)) return openTokenizerJson(json);
    if (std::filesystem::exists(model, error)) return spm().open(model, directory);
    const bool pair = std::filesystem::exists(directory / "vocab.json", error);
    throw Error({.where = directory.string(),
                 .what = "there is no tokenizer in this folder",
                 .expected = "tokenizer.json or tokenizer.model",
                 .found = pair ? "only vocab.json" : "",
                 .advice = pair ? "save the tokenizer as tokenizer.json" : ""});
}

}  // namespace counterpoint::compute
