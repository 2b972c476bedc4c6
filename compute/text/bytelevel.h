#pragma once
// GPT-2's byte alphabet: every byte is written as one visible character, so that any text is a word of characters.
// Printable Latin-1 (! … ~, ¡ … ¬, ® … ÿ) stands for itself, the other 68 bytes in order for U+0100, U+0101, … Internal
// to compute.

#include <string>
#include <string_view>

namespace counterpoint::compute::bytelevel {

/// Bytes to their visible characters.
std::string encode(std::string_view bytes);
/// The reverse; a text with any other character is returned as it is.
std::string decode(std::string_view visible);

}  // namespace counterpoint::compute::bytelevel
