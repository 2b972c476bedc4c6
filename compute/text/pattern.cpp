#include "compute/text/pattern.h"

#include "compute/error.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace counterpoint::compute {
namespace {

constexpr std::uint32_t kMatchLimit = 1'000'000;

std::string messageOf(int code) {
    std::string text(256, '\0');
    const int length = pcre2_get_error_message(code, reinterpret_cast<PCRE2_UCHAR*>(text.data()), text.size());
    text.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
    return text;
}

template <class T, void (*release)(T*)>
struct Release {
    void operator()(T* object) const { release(object); }
};
using Code = std::unique_ptr<pcre2_code, Release<pcre2_code, pcre2_code_free>>;
using MatchContext = std::unique_ptr<pcre2_match_context, Release<pcre2_match_context, pcre2_match_context_free>>;
using MatchData = std::unique_ptr<pcre2_match_data, Release<pcre2_match_data, pcre2_match_data_free>>;

}  // namespace

struct Pattern::Compiled {
    Code code;
    MatchContext context;
};

Pattern::Pattern(std::string_view expression, const std::string& where) : m_where(where) {
    int error = 0;
    PCRE2_SIZE place = 0;
    auto compiled = std::make_shared<Compiled>();
    compiled->code.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(expression.data()), expression.size(),
                                       PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &error,
                                       &place, nullptr));
    if (!compiled->code)
        throw Error(
            {.where = where,
             .what = "the pattern cannot be read: " + messageOf(error) + ", at character " + std::to_string(place)});
    compiled->context.reset(pcre2_match_context_create(nullptr));
    pcre2_set_match_limit(compiled->context.get(), kMatchLimit);
    m_compiled = std::move(compiled);
}

std::vector<Pattern::Span> Pattern::matches(std::string_view text) const {
    std::vector<Span> found;
    const MatchData data(pcre2_match_data_create(1, nullptr));
    const auto subject = reinterpret_cast<PCRE2_SPTR>(text.data());
    std::size_t from = 0;
    std::uint32_t options = PCRE2_NO_UTF_CHECK;
    while (from <= text.size()) {
        const int result = pcre2_match(m_compiled->code.get(), subject, text.size(), from, options, data.get(),
                                       m_compiled->context.get());
        if (result == PCRE2_ERROR_NOMATCH) break;
        if (result < 0)
            throw Error(
                {.where = m_where, .what = "the pattern does too much work on this text: " + messageOf(result)});
        const PCRE2_SIZE* span = pcre2_get_ovector_pointer(data.get());
        if (span[1] > span[0]) found.emplace_back(span[0], span[1]);
        from = span[1];
        if (span[1] == span[0]) {
            ++from;
            while (from < text.size() && (static_cast<unsigned char>(text[from]) & 0xC0) == 0x80) ++from;
        }
    }
    return found;
}

std::string fromOniguruma(std::string_view expression, const std::string& where) {
    constexpr std::string_view kSpaces =
        R"(\x{9}-\x{D}\x{20}\x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000})";
    const auto refuse = [&](std::string_view part) {
        throw Error({.where = where, .what = "the pattern uses '" + std::string(part) + "', which is not supported"});
    };
    std::string out;
    bool inClass = false;
    for (std::size_t i = 0; i < expression.size(); ++i) {
        const char c = expression[i];
        if (c == '\\' && i + 1 < expression.size()) {
            const char escaped = expression[++i];
            if (escaped == 's') {
                out += inClass ? std::string(kSpaces) : "[" + std::string(kSpaces) + "]";
            } else if (escaped == 'S' && !inClass) {
                out += "[^" + std::string(kSpaces) + "]";
            } else if (std::string_view("SwWbBhHXKRyYkgGAzZuO").find(escaped) != std::string_view::npos) {
                refuse(std::string("\\") + escaped);
            } else {
                out += c;
                out += escaped;
            }
            continue;
        }
        if (inClass && c == '&' && expression.substr(i, 2) == "&&") refuse("&&");
        if (inClass && c == '[') refuse("[ inside a class");
        if (c == '[') inClass = true;
        if (c == ']') inClass = false;
        out += c;
    }
    return out;
}

}  // namespace counterpoint::compute
