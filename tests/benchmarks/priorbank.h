#pragma once
// The bank that priors are timed with: 10,000 priors of 100 tokens over 50 contexts, of which one, with 50 priors,
// matches.

#include <memory>
#include <random>
#include <string>

#include "compute/priors/priorset.h"

namespace counterpoint::benchmarks {

constexpr int kPriors = 10'000, kSupport = 100, kContexts = 50, kMatching = 50;

inline std::shared_ptr<const compute::Bank> largeBank(std::int64_t vocabulary) {
    std::mt19937 gen(11);
    std::uniform_int_distribution<compute::TokenId> token(0, static_cast<compute::TokenId>(vocabulary) - 1);
    std::uniform_real_distribution<> delta(-1.5, 1.5);
    compute::Bank bank;
    bank.name = "large";
    for (int m = 0; m < kPriors; ++m) {
        compute::Prior prior;
        prior.name = "prior " + std::to_string(m);
        prior.quality = 0.55 + 0.4 * (m % 97) / 97.0;
        for (int j = 0; j < kSupport; ++j) prior.delta.emplace_back(token(gen), delta(gen));
        // The text is words of letters and blanks: a digit is never in it.
        const int context = m < kMatching ? 0 : 1 + m % (kContexts - 1);
        prior.when.kind = compute::ContextKind::Regex;
        prior.when.pattern =
            context == 0 ? "[a-z]+ [a-z]*$" : "\\b(word|other)" + std::to_string(context) + "\\s+[a-z]+$";
        bank.priors.push_back(std::make_shared<const compute::Prior>(std::move(prior)));
    }
    return std::make_shared<const compute::Bank>(std::move(bank));
}

/// 500 characters of words.
inline compute::ContextText wordsToMatch() {
    compute::ContextText text;
    for (int i = 0; i < 100; ++i) text.push(i, i % 3 == 0 ? " other" : " word");
    return text;
}

}  // namespace counterpoint::benchmarks
