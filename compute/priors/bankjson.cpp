// A bank <-> JSON (SPEC.md 2).
#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "compute/files/jsonreader.h"
#include "compute/priors/bankparts.h"
#include "compute/text/pattern.h"

namespace counterpoint::compute {
namespace {

constexpr const char* kKnown[] = {"format", "name", "tokenizer", "stake", "level", "features", "priors"};

/// Keys that every bank has: bit i of Bank::stated is the i-th.
constexpr const char* kStated[] = {"name", "tokenizer", "stake", "priors"};

bool isKnown(const std::string& key) {
    return std::find(std::begin(kKnown), std::end(kKnown), key) != std::end(kKnown);
}

class Reader {
  public:
    Reader(const OrderedJson& json, const std::string& where, std::vector<std::string>& warnings)
        : m_json(json), m_where(where), m_warnings(warnings) {
        requireBank();
    }

    Bank run() {
        if (const OrderedJson* v = value("name", "text", &OrderedJson::is_string)) m_bank.name = v->get<std::string>();
        if (const OrderedJson* v = value("tokenizer", "a fingerprint or null", &OrderedJson::is_string))
            m_bank.tokenizer = v->get<std::string>();
        readStake();
        readLevel();
        if (const OrderedJson* v = value("features", "an object", &OrderedJson::is_object)) readFeatures(*v);
        readPriors();
        m_bank.stated = 0;
        for (std::size_t bit = 0; bit < std::size(kStated); ++bit)
            m_bank.stated |= std::uint32_t{m_json.contains(kStated[bit])} << bit;
        OrderedJson unknown = OrderedJson::object();
        for (const auto& [key, v] : m_json.items())
            if (!isKnown(key)) unknown.get_ref<OrderedJson::object_t&>().emplace_back(key, v);
        m_unknown.note(unknown, "");
        addUnknown(m_bank.unknown, unknown);
        m_unknown.tell(m_where, m_warnings);
        return std::move(m_bank);
    }

  private:
    const OrderedJson& m_json;
    const std::string& m_where;
    std::vector<std::string>& m_warnings;
    Bank m_bank;
    UnknownKeys m_unknown;

    void requireBank() const {
        const auto format = m_json.is_object() ? m_json.find("format") : m_json.end();
        if (!m_json.is_object() || format == m_json.end())
            throw Error({.where = m_where,
                         .what = "this is no bank",
                         .expected = "an object with \"format\": \"" + std::string(kBankFormat) + "\""});
        if (*format != kBankFormat)
            throw Error({.where = m_where + ", \"format\"",
                         .what = "this is no bank that can be read here",
                         .expected = '"' + std::string(kBankFormat) + '"',
                         .found = shortly(*format)});
        const auto priors = m_json.find("priors");
        if (priors != m_json.end() && !priors->is_array())
            throw Error({.where = m_where + ", \"priors\"",
                         .what = "the bank has no list of priors",
                         .expected = "a list",
                         .found = shortly(*priors)});
    }

    std::string at(const std::string& key) const { return m_where + ", \"" + printable(shortened(key)) + '"'; }
    void warn(const std::string& where, const std::string& what, const std::string& expected,
              const OrderedJson& found) {
        m_warnings.push_back(
            Error({.where = where, .what = what, .expected = expected, .found = shortly(found)}).sentence());
    }
    /// It stays in the file.
    void setAside(const std::string& key, const std::string& expected, const OrderedJson& found) {
        m_bank.unknown[key] = found;
        warn(at(key), "the value cannot be used and is kept as it is", expected, found);
    }
    /// Null: there is none, or none that can be used.
    const OrderedJson* value(const char* key, const char* expected, bool (OrderedJson::*is)() const noexcept) {
        const auto found = m_json.find(key);
        if (found == m_json.end() || found->is_null()) return nullptr;
        if (((*found).*is)()) return &*found;
        setAside(key, expected, *found);
        return nullptr;
    }

    void readStake() {
        const char* expected = "a finite number from 0";
        const OrderedJson* v = value("stake", expected, &OrderedJson::is_number);
        if (v == nullptr) return;
        const auto stake = v->get<double>();
        if (std::isfinite(stake) && stake >= 0)
            m_bank.stake = stake;
        else
            setAside("stake", expected, *v);
    }

    void readLevel() {
        const char* expected = "0, 1, 2 or 3";
        const OrderedJson* v = value("level", expected, &OrderedJson::is_number_integer);
        if (v == nullptr) return;
        if (const auto level = v->get<std::int64_t>(); level >= 0 && level <= 3)
            m_bank.level = static_cast<int>(level);
        else
            setAside("level", expected, *v);
    }

    /// What is more in a good one, then those that are none, stand in `unknown` under their names.
    void readFeatures(const OrderedJson& features) {
        OrderedJson aside = OrderedJson::object();
        auto& kept = aside.get_ref<OrderedJson::object_t&>();
        const auto good = [](const OrderedJson& v) {
            const auto text = [&](const char* key) { return v.contains(key) && v[key].is_string(); };
            return v.is_object() && text("open") && text("close");
        };
        for (const auto& [name, v] : features.items()) {
            if (!good(v)) continue;
            m_bank.features.push_back({name, v["open"].get<std::string>(), v["close"].get<std::string>()});
            requirePatterns(m_bank.features.back());
            OrderedJson more = v;
            more.erase("open");
            more.erase("close");
            if (more.empty()) continue;
            m_unknown.note(more, "feature '" + shortened(name) + "'");
            kept.emplace_back(name, std::move(more));
        }
        for (const auto& [name, v] : features.items()) {
            if (good(v)) continue;
            warn(m_where + ", feature '" + shortened(name) + "'", "the feature cannot be used and is kept as it is",
                 "\"open\" and \"close\", regular expressions", v);
            kept.emplace_back(name, v);
        }
        if (!aside.empty()) m_bank.unknown["features"] = std::move(aside);
    }

