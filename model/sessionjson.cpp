// Session <-> JSON (SPEC.md 2). Every reader takes a key out of `rest`; what stays there is unknown, kept and warned about.

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "compute/dial.h"
#include "compute/error.h"
#include "compute/files/atomicfile.h"
#include "compute/files/jsonreader.h"
#include "compute/oneline.h"
#include "compute/printable.h"
#include "model/banks.h"
#include "model/session.h"
#include "model/sourcerouting.h"

namespace counterpoint::model {

using compute::Error;
using compute::JsonReader;
using compute::nameOf;
using compute::Names;
using compute::TokenId;

namespace {

constexpr const char* kFormat = "counterpoint.session/1";
/// Names that stand for something else in files: keys beside source names, words a reference or a winner may be.
constexpr std::array kReserved = {"composed", "temperature", "none", "several", "nobody"};

constexpr Names<Mode, 2> kModes = {{{"generate", Mode::Generate}, {"score", Mode::Score}}};
constexpr Names<compute::Rule, 2> kRules = {{{"product", compute::Rule::Product}, {"mixture", compute::Rule::Mixture}}};
constexpr Names<compute::EosPolicy, 5> kEosPolicies = {{{"sum", compute::EosPolicy::Sum},
                                                        {"mean", compute::EosPolicy::Mean},
                                                        {"max", compute::EosPolicy::Max},
                                                        {"base", compute::EosPolicy::Base},
                                                        {"active", compute::EosPolicy::Active}}};
constexpr Names<compute::PlausibilityKind, 2> kPlausibilities = {
    {{"relative", compute::PlausibilityKind::Relative}, {"top_p", compute::PlausibilityKind::TopP}}};

/// Unknown keys of an inner object stand in the outer entry's `unknown` under the inner object's key.
void keepInner(OrderedJson& unknown, const std::string& key, OrderedJson inner) {
    if (!inner.empty()) unknown[key] = std::move(inner);
}

/// Unknown keys differ from each other: each is looked for among the keys that were there before, however many they
/// are.
void mergeUnknown(OrderedJson& into, const OrderedJson& unknown) {
    if (unknown.empty()) return;
    auto& entries = into.get_ref<OrderedJson::object_t&>();
    const std::size_t own = entries.size();
    for (const auto& item : unknown.items()) {  // no structured binding: clang 16 captures none
        const auto end = entries.begin() + static_cast<std::ptrdiff_t>(own);
        const auto present =
            std::find_if(entries.begin(), end, [&](const auto& entry) { return entry.first == item.key(); });
        if (present == end)
            entries.emplace_back(item.key(), item.value());
        else if (present->second.is_object() && item.value().is_object())
            mergeUnknown(present->second, item.value());
    }
}

void readMask(JsonReader& entry, const std::string& where, compute::Mask& mask, OrderedJson& inner,
              std::vector<std::string>& warnings) {
    const auto value = entry.takeNonNull("mask");
    if (!value) return;
    JsonReader reader(*value, where + ", \"mask\"");
    reader.ids("tokens", mask.tokens);
    if (const auto v = reader.takeNonNull("positions")) {
        const char* expected = "a list of intervals [from, to), 0 <= from <= to";
        if (!v->is_array()) reader.fail("positions", expected, *v);
        mask.positions.emplace();
        for (const OrderedJson& pair : *v) {
            if (!pair.is_array() || pair.size() != 2) reader.fail("positions", expected, pair);
            constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<compute::Position>::max());
            const auto bound = [&](std::size_t i) {
                return static_cast<compute::Position>(reader.unsignedOf("positions", pair[i], kMax));
            };
            const compute::Interval interval{.from = bound(0), .to = bound(1)};
            if (interval.from > interval.to) reader.fail("positions", expected, pair);
            mask.positions->push_back(interval);
        }
    }
    inner = reader.unknown(warnings);
}

SourceEntry readSource(const OrderedJson& json, const std::string& where, bool specialist, std::vector<std::string>& warnings) {
    JsonReader reader(json, where);
    SourceEntry entry;
    OrderedJson maskRest;
    const bool named = reader.string("name", entry.name);
    reader.path("path", entry.path);
    if (entry.path.empty()) throw reader.missing("path", "a model directory");
    if (specialist && !named) entry.name = compute::printable(std::filesystem::path(entry.path).stem().string());
    if (specialist) {
        reader.boolean("enabled", entry.enabled);
        reader.finite("weight", entry.weight);
        reader.string("reference", entry.reference);
        readMask(reader, where, entry.mask, maskRest, warnings);
    }
    reader.finite("temperature", entry.temperature);
    if (!(entry.temperature > 0)) reader.fail("temperature", "a number above 0", entry.temperature);
    reader.string("prefix", entry.prefix);
    reader.string("source", entry.sourceInFile);
    reader.path("tokenizer", entry.tokenizer);
    if (const auto v = reader.takeNonNull("sha256")) {
        const auto hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
        if (v->is_string()) entry.sha256 = v->get<std::string>();
        if (!v->is_string() || entry.sha256.size() != 64 || !std::all_of(entry.sha256.begin(), entry.sha256.end(), hex))
            reader.fail("sha256", "64 digits 0-9 and a-f, or null", *v);
    }
    if (const auto v = reader.takeNonNull("routing")) {
        if (!v->is_object()) reader.fail("routing", "an object", *v);
        (void)sourceRouting(*v, reader.at("routing"), &warnings);
        entry.routing = *v;
    }
    entry.unknown = reader.unknown(warnings);
    keepInner(entry.unknown, "mask", std::move(maskRest));
    return entry;
}

BankEntry readBank(const OrderedJson& json, const std::string& where, std::vector<std::string>& warnings) {
    JsonReader reader(json, where);
    BankEntry entry;
    reader.path("bank", entry.bank);
    if (entry.bank.empty()) throw reader.missing("bank", "a bank file");
    reader.boolean("enabled", entry.enabled);
    reader.finite("weight", entry.weight);
    if (std::abs(entry.weight) > kMostBankWeight) reader.fail("weight", kBankWeightExpected, entry.weight);
    if (const auto v = reader.takeNonNull("overrides")) {
        if (!v->is_object()) reader.fail("overrides", "an object", *v);
        (void)readOverrides(*v, reader.at("overrides"), &warnings);
        entry.overrides = *v;
    }
    entry.unknown = reader.unknown(warnings);
    return entry;
}

Decoding readDecoding(const OrderedJson& json, const std::string& where, std::vector<std::string>& warnings) {
    JsonReader reader(json, where);
    Decoding d;
    OrderedJson plausibilityRest;
    reader.dial("temperature", d.temperature);
    reader.dialInteger("top_k", d.topK);
    reader.dial("top_p", d.topP);
    reader.dial("min_p", d.minP);
    reader.integer("seed", d.seed, std::numeric_limits<std::uint64_t>::max());
    reader.dialInteger("stream", d.stream);
    reader.dialInteger("max_new_tokens", d.maxNewTokens);
    reader.choice("eos_policy", kEosPolicies, d.eosPolicy);
    reader.ids("stop_ids", d.stopIds);
    if (const auto v = reader.takeNonNull("add_bos")) {
        if (v->is_boolean())
            d.addBos = v->get<bool>() ? AddBos::True : AddBos::False;
        else if (!v->is_string() || v->get_ref<const std::string&>() != "auto")
            reader.fail("add_bos", "\"auto\", true or false", *v);
    }
    reader.boolean("score_prompt", d.scorePrompt);
    if (const auto v = reader.takeNonNull("plausibility")) {
        JsonReader inner(*v, where + ", \"plausibility\"");
        compute::Plausibility p;
        if (!inner.choice("kind", kPlausibilities, p.kind)) throw inner.missing("kind", "relative or top_p");
        const auto value = inner.take("value");
        if (!value) throw inner.missing("value", "a number from 0 to 1");
        p.value = inner.bounded("value", *value, "plausibility");
        plausibilityRest = inner.unknown(warnings);
        d.plausibility = p;
    }
    reader.dial("floor", d.floor);
    reader.boolean("common_shift", d.commonShift);
    if (const auto v = reader.takeNonNull("kl_budget")) d.klBudget = reader.bounded("kl_budget", *v, "kl_budget");
    reader.dial("active_epsilon", d.activeEpsilon);
    d.unknown = reader.unknown(warnings);
    keepInner(d.unknown, "plausibility", std::move(plausibilityRest));
    return d;
}

}  // namespace

