#pragma once
// SentencePiece's character map, which Unigram tokenizers carry as their normalizer "Precompiled": base64 of a
// double-array trie (its size in bytes as uint32, then uint32 units, little-endian) and of the texts it points to, each
// ended by a zero byte. Applied as the `tokenizers` package does: a grapheme of fewer than 6 bytes as a whole where the
// trie knows its beginning, else character by character. Internal to compute. Thread: const methods from any thread.
// Errors: Error naming the file.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace counterpoint::compute {

class Precompiled {
  public:
    Precompiled(std::string_view base64, const std::string& where);
    std::string apply(const std::string& validUtf8) const;

  private:
    std::vector<std::uint32_t> m_units;
    std::string m_texts;
    std::string m_where;

    /// What the shortest key that begins `chunk` becomes.
    std::optional<std::string_view> find(std::string_view chunk) const;
};

}  // namespace counterpoint::compute
