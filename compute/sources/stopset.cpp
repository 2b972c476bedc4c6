#include "compute/sources/stopset.h"

#include <functional>
#include <limits>
#include <set>

#include "compute/error.h"
#include "compute/files/json.h"
#include "compute/printable.h"
#include "compute/text/leftout.h"

namespace counterpoint::compute {
namespace {

/// The ids that `key` of a configuration names, one or a list of them; `stranger` is told of each that is no token.
std::vector<TokenId> statedIds(const Json& config, const char* key, const Tokenizer& tokenizer,
                               const std::string& where, const std::function<void(const std::string&)>& stranger) {
    std::vector<TokenId> ids;
    const auto stated = config.find(key);
    if (stated == config.end() || stated->is_null()) return ids;
    const auto size = static_cast<std::uint64_t>(tokenizer.size());
    for (const Json& value : stated->is_array() ? *stated : Json::array({*stated})) {
        if (!value.is_number_integer())
            throw Error({.where = where,
                         .what = std::string(key) + " is not an id",
                         .expected = "a whole number from 0 to " + std::to_string(std::numeric_limits<TokenId>::max()) +
                                     ", or a list of them",
                         .found = shortened(stated->dump(-1, ' ', true))});
        if (!value.is_number_unsigned() && value.get<std::int64_t>() == -1) continue;  // how some files say "none"
        if (value.is_number_unsigned() && value.get<std::uint64_t>() < size && tokenizer.isToken(value.get<TokenId>()))
            ids.push_back(value.get<TokenId>());
        else
            stranger(value.dump());
    }
    return ids;
}

}  // namespace

std::vector<TokenId> statedStopIds(const std::filesystem::path& directory, const Tokenizer& tokenizer,
                                   std::vector<std::string>& notices) {
    std::set<TokenId> ids;
    for (const char* name : {"config.json", "generation_config.json"}) {
        const std::filesystem::path file = directory / name;
        std::error_code error;
        if (!std::filesystem::exists(file, error)) continue;
        const Json config = readJson(file);
        if (!config.is_object()) throw Error({.where = file.string(), .what = "the file is not a JSON object"});
        const std::string where = file.string();
        for (const TokenId id : statedIds(config, "eos_token_id", tokenizer, where, [&](const std::string& stranger) {
                 notices.push_back(stopIdLeftOut(where, "eos_token_id", stranger, tokenizer));
             }))
            ids.insert(id);
        // The tokenizer's own begins a text; this one is only held against the vocabulary.
        (void)statedIds(config, "bos_token_id", tokenizer, where, [&](const std::string& stranger) {
            notices.push_back(bosLeftOut(where, "bos_token_id", stranger, tokenizer));
        });
    }
    if (const std::optional<TokenId> eos = tokenizer.eos()) ids.insert(*eos);
    return {ids.begin(), ids.end()};
}

}  // namespace counterpoint::compute