void requireGoodNames(const Session& session, const std::string& where) {
    std::vector<std::string> names = session.sourceNames();
    const auto refuse = [&](const std::string& name, const std::string& what) {
        throw Error({.where = where, .what = "the source name '" + name + "' " + what, .expected = {}, .found = {},
                     .advice = "give it another name", .details = {}});
    };
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (names[i].empty()) refuse("", "is empty");
        if (!compute::isOneLine(names[i])) refuse(names[i], "holds a line end or another control character");
        if (std::find(kReserved.begin(), kReserved.end(), names[i]) != kReserved.end()) refuse(names[i], "is reserved");
        if (i > 0 && names[i] == "base") refuse(names[i], "is the base's and cannot be a specialist's");
        if (std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i), names[i]) !=
            names.begin() + static_cast<std::ptrdiff_t>(i))
            refuse(names[i], "is used twice");
    }
    for (std::size_t i = 0; i < session.specialists.size(); ++i) {
        const SourceEntry& s = session.specialists[i];
        if (session.referenceIndex(s) == static_cast<int>(i) + 1)
            throw Error({.where = where + ", source '" + s.name + "'", .what = "it is its own reference",
                         .expected = "another source, \"base\" or \"none\"", .found = {}, .advice = {}, .details = {}});
    }
}

