#include "compute/text/addedtokens.h"

#include <algorithm>

#include "compute/text/unicode.h"
#include "compute/text/utf8.h"

namespace counterpoint::compute {
namespace {

bool standsAlone(std::string_view text, std::size_t begin, std::size_t end) {
    const bool before = begin > 0 && unicode::isWord(unicode::codeBefore(text, begin));
    const bool after = end < text.size() && unicode::isWord(utf8::next(text.substr(end)).code);
    return !before && !after;
}

}  // namespace

AddedTokenSplitter::AddedTokenSplitter(std::vector<AddedToken> tokens, std::vector<std::string> contents)
    : m_tokens(std::move(tokens)), m_contents(std::move(contents)) {
    for (std::size_t i = 0; i < m_tokens.size(); ++i)
        if (!m_contents[i].empty()) m_byFirstByte[static_cast<unsigned char>(m_contents[i][0])].push_back(i);
    // Of tokens with one content the first is found, and is special where one of them is (as in the package).
    for (std::vector<std::size_t>& bucket : m_byFirstByte) {
        std::stable_sort(bucket.begin(), bucket.end(), [&](std::size_t a, std::size_t b) {
            if (m_contents[a].size() != m_contents[b].size()) return m_contents[a].size() > m_contents[b].size();
            return m_contents[a] < m_contents[b];
        });
        std::size_t kept = 0;
        for (const std::size_t i : bucket) {
            if (kept > 0 && m_contents[bucket[kept - 1]] == m_contents[i])
                m_tokens[bucket[kept - 1]].special = m_tokens[bucket[kept - 1]].special || m_tokens[i].special;
            else
                bucket[kept++] = i;
        }
        bucket.resize(kept);
    }
}

std::vector<AddedTokenSplitter::Part> AddedTokenSplitter::split(std::string_view text, bool controlTokens) const {
    std::vector<Part> parts;
    std::size_t begin = 0;
    for (std::size_t at = 0; at < text.size();) {
        const std::vector<std::size_t>& bucket = m_byFirstByte[static_cast<unsigned char>(text[at])];
        const auto hit = std::find_if(bucket.begin(), bucket.end(),
                                      [&](std::size_t i) { return text.substr(at).starts_with(m_contents[i]); });
        if (hit == bucket.end()) {
            ++at;
            continue;
        }
        const AddedToken& token = m_tokens[*hit];
        const std::size_t end = at + m_contents[*hit].size();
        // A match that does not count hides what lies in it all the same.
        if ((controlTokens || !token.special) && (!token.singleWord || standsAlone(text, at, end))) {
            const std::size_t left = token.lstrip ? unicode::trimmedLeft(text, begin, at) : at;
            if (left > begin) parts.push_back({text.substr(begin, left - begin), kNoToken});
            parts.push_back({{}, token.id});
            begin = token.rstrip ? unicode::trimmedRight(text, end) : end;
        }
        at = end;
    }
    if (begin < text.size()) parts.push_back({text.substr(begin), kNoToken});
    return parts;
}

}  // namespace counterpoint::compute
