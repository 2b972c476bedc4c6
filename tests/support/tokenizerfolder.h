#pragma once
// A folder for one tokenizer.json, opened from its value, and ids for eyes.

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
