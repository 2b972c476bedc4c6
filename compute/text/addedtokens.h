#pragma once
// Cuts a text at the added tokens that stand in it literally: leftmost, then longest; lstrip and rstrip take the white
// space beside them. Between the cuts the text is ordinary. Thread: const methods from any thread.

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compute/export.h"
#include "compute/text/tokenizer.h"

namespace counterpoint::compute {

class COUNTERPOINT_API AddedTokenSplitter {
  public:
    struct Part {
        std::string_view text;  ///< ordinary text where id is kNoToken
        TokenId id = kNoToken;
    };
    AddedTokenSplitter() = default;
    /// `contents[i]` is what token i looks like in the text to be cut (its content, normalized where the token asks for
    /// that).
    AddedTokenSplitter(std::vector<AddedToken> tokens, std::vector<std::string> contents);
    /// Empty parts are left out. controlTokens false: special tokens are not looked for.
    std::vector<Part> split(std::string_view text, bool controlTokens) const;

  private:
    std::vector<AddedToken> m_tokens;
    std::vector<std::string> m_contents;
    std::array<std::vector<std::size_t>, 256> m_byFirstByte;  ///< longest first
};

}  // namespace counterpoint::compute
