#include "compute/text/pattern.h"

#include <algorithm>

#include "compute/error.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace counterpoint::compute {
namespace {

constexpr std::uint32_t kHeapKibibytes = 65'536;

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

/// The character behind the one at `at`.
std::size_t following(std::string_view text, std::size_t at) {
    for (++at; at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;) ++at;
    return at;
}

}  // namespace

struct Pattern::Compiled {
    Code code;
    MatchContext context;
    std::uint32_t work = 0;
};

Pattern::Pattern(std::string_view expression, const std::string& where, PatternOptions options) : m_where(where) {
    const std::uint32_t lines = options.lines ? PCRE2_MULTILINE : PCRE2_DOLLAR_ENDONLY;
    int error = 0;
    PCRE2_SIZE place = 0;
    auto compiled = std::make_shared<Compiled>();
    compiled->code.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(expression.data()), expression.size(),
                                       PCRE2_UTF | PCRE2_UCP | lines | PCRE2_NEVER_BACKSLASH_C, &error, &place,
                                       nullptr));
    if (!compiled->code)
        throw Error(
            {.where = where,
             .what = "the pattern cannot be read: " + messageOf(error) + ", at character " + std::to_string(place)});
    compiled->context.reset(pcre2_match_context_create(nullptr));
    compiled->work = options.work;
    pcre2_set_match_limit(compiled->context.get(), options.work);
    pcre2_set_heap_limit(compiled->context.get(), kHeapKibibytes);
    m_compiled = std::move(compiled);
}

std::uint64_t Pattern::work() const { return m_compiled->work; }

Pattern::Found Pattern::find(std::string_view text, std::size_t from, Span& span, std::uint64_t& left) const {
    constexpr std::uint64_t kLeast = 16, kRaise = 4;
    const MatchData data(pcre2_match_data_create(1, nullptr));
    const MatchContext context(pcre2_match_context_copy(m_compiled->context.get()));
    const auto match = [&](std::size_t at, std::uint32_t options, std::uint64_t limit) {
        pcre2_set_match_limit(context.get(), static_cast<std::uint32_t>(limit));
        return pcre2_match(m_compiled->code.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), at,
                           PCRE2_NO_UTF_CHECK | options, data.get(), context.get());
    };
    const std::uint64_t share = std::max(kLeast, m_compiled->work / (text.size() + 1));
    int result = match(from, 0, share);
    // A place needs more than its share: place by place, those that do are tried with more and more.
    if (result == PCRE2_ERROR_MATCHLIMIT) {
        result = PCRE2_ERROR_NOMATCH;
        for (std::size_t at = from; result == PCRE2_ERROR_NOMATCH && at <= text.size(); at = following(text, at)) {
            std::uint64_t limit = share;
            while ((result = match(at, PCRE2_ANCHORED, limit)) == PCRE2_ERROR_MATCHLIMIT) {
                limit *= kRaise;
                if (limit > left) return Found::Bound;
                left -= limit;
            }
        }
    }
    if (result == PCRE2_ERROR_NOMATCH) return Found::No;
    if (result < 0) return Found::Bound;
    const PCRE2_SIZE* bytes = pcre2_get_ovector_pointer(data.get());
    span = {bytes[0], bytes[1]};
    return Found::Yes;
}

std::vector<Pattern::Span> Pattern::matches(std::string_view text) const {
    std::vector<Span> found;
    const MatchData data(pcre2_match_data_create(1, nullptr));
    const auto subject = reinterpret_cast<PCRE2_SPTR>(text.data());
    std::size_t from = 0;
    while (from <= text.size()) {
        const int result = pcre2_match(m_compiled->code.get(), subject, text.size(), from, PCRE2_NO_UTF_CHECK,
                                       data.get(), m_compiled->context.get());
        if (result == PCRE2_ERROR_NOMATCH) break;
        if (result < 0)
            throw Error(
                {.where = m_where, .what = "the pattern does too much work on this text: " + messageOf(result)});
        const PCRE2_SIZE* span = pcre2_get_ovector_pointer(data.get());
        const bool again = span[0] == span[1] && !found.empty() && found.back().second == span[1];
        from = again ? following(text, from) : span[1];
        if (!again) found.emplace_back(span[0], span[1]);
    }
    return found;
}

}  // namespace counterpoint::compute
