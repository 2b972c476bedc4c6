#pragma once
// A folder for one tokenizer.json, opened from its value; ids for eyes; texts with marks between.

#include <memory>

#include "compute/text/tokenizer.h"
#include "tests/support/fixture.h"
#include "tests/support/scratch.h"
#include "tests/support/toyfiles.h"

namespace counterpoint::tests {

/// "3 0 4"
inline QString show(const std::vector<compute::TokenId>& ids) {
    QStringList text;
    for (const compute::TokenId id : ids) text << QString::number(id);
    return text.join(' ');
}

/// The parts of a text between its marks.
inline std::vector<std::string> splitBy(const std::string& text, const std::string& mark) {
    std::vector<std::string> parts;
    std::size_t at = 0;
    for (std::size_t hit; (hit = text.find(mark, at)) != std::string::npos; at = hit + mark.size())
        parts.push_back(text.substr(at, hit - at));
    parts.push_back(text.substr(at));
    return parts;
}

/// Base of a test class; begin() is what init() does.
class TokenizerFolder : protected Scratch {
  protected:
    void begin() {
        failOnAnyWarning();
        renew();
    }
    std::shared_ptr<const compute::Tokenizer> open(const compute::Json& json) const {
        writeJson(folder() / "tokenizer.json", json);
        return compute::openTokenizer(folder());
    }
};

}  // namespace counterpoint::tests
