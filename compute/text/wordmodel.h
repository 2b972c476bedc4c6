#pragma once
// What turns one word into ids: the "model" of a tokenizer.json. Thread: const methods from any thread.

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

}  // namespace counterpoint::compute
