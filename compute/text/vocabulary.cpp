#include "compute/text/vocabulary.h"

#include <algorithm>

#include "compute/error.h"
#include "compute/files/json.h"
#include "compute/files/sha256.h"

namespace counterpoint::compute {
namespace {

namespace fs = std::filesystem;

std::string hashOf(const Vocabulary& vocabulary) {
    Sha256 hash;
    const auto integer = [&](std::int64_t value) {
        std::string bytes(8, '\0');
        for (std::size_t i = 0; i < 8; ++i)
            bytes[i] = static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i) & 0xFF);
        hash.update(bytes);
    };
    const auto text = [&](const std::string& bytes) {
        integer(static_cast<std::int64_t>(bytes.size()));
        hash.update(bytes);
    };
    integer(static_cast<std::int64_t>(vocabulary.entries.size()));
    for (const Vocabulary::Entry& entry : vocabulary.entries) {
        integer((entry.token ? 1 : 0) + (entry.control ? 2 : 0));
        text(entry.bytes);
    }
    for (const AddedToken& token : vocabulary.added) {
        integer(token.id);
        integer(token.special ? 1 : 0);
        text(token.content);
    }
    integer(vocabulary.bos.value_or(kNoToken));
    integer(vocabulary.eos.value_or(kNoToken));
    return hash.hex();
}

/// A token's name in tokenizer_config.json: a string, or an object with "content".
std::optional<std::string> nameOf(const Json& config, const char* key, const std::string& where) {
    if (!config.contains(key) || config[key].is_null()) return std::nullopt;
    const Json& value = config[key];
    if (value.is_string()) return value.get<std::string>();
    if (value.is_object() && value.contains("content") && value["content"].is_string())
        return value["content"].get<std::string>();
    throw Error({.where = where, .what = std::string(key) + " is neither a string nor an object with 'content'"});
}

}  // namespace

SpecialTokens readSpecialTokens(const fs::path& directory) {
    SpecialTokens special;
    for (const char* name : {"tokenizer_config.json", "special_tokens_map.json"}) {
        const fs::path file = directory / name;
        std::error_code error;
        if (!fs::exists(file, error)) continue;
        const Json config = readJson(file);
        const std::string where = file.string();
        if (!config.is_object()) throw Error({.where = where, .what = "the file is not a JSON object"});
        if (special.where.empty()) special.where = where;
        if (!special.bos) special.bos = nameOf(config, "bos_token", where);
        if (!special.eos) special.eos = nameOf(config, "eos_token", where);
        if (special.addBos || !config.contains("add_bos_token") || config["add_bos_token"].is_null()) continue;
        if (!config["add_bos_token"].is_boolean())
            throw Error({.where = where, .what = "add_bos_token is neither true nor false"});
        special.addBos = config["add_bos_token"].get<bool>();
    }
    return special;
}

void applySpecialTokens(Vocabulary& vocabulary, const SpecialTokens& special) {
    const auto idOf = [&](const std::string& name, const char* role) {
        const auto added = std::find_if(vocabulary.added.begin(), vocabulary.added.end(),
                                        [&](const AddedToken& token) { return token.content == name; });
        if (added != vocabulary.added.end()) return added->id;
        const auto entry = std::find_if(vocabulary.entries.begin(), vocabulary.entries.end(),
                                        [&](const Vocabulary::Entry& e) { return e.token && e.piece == name; });
        if (entry == vocabulary.entries.end())
            throw Error({.where = special.where,
                         .what = std::string(role) + " '" + name + "' is not a token of the vocabulary"});
        return static_cast<TokenId>(entry - vocabulary.entries.begin());
    };
    if (special.bos) vocabulary.bos = idOf(*special.bos, "bos_token");
    if (special.eos) vocabulary.eos = idOf(*special.eos, "eos_token");
    for (const std::optional<TokenId>& id : {vocabulary.bos, vocabulary.eos}) {
        if (!id) continue;
        Vocabulary::Entry& entry = vocabulary.entries[static_cast<std::size_t>(*id)];
        entry.control = true;
        entry.bytes.clear();
        for (AddedToken& token : vocabulary.added)
            if (token.id == *id) token.special = true;  // found in a text where control tokens are asked for only
    }
    vocabulary.addsBos = vocabulary.bos.has_value() && special.addBos.value_or(vocabulary.addsBos);
    std::vector<TokenId>& before = vocabulary.before;
    if (!vocabulary.bos) return;
    const auto stands = std::find(before.begin(), before.end(), *vocabulary.bos);
    if (vocabulary.addsBos && stands == before.end()) before.insert(before.begin(), *vocabulary.bos);
    if (!vocabulary.addsBos && stands != before.end()) before.erase(stands);
}

VocabularyTokenizer::VocabularyTokenizer(Vocabulary vocabulary) : m_vocabulary(std::move(vocabulary)) {
    std::sort(m_vocabulary.added.begin(), m_vocabulary.added.end(),
              [](const AddedToken& a, const AddedToken& b) { return a.id < b.id; });
    m_fingerprint = hashOf(m_vocabulary);
}
VocabularyTokenizer::~VocabularyTokenizer() = default;

std::string_view VocabularyTokenizer::bytes(TokenId id) const {
    return inside(id) ? std::string_view(m_vocabulary.entries[static_cast<std::size_t>(id)].bytes) : std::string_view();
}

std::string_view VocabularyTokenizer::firstBytes(TokenId id) const {
    const auto other = m_vocabulary.first.find(id);
    return other == m_vocabulary.first.end() ? Tokenizer::firstBytes(id) : std::string_view(other->second);
}

std::string VocabularyTokenizer::piece(TokenId id) const {
    return isToken(id) ? m_vocabulary.entries[static_cast<std::size_t>(id)].piece : "[id " + std::to_string(id) + "]";
}

bool VocabularyTokenizer::isToken(TokenId id) const {
    return inside(id) && m_vocabulary.entries[static_cast<std::size_t>(id)].token;
}

bool VocabularyTokenizer::isControl(TokenId id) const {
    return inside(id) && m_vocabulary.entries[static_cast<std::size_t>(id)].control;
}

}  // namespace counterpoint::compute
