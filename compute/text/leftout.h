#pragma once
// What is said of a stop token that a model's files name and its vocabulary does not have: it can never be drawn, so it
// is left out, but never unsaid; and of such a token that begins a text. Thread: any.

#include <string>

#include "compute/text/tokenizer.h"

namespace counterpoint::compute {

inline std::string stopIdLeftOut(const std::string& file, const std::string& key, const std::string& id,
                                 const Tokenizer& tokenizer) {
    return file + ": " + key + " " + id + " is left out of the stop tokens, since the vocabulary of " +
           std::to_string(tokenizer.size()) + " ids has no token of that id";
}

inline std::string bosLeftOut(const std::string& file, const std::string& key, const std::string& id,
                              const Tokenizer& tokenizer) {
    return file + ": " + key + " " + id + " is not used, since the vocabulary of " + std::to_string(tokenizer.size()) +
           " ids has no token of that id";
}

}  // namespace counterpoint::compute
