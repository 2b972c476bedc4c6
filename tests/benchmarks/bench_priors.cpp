// Priors at work: what a bank of 10,000 adds to a step's composition, and how soon the visible position answers a moved
// η.
//   bench_priors [ROUNDS]     prints JSON; medians over rounds; with and without the bank in turns
// What it adds to a whole step of a model of GPT-2 small's shape is measured by bench_gpt2.
#include <cstdlib>
#include <iostream>
#include <thread>

#include "compute/composition/compose.h"
#include "model/engine.h"
#include "tests/benchmarks/measuring.h"
#include "tests/benchmarks/priorbank.h"
#include "tests/model/scripted.h"
#include "tests/support/rows.h"

using namespace counterpoint;
using namespace counterpoint::benchmarks;
using compute::OrderedJson;

namespace {

constexpr std::int64_t kVocabulary = 50'257, kPositions = 256;

OrderedJson aStep(int rounds) {
    std::mt19937 gen(3);
    std::normal_distribution<> normal;
    std::vector<double> logits(kVocabulary);
    for (double& x : logits) x = 2 * normal(gen);
    const tests::Storage<float> in({tests::logSoftmaxRow(logits)});
    compute::Recipe recipe;
    recipe.temperature = 0.7;
    recipe.sourceNames = {"base"};
    const auto set = compute::PriorSet::build(std::vector<compute::BankUse>{{largeBank(kVocabulary)}},
                                              {nullptr, kVocabulary, false}, {});
    const compute::ContextText text = wordsToMatch();
    compute::Stages<float> stages;
    std::vector<std::size_t> members;
    std::vector<compute::PriorTerm> terms;
    std::vector<double> bare, with, looking;
    for (int i = 0; i < rounds; ++i) {
        bare.push_back(timeOf([&] { (void)compute::makeStep(recipe, {}, in.source, stages); }));
        looking.push_back(timeOf([&] { set->matching(text, text.length(), members); }));
        with.push_back(timeOf([&] {
            set->matching(text, text.length(), members);
            set->terms(members, terms);
            (void)compute::makeStep(recipe, terms, in.source, stages);
        }));
    }
    return {{"priors", kPriors},
            {"support", kSupport},
            {"contexts", kContexts},
            {"matching", members.size()},
            {"touched", stages.touched.size()},
            {"us_without", 1e6 * median(bare)},
            {"us_with", 1e6 * median(with)},
            {"us_contexts", 1e6 * median(looking)},
            {"us_added", 1e6 * (median(with) - median(bare))}};
}

/// From asking for a what-if to the visible position's step, through the analysis lane.
OrderedJson aMove(int rounds) {
    tests::Script script;
    script.vocabulary = kVocabulary;
    script.logits = [](std::span<const compute::TokenId> read, std::span<float> out) {
        std::uint32_t state = 1 + static_cast<std::uint32_t>(read.size()) * 7919;
        for (float& x : out) x = 4.0f * static_cast<float>((state = state * 1664525 + 1013904223) >> 8) / 16777216.0f;
    };
    model::Engine engine(tests::opener({{"model", script}}));
    model::Session session = tests::sessionOf({"model"});
    session.priors.push_back({.bank = "large.bank.json", .content = largeBank(kVocabulary)});
    session.decoding.maxNewTokens = kPositions;
    session.decoding.stopIds = std::vector<compute::TokenId>{};
    model::DecodeRequest request;
    request.session = session;
    engine.decode(request);
    model::RecomposeRequest what;
    for (bool over = false; !over;) {
        engine.waitForEvents();
        for (const model::Event& event : engine.drain()) {
            if (const auto* e = std::get_if<model::TraceStarted>(&event)) {
                what.store = e->store;
                what.tokens = e->tokens;
                what.tokenBytes = e->tokenBytes;
                what.promptLength = e->promptLength;
                what.sources = e->sources;
                what.tokenizer = e->tokenizer;
            } else if (const auto* step = std::get_if<model::StepDone>(&event);
                       step != nullptr && !step->step->prompt) {
                what.tokens.push_back(step->step->token);
                // Words, so that the context that should match does.
                what.tokenBytes.push_back(what.tokens.size() % 3 == 0 ? " other" : " word");
            } else if (std::holds_alternative<model::TraceEnded>(event)) {
                over = true;
            } else if (const auto* failure = std::get_if<model::Failure>(&event)) {
                throw std::runtime_error(failure->sentence);
            }
        }
    }
    what.session = session;
    what.visible = kPositions / 2;
    std::vector<double> visible, whole;
    std::size_t matching = 0;
    for (int i = 0; i < rounds; ++i) {
        what.generation = static_cast<std::uint64_t>(i) + 1;
        what.session.priors[0].overrides = {{"prior 7", {{"eta", 0.01 * i}}}};
        const double start = seconds();
        engine.recompose(what);
        double first = 0;
        for (bool last = false; !last;) {
            engine.waitForEvents();
            for (const model::Event& event : engine.drain())
                if (const auto* e = std::get_if<model::Recomposed>(&event)) {
                    if (first == 0) {
                        first = seconds() - start;
                        matching = e->steps.at(0)->matchedPriors.size();
                    }
                    last = e->last;
                }
        }
        if (i == 0) continue;  // the bank is resolved once
        visible.push_back(first);
        whole.push_back(seconds() - start);
    }
    return {{"positions", kPositions},
            {"matching", matching},
            {"visible_ms", 1e3 * median(visible)},
            {"whole_trace_ms", 1e3 * median(whole)}};
}

}  // namespace

int main(int argc, char** argv) {
    const int rounds = argc > 1 ? std::clamp(std::atoi(argv[1]), 2, 100'000) : 31;
    try {
        OrderedJson json{{"vocabulary", kVocabulary}, {"step", aStep(10 * rounds)}, {"moved_eta", aMove(rounds)}};
        json["conditions"] = {{"cores", std::thread::hardware_concurrency()}, {"rounds", rounds}, {"load", load()}};
        std::cout << json.dump(2) << '\n';
    } catch (const std::exception& e) {
        std::cerr << e.what() << '\n';
        return 1;
    }
    return 0;
}
