#include "compute/text/addedtokens.h"

#include <unicode/uchar.h>

#include <algorithm>

#include "compute/text/utf8.h"

namespace counterpoint::compute {
namespace {

bool isSpace(std::uint32_t code) { return u_isUWhiteSpace(static_cast<UChar32>(code)) != 0; }

std::size_t trimmedLeft(std::string_view text, std::size_t from, std::size_t at) {
    while (at > from) {
        std::size_t begin = at - 1;
        while (begin > from && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) --begin;
        if (!isSpace(utf8::next(text.substr(begin)).code)) break;
        at = begin;
    }
    return at;
}

std::size_t trimmedRight(std::string_view text, std::size_t at) {
    while (at < text.size()) {
        const utf8::Step step = utf8::next(text.substr(at));
        if (!isSpace(step.code)) break;
        at += step.length;
    }
    return at;
}

}  // namespace

AddedTokenSplitter::AddedTokenSplitter(std::vector<AddedToken> tokens, std::vector<std::string> contents)
    : m_tokens(std::move(tokens)), m_contents(std::move(contents)) {
    for (std::size_t i = 0; i < m_tokens.size(); ++i)
        if (!m_contents[i].empty()) m_byFirstByte[static_cast<unsigned char>(m_contents[i][0])].push_back(i);
    for (std::vector<std::size_t>& bucket : m_byFirstByte)
        std::stable_sort(bucket.begin(), bucket.end(),
                         [&](std::size_t a, std::size_t b) { return m_contents[a].size() > m_contents[b].size(); });
}

std::vector<AddedTokenSplitter::Part> AddedTokenSplitter::split(std::string_view text, bool controlTokens) const {
    std::vector<Part> parts;
    std::size_t begin = 0;
    const auto ordinary = [&](std::size_t end) {
        if (end > begin) parts.push_back({text.substr(begin, end - begin), kNoToken});
    };
    for (std::size_t at = 0; at < text.size();) {
        const std::vector<std::size_t>& bucket = m_byFirstByte[static_cast<unsigned char>(text[at])];
        const auto hit = std::find_if(bucket.begin(), bucket.end(), [&](std::size_t i) {
            return (controlTokens || !m_tokens[i].special) && text.substr(at).starts_with(m_contents[i]);
        });
        if (hit == bucket.end()) {
            ++at;
            continue;
        }
        const AddedToken& token = m_tokens[*hit];
        ordinary(token.lstrip ? trimmedLeft(text, begin, at) : at);
        at += m_contents[*hit].size();
        if (token.rstrip) at = trimmedRight(text, at);
        parts.push_back({{}, token.id});
        begin = at;
    }
    ordinary(text.size());
    return parts;
}

}  // namespace counterpoint::compute
