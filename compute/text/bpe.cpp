#include "compute/text/bpe.h"

#include <algorithm>
#include <queue>
#include <utility>

#include "compute/error.h"
#include "compute/text/utf8.h"

namespace counterpoint::compute {
namespace {

constexpr std::size_t kCachedWordBytes = 64;
constexpr std::size_t kCachedWords = 20'000;

std::uint64_t pairKey(TokenId left, TokenId right) {
    return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
}

}  // namespace

std::string byteName(unsigned byte) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    return std::string("<0x") + digits[byte >> 4] + digits[byte & 15] + ">";
}

Bpe::Bpe(std::string where, BpeOptions options) : m_where(std::move(where)), m_options(options) {
    m_byteTokens.fill(kNoToken);
}

void Bpe::reserve(std::size_t pieces, std::size_t merges) {
    m_pieces.reserve(pieces);
    m_merges.reserve(merges);
}

void Bpe::addPiece(const std::string& piece, TokenId id) {
    m_pieces.emplace(piece, id);
    if (!m_options.byteFallback || piece.size() != 6 || !piece.starts_with("<0x")) return;
    for (unsigned byte = 0; byte < 256; ++byte)
        if (piece == byteName(byte)) m_byteTokens[byte] = id;
}

void Bpe::addMerge(std::string_view left, std::string_view right) {
    const std::string whole = std::string(left) + std::string(right);
    const std::optional<TokenId> a = find(left), b = find(right), ab = find(whole);
    if (!a || !b || !ab) {
        const std::string missing(!a ? left : !b ? right : whole);
        throw Error({.where = m_where,
                     .what = "merge " + std::to_string(m_nextRank + 1) + " ('" + std::string(left) + "' + '" +
                             std::string(right) + "') names '" + missing + "', which is not in the vocabulary"});
    }
    m_merges.emplace(pairKey(*a, *b), Merge{m_nextRank++, *ab});
}

void Bpe::block(const std::vector<bool>& control) {
    const auto blocked = [&](TokenId id) {
        return static_cast<std::size_t>(id) < control.size() && control[static_cast<std::size_t>(id)];
    };
    std::erase_if(m_pieces, [&](const auto& entry) { return blocked(entry.second); });
    std::erase_if(m_merges, [&](const auto& entry) { return blocked(entry.second.whole); });
}

std::optional<TokenId> Bpe::find(std::string_view piece) const {
    const auto it = m_pieces.find(piece);
    return it == m_pieces.end() ? std::nullopt : std::optional(it->second);
}

std::vector<TokenId> Bpe::characters(std::string_view word) const {
    std::vector<TokenId> symbols;
    bool pending = false;  // an unknown token waits for what follows: bytes overtake it, as in the package
    while (!word.empty()) {
        const utf8::Step step = utf8::next(word);
        const std::string_view character = word.substr(0, step.length);
        word.remove_prefix(step.length);
        if (const std::optional<TokenId> id = find(character)) {
            if (std::exchange(pending, false)) symbols.push_back(*m_options.unknown);
            symbols.push_back(*id);
            continue;
        }
        const auto hasToken = [&](char c) { return m_byteTokens[static_cast<unsigned char>(c)] != kNoToken; };
        if (m_options.byteFallback && std::all_of(character.begin(), character.end(), hasToken)) {
            for (const char c : character) symbols.push_back(m_byteTokens[static_cast<unsigned char>(c)]);
            continue;
        }
        if (!m_options.unknown) continue;
        if (pending && !m_options.fuseUnknown) symbols.push_back(*m_options.unknown);
        pending = true;
    }
    if (pending) symbols.push_back(*m_options.unknown);
    return symbols;
}

void Bpe::mergeAll(std::vector<TokenId>& symbols) const {
    struct Candidate {
        std::uint32_t rank;
        std::uint32_t position;
        TokenId left, right, whole;
        bool operator>(const Candidate& o) const { return std::pair(rank, position) > std::pair(o.rank, o.position); }
    };
    constexpr std::uint32_t kEnd = 0xFFFFFFFF;
    const auto n = static_cast<std::uint32_t>(symbols.size());
    std::vector<std::uint32_t> previous(n), following(n);
    for (std::uint32_t i = 0; i < n; ++i) previous[i] = i == 0 ? kEnd : i - 1, following[i] = i + 1 == n ? kEnd : i + 1;
    std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue;
    const auto consider = [&](std::uint32_t left) {
        if (left == kEnd || following[left] == kEnd) return;
        const TokenId a = symbols[left], b = symbols[following[left]];
        const auto merge = m_merges.find(pairKey(a, b));
        if (merge != m_merges.end()) queue.push({merge->second.rank, left, a, b, merge->second.whole});
    };
    for (std::uint32_t i = 0; i + 1 < n; ++i) consider(i);
    while (!queue.empty()) {
        const Candidate top = queue.top();
        queue.pop();
        const std::uint32_t right = following[top.position];
        // A pair that a merge beside it has changed meanwhile is no longer there.
        if (symbols[top.position] != top.left || right == kEnd || symbols[right] != top.right) continue;
        symbols[top.position] = top.whole;
        symbols[right] = kNoToken;
        following[top.position] = following[right];
        if (following[right] != kEnd) previous[following[right]] = top.position;
        consider(previous[top.position]);
        consider(top.position);
    }
    std::erase(symbols, kNoToken);
}

void Bpe::encode(std::string_view word, std::vector<TokenId>& ids) const {
    if (word.empty()) return;
    if (m_options.ignoreMerges) {
        if (const std::optional<TokenId> whole = find(word)) return ids.push_back(*whole);
    }
    const bool cached = word.size() <= kCachedWordBytes;
    if (cached) {
        const std::lock_guard lock(m_cache->mutex);
        const auto known = m_cache->words.find(word);
        if (known != m_cache->words.end()) {
            ids.insert(ids.end(), known->second.begin(), known->second.end());
            return;
        }
    }
    std::vector<TokenId> symbols = characters(word);
    mergeAll(symbols);
    ids.insert(ids.end(), symbols.begin(), symbols.end());
    if (!cached) return;
    const std::lock_guard lock(m_cache->mutex);
    if (m_cache->words.size() < kCachedWords) m_cache->words.emplace(std::string(word), std::move(symbols));
}

}  // namespace counterpoint::compute