namespace {

template <class T>
OrderedJson orNull(const std::optional<T>& value) {
    return value ? OrderedJson(*value) : OrderedJson(nullptr);
}

OrderedJson maskJson(const compute::Mask& mask) {
    OrderedJson positions;
    if (mask.positions) {
        positions = OrderedJson::array();
        for (const compute::Interval& i : *mask.positions) positions.push_back(OrderedJson::array({i.from, i.to}));
    }
    return {{"tokens", orNull(mask.tokens)}, {"positions", std::move(positions)}};
}

OrderedJson sourceJson(const SourceEntry& entry, bool specialist) {
    OrderedJson json{{"name", entry.name}, {"path", entry.path}};
    if (specialist) {
        json["enabled"] = entry.enabled;
        json["weight"] = entry.weight;
        json["reference"] = entry.reference;
    }
    json["temperature"] = entry.temperature;
    json["prefix"] = entry.prefix;
    if (specialist) json["mask"] = maskJson(entry.mask);
    if (!entry.sourceInFile.empty()) json["source"] = entry.sourceInFile;
    if (!entry.tokenizer.empty()) json["tokenizer"] = entry.tokenizer;
    if (!entry.sha256.empty()) json["sha256"] = entry.sha256;
    if (!entry.routing.is_null()) json["routing"] = entry.routing;
    mergeUnknown(json, entry.unknown);
    return json;
}

OrderedJson decodingJson(const Decoding& d) {
    OrderedJson plausibility, addBos = "auto";
    if (d.plausibility)
        plausibility = {{"kind", nameOf(kPlausibilities, d.plausibility->kind)}, {"value", d.plausibility->value}};
    if (d.addBos != AddBos::Auto) addBos = d.addBos == AddBos::True;
    OrderedJson json{{"temperature", d.temperature},
                     {"top_k", d.topK},
                     {"top_p", d.topP},
                     {"min_p", d.minP},
                     {"seed", d.seed},
                     {"stream", d.stream},
                     {"max_new_tokens", d.maxNewTokens},
                     {"eos_policy", nameOf(kEosPolicies, d.eosPolicy)},
                     {"stop_ids", orNull(d.stopIds)},
                     {"add_bos", std::move(addBos)},
                     {"score_prompt", d.scorePrompt},
                     {"plausibility", std::move(plausibility)},
                     {"floor", d.floor},
                     {"common_shift", d.commonShift},
                     {"kl_budget", orNull(d.klBudget)},
                     {"active_epsilon", d.activeEpsilon}};
    mergeUnknown(json, d.unknown);
    return json;
}

/// A list under `key`, each entry read by `read(json, where)`.
template <class T, class Read>
void readList(JsonReader& reader, const std::string& key, std::vector<T>& out, const Read& read) {
    const auto list = reader.takeNonNull(key);
    if (!list) return;
    if (!list->is_array()) reader.fail(key, "a list", *list);
    for (std::size_t i = 0; i < list->size(); ++i)
        out.push_back(read((*list)[i], reader.at(key) + " " + std::to_string(i + 1)));
}

}  // namespace

