// One prior <-> JSON (SPEC.md 2). What cannot be read makes that prior unusable, and it is saved again as it stood.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <unordered_set>

#include "compute/files/jsonreader.h"
#include "compute/priors/bankparts.h"

namespace counterpoint::compute {
namespace {

constexpr Names<ContextKind, 5> kKinds = {{{"always", ContextKind::Always},
                                           {"regex", ContextKind::Regex},
                                           {"tokens", ContextKind::Tokens},
                                           {"code_block", ContextKind::CodeBlock},
                                           {"feature", ContextKind::Feature}}};
/// Keys that every prior has: bit i of Prior::stated is the i-th; behind them two of `when`.
constexpr const char* kKeys[] = {"name",       "kind",        "task",   "quality", "confidence", "promote", "demote",
                                 "delta_plus", "delta_minus", "policy", "when",    "eta",        "enabled", "source"};
constexpr std::size_t kChars = std::size(kKeys), kLanguage = kChars + 1;
constexpr auto kMostId = static_cast<std::uint64_t>(std::numeric_limits<TokenId>::max());

void fraction(JsonReader& reader, const std::string& key, double& out) {
    const auto v = reader.take(key);
    if (!v) return;
    const char* expected = "a number from 0 to 1";
    if (!v->is_number()) throw reader.notANumber(key, expected, *v);
    out = v->get<double>();
    if (!(out >= 0 && out <= 1)) reader.fail(key, expected, *v);
}

void magnitude(JsonReader& reader, const std::string& key, double& out) {
    reader.finite(key, out);
    if (out < 0) reader.fail(key, "a finite number from 0 (the list says which way)", out);
}

std::vector<PriorEntry> entries(JsonReader& reader, const std::string& key) {
    std::vector<PriorEntry> list;
    const auto v = reader.takeNonNull(key);
    if (!v) return list;
    const char* expected = "a list of texts and token ids";
    if (!v->is_array()) reader.fail(key, expected, *v);
    for (const OrderedJson& entry : *v) {
        if (entry.is_string())
            list.push_back({.text = entry.get<std::string>()});
        else if (entry.is_number_integer())
            list.push_back({.text = {}, .id = static_cast<TokenId>(reader.unsignedOf(key, entry, kMostId))});
        else
            reader.fail(key, expected, entry);
    }
    return list;
}

/// Digits as an id is written, so that an id cannot stand twice.
TokenId idOf(const JsonReader& reader, const std::string& key) {
    TokenId id = kNoToken;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
    if (error != std::errc() || end != key.data() + key.size() || id < 0 || std::to_string(id) != key)
        reader.fail("delta", "token ids as keys", key);
    return id;
}

std::vector<std::pair<TokenId, double>> deltas(JsonReader& reader) {
    std::vector<std::pair<TokenId, double>> list;
    const auto v = reader.takeNonNull("delta");
    if (!v) return list;
    if (!v->is_object()) reader.fail("delta", "an object of token ids and numbers", *v);
    for (const auto& [key, value] : v->items())
        list.emplace_back(idOf(reader, key), toNumber(value, reader.at("delta") + ", \"" + shortened(key) + "\""));
    return list;
}

Context readContext(const OrderedJson& json, const std::string& where) {
    JsonReader reader(json, where);
    Context context;
    if (!reader.choice("kind", kKinds, context.kind))
        throw reader.missing("kind", "one of always, regex, tokens, code_block, feature");
    reader.string("pattern", context.pattern);
    if (const auto v = reader.take("chars")) {
        const char* expected = "a whole number above 0";
        if (!v->is_number_integer() || (!v->is_number_unsigned() && v->get<std::int64_t>() <= 0))
            reader.fail("chars", expected, *v);
        const auto chars = v->get<std::uint64_t>();
        if (chars == 0 || chars > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
            reader.fail("chars", expected, *v);
        context.chars = static_cast<std::int64_t>(chars);
    }
    std::optional<std::vector<TokenId>> ids;
    reader.ids("ids", ids);
    if (ids) context.ids = std::move(*ids);
    reader.string("language", context.language);
    reader.string("name", context.name);
    if (context.kind == ContextKind::Regex && context.pattern.empty())
        throw reader.missing("pattern", "a regular expression");
    if (context.kind == ContextKind::Tokens && context.ids.empty())
        throw reader.missing("ids", "at least one token id");
    if (context.kind == ContextKind::Feature && context.name.empty())
        throw reader.missing("name", "the name of a feature of the bank");
    std::vector<std::string> counted;  // by UnknownKeys
    context.unknown = reader.unknown(counted);
    return context;
}

bool isIn(std::uint32_t stated, std::size_t bit) { return (stated >> bit & 1) != 0; }

OrderedJson toJson(const Context& context, std::uint32_t stated) {
    const Context none;
    OrderedJson json = {{"kind", nameOf(kKinds, context.kind)}};
    if (context.kind == ContextKind::Regex || context.pattern != none.pattern) json["pattern"] = context.pattern;
    if ((context.kind == ContextKind::Regex && isIn(stated, kChars)) || context.chars != none.chars)
        json["chars"] = context.chars;
    if (context.kind == ContextKind::Tokens || context.ids != none.ids) json["ids"] = context.ids;
    if ((context.kind == ContextKind::CodeBlock && isIn(stated, kLanguage)) || context.language != none.language)
        json["language"] = context.language;
    if (context.kind == ContextKind::Feature || context.name != none.name) json["name"] = context.name;
    addUnknown(json, context.unknown);
    return json;
}

/// What is right with it and has a consequence that one may not expect.
void remark(Prior& prior, const std::string& where) {
    const auto say = [&](const char* key, const std::string& what) {
        prior.problems.push_back(
            Error({.where = where + (*key == '\0' ? "" : ", \"" + std::string(key) + "\""), .what = what}).sentence());
    };
    if (prior.quality == 0) say("quality", "a quality of 0 makes η = log(q/(1−q)) infinite below 0: the prior is off");
    if (prior.quality == 1)
        say("quality", "a quality of 1 makes η = log(q/(1−q)) infinite: it is capped at log(0.99/0.01) = 4.59512");
    if (prior.promote.empty() && prior.demote.empty() && prior.delta.empty())
        say("", "it neither promotes nor demotes a token, so it does nothing");
}

std::uint32_t statedOf(const OrderedJson& json) {
    std::uint32_t stated = 0;
    const auto note = [&stated](bool there, std::size_t bit) { stated |= std::uint32_t{there} << bit; };
    for (std::size_t bit = 0; bit < std::size(kKeys); ++bit) note(json.contains(kKeys[bit]), bit);
    const auto when = json.find("when");
    note(when != json.end() && when->contains("chars"), kChars);
    note(when != json.end() && when->contains("language"), kLanguage);
    return stated;
}

Prior read(const OrderedJson& json, const std::string& where, UnknownKeys& unknown) {
    JsonReader reader(json, where);
    Prior prior;
    if (const auto damage = reader.take("damaged"))
        throw Error({.where = where,
                     .what = "it came damaged out of a file (" +
                             (damage->is_string() ? shortened(damage->get<std::string>(), 300) : shortly(*damage)) +
                             ")"});
    reader.string("name", prior.name);
    reader.string("kind", prior.kind);
    reader.string("task", prior.task);
    fraction(reader, "quality", prior.quality);
    fraction(reader, "confidence", prior.confidence);
    prior.promote = entries(reader, "promote");
    prior.demote = entries(reader, "demote");
    magnitude(reader, "delta_plus", prior.deltaPlus);
    magnitude(reader, "delta_minus", prior.deltaMinus);
    prior.delta = deltas(reader);
    if (const auto v = reader.takeNonNull("policy")) {
        const auto policy = v->is_string() ? policyOf(v->get_ref<const std::string&>()) : std::nullopt;
        if (!policy)
            reader.fail(
                "policy",
                "\"exact id\", \"single token\" or \"first token\", the last two also \"… with a leading space\"", *v);
        prior.policy = *policy;
    }
    if (const auto v = reader.takeNonNull("when")) prior.when = readContext(*v, where + ", \"when\"");
    if (const auto v = reader.takeNonNull("eta")) {
        if (!v->is_number()) throw reader.notANumber("eta", kEtaExpected, *v);
        prior.eta = v->get<double>();
        if (!(std::abs(*prior.eta) <= kMostEta)) reader.fail("eta", kEtaExpected, *v);
    }
    reader.boolean("enabled", prior.enabled);
    reader.string("source", prior.source);
    if (const auto v = reader.takeNonNull("merged")) {
        const auto text = [](const OrderedJson& name) { return name.is_string(); };
        if (!v->is_array() || !std::all_of(v->begin(), v->end(), text)) reader.fail("merged", "a list of names", *v);
        prior.merged = v->get<std::vector<std::string>>();
    }
    prior.stated = statedOf(json);
    std::vector<std::string> counted;
    prior.unknown = reader.unknown(counted);
    remark(prior, where);
    unknown.note(prior.unknown, where);
    unknown.note(prior.when.unknown, where, "when, ");
    return prior;
}

/// All keys, whatever stands there; `stated` for those of `when`.
OrderedJson whole(const Prior& prior, std::uint32_t stated) {
    const auto list = [](const std::vector<PriorEntry>& entries) {
        OrderedJson json = OrderedJson::array();
        for (const PriorEntry& entry : entries)
            json.push_back(entry.id == kNoToken ? OrderedJson(entry.text) : OrderedJson(entry.id));
        return json;
    };
    OrderedJson json = {{"name", prior.name},
                        {"kind", prior.kind},
                        {"task", prior.task},
                        {"quality", number(prior.quality)},
                        {"confidence", number(prior.confidence)},
                        {"promote", list(prior.promote)},
                        {"demote", list(prior.demote)},
                        {"delta_plus", number(prior.deltaPlus)},
                        {"delta_minus", number(prior.deltaMinus)}};
    if (!prior.delta.empty()) {
        OrderedJson delta = OrderedJson::object();
        auto& entries = delta.get_ref<OrderedJson::object_t&>();  // looks through all keys at each, by itself
        std::unordered_set<TokenId> seen;
        for (const auto& [id, value] : prior.delta)
            if (seen.insert(id).second) entries.emplace_back(std::to_string(id), number(value));
        json["delta"] = std::move(delta);
    }
    json["policy"] = policyName(prior.policy);
    json["when"] = toJson(prior.when, stated);
    json["eta"] = prior.eta ? number(*prior.eta) : OrderedJson();
    json["enabled"] = prior.enabled;
    json["source"] = prior.source;
    if (!prior.merged.empty()) json["merged"] = prior.merged;
    return json;
}

std::string placeName(std::size_t index) { return "prior " + std::to_string(index + 1); }

}  // namespace

void addUnknown(OrderedJson& json, const OrderedJson& unknown) {
    auto& entries = json.get_ref<OrderedJson::object_t&>();
    const std::size_t own = entries.size();
    for (const auto& item : unknown.items()) {  // no structured binding: clang 16 captures none
        const auto end = entries.begin() + static_cast<std::ptrdiff_t>(own);
        if (std::none_of(entries.begin(), end, [&](const auto& entry) { return entry.first == item.key(); }))
            entries.emplace_back(item.key(), item.value());
    }
}

void UnknownKeys::note(const OrderedJson& unknown, const std::string& where, const std::string& prefix) {
    for (const auto& [key, value] : unknown.items()) {
        std::string name = prefix + shortened(key);
        const auto [entry, isNew] = m_index.emplace(name, m_seen.size());
        if (isNew)
            m_seen.push_back({std::move(name), where});
        else
            ++m_seen[entry->second].times;
    }
}

void UnknownKeys::tell(const std::string& file, std::vector<std::string>& warnings) const {
    constexpr std::size_t kNamed = 20;
    const auto say = [&](const std::string& where, const std::string& what) {
        warnings.push_back(Error({.where = where, .what = what}).sentence());
    };
    for (std::size_t i = 0; i < std::min(m_seen.size(), kNamed); ++i) {
        const Seen& seen = m_seen[i];
        const std::string also =
            seen.times > 1 ? " (and in " + std::to_string(seen.times - 1) + " more places)" : std::string();
        say(file + (seen.where.empty() ? "" : ", ") + seen.where,
            "the key \"" + seen.key + "\" is unknown" + also + "; it is kept as it is");
    }
    if (m_seen.size() > kNamed)
        say(file, std::to_string(m_seen.size() - kNamed) + " more keys are unknown; they are kept as they are");
}

Prior priorFromJson(const OrderedJson& json, std::size_t index, UnknownKeys& unknown) {
    const std::string place = placeName(index);
    const auto named = json.is_object() ? json.find("name") : json.end();
    const bool hasName = json.is_object() && named != json.end() && named->is_string() && *named != "";
    const std::string name = hasName ? named->get<std::string>() : place;
    const std::string where = name == place ? place : "prior '" + shortened(name) + "'";
    Prior prior;
    try {
        prior = read(json, where, unknown);
    } catch (const Error& error) {
        prior.unusable = true;
        prior.written = json;
        prior.problems = {error.sentence()};
    }
    prior.name = name;
    prior.unnamed = !hasName;
    return prior;
}

OrderedJson priorToJson(const Prior& prior, std::size_t index, Keys keys) {
    if (prior.unusable) return prior.written;
    static const OrderedJson kDefaults = whole({}, ~std::uint32_t{0});
    const std::uint32_t stated = keys == Keys::AsWritten ? prior.stated : ~std::uint32_t{0};
    OrderedJson json = whole(prior, stated);
    if (keys == Keys::AsWritten && prior.unnamed && prior.name == placeName(index)) json["name"] = "";
    for (std::size_t bit = 0; bit < std::size(kKeys); ++bit)
        if ((keys == Keys::NoDefaults || !isIn(stated, bit)) && json[kKeys[bit]] == kDefaults[kKeys[bit]])
            json.erase(kKeys[bit]);
    addUnknown(json, prior.unknown);
    return json;
}

}  // namespace counterpoint::compute
