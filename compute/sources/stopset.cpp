#include "compute/sources/stopset.h"

#include <set>

#include "compute/error.h"
#include "compute/files/json.h"
#include "compute/text/leftout.h"

namespace counterpoint::compute {
namespace {

void addId(std::set<TokenId>& ids, const Json& value, const Tokenizer& tokenizer, const std::string& where,
           std::vector<std::string>& notices) {
    if (!value.is_number_integer())
        throw Error({.where = where,
                     .what = "eos_token_id is not an id",
                     .expected = "a number or a list of numbers",
                     .found = value.type_name()});
    const auto size = static_cast<std::uint64_t>(tokenizer.size());
    if (!value.is_number_unsigned() && value.get<std::int64_t>() == -1) return;  // how some files say "none"
    if (value.is_number_unsigned() && value.get<std::uint64_t>() < size && tokenizer.isToken(value.get<TokenId>()))
        ids.insert(value.get<TokenId>());
    else
        notices.push_back(stopIdLeftOut(where, "eos_token_id", value.dump(), tokenizer));
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
        const auto eos = config.find("eos_token_id");
        if (eos == config.end() || eos->is_null()) continue;
        if (eos->is_array())
            for (const Json& value : *eos) addId(ids, value, tokenizer, file.string(), notices);
        else
            addId(ids, *eos, tokenizer, file.string(), notices);
    }
    if (const std::optional<TokenId> eos = tokenizer.eos()) ids.insert(*eos);
    return {ids.begin(), ids.end()};
}

}  // namespace counterpoint::compute
