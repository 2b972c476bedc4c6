#pragma once
// SentencePiece's byte-pair encoding: no list of merges; of all neighbours whose join is a piece the one of the highest
// score is joined, leftmost first, again and again. What is no piece at the end becomes the tokens of its bytes
// (<0x00>…<0xFF>), or the unknown token. n log n for a word of n characters. Thread: const methods from any thread.
// Errors: Error naming the file where a character has neither token, bytes nor unknown.

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compute/text/wordmodel.h"

namespace counterpoint::compute {

class ScoredBpe final : public WordModel {
  public:
    struct Piece {
        std::string text;
        TokenId id = kNoToken;
        float score = 0;
    };
    /// `bytes`: the token of each byte, kNoToken where there is none. Of pieces with one text the first counts.
    ScoredBpe(std::string where, std::vector<Piece> pieces, const std::array<TokenId, 256>& bytes,
              std::optional<TokenId> unknown);
    void encode(std::string_view word, std::vector<TokenId>& ids) const override;

  private:
    struct Ranked {
        TokenId id = kNoToken;
        std::uint32_t rank = 0;  ///< 0: the highest score; equal scores have one rank
    };
    std::string m_where;
    std::vector<Piece> m_pieces;
    std::unordered_map<std::string_view, Ranked> m_byText;
    std::array<TokenId, 256> m_bytes;
    std::optional<TokenId> m_unknown;

    void append(std::string_view symbol, std::vector<TokenId>& ids) const;
};

}  // namespace counterpoint::compute
