#include "compute/text/unigram.h"

#include <algorithm>

#include "compute/error.h"
#include "compute/text/utf8.h"

namespace counterpoint::compute {
namespace {

constexpr double kUnknownPenalty = 10;

/// "U+00E9"
std::string codeName(std::uint32_t code) {
    std::string text;
    for (int shift = code > 0xFFFF ? 20 : 12; shift >= 0; shift -= 4) text += "0123456789ABCDEF"[code >> shift & 15];
    return "U+" + text;
}

}  // namespace

Unigram::Unigram(std::string where, Options options, std::vector<UnigramPiece> pieces, const std::vector<bool>& control)
    : m_where(std::move(where)), m_options(options), m_pieces(std::move(pieces)) {
    m_byteTokens.fill(kNoToken);
    const auto text = [&](TokenId id) -> std::string_view { return m_pieces[static_cast<std::size_t>(id)].text; };
    for (std::size_t i = 0; i < m_pieces.size(); ++i) {
        m_unknownScore = i == 0 ? m_pieces[i].score : std::min(m_unknownScore, m_pieces[i].score);
        if (!control[i] && !m_pieces[i].text.empty()) m_sorted.push_back(static_cast<TokenId>(i));
    }
    m_unknownScore -= kUnknownPenalty;
    std::sort(m_sorted.begin(), m_sorted.end(),
              [&](TokenId a, TokenId b) { return std::pair(text(a), -a) < std::pair(text(b), -b); });
    m_sorted.erase(
        std::unique(m_sorted.begin(), m_sorted.end(), [&](TokenId a, TokenId b) { return text(a) == text(b); }),
        m_sorted.end());
    if (!m_options.byteFallback) return;
    for (unsigned byte = 0; byte < 256; ++byte)
        forEachPrefix(byteName(byte), [&](std::size_t length, TokenId id) {
            if (length == byteName(byte).size()) m_byteTokens[byte] = id;
        });
}

/// found(length, id) for every piece that begins `text`, shortest first: a range of the sorted pieces that narrows with
/// every byte.
template <class F>
void Unigram::forEachPrefix(std::string_view text, F found) const {
    auto first = m_sorted.begin(), last = m_sorted.end();
    const auto piece = [&](TokenId id) -> const std::string& { return m_pieces[static_cast<std::size_t>(id)].text; };
    for (std::size_t at = 0; at < text.size(); ++at) {
        const auto byte = static_cast<unsigned char>(text[at]);
        const auto key = [&](TokenId id) {
            const std::string& p = piece(id);
            return at < p.size() ? static_cast<int>(static_cast<unsigned char>(p[at])) : -1;
        };
        first = std::partition_point(first, last, [&](TokenId id) { return key(id) < byte; });
        last = std::partition_point(first, last, [&](TokenId id) { return key(id) == byte; });
        if (first == last) return;
        if (piece(*first).size() == at + 1) found(at + 1, *first);
    }
}

void Unigram::encode(std::string_view word, std::vector<TokenId>& ids) const {
    std::vector<Best> best(word.size() + 1);
    best[0].id = 0;
    const auto offer = [&](std::size_t begin, std::size_t end, double score, TokenId id) {
        Best& node = best[end];
        const double total = best[begin].score + score;
        if (node.id == kNoToken || total > node.score) node = {total, begin, id};
    };
    for (std::size_t at = 0; at < word.size();) {
        const utf8::Step step = utf8::next(word.substr(at));
        bool single = false;
        forEachPrefix(word.substr(at), [&](std::size_t length, TokenId id) {
            offer(at, at + length, m_pieces[static_cast<std::size_t>(id)].score, id);
            single = single || length == step.length;
        });
        if (!single) {
            if (!m_options.unknown)
                throw Error(
                    {.where = m_where, .what = "the vocabulary has no token for the character " + codeName(step.code)});
            offer(at, at + step.length, m_unknownScore, *m_options.unknown);
        }
        at += step.length;
    }
    std::vector<std::size_t> ends;
    for (std::size_t at = word.size(); at > 0; at = best[at].begin) ends.push_back(at);
    std::size_t unknownFrom = word.size();  // the end: no run of unknown characters is open
    for (auto end = ends.rbegin(); end != ends.rend(); ++end) {
        const Best& node = best[*end];
        const bool isUnknown = node.id == m_options.unknown;
        if (isUnknown && unknownFrom == word.size()) unknownFrom = node.begin;
        if (isUnknown) continue;
        if (unknownFrom != word.size()) unknown(word.substr(unknownFrom, node.begin - unknownFrom), ids);
        unknownFrom = word.size();
        ids.push_back(node.id);
    }
    if (unknownFrom != word.size()) unknown(word.substr(unknownFrom), ids);
}

void Unigram::unknown(std::string_view text, std::vector<TokenId>& ids) const {
    // A run that is a piece as a whole, though a worse one than its unknown characters, is that piece.
    TokenId whole = kNoToken;
    forEachPrefix(text, [&](std::size_t length, TokenId id) { whole = length == text.size() ? id : whole; });
    if (whole != kNoToken) return ids.push_back(whole);
    const auto token = [&](char c) { return m_byteTokens[static_cast<unsigned char>(c)]; };
    if (m_options.byteFallback && std::all_of(text.begin(), text.end(), [&](char c) { return token(c) != kNoToken; }))
        for (const char c : text) ids.push_back(token(c));
    else
        ids.push_back(*m_options.unknown);
}

}  // namespace counterpoint::compute
