#pragma once
// Classes of characters as the `tokenizers` package has them, over ICU's tables, and trimming by White_Space. Internal
// to compute. Thread: any.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace counterpoint::compute::unicode {

bool isSpace(std::uint32_t code);        ///< White_Space
bool isNumber(std::uint32_t code);       ///< Nd, Nl, No
bool isMark(std::uint32_t code);         ///< Mn, Mc, Me of Unicode 9
bool isPunctuation(std::uint32_t code);  ///< ASCII's, and P* of Unicode 8
bool isWord(std::uint32_t code);         ///< Alphabetic, M*, Nd, Pc, Join_Control: \w of UTS 18

/// The place where the white space that ends text[from, at) begins.
std::size_t trimmedLeft(std::string_view text, std::size_t from, std::size_t at);
/// The place where the white space that begins at `at` ends.
std::size_t trimmedRight(std::string_view text, std::size_t at);
/// The last character before `at`, which is not the beginning of the text.
std::uint32_t codeBefore(std::string_view text, std::size_t at);

}  // namespace counterpoint::compute::unicode
