#pragma once
// Texts and a prior for the tests of a prior from examples: letters as tokens, sides by a sign.

#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "model/examples.h"
#include "tests/model/scripted.h"

namespace counterpoint::tests {

using model::ExampleText;

constexpr TokenId letter(char c) { return 3 + static_cast<TokenId>(c); }

inline ExampleText exampleText(const std::string& text, bool preferred, double weight = 1) {
    return {.text = text, .from = text, .before = {}, .example = {.ids = {}, .preferred = preferred, .weight = weight}};
}

/// "+text" is preferred, "-text" is not.
inline std::vector<ExampleText> texts(const std::vector<std::string>& signedTexts) {
    model::ExamplesRead read;
    for (const std::string& one : signedTexts) read.texts.push_back(exampleText(one.substr(1), one[0] == '+'));
    tokenise(read, sessionOf({"model"}), ByteTokenizer(300));
    return read.texts;
}

inline std::vector<std::size_t> all(const std::vector<ExampleText>& of) {
    std::vector<std::size_t> places(of.size());
    std::iota(places.begin(), places.end(), 0);
    return places;
}

/// Promotes "a" by log 2 after a "b".
inline compute::Prior afterB() {
    compute::Prior prior;
    prior.name = "a after b";
    prior.policy = compute::Policy::ExactId;
    prior.delta = {{letter('a'), std::log(2.0)}};
    prior.when.kind = compute::ContextKind::Regex;
    prior.when.pattern = "b$";
    return prior;
}

}  // namespace counterpoint::tests
