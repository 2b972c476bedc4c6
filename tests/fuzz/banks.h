#pragma once
// What a bank must keep, whatever file it came from: shared by the targets of both formats.

#include <cmath>

#include "compute/priors/bank.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/toyfiles.h"

/// Nothing here outlives the program: a disk that is waited for at every write would be all that is measured.
extern "C" __attribute__((visibility("default"))) int fsync(int) { return 0; }

namespace counterpoint::fuzz {

inline void checkFactor(const compute::Prior& prior, const compute::IdSpace& ids) {
    const compute::Factor factor = compute::resolve(prior, ids);
    require(factor.tokens.size() == factor.delta.size(), "a support has its deltas");
    for (std::size_t i = 0; i < factor.tokens.size(); ++i) {
        const compute::TokenId id = factor.tokens[i];
        require(id >= 0 && (ids.size < 0 || id < ids.size), "ids are inside the vocabulary", prior.name);
        require(ids.tokenizer == nullptr || ids.tokenizer->isToken(id), "ids are tokens", prior.name);
        require(i == 0 || factor.tokens[i - 1] < id, "a support is sorted and unique", prior.name);
        require(std::abs(factor.delta[i]) > 0 && std::abs(factor.delta[i]) <= compute::kMostDelta,
                "a support has no 0 and nothing that is not finite", prior.name);
    }
    std::size_t acting = 0;
    for (const compute::Became& became : factor.entries) {
        if (!became.problem.empty()) requireSentence(became.problem);
        require(became.problem.empty() == (became.delta != 0), "an entry acts or says why not", became.entry);
        acting += became.problem.empty() ? 1 : 0;
    }
    require(acting == factor.tokens.size(), "each token of a support is of one entry", prior.name);
    for (const std::string& problem : factor.problems) requireSentence(problem);
    require(!prior.unusable || factor.entries.empty(), "an unusable prior does not act", prior.name);
}

inline void checkPrior(const compute::Prior& prior, const compute::Tokenizer& tokenizer) {
    for (const std::string& problem : prior.problems) requireSentence(problem);
    require(!prior.unusable || !prior.problems.empty(), "an unusable prior says why", prior.name);
    require(
        prior.unusable || (prior.quality >= 0 && prior.quality <= 1 && prior.confidence >= 0 && prior.confidence <= 1),
        "q and c are in bounds", prior.name);
    const compute::Eta eta = compute::etaOf(prior);
    require(std::isfinite(eta.eta) && (eta.overridden || (eta.eta >= 0 && eta.eta <= compute::kEtaCap)),
            "η is a number within its bounds", prior.name);
    const std::string context = compute::describe(prior.when);
    require(compute::utf8::isValid(context) && context.find('\n') == std::string::npos, "a context is one line",
            context);
    checkFactor(prior, {nullptr, -1, false});
    checkFactor(prior, {nullptr, 50, false});
    checkFactor(prior, {&tokenizer, tokenizer.size(), false});
    checkFactor(prior, {&tokenizer, tokenizer.size(), true});
}

/// Written in a format and read again, it is the same.
inline void checkAgain(const compute::Bank& bank, const std::filesystem::path& file, const compute::IdSpace& ids) {
    compute::writeBank(bank, file, ids);
    std::vector<std::string> warnings;
    const compute::Bank again = compute::readBank(file, warnings);
    for (const std::string& warning : warnings) requireSentence(warning);
    require(again == bank, "a bank comes back", compute::toJson(bank).dump() + "\n" + compute::toJson(again).dump());
    require(compute::toJson(again).dump() == compute::toJson(bank).dump(), "it is written the same");
}

inline void checkBytes(const compute::Bank& bank, const std::filesystem::path& file, const compute::IdSpace& ids) {
    const compute::BankBytes bytes = compute::bytesOf(bank, ids, true);
    require(bytes.file == std::filesystem::file_size(file), "a file is as long as it was said to be");
    std::uint64_t sum = 0;
    for (const std::uint64_t share : bytes.prior) sum += share;
    require(bytes.prior.size() == bank.priors.size() && sum <= bytes.file, "the shares are of the file");
    compute::bytesOf(bank, ids, false);
}

inline void checkBank(const std::filesystem::path& file) {
    static const auto tokenizer = [] {
        const std::filesystem::path json = folder().path() / "tokenizer.json";
        tests::writeJson(json, tests::tokenizerOf(tests::toyPieces(262)));
        return compute::openTokenizerJson(json);
    }();
    accepts([&] {
        std::vector<std::string> warnings;
        const compute::Bank bank = compute::readBank(file, warnings);
        for (const std::string& warning : warnings) requireSentence(warning);
        for (const compute::PriorPtr& prior : bank.priors) checkPrior(*prior, *tokenizer);
        const compute::IdSpace ids{tokenizer.get(), tokenizer->size(), false};
        const std::filesystem::path tensors = folder().path() / "again.bank.safetensors";
        checkAgain(bank, folder().path() / "again.bank.json", {});
        checkAgain(bank, tensors, ids);
        checkBytes(bank, tensors, ids);
        compute::Bank bits = bank;
        bits.level = 1;
        bits.unknown.erase("level");
        for (compute::PriorPtr& prior : bits.priors) prior = compute::oneBitOf(prior, compute::resolve(*prior, ids));
        checkAgain(bits, tensors, ids);
        checkBytes(bits, tensors, ids);
    });
}

}  // namespace counterpoint::fuzz
