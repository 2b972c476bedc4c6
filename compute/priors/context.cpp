#include "compute/priors/context.h"

#include <algorithm>
#include <optional>

#include "compute/error.h"
#include "compute/text/pattern.h"

namespace counterpoint::compute {
namespace {

using Answer = Contexts::Answer;
using Span = Contexts::Span;

struct Found {
    Answer answer = Answer::No;
    Span span{0, 0};
};

/// Where the last n code points of valid UTF-8 begin.
std::size_t lastCodePoints(std::string_view text, std::int64_t n) {
    std::size_t at = text.size();
    while (at > 0 && n > 0) {
        --at;
        if ((static_cast<unsigned char>(text[at]) & 0xC0) != 0x80) --n;
    }
    return at;
}

Found inRegex(const Pattern& pattern, std::int64_t chars, std::string_view text) {
    const std::size_t from = lastCodePoints(text, chars);
    Pattern::Span span;
    std::uint64_t left = pattern.work();
    switch (pattern.find(text.substr(from), 0, span, left)) {
        case Pattern::Found::No:
            return {};
        case Pattern::Found::Bound:
            return {Answer::Bound};
        case Pattern::Found::Yes:
            break;
    }
    return {Answer::Yes, {from + span.first, from + span.second}};
}

/// A match of no characters moves on by one, so that none is found twice.
std::size_t behind(std::string_view text, Pattern::Span span) {
    std::size_t at = span.second;
    if (span.first != span.second) return at;
    for (++at; at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;) ++at;
    return at;
}

Found inFeature(const Pattern& open, const Pattern& close, std::string_view whole) {
    std::size_t begin = whole.size() > Contexts::kFeatureBytes ? whole.size() - Contexts::kFeatureBytes : 0;
    while (begin < whole.size() && (static_cast<unsigned char>(whole[begin]) & 0xC0) == 0x80) ++begin;
    const std::string_view text = whole.substr(begin);
    std::optional<std::size_t> openedAt;
    std::size_t from = 0;
    std::uint64_t left = open.work();
    for (int searches = 0; from <= text.size(); ++searches) {
        if (searches == Contexts::kSearches) return {Answer::Bound};
        Pattern::Span span;
        const Pattern::Found found = (openedAt ? close : open).find(text, from, span, left);
        if (found == Pattern::Found::Bound) return {Answer::Bound};
        if (found == Pattern::Found::No) break;
        from = behind(text, span);
        openedAt = openedAt ? std::nullopt : std::optional(span.first);
    }
    if (!openedAt) return {};
    return {Answer::Yes, {begin + *openedAt, whole.size()}};
}

struct Fence {
    char mark = 0;
    std::size_t length = 0;
    std::string_view language;
};

/// The fence that a line is, if it is one (CommonMark 4.5: at most three blanks before it, at least three marks).
std::optional<Fence> fenceOf(std::string_view line) {
    const std::size_t first = line.find_first_not_of(' ');
    if (first == std::string_view::npos || first > 3) return std::nullopt;
    const char mark = line[first];
    if (mark != '`' && mark != '~') return std::nullopt;
    const std::size_t end = std::min(line.find_first_not_of(mark, first), line.size());
    if (end - first < 3) return std::nullopt;
    std::string_view info = line.substr(end);
    if (mark == '`' && info.find('`') != std::string_view::npos) return std::nullopt;
    const std::size_t from = info.find_first_not_of(" \t");
    info = from == std::string_view::npos ? std::string_view() : info.substr(from);
    return Fence{mark, end - first, info.substr(0, info.find_first_of(" \t{"))};
}

bool sameWord(std::string_view a, std::string_view b) {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

Found inCodeBlock(std::string_view language, std::string_view text) {
    std::optional<Fence> open;
    std::size_t openedAt = 0;
    for (std::size_t from = 0; from < text.size();) {
        const std::size_t end = text.find('\n', from);
        if (end == std::string_view::npos) break;
        std::string_view line = text.substr(from, end - from);
        if (line.ends_with('\r')) line.remove_suffix(1);
        if (const auto fence = fenceOf(line)) {
            if (!open) {
                open = fence;
                openedAt = from;
            } else if (fence->mark == open->mark && fence->length >= open->length && fence->language.empty()) {
                open.reset();
            }
        }
        from = end + 1;
    }
    if (!open || (!language.empty() && !sameWord(open->language, language))) return {};
    return {Answer::Yes, {openedAt, text.size()}};
}

/// What tells contexts apart: two of one feature's name may stand in banks that define it differently.
std::string keyOf(const Context& context, const Feature* feature) {
    std::string key = std::to_string(static_cast<int>(context.kind)) + '\0' + std::to_string(context.chars);
    for (const std::string& part : {context.pattern, context.language, context.name}) key.append(1, '\0').append(part);
    for (const TokenId id : context.ids) key.append(1, '\0').append(std::to_string(id));
    if (feature != nullptr) key.append(1, '\0').append(feature->open).append(1, '\0').append(feature->close);
    return key;
}

}  // namespace

void ContextText::push(TokenId token, std::string_view bytes) {
    m_text += m_stream.push(bytes);
    m_ends.push_back(m_text.size());
    m_ids.push_back(token);
}

std::string_view ContextText::before(Position position) const {
    return std::string_view(m_text).substr(0, m_ends.at(static_cast<std::size_t>(position)));
}

std::span<const TokenId> ContextText::ids(Position position) const {
    return std::span(m_ids).first(static_cast<std::size_t>(position));
}

struct Contexts::Compiled {
    Context context;
    std::optional<Pattern> pattern, close;  ///< of a regex; open and close of a feature
    std::string problem;

