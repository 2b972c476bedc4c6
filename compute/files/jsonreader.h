#pragma once
// JSON objects read key by key: a value of another kind is an Error that names file, key, what was expected and what
// was found; what nobody asked for is kept and warned about (SPEC.md 2). Thread: any (values).

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compute/dial.h"
#include "compute/error.h"
#include "compute/files/json.h"
#include "compute/printable.h"
#include "compute/step.h"

namespace counterpoint::compute {

/// Words of a file and what they stand for.
template <class E, std::size_t N>
using Names = std::array<std::pair<const char*, E>, N>;

template <class E, std::size_t N>
const char* nameOf(const Names<E, N>& names, E value) {
    for (const auto& [name, v] : names)
        if (v == value) return name;
    return names.front().first;
}

inline std::string shortly(const OrderedJson& value) { return shortened(jsonText(value, -1)); }

/// One object being read: knows where it stands and what nobody has asked for yet.
class JsonReader {
  public:
    JsonReader(OrderedJson object, std::string where) : m_rest(std::move(object)), m_where(std::move(where)) {
        if (!m_rest.is_object()) throw wrong("", "an object", m_rest);
    }

    [[noreturn]] void fail(const std::string& key, const std::string& expected, const OrderedJson& found) const {
        throw wrong(key, expected, found);
    }
    Error wrong(const std::string& key, const std::string& expected, const OrderedJson& found) const {
        return Error({.where = at(key),
                      .what = "the value cannot be used",
                      .expected = expected,
                      .found = shortly(found),
                      .advice = {},
                      .details = {}});
    }
    /// Of keys that take finite numbers only: "inf" and "nan" are none for them.
    Error notANumber(const std::string& key, const std::string& expected, const OrderedJson& found) const {
        return Error({.where = at(key),
                      .what = "this is not a number",
                      .expected = expected,
                      .found = shortly(found),
                      .advice = {},
                      .details = {}});
    }
    Error missing(const std::string& key, const std::string& expected) const {
        return Error({.where = m_where,
                      .what = "\"" + key + "\" is missing",
                      .expected = expected,
                      .found = {},
                      .advice = {},
                      .details = {}});
    }
    std::string at(const std::string& key) const { return key.empty() ? m_where : m_where + ", \"" + key + "\""; }

    /// The value of `key`, taken out; nullopt when absent.
    std::optional<OrderedJson> take(const std::string& key) {
        const auto found = m_rest.find(key);
        if (found == m_rest.end()) return std::nullopt;
        OrderedJson value = std::move(*found);
        m_rest.erase(key);
        return value;
    }
    std::optional<OrderedJson> takeNonNull(const std::string& key) {
        auto value = take(key);
        if (value && value->is_null()) value.reset();
        return value;
    }
    /// False: the key is absent or null, and `out` stays as it was.
    bool string(const std::string& key, std::string& out) {
        const auto v = takeNonNull(key);
        if (!v) return false;
        if (!v->is_string()) fail(key, "text", *v);
        out = v->get<std::string>();
        return true;
    }
    /// A file's or folder's: the system would end one at a NUL and look for another file.
    void path(const std::string& key, std::string& out) {
        if (string(key, out) && out.find('\0') != std::string::npos)
            throw Error({.where = at(key),
                         .what = "there is a NUL character in the path, which no file's name can have",
                         .expected = {},
                         .found = shortly(out),
                         .advice = {},
                         .details = {}});
    }
    void boolean(const std::string& key, bool& out) {
        if (const auto v = take(key)) {
            if (!v->is_boolean()) fail(key, "true or false", *v);
            out = v->get<bool>();
        }
    }
    void finite(const std::string& key, double& out) {
        if (const auto v = take(key)) {
            if (!v->is_number()) throw notANumber(key, "a finite number", *v);
            out = v->get<double>();
            if (!std::isfinite(out)) fail(key, "a finite number", *v);
        }
    }
    double bounded(const std::string& key, const OrderedJson& value, std::string_view dial) {
        const double x = value.is_number() ? value.get<double>() : std::numeric_limits<double>::quiet_NaN();
        try {
            requireInBounds(compute::dial(dial), x);
        } catch (const Error& e) {
            ErrorParts parts = e.parts();
            if (!value.is_number()) throw notANumber(key, "a number from " + parts.expected, value);
            parts.where = at(key);
            throw Error(std::move(parts));
        }
        return x;
    }
    void dial(const std::string& key, double& out) {
        if (const auto v = take(key)) out = bounded(key, *v, key);
    }
    std::uint64_t unsignedOf(const std::string& key, const OrderedJson& value, std::uint64_t maximum) const {
        const bool whole = value.is_number_unsigned() || (value.is_number_integer() && value.get<std::int64_t>() >= 0);
        if (!whole || value.get<std::uint64_t>() > maximum)
            fail(key, "a whole number from 0 to " + std::to_string(maximum), value);
        return value.get<std::uint64_t>();
    }
    template <class Integer>
    void integer(const std::string& key, Integer& out, std::uint64_t maximum) {
        if (const auto v = take(key)) out = static_cast<Integer>(unsignedOf(key, *v, maximum));
    }
    template <class Integer>
    void dialInteger(const std::string& key, Integer& out) {
        integer(key, out, static_cast<std::uint64_t>(compute::dial(key).maximum));
    }
    /// False: the key is absent, and `out` stays as it was.
    template <class E, std::size_t N>
    bool choice(const std::string& key, const Names<E, N>& names, E& out) {
        const auto v = take(key);
        if (!v) return false;
        std::string expected;
        for (const auto& [name, value] : names) {
            if (v->is_string() && v->get_ref<const std::string&>() == name) {
                out = value;
                return true;
            }
            expected += (expected.empty() ? "" : ", ") + std::string(name);
        }
        fail(key, "one of " + expected, *v);
    }
    void ids(const std::string& key, std::optional<std::vector<TokenId>>& out) {
        const auto v = takeNonNull(key);
        if (!v) return;
        if (!v->is_array()) fail(key, "a list of token ids", *v);
        std::vector<TokenId> list;
        for (const OrderedJson& id : *v)
            list.push_back(static_cast<TokenId>(unsignedOf(key, id, std::numeric_limits<TokenId>::max())));
        out = std::move(list);
    }

    /// What nobody asked for; warned about.
    OrderedJson unknown(std::vector<std::string>& warnings) {
        constexpr std::size_t kNamed = 20;
        std::size_t n = 0;
        for (const auto& [key, value] : m_rest.items()) {
            if (++n > kNamed) break;
            warnings.push_back(printable(m_where + ": the key \"" + key + "\" is unknown; it is kept as it is."));
        }
        if (m_rest.size() > kNamed)
            warnings.push_back(printable(m_where + ": " + std::to_string(m_rest.size() - kNamed) +
                                         " more keys are unknown; they are kept as they are."));
        return std::move(m_rest);
    }

  private:
    OrderedJson m_rest;
    std::string m_where;
};

}  // namespace counterpoint::compute
