#include "compute/files/json.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_set>

#include "compute/error.h"
#include "compute/files/atomicfile.h"

namespace counterpoint::compute {
namespace {

constexpr std::size_t kMaxDepth = 200;

/// Walks the text and tells the handler how far the parser is, so that every error can name a line.
struct TrackingIterator {
    using iterator_category = std::input_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = const char&;

    const char* at = nullptr;
    const char** furthest = nullptr;

    reference operator*() const { return *at; }
    TrackingIterator& operator++() {
        *furthest = ++at;
        return *this;
    }
    TrackingIterator operator++(int) {
        TrackingIterator old = *this;
        ++*this;
        return old;
    }
    bool operator==(const TrackingIterator& other) const { return at == other.at; }
};

/// Builds the value from the parser's events; refuses a repeated key and too deep a nesting, which the library's own
/// does not.
template <class J>
class Builder {
  public:
    Builder(std::string_view text, const std::string& where) : m_text(text), m_where(where), m_furthest(text.data()) {}

    J take() { return std::move(m_root); }
    const char** furthest() { return &m_furthest; }

    bool null() { return put(J(nullptr)); }
    bool boolean(bool value) { return put(J(value)); }
    bool number_integer(std::int64_t value) { return put(J(value)); }
    bool number_unsigned(std::uint64_t value) { return put(J(value)); }
    bool number_float(double value, const std::string&) { return put(J(value)); }
    bool string(std::string& value) { return put(J(std::move(value))); }
    bool binary(nlohmann::json::binary_t&) { return false; }
    bool start_object(std::size_t) { return open(J::object()); }
    bool start_array(std::size_t) { return open(J::array()); }
    bool end_object() { return close(); }
    bool end_array() { return close(); }
    bool key(std::string& name) {
        m_slot = newEntry(m_stack.back()->template get_ref<typename J::object_t&>(), name);
        if (m_slot == nullptr) fail("the key '" + name + "' stands twice in one object", "");
        return true;
    }
    bool parse_error(std::size_t, const std::string& lastToken, const nlohmann::detail::exception& e) {
        std::string token = lastToken.size() > 40 ? "..." + tail(lastToken) : lastToken;
        const std::string_view message = e.what();
        if (e.id == 406) fail("a number is too large for a 64-bit float", "found " + token);
        if (m_text.find_first_not_of(" \t\r\n") == std::string_view::npos) fail("the file is empty, not JSON", "");
        const bool cut = message.find("unexpected end of input") != std::string_view::npos ||
                         message.find("missing closing quote") != std::string_view::npos;
        fail(cut ? "the JSON ends too early" : "this is not JSON",
             token.empty() ? "" : "near '" + printable(token) + "'", e.what());
        return false;
    }

  private:
    std::string_view m_text;
    const std::string& m_where;
    const char* m_furthest;
    J m_root;
    std::vector<J*> m_stack;
    J* m_slot = nullptr;
    /// Per open object, from kListed keys on, what it holds: ordered_json itself looks through all of them for each.
    std::vector<std::unordered_set<std::string>> m_keys;
    static constexpr std::size_t kListed = 32;

    /// Null: there is one of that name.
    J* newEntry(Json::object_t& object, const std::string& name) {
        const auto [entry, isNew] = object.emplace(name, nullptr);
        return isNew ? &entry->second : nullptr;
    }
    J* newEntry(OrderedJson::object_t& object, const std::string& name) {
        std::unordered_set<std::string>& keys = m_keys.back();
        if (object.size() < kListed) {
            const auto [entry, isNew] = object.emplace(name, nullptr);
            return isNew ? &entry->second : nullptr;
        }
        if (keys.empty())
            for (const auto& [key, value] : object) keys.insert(key);
        return keys.insert(name).second ? &object.emplace_back(name, nullptr).second : nullptr;
    }

    static std::string tail(const std::string& token) {
        std::size_t from = token.size() - 40;
        while (from < token.size() && (static_cast<unsigned char>(token[from]) & 0xC0) == 0x80) ++from;
        return token.substr(from);
    }
    static std::string printable(std::string token) {
        for (char& c : token)
            if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7F) c = '?';
        return token;
    }
    [[noreturn]] void fail(const std::string& what, const std::string& found, const std::string& details = {}) const {
        const auto line = 1 + std::count(m_text.data(), std::min(m_furthest, m_text.data() + m_text.size()), '\n');
        throw Error({.where = m_where + ", line " + std::to_string(line),
                     .what = what + (found.empty() ? "" : ", " + found),
                     .details = details});
    }
    J* put(J&& value) {
        if (m_stack.empty()) {
            m_root = std::move(value);
            return &m_root;
        }
        if (m_stack.back()->is_array()) {
            m_stack.back()->push_back(std::move(value));
            return &m_stack.back()->back();
        }
        *m_slot = std::move(value);
        return m_slot;
    }
    bool open(J&& value) {
        if (m_stack.size() >= kMaxDepth)
            fail("the JSON is nested deeper than " + std::to_string(kMaxDepth) + " levels", "");
        m_stack.push_back(put(std::move(value)));
        m_keys.emplace_back();
        return true;
    }
    bool close() {
        m_stack.pop_back();
        m_keys.pop_back();
        return true;
    }
};

template <class J>
J parse(std::string_view text, const std::string& where) {
    Builder<J> builder(text, where);
    const TrackingIterator begin{text.data(), builder.furthest()};
    const TrackingIterator end{text.data() + text.size(), builder.furthest()};
    J::sax_parse(begin, end, &builder);
    return builder.take();
}

}  // namespace

Json parseJson(std::string_view text, const std::string& where) { return parse<Json>(text, where); }
OrderedJson parseOrderedJson(std::string_view text, const std::string& where) {
    return parse<OrderedJson>(text, where);
}

Json readJson(const std::filesystem::path& file, std::uint64_t limit) {
    return parseJson(readFile(file, limit), file.string());
}

OrderedJson readOrderedJson(const std::filesystem::path& file, std::uint64_t limit) {
    return parseOrderedJson(readFile(file, limit), file.string());
}

OrderedJson number(double value) {
    if (std::isfinite(value)) return value;
    if (std::isnan(value)) return "nan";
    return value > 0 ? "inf" : "-inf";
}

double toNumber(const OrderedJson& value, const std::string& where) {
    if (value.is_number()) return value.get<double>();
    if (value == "inf") return std::numeric_limits<double>::infinity();
    if (value == "-inf") return -std::numeric_limits<double>::infinity();
    if (value == "nan") return std::numeric_limits<double>::quiet_NaN();
    std::string found = value.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
    if (found.size() > 60) found = std::string("a ") + value.type_name();
    throw Error({.where = where,
                 .what = "this is not a number",
                 .expected = "a number, or \"inf\", \"-inf\", \"nan\"",
                 .found = found});
}

std::vector<std::string> unknownKeys(const OrderedJson& object, std::initializer_list<std::string_view> known) {
    std::vector<std::string> unknown;
    if (!object.is_object()) return unknown;
    for (const auto& [key, value] : object.items())
        if (std::find(known.begin(), known.end(), key) == known.end()) unknown.push_back(key);
    return unknown;
}

}  // namespace counterpoint::compute
