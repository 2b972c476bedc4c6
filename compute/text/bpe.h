#pragma once
// Byte-pair encoding of one word: its characters (or their bytes), then again and again the pair of lowest merge rank,
// leftmost first. A priority queue over a linked list: n log n for a word of n characters. Thread: const methods from
// any thread. Errors (in add…): a merge whose parts or whole are not in the vocabulary. A character with neither token,
// bytes nor unknown is left out, as the `tokenizers` package does (SmolLM2 lacks 21 of the 256 bytes).

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compute/text/wordmodel.h"

namespace counterpoint::compute {

struct BpeOptions {
    bool byteFallback = false;  ///< a character without a token becomes the tokens <0x00>…<0xFF> of its bytes
    bool ignoreMerges = false;  ///< a word that is a token is that token, whatever the merges make of it
    bool fuseUnknown = false;   ///< neighbouring unknown characters become one unknown token
    std::optional<TokenId> unknown;
};

class Bpe final : public WordModel {
  public:
    Bpe(std::string where, BpeOptions options);
    void reserve(std::size_t pieces, std::size_t merges);
    void addPiece(const std::string& piece, TokenId id);
    /// Merges in order of rank.
    void addMerge(std::string_view left, std::string_view right);
    /// After all merges: control tokens ([id] true) are no longer pieces that a text can become.
    void block(const std::vector<bool>& control);
    std::optional<TokenId> find(std::string_view piece) const;
    void encode(std::string_view word, std::vector<TokenId>& ids) const override;

  private:
    struct Hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
    };
    struct Merge {
        std::uint32_t rank = 0;
        TokenId whole = kNoToken;
    };
    std::string m_where;
    BpeOptions m_options;
    std::unordered_map<std::string, TokenId, Hash, std::equal_to<>> m_pieces;
    std::unordered_map<std::uint64_t, Merge> m_merges;
    std::uint32_t m_nextRank = 0;
    std::array<TokenId, 256> m_byteTokens;

    struct Cache {
        std::mutex mutex;
        std::unordered_map<std::string, std::vector<TokenId>, Hash, std::equal_to<>> words;
    };
    std::unique_ptr<Cache> m_cache = std::make_unique<Cache>();

    std::vector<TokenId> characters(std::string_view word) const;
    void mergeAll(std::vector<TokenId>& symbols) const;
};

}  // namespace counterpoint::compute
