// Oniguruma's expressions (Ruby syntax, UTF-8) as PCRE2 reads them.
#include <algorithm>
#include <array>
#include <utility>

#include "compute/error.h"
#include "compute/text/pattern.h"

namespace counterpoint::compute {
namespace {

// Unicode's White_Space (PCRE2's \s also takes U+180E) and what is not.
constexpr std::string_view kSpaces =
    R"(\x{9}-\x{D}\x{20}\x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000})";
constexpr std::string_view kNoSpaces =
    R"(\x{0}-\x{8}\x{E}-\x{1F}\x{21}-\x{84}\x{86}-\x{9F}\x{A1}-\x{167F}\x{1681}-\x{1FFF}\x{200B}-\x{2027}\x{202A}-\x{202E})"
    R"(\x{2030}-\x{205E}\x{2060}-\x{2FFF}\x{3001}-\x{D7FF}\x{E000}-\x{10FFFF})";
// Oniguruma's \w: Alphabetic, M, Nd, Pc and Latin-1's other numbers.
constexpr std::string_view kWord =
    R"(\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{B2}\x{B3}\x{B9}\x{BC}-\x{BE}\x{24B6}-\x{24E9}\x{1F130}-\x{1F149}\x{1F150}-\x{1F169})"
    R"(\x{1F170}-\x{1F189})";
constexpr std::pair<std::string_view, std::string_view> kCategories[] = {{"Letter", "L"},
                                                                         {"Mark", "M"},
                                                                         {"Number", "N"},
                                                                         {"Punctuation", "P"},
                                                                         {"Punct", "P"},
                                                                         {"Symbol", "S"},
                                                                         {"Separator", "Z"},
                                                                         {"Other", "C"},
                                                                         {"Uppercase_Letter", "Lu"},
                                                                         {"Lowercase_Letter", "Ll"},
                                                                         {"Decimal_Number", "Nd"}};

std::string set(std::string_view members, bool negated = false) {
    std::string out(negated ? "[^" : "[");
    out += members;
    return out += ']';
}

class Translator {
  public:
    Translator(std::string_view expression, const std::string& where) : m_in(expression), m_where(where) {}

    std::string all() {
        while (m_at < m_in.size()) one();
        return std::move(m_out);
    }

  private:
    std::string_view m_in;
    const std::string& m_where;
    std::size_t m_at = 0;
    std::string m_out;
    std::size_t m_atom = 0;             ///< where in m_out the last atom begins
    std::vector<std::size_t> m_groups;  ///< where the open groups begin

    [[noreturn]] void refuse(std::string_view part) const {
        throw Error({.where = m_where, .what = "the pattern uses '" + std::string(part) + "', which is not supported"});
    }
    bool next(std::string_view text) const { return m_in.substr(m_at).starts_with(text); }

    void one() {
        const char c = m_in[m_at];
        if (c == '\\') return escape();
        if (c == '[') {
            m_atom = m_out.size();
            return bracket(0);
        }
        if (c == '(') return group();
        if (c == '{' && interval()) return;
        ++m_at;
        if (c == ')') {
            m_atom = m_groups.empty() ? m_out.size() : m_groups.back();
            if (!m_groups.empty()) m_groups.pop_back();
        } else if (std::string_view("*+?|").find(c) == std::string_view::npos && (c & 0xC0) != 0x80) {
            m_atom = m_out.size();
        }
        m_out += c;
    }

    void group() {
        m_groups.push_back(m_out.size());
        if (next("(?")) {
            std::size_t end = m_at + 2;
            while (end < m_in.size() && (std::isalpha(static_cast<unsigned char>(m_in[end])) != 0 || m_in[end] == '-'))
                ++end;
            const std::string_view options = m_in.substr(m_at + 2, end - m_at - 2);
            if (options.find_first_not_of("ix-") != std::string_view::npos) refuse(m_in.substr(m_at, end - m_at));
            if (next("(?~") || next("(?&") || next("(?P")) refuse(m_in.substr(m_at, 3));
        }
        m_out += m_in[m_at++];
    }

