#include "compute/text/scoredbpe.h"

#include <algorithm>
#include <queue>

#include "compute/error.h"
#include "compute/text/utf8.h"

namespace counterpoint::compute {

ScoredBpe::ScoredBpe(std::string where, std::vector<Piece> pieces, const std::array<TokenId, 256>& bytes,
                     std::optional<TokenId> unknown)
    : m_where(std::move(where)), m_pieces(std::move(pieces)), m_bytes(bytes), m_unknown(unknown) {
    std::vector<const Piece*> order;
    order.reserve(m_pieces.size());
    for (const Piece& piece : m_pieces) order.push_back(&piece);
    std::stable_sort(order.begin(), order.end(), [](const Piece* a, const Piece* b) { return a->score > b->score; });
    m_byText.reserve(m_pieces.size());
    std::uint32_t rank = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
        if (i > 0 && order[i]->score != order[i - 1]->score) ++rank;
        m_byText.emplace(order[i]->text, Ranked{order[i]->id, rank});
    }
}

void ScoredBpe::append(std::string_view symbol, std::vector<TokenId>& ids) const {
    if (const auto known = m_byText.find(symbol); known != m_byText.end()) return ids.push_back(known->second.id);
    const auto token = [&](char c) { return m_bytes[static_cast<unsigned char>(c)]; };
    if (std::all_of(symbol.begin(), symbol.end(), [&](char c) { return token(c) != kNoToken; })) {
        for (const char c : symbol) ids.push_back(token(c));
        return;
    }
    if (!m_unknown)
        throw Error({.where = m_where, .what = "the vocabulary has no token for '" + std::string(symbol) + "'"});
    ids.push_back(*m_unknown);
}

void ScoredBpe::encode(std::string_view word, std::vector<TokenId>& ids) const {
    constexpr std::uint32_t kEnd = 0xFFFFFFFF;
    struct Symbol {
        std::string_view text;  ///< empty: joined to the one before
        std::uint32_t previous = kEnd, following = kEnd;
    };
    struct Candidate {
        std::uint32_t rank, position;
        std::size_t length;
        bool operator>(const Candidate& o) const { return std::pair(rank, position) > std::pair(o.rank, o.position); }
    };
    std::vector<Symbol> symbols;
    while (!word.empty()) {
        const std::size_t length = utf8::next(word).length;
        symbols.push_back({word.substr(0, length)});
        word.remove_prefix(length);
    }
    const auto n = static_cast<std::uint32_t>(symbols.size());
    for (std::uint32_t i = 1; i < n; ++i) symbols[i].previous = i - 1, symbols[i - 1].following = i;

    std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue;
    const auto joined = [&](std::uint32_t left) {  // neighbours stand side by side in the word
        const std::string_view a = symbols[left].text, b = symbols[symbols[left].following].text;
        return std::string_view(a.data(), a.size() + b.size());
    };
    const auto consider = [&](std::uint32_t left) {
        if (left == kEnd || symbols[left].following == kEnd) return;
        const std::string_view text = joined(left);
        if (const auto known = m_byText.find(text); known != m_byText.end())
            queue.push({known->second.rank, left, text.size()});
    };
    for (std::uint32_t i = 0; i + 1 < n; ++i) consider(i);
    while (!queue.empty()) {
        const Candidate top = queue.top();
        queue.pop();
        Symbol& left = symbols[top.position];
        // A pair that a join beside it has changed meanwhile is no longer there.
        if (left.text.empty() || left.following == kEnd || joined(top.position).size() != top.length) continue;
        Symbol& right = symbols[left.following];
        left.text = joined(top.position);
        right.text = {};
        left.following = right.following;
        if (left.following != kEnd) symbols[left.following].previous = top.position;
        consider(left.previous);
        consider(top.position);
    }
    for (std::uint32_t i = 0; i < n; i = symbols[i].following) {
        append(symbols[i].text, ids);
        if (symbols[i].following == kEnd) break;
    }
}

}  // namespace counterpoint::compute
