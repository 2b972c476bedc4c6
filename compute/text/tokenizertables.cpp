#include "compute/text/tokenizertables.h"

#include <charconv>
#include <limits>
#include <unordered_set>
#include <utility>

#include "compute/text/utf8.h"

namespace counterpoint::compute {
namespace {

/// Reads on from where it stands; every function is false where the text is not what it reads.
class Scanner {
  public:
    explicit Scanner(std::string_view text) : m_text(text) {}

    std::size_t at() const { return m_at; }
    bool take(char c) {
        blanks();
        if (m_at == m_text.size() || m_text[m_at] != c) return false;
        ++m_at;
        return true;
    }
    bool string(std::string& out) {
        out.clear();
        if (!take('"')) return false;
        for (;;) {
            std::size_t end = m_at;
            while (end < m_text.size() && m_text[end] != '"' && m_text[end] != '\\') {
                if (static_cast<unsigned char>(m_text[end]) < 0x20) return false;
                ++end;
            }
            out.append(m_text, m_at, end - m_at);
            m_at = end + 1;
            if (end >= m_text.size()) return false;
            if (m_text[end] == '"') return true;
            if (!escape(out)) return false;
        }
    }
    bool id(TokenId& out) {
        blanks();
        const char* begin = m_text.data() + m_at;
        const char* const last = m_text.data() + m_text.size();
        std::uint32_t value = 0;
        const auto [end, error] = std::from_chars(begin, last, value);
        constexpr std::uint32_t kLargest = std::numeric_limits<TokenId>::max();
        if (error != std::errc() || value > kLargest || (*begin == '0' && end - begin > 1)) return false;
        if (end != last && (*end == '.' || *end == 'e' || *end == 'E')) return false;
        m_at += static_cast<std::size_t>(end - begin);
        out = static_cast<TokenId>(value);
        return true;
    }
    /// Passes over one value, whatever it is; brackets in it are only counted.
    bool skip() {
        int depth = 0;
        do {
            blanks();
            if (m_at == m_text.size()) return false;
            const char c = m_text[m_at];
            if (c == '"') {
                if (!string(m_unread)) return false;
            } else {
                ++m_at;
                if (c == '{' || c == '[') ++depth;
                if (c == '}' || c == ']') --depth;
                if (depth < 0) return false;
                if (depth == 0 && c != '}' && c != ']') literal();
            }
        } while (depth > 0);
        return true;
    }
    /// The entries of an object or a list up to its end; `entry` reads one.
    template <class Entry>
    bool entries(char open, char close, const Entry& entry) {
        if (!take(open)) return false;
        if (take(close)) return true;
        do {
            if (!entry()) return false;
        } while (take(','));
        return take(close);
    }
    /// The values of an object, each by `value(key)`.
    template <class Value>
    bool object(const Value& value) {
        std::string key;
        return entries('{', '}', [&] { return string(key) && take(':') && value(key); });
    }

  private:
    std::string_view m_text;
    std::size_t m_at = 0;
    std::string m_unread;

    void blanks() {
        while (m_at < m_text.size() &&
               (m_text[m_at] == ' ' || m_text[m_at] == '\n' || m_text[m_at] == '\t' || m_text[m_at] == '\r'))
            ++m_at;
    }
    void literal() {
        while (m_at < m_text.size() && std::string_view(",]} \n\t\r").find(m_text[m_at]) == std::string_view::npos)
            ++m_at;
    }
    bool escape(std::string& out) {
        if (m_at == m_text.size()) return false;
        constexpr std::string_view kNames = "\"\\/bfnrt", kMeant = "\"\\/\b\f\n\r\t";
        const char name = m_text[m_at++];
        if (const std::size_t known = kNames.find(name); known != std::string_view::npos) {
            out += kMeant[known];
            return true;
        }
        std::uint32_t code = 0, low = 0;
        if (name != 'u' || !hexadecimal(code)) return false;
        if (code >= 0xD800 && code < 0xDC00) {
            if (!m_text.substr(m_at).starts_with("\\u")) return false;
            m_at += 2;
            if (!hexadecimal(low) || low < 0xDC00 || low > 0xDFFF) return false;
            code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        } else if (code >= 0xDC00 && code < 0xE000) {
            return false;
        }
        utf8::append(out, code);
        return true;
    }
    bool hexadecimal(std::uint32_t& out) {
        if (m_text.size() - m_at < 4) return false;
        const char* const begin = m_text.data() + m_at;
        m_at += 4;
        return std::from_chars(begin, begin + 4, out, 16).ptr == begin + 4;
    }
};

}  // namespace

std::optional<std::pair<std::string, std::string>> splitMerge(std::string_view text) {
    const std::size_t space = text.find(' ');
    if (space == std::string_view::npos || text.find(' ', space + 1) != std::string_view::npos) return std::nullopt;
    return std::pair(std::string(text.substr(0, space)), std::string(text.substr(space + 1)));
}

std::optional<TokenizerTables> readTokenizerTables(std::string_view json) {
    TokenizerTables tables;
    Scanner scan(json);
    std::size_t copied = 0;
    bool vocab = false, merges = false;
    /// One table: what `entry` reads, left out of the rest.
    const auto table = [&](bool& read, char open, char close, const auto& entry) {
        const std::size_t begin = scan.at();
        if (std::exchange(read, true) || !scan.entries(open, close, entry)) return false;
        tables.rest.append(json, copied, begin - copied);
        (tables.rest += open) += close;
        copied = scan.at();
        return true;
    };
    const auto piece = [&] {
        auto& [text, id] = tables.vocab.emplace_back();
        return scan.string(text) && scan.take(':') && scan.id(id);
    };
    std::string both;
    const auto merge = [&] {
        auto& [left, right] = tables.merges.emplace_back();
        if (scan.take('[')) return scan.string(left) && scan.take(',') && scan.string(right) && scan.take(']');
        if (!scan.string(both)) return false;
        auto split = splitMerge(both);
        if (split) tables.merges.back() = std::move(*split);
        return split.has_value();
    };
    const auto inModel = [&](const std::string& key) {
        if (key == "vocab") return table(vocab, '{', '}', piece);
        if (key == "merges") return table(merges, '[', ']', merge);
        return scan.skip();
    };
    const bool whole =
        scan.object([&](const std::string& key) { return key == "model" ? scan.object(inModel) : scan.skip(); });
    if (!whole || !vocab || !merges || !utf8::isValid(json)) return std::nullopt;
    std::unordered_set<std::string_view> pieces(tables.vocab.size());
    for (const auto& [text, id] : tables.vocab)
        if (!pieces.insert(text).second) return std::nullopt;  // a key that stands twice
    tables.rest.append(json, copied);
    return tables;
}

}  // namespace counterpoint::compute