    /// {n,m}: {,m} begins with 0, and + after it repeats the whole where PCRE2 would make it possessive.
    bool interval() {
        const std::size_t end = m_in.find('}', m_at);
        if (end == std::string_view::npos) return false;
        const std::string_view counts = m_in.substr(m_at + 1, end - m_at - 1);
        if (counts.empty() || counts.find_first_not_of("0123456789,") != std::string_view::npos) return false;
        m_out += counts.starts_with(',') ? "{0" : "{";
        m_out += counts;
        m_out += '}';
        m_at = end + 1;
        if (!next("+")) return true;
        m_out.insert(m_atom, "(?:");
        m_out += ")";
        return true;
    }

    void escape() {
        m_atom = m_out.size();
        if (m_at + 1 == m_in.size()) refuse("\\");
        switch (m_in[m_at + 1]) {
            case 's':
                m_out += set(kSpaces);
                break;
            case 'S':
                m_out += set(kSpaces, true);
                break;
            case 'w':
                m_out += set(kWord);
                break;
            case 'W':
                m_out += set(kWord, true);
                break;
            case 'b':
                for (const std::string_view part : {"(?:(?<=", ")(?!", ")|(?<!", ")(?=", "))"}) {
                    m_out += part;
                    if (part != "))") m_out += set(kWord);
                }
                break;
            default:
                return plainEscape();
        }
        m_at += 2;
    }

    /// What means the same inside a class and outside.
    void plainEscape() {
        const char c = m_in[m_at + 1];
        if (c == 'p' || c == 'P') return property();
        if (c == 'u') return hexadecimal();
        if (std::string_view("BhHXKRyYkgGAzZOoCcMN").find(c) != std::string_view::npos) refuse(m_in.substr(m_at, 2));
        m_out += m_in.substr(m_at, 2);
        m_at += 2;
    }

    void hexadecimal() {
        const std::string_view digits = m_in.substr(m_at + 2, 4);
        if (digits.size() != 4 || digits.find_first_not_of("0123456789abcdefABCDEF") != std::string_view::npos)
            refuse("\\u");
        m_out += "\\x{";
        m_out += digits;
        m_out += '}';
        m_at += 6;
    }

    /// A category keeps its name; any other name is a script (PCRE2 would take its extensions too).
    void property() {
        const std::size_t end = m_in.find('}', m_at);
        if (!m_in.substr(m_at + 2).starts_with('{') || end == std::string_view::npos) refuse(m_in.substr(m_at, 2));
        std::string_view name = m_in.substr(m_at + 3, end - m_at - 3);
        m_out += m_in.substr(m_at, 2);
        m_out += '{';
        if (name.starts_with('^')) m_out += '^', name.remove_prefix(1);
        const auto* category = std::find_if(std::begin(kCategories), std::end(kCategories),
                                            [&](const auto& pair) { return pair.first == name; });
        if (category == std::end(kCategories) && name.size() > 2 && name != "Any") m_out += "sc:";
        m_out += category == std::end(kCategories) ? name : category->second;
        m_out += '}';
        m_at = end + 1;
    }

    /// A class; one inside another that is not negated is as if its members stood there.
    void bracket(int depth) {
        const std::size_t begin = m_at++;
        const bool negated = next("^");
        if (depth > 0 && negated) refuse("[^ inside a class");
        if (next(":")) refuse(m_in.substr(begin, m_in.find(']', begin) + 1 - begin));
        if (depth == 0) m_out += negated ? "[^" : "[";
        m_at += negated ? 1 : 0;
        if (next("]")) m_out += "\\]", ++m_at;
        while (!next("]")) {
            if (m_at >= m_in.size()) refuse("[ without its ]");
            if (next("&&")) refuse("&&");
            if (next("["))
                bracket(depth + 1);
            else if (next("\\"))
                classEscape();
            else
                m_out += m_in[m_at++];
        }
        ++m_at;
        if (depth == 0) m_out += ']';
    }

    void classEscape() {
        if (m_at + 1 == m_in.size()) refuse("\\");
        switch (m_in[m_at + 1]) {
            case 's':
                m_out += kSpaces;
                break;
            case 'S':
                m_out += kNoSpaces;
                break;
            case 'w':
                m_out += kWord;
                break;
            case 'W':
                refuse("\\W inside a class");
            case 'b':
                m_out += "\\x{8}";
                break;
            default:
                return plainEscape();
        }
        m_at += 2;
    }
};

}  // namespace

std::string fromOniguruma(std::string_view expression, const std::string& where) {
    return Translator(expression, where).all();
}

}  // namespace counterpoint::compute
