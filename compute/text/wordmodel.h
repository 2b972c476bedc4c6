#pragma once
// What turns one word into ids: the "model" of a tokenizer.json. Thread: const methods from any thread. Errors: Error
// naming the file where a character has neither token, bytes nor unknown.

#include <string>
#include <string_view>
#include <vector>

#include "compute/step.h"

namespace counterpoint::compute {

class WordModel {
  public:
    virtual ~WordModel() = default;
    /// Appends the ids of one word (valid UTF-8, not empty).
    virtual void encode(std::string_view word, std::vector<TokenId>& ids) const = 0;
};

/// "<0x0A>": the piece that stands for a byte where a model falls back to bytes.
std::string byteName(unsigned byte);
/// "U+00E9", for a sentence about a character.
std::string codeName(std::uint32_t code);

}  // namespace counterpoint::compute