    Found at(const ContextText& text, Position position) const {
        if (!problem.empty()) return {};
        switch (context.kind) {
            case ContextKind::Always:
                return {Answer::Yes};
            case ContextKind::Regex:
                return inRegex(*pattern, context.chars, text.before(position));
            case ContextKind::CodeBlock:
                return inCodeBlock(context.language, text.before(position));
            case ContextKind::Feature:
                return inFeature(*pattern, *close, text.before(position));
            case ContextKind::Tokens:
                break;
        }
        const std::span<const TokenId> ids = text.ids(position);
        const bool ends =
            context.ids.size() <= ids.size() && std::equal(context.ids.rbegin(), context.ids.rend(), ids.rbegin());
        if (!ends || context.ids.empty()) return {};
        const auto first = position - static_cast<Position>(context.ids.size());
        return {Answer::Yes, {text.before(first).size(), text.before(position).size()}};
    }
};

Contexts::Contexts() = default;
Contexts::~Contexts() = default;
Contexts::Contexts(Contexts&&) noexcept = default;
Contexts& Contexts::operator=(Contexts&&) noexcept = default;

std::size_t Contexts::add(const Context& context, std::span<const Feature> features) {
    const Feature* feature = nullptr;
    if (context.kind == ContextKind::Feature) {
        const auto at =
            std::find_if(features.begin(), features.end(), [&](const Feature& f) { return f.name == context.name; });
        if (at != features.end()) feature = &*at;
    }
    const auto [known, isNew] = m_index.emplace(keyOf(context, feature), m_all.size());
    if (!isNew) return known->second;
    Compiled compiled{.context = context, .pattern = {}, .close = {}, .problem = {}};
    const PatternOptions options{.lines = false, .work = kWork};
    try {
        if (context.kind == ContextKind::Regex) compiled.pattern.emplace(context.pattern, "the context", options);
        if (context.kind == ContextKind::Feature && feature == nullptr)
            throw Error({.where = "the context", .what = "its bank defines no feature '" + context.name + "'"});
        if (feature != nullptr) {
            compiled.pattern.emplace(feature->open, "feature '" + feature->name + "', \"open\"", options);
            compiled.close.emplace(feature->close, "feature '" + feature->name + "', \"close\"", options);
        }
    } catch (const Error& error) {
        compiled.problem = error.sentence();
    }
    m_all.push_back(std::move(compiled));
    return m_all.size() - 1;
}

std::size_t Contexts::size() const { return m_all.size(); }
const std::string& Contexts::problem(std::size_t i) const { return m_all.at(i).problem; }

Contexts::Answer Contexts::match(std::size_t i, const ContextText& text, Position position) const {
    return m_all[i].at(text, position).answer;
}

Contexts::Span Contexts::where(std::size_t i, const ContextText& text, Position position) const {
    return m_all.at(i).at(text, position).span;
}

}  // namespace counterpoint::compute