    void requirePatterns(const Feature& feature) {
        for (const auto& [key, pattern] : {std::pair("open", &feature.open), std::pair("close", &feature.close)}) {
            try {
                Pattern(*pattern, m_where + ", feature '" + shortened(feature.name) + "', \"" + key + '"');
            } catch (const Error& error) {
                m_warnings.push_back(error.sentence());
            }
        }
    }

    void readPriors() {
        const auto priors = m_json.find("priors");
        if (priors == m_json.end()) return;
        std::unordered_set<std::string> names;
        for (const OrderedJson& json : *priors) {
            const std::size_t index = m_bank.priors.size();
            auto prior = std::make_shared<Prior>(priorFromJson(json, index, m_unknown));
            const std::string place = "prior " + std::to_string(index + 1);
            if (prior->name == place && !prior->unusable && (!json.contains("name") || json["name"] != place))
                m_warnings.push_back(
                    Error({.where = m_where + ", " + place, .what = "it has no name, so it is called by its place"})
                        .sentence());
            if (!names.insert(prior->name).second) {
                const std::string what = "the name '" + shortened(prior->name) +
                                         "' stands before it already, so it does not act; give it another name";
                prior->problems.push_back(Error({.where = place, .what = what}).sentence());
                m_warnings.push_back(Error({.where = m_where + ", " + place, .what = what}).sentence());
                if (!prior->unusable) prior->written = json;
                prior->unusable = true;
            }
            m_bank.priors.push_back(std::move(prior));
        }
    }
};

/// The features, what more stands in them, and those that are none.
void addFeatures(const Bank& bank, OrderedJson& json) {
    OrderedJson features = OrderedJson::object();
    auto& entries = features.get_ref<OrderedJson::object_t&>();
    std::unordered_map<std::string, std::size_t> places;
    for (const Feature& f : bank.features)
        if (places.emplace(f.name, entries.size()).second)
            entries.emplace_back(f.name, OrderedJson{{"open", f.open}, {"close", f.close}});
    const auto aside = bank.unknown.find("features");
    const bool more = aside != bank.unknown.end();
    if (more && aside->is_object()) {
        for (const auto& [name, rest] : aside->items()) {
            const auto place = places.find(name);
            if (place == places.end())
                entries.emplace_back(name, rest);
            else if (rest.is_object())
                addUnknown((entries.begin() + static_cast<std::ptrdiff_t>(place->second))->second, rest);
        }
    } else if (more && features.empty()) {
        features = *aside;
    }
    if (more || !features.empty()) json["features"] = std::move(features);
}

OrderedJson priorsOf(const Bank& bank, Keys keys) {
    OrderedJson priors = OrderedJson::array();
    for (const PriorPtr& prior : bank.priors) priors.push_back(priorToJson(*prior, priors.size(), keys));
    return priors;
}

}  // namespace

Bank bankFromJson(const OrderedJson& json, const std::string& where, std::vector<std::string>& warnings) {
    return Reader(json, where, warnings).run();
}

OrderedJson bankToJson(const Bank& bank, OrderedJson priors) {
    const auto aside = [&](const char* key, bool untouched, OrderedJson value) {
        const auto found = bank.unknown.find(key);
        return untouched && found != bank.unknown.end() ? *found : std::move(value);
    };
    OrderedJson json = {{"format", kBankFormat}};
    json["name"] = aside("name", bank.name.empty(), bank.name);
    json["tokenizer"] =
        aside("tokenizer", !bank.tokenizer, bank.tokenizer ? OrderedJson(*bank.tokenizer) : OrderedJson());
    json["stake"] = aside("stake", bank.stake == 1, number(bank.stake));
    json["level"] = aside("level", bank.level == 0, bank.level);
    if (json["level"].is_number_integer() && json["level"] == 0) json.erase("level");  // 0.0 is one that was not read
    addFeatures(bank, json);
    json["priors"] = std::move(priors);
    for (const auto& [key, value] : bank.unknown.items())
        if (!isKnown(key)) json.get_ref<OrderedJson::object_t&>().emplace_back(key, value);
    return json;
}

OrderedJson toJson(const Bank& bank) { return bankToJson(bank, priorsOf(bank, Keys::All)); }

OrderedJson toJsonAsWritten(const Bank& bank) {
    static const OrderedJson kDefaults = bankToJson({}, OrderedJson::array());
    OrderedJson json = bankToJson(bank, priorsOf(bank, Keys::AsWritten));
    for (std::size_t bit = 0; bit < std::size(kStated); ++bit)
        if ((bank.stated >> bit & 1) == 0 && json[kStated[bit]] == kDefaults[kStated[bit]]) json.erase(kStated[bit]);
    return json;
}

}  // namespace counterpoint::compute