Session sessionFromJson(const OrderedJson& json, const std::filesystem::path& file, std::vector<std::string>& warnings) {
    const std::string where = file.empty() ? "session" : file.string();
    JsonReader reader(json, where);
    std::string format;
    reader.string("format", format);
    if (format != kFormat)
        throw Error({.where = where, .what = "this is not a session", .expected = std::string("\"format\": \"") + kFormat + "\"",
                     .found = format.empty() ? "no format" : "\"" + format + "\"", .advice = {}, .details = {}});
    Session session;
    session.file = file.empty() ? file : std::filesystem::absolute(file).lexically_normal();
    reader.string("prompt", session.prompt);
    reader.ids("prompt_ids", session.promptIds);
    reader.choice("mode", kModes, session.mode);
    reader.choice("rule", kRules, session.rule);
    const auto base = reader.take("base");
    if (!base) throw reader.missing("base", "the base model's entry");
    session.base = readSource(*base, reader.at("base"), false, warnings);
    readList(reader, "specialists", session.specialists,
             [&](const OrderedJson& j, const std::string& at) { return readSource(j, at, true, warnings); });
    readList(reader, "priors", session.priors,
             [&](const OrderedJson& j, const std::string& at) { return readBank(j, at, warnings); });
    if (const auto v = reader.takeNonNull("decoding")) session.decoding = readDecoding(*v, reader.at("decoding"), warnings);
    if (const auto v = reader.takeNonNull("view")) session.view = *v;
    session.unknown = reader.unknown(warnings);
    requireGoodNames(session, where);
    return session;
}

Session readSession(const std::filesystem::path& file, std::vector<std::string>& warnings) {
    return sessionFromJson(compute::readOrderedJson(file), file, warnings);
}

OrderedJson toJson(const Session& session) {
    OrderedJson specialists = OrderedJson::array(), priors = OrderedJson::array();
    for (const SourceEntry& s : session.specialists) specialists.push_back(sourceJson(s, true));
    for (const BankEntry& b : session.priors) {
        OrderedJson json{{"bank", b.bank}, {"enabled", b.enabled}, {"weight", b.weight}, {"overrides", b.overrides}};
        mergeUnknown(json, b.unknown);
        priors.push_back(std::move(json));
    }
    OrderedJson json{{"format", kFormat},
                     {"prompt", session.prompt},
                     {"prompt_ids", orNull(session.promptIds)},
                     {"mode", nameOf(kModes, session.mode)},
                     {"rule", nameOf(kRules, session.rule)},
                     {"base", sourceJson(session.base, false)},
                     {"specialists", std::move(specialists)},
                     {"priors", std::move(priors)},
                     {"decoding", decodingJson(session.decoding)}};
    if (!session.view.is_null()) json["view"] = session.view;
    mergeUnknown(json, session.unknown);
    return json;
}

void writeSession(const Session& session, const std::filesystem::path& file) {
    compute::writeFile(file, compute::jsonText(toJson(rebased(session, file)), 2) + "\n");
}

}  // namespace counterpoint::model
