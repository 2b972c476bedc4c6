#include "compute/files/json.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <limits>
#include <unordered_set>

#include "compute/error.h"
#include "compute/files/atomicfile.h"

namespace counterpoint::compute {
namespace {

constexpr std::size_t kMaxDepth = 200;
constexpr int kOverflow = 406;  ///< of nlohmann/json

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
    /// `first`: what the parser does not take ends the parse without an Error: it may be a number that is not finite.
    Builder(std::string_view text, const std::string& where, bool first)
        : m_text(text), m_where(where), m_furthest(text.data()), m_first(first) {}

    J take() { return std::move(m_root); }
    bool failed() const { return m_failed; }
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
        if (m_slot == nullptr) fail("the key '" + name + "' stands twice in one object", "", "keep one of the two");
        return true;
    }
    bool parse_error(std::size_t, const std::string& lastToken, const nlohmann::detail::exception& e) {
        if (m_first) {
            m_failed = true;
            return false;
        }
        std::string token = lastToken.size() > 40 ? "..." + tail(lastToken) : lastToken;
        const std::string_view message = e.what();
        if (e.id == kOverflow) fail("a number is too large for a 64-bit float", "found " + token, {});
        if (m_text.find_first_not_of(" \t\r\n") == std::string_view::npos)
            fail("the file is empty, not JSON", "", "copy or write it again");
        if (message.find("ill-formed UTF-8") != std::string_view::npos)
            fail("a text in it is not UTF-8", "", "save the file again as UTF-8", e.what());
        const bool cut = message.find("unexpected end of input") != std::string_view::npos ||
                         message.find("missing closing quote") != std::string_view::npos;
        fail(cut ? "the JSON ends too early" : "this is not JSON",
             token.empty() ? "" : "near '" + printable(token) + "'",
             cut ? "it may be cut short: copy or write it again" : "correct it there, or copy it again", e.what());
        return false;
    }

  private:
    std::string_view m_text;
    const std::string& m_where;
    const char* m_furthest;
    bool m_first, m_failed = false;
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
    [[noreturn]] void fail(const std::string& what, const std::string& found, const std::string& advice,
                           const std::string& details = {}) const {
        const auto line = 1 + std::count(m_text.data(), std::min(m_furthest, m_text.data() + m_text.size()), '\n');
        throw Error({.where = m_where + ", line " + std::to_string(line),
                     .what = what + (found.empty() ? "" : ", " + found),
                     .advice = advice,
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
            fail("the JSON is nested deeper than " + std::to_string(kMaxDepth) + " levels", "", {});
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
void run(Builder<J>& builder, std::string_view text) {
    const TrackingIterator begin{text.data(), builder.furthest()};
    const TrackingIterator end{text.data() + text.size(), builder.furthest()};
    J::sax_parse(begin, end, &builder);
}

constexpr std::string_view kOfNumbers = "0123456789+-.eE";

/// Whether JSON's number `token` is above a float's range.
bool isTooLarge(std::string_view token) {
    constexpr std::size_t kSurelyFits = 300;  // digits without an exponent
    if (token.size() <= kSurelyFits && token.find_first_of("eE") == std::string_view::npos) return false;
    try {
        return Json::parse(token).is_discarded();  // never: it throws
    } catch (const Json::exception& e) {
        return e.id == kOverflow;
    }
}

/// Not JSON, but written by programs that say NaN so (Python's json among them).
constexpr std::array<std::string_view, 3> kBareWords = {"NaN", "Infinity", "-Infinity"};

bool isNotFinite(std::string_view token) {
    return std::find(kBareWords.begin(), kBareWords.end(), token) != kBareWords.end() || isTooLarge(token);
}

/// Where the word or number that begins at `at` ends.
std::size_t endOfToken(std::string_view text, std::size_t at) {
    std::size_t end = at;
    while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) != 0 ||
                                 kOfNumbers.find(text[end]) != std::string_view::npos))
        ++end;
    return std::max(end, at + 1);
}

/// The same text, line by line, with objects in the place of the numbers that are not finite.
std::string onlyFinite(std::string_view text) {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
        std::size_t end = at + 1;
        if (text[at] == '"') {
            while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
            end = std::min(end + 1, text.size());
        } else {
            end = endOfToken(text, at);
        }
        const std::string_view part = text.substr(at, end - at);
        if (text[at] != '"' && isNotFinite(part))
            out.append("{\"").append(kNotFinite).append("\":\"").append(part).append("\"}");
        else
            out.append(part);
        at = end;
    }
    return out;
}

}  // namespace

Json parseJson(std::string_view text, const std::string& where) {
    Builder<Json> builder(text, where, false);
    run(builder, text);
    return builder.take();
}

OrderedJson parseOrderedJson(std::string_view text, const std::string& where) {
    Builder<OrderedJson> builder(text, where, true);
    run(builder, text);
    if (!builder.failed()) return builder.take();
    const std::string plain = onlyFinite(text);
    Builder<OrderedJson> again(plain, where, false);
    run(again, plain);
    return again.take();
}

std::string jsonText(const OrderedJson& document, int indent) {
    std::string text = document.dump(indent, ' ', false, OrderedJson::error_handler_t::replace);
    // Within a string the quotes of the key would have a backslash before them.
    const std::string key = std::string(1, '"') + kNotFinite + '"';
    constexpr const char* kBlank = " \n";
    for (std::size_t at = text.find(key); at != std::string::npos; at = text.find(key, at + 1)) {
        const std::size_t open = text.find_last_not_of(kBlank, at - 1);
        const std::size_t from = text.find_first_not_of(": \"", at + key.size());
        const std::size_t to = text.find('"', from), close = text.find_first_not_of(kBlank, to + 1);
        if (text[open] != '{' || to == std::string::npos || close == std::string::npos || text[close] != '}') continue;
        const std::string token = text.substr(from, to - from);
        if (!isNotFinite(token)) continue;
        text.replace(open, close + 1 - open, token);
        at = open;
    }
    return text;
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
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if (value.is_number()) return value.get<double>();
    if (value == "inf") return kInfinity;
    if (value == "-inf") return -kInfinity;
    if (value == "nan") return std::numeric_limits<double>::quiet_NaN();
    std::string found = jsonText(value, -1);
    if (value.is_object() && isNotFinite(found)) {
        if (found == "NaN") return std::numeric_limits<double>::quiet_NaN();
        return found.starts_with('-') ? -kInfinity : kInfinity;
    }
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
