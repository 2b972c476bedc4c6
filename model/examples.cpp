#include "model/examples.h"

#include <algorithm>
#include <array>
#include <map>

#include "compute/error.h"
#include "model/bankids.h"
#include "model/loadedrack.h"

namespace counterpoint::model {

using compute::Candidate;
using compute::Error;
using compute::Example;
using compute::TokenId;

namespace {

std::vector<Example> examplesOf(std::span<const ExampleText> texts, std::span<const std::size_t> which) {
    std::vector<Example> examples;
    examples.reserve(which.size());
    for (const std::size_t i : which) examples.push_back(texts[i].example);
    return examples;
}

}  // namespace

ExampleText exampleOf(const Trace& trace, bool preferred) {
    const auto prompt =
        trace.tokens.begin() + std::min(trace.promptLength, static_cast<compute::Position>(trace.tokens.size()));
    ExampleText text{.text = {},
                     .from = "trace " + trace.name,
                     .before = {trace.tokens.begin(), prompt},
                     .example = {.ids = {prompt, trace.tokens.end()}, .preferred = preferred}};
    if (text.example.ids.size() > kMostIds) text.example.ids.resize(kMostIds);
    return text;
}

void tokenise(ExamplesRead& read, const Session& session, const compute::Tokenizer& tokenizer,
              const std::stop_token& stop, const std::function<void()>& meanwhile) {
    Session any = session;  // what stands before a text is the same before every text
    any.promptIds.reset();
    any.prompt.assign(1, 'a');
    std::vector<TokenId> before = promptTokens(any, &tokenizer, tokenizer.size());
    before.resize(before.size() - tokenizer.encode(any.prompt).size());
    for (ExampleText& text : read.texts) {
        if (stop.stop_requested()) return;
        if (meanwhile) meanwhile();
        if (text.text.empty()) continue;
        text.before = before;
        text.example.ids = tokenizer.encode(text.text);
        if (text.example.ids.size() <= kMostIds) continue;
        text.example.ids.resize(kMostIds);
        read.problems.push_back(text.from + ": only its first " + std::to_string(kMostIds) + " tokens are used.");
    }
    const auto none = std::erase_if(read.texts, [](const ExampleText& text) { return text.example.ids.empty(); });
    if (none > 0)
        read.problems.push_back(std::to_string(none) + (none == 1 ? " text has" : " texts have") + " no token.");
}

ExampleSplit splitExamples(std::span<const ExampleText> texts, std::size_t every, std::uint64_t seed) {
    every = std::max<std::size_t>(every, 2);
    std::map<std::vector<TokenId>, bool> held;  // whether a text is held out; the same text always is or is not
    std::array<std::vector<const std::vector<TokenId>*>, 2> different;
    for (const ExampleText& text : texts)
        if (const auto [at, isNew] = held.emplace(text.example.ids, false); isNew)
            different[text.example.preferred].push_back(&at->first);
    for (const auto& side : different) {
        const std::size_t step = std::min(every, std::max<std::size_t>(side.size(), 2)), first = seed % step;
        for (std::size_t i = first; i < side.size(); i += step) held.at(*side[i]) = true;
    }
    ExampleSplit split;
    std::array<std::array<bool, 2>, 2> there{};  // [held out][side]
    for (std::size_t i = 0; i < texts.size(); ++i) {
        const bool out = held.at(texts[i].example.ids);
        (out ? split.heldOut : split.training).push_back(i);
        there[out][texts[i].example.preferred] = true;
    }
    for (const bool preferred : {true, false}) {
        if (there[0][preferred] && there[1][preferred]) continue;
        const std::size_t n = different[preferred].size();
        split.problem = std::string("Quality cannot be estimated: of the texts that are ") +
                        (preferred ? "preferred" : "not preferred") + (n == 1 ? " there is " : " there are ") +
                        std::to_string(n) +
                        ", and on each side one must be held out and another left that the other side has not.";
        split.training.clear();
        split.heldOut.clear();
        for (std::size_t i = 0; i < texts.size(); ++i) split.training.push_back(i);
        break;
    }
    return split;
}

std::vector<Candidate> proposeFrom(std::span<const ExampleText> texts, std::span<const std::size_t> training) {
    return compute::candidates(examplesOf(texts, training));
}

double confidenceFrom(std::span<const Candidate> chosen, std::span<const ExampleText> texts,
                      std::span<const std::size_t> training) {
    return compute::confidenceOf(chosen, examplesOf(texts, training));
}

compute::Prior buildPrior(std::span<const Candidate> chosen, std::span<const ExampleText> texts,
                          std::span<const std::size_t> training, const ExamplePrior& options) {
    const auto refuse = [](std::string what, std::string advice) {
        throw Error({.where = "a prior from examples",
                     .what = std::move(what),
                     .expected = {},
                     .found = {},
                     .advice = std::move(advice)});
    };
    if (options.name.empty()) refuse("it has no name", "give it one");
    compute::Prior prior;
    prior.name = options.name;
    prior.kind = options.kind;
    prior.task = options.task;
    prior.policy = compute::Policy::ExactId;
    prior.deltaPlus = options.deltaPlus;
    prior.deltaMinus = options.deltaMinus;
    prior.when = options.when;
    prior.source = options.source;
    for (const Candidate& candidate : chosen) {
        if (candidate.logOdds == 0) continue;  // it tells the sides apart in no way
        if (options.explicitDelta)
            prior.delta.emplace_back(candidate.token, candidate.logOdds);
        else
            (candidate.logOdds > 0 ? prior.promote : prior.demote).push_back({.text = {}, .id = candidate.token});
    }
    if (prior.delta.empty() && prior.promote.empty() && prior.demote.empty())
        refuse("no token is chosen that tells the two sets apart", "tick some of the candidates");
    prior.confidence = confidenceFrom(chosen, texts, training);
    return prior;
}

Session withExamplePrior(Session session, std::size_t bank, compute::Prior prior, const compute::Tokenizer& tokenizer) {
    session = withIdsOf(std::move(session), bank, &tokenizer);
    const std::size_t end = session.priors[bank].content->priors.size();
    return withNewPrior(std::move(session), bank, end, std::move(prior));
}

}  // namespace counterpoint::model
