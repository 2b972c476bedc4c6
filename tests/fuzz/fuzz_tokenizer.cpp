// A tokenizer.json.
#include <bitset>

#include "compute/files/json.h"
#include "tests/fuzz/texts.h"

using namespace counterpoint::compute;
using namespace counterpoint::fuzz;

namespace {

bool isPart(const Json& json, const char* part, std::string_view type) {
    return json.contains(part) && json[part].is_object() && json[part].value("type", Json()) == type;
}

/// Byte-level over all 256 bytes, and nothing rewrites a text or is cut out of it.
bool losesNothing(const Json& json, const Tokenizer& tokenizer) {
    if (json.contains("normalizer") && !json["normalizer"].is_null()) return false;
    if (!isPart(json, "pre_tokenizer", "ByteLevel") || !isPart(json, "decoder", "ByteLevel")) return false;
    if (json["pre_tokenizer"].value("add_prefix_space", Json()) != false) return false;
    for (const AddedToken& token : tokenizer.addedTokens())
        if (!token.special) return false;
    std::bitset<256> bytes;
    for (TokenId id = 0; id < static_cast<TokenId>(tokenizer.size()); ++id)
        if (const std::string_view byte = tokenizer.bytes(id); byte.size() == 1)
            bytes.set(static_cast<unsigned char>(byte[0]));
    return bytes.all();
}

std::optional<TokenId> unknownOf(const Json& model) {
    if (const auto id = model.find("unk_id"); id != model.end() && id->is_number_unsigned()) return id->get<TokenId>();
    const auto name = model.find("unk_token");
    if (name == model.end() || !name->is_string() || !model["vocab"].is_object()) return {};
    const auto id = model["vocab"].find(name->get<std::string>());
    return id == model["vocab"].end() ? std::nullopt : std::optional(id->get<TokenId>());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::filesystem::path file = folder().put("tokenizer.json", asText(data, size));
    accepts([&] {
        const auto tokenizer = openTokenizerJson(file);
        const Json json = readJson(file);
        require(openTokenizer(folder().path())->fingerprint() == tokenizer->fingerprint(),
                "a tokenizer has one fingerprint");
        checkVocabulary(*tokenizer);
        checkTexts(*tokenizer, {.lossless = losesNothing(json, *tokenizer), .unknown = unknownOf(json["model"])});
    });
    return 0;
}
