#pragma once
// Unigram segmentation of one word: the pieces whose scores (log-probabilities) have the largest sum, found from left
// to right (Viterbi). A character without a piece of its own is unknown, at the smallest score of all less 10;
// neighbouring unknown characters are one, and become their bytes' tokens where the model falls back to bytes and has
// them all. O(n · longest piece · log pieces) for a word of n bytes. Thread: const methods from any thread.

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compute/text/wordmodel.h"

namespace counterpoint::compute {

struct UnigramPiece {
    std::string text;
    double score = 0;
};

class Unigram final : public WordModel {
  public:
    struct Options {
        std::optional<TokenId> unknown;
        bool byteFallback = false;
    };
    /// Piece i has id i. Control tokens ([id] true) are pieces that no text becomes.
    Unigram(std::string where, Options options, std::vector<UnigramPiece> pieces, const std::vector<bool>& control);
    void encode(std::string_view word, std::vector<TokenId>& ids) const override;

  private:
    struct Best {
        double score = 0;
        std::size_t begin = 0;
        TokenId id = kNoToken;  ///< kNoToken: no path ends here
    };
    std::string m_where;
    Options m_options;
    std::vector<UnigramPiece> m_pieces;
    std::vector<TokenId> m_sorted;  ///< ids of what a text can become, by text; of equal texts the last
    std::array<TokenId, 256> m_byteTokens;
    double m_unknownScore = 0;

    template <class F>
    void forEachPrefix(std::string_view text, F found) const;
    void unknown(std::string_view text, std::vector<TokenId>& ids) const;
};

}  // namespace counterpoint::compute
