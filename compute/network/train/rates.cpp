// Measures the demo's skills with the product's own decode: quotation marks and animal words per 100 words of sampled
// stories (mean ± standard error over stories), for the base, each specialist alone and their product (R1, weights 1
// and 1), with the R5 figures that say how far the specialists' activities overlap.
//   kept share of a skill = (composed − base)/(specialist − base), its error by the delta method
// Stories start from BOS alone; sample n draws with stream n. A specialist alone is R1 with the other one switched off.

#include <algorithm>
#include <array>
#include <cmath>
#include <iostream>

#include "compute/composition/compose.h"
#include "compute/decode/ensemble.h"
#include "compute/error.h"
#include "compute/files/atomicfile.h"
#include "compute/files/json.h"
#include "compute/network/train/arguments.h"
#include "compute/network/train/skills.h"
#include "compute/text/utf8stream.h"

using namespace counterpoint::compute;
using namespace counterpoint::network::train;

namespace {

struct Mean {
    double sum = 0, squares = 0, count = 0;
    void add(double x) { sum += x, squares += x * x, count += 1; }
    double mean() const { return sum / count; }
    double error() const { return std::sqrt(std::max(0.0, squares / count - mean() * mean()) / (count - 1)); }
    OrderedJson json() const { return {{"mean", mean()}, {"se", error()}}; }
};

struct Measured {
    Mean marks, animals, words, ended;
    Mean drift, interference, bothActive, oneActive;
    std::array<Mean, 2> activity;
    std::vector<std::string> texts;
};

Measured sample(Ensemble& ensemble, Recipe recipe, int samples, int tokens, const Tokenizer& tokenizer) {
    Measured m;
    Stages<float> stages;
    std::vector<RawRows> rows;
    for (int n = 0; n < samples; ++n) {
        recipe.stream = static_cast<std::uint32_t>(n);
        std::vector<TokenId> ids{tokenizer.bos().value()};
        bool ended = false;
        while (!ended && static_cast<int>(ids.size()) <= tokens) {
            rows.clear();
            ensemble.forward(ids, static_cast<Position>(ids.size()), rows, {});
            SourceRows<float> sources{.rows = {}, .position = rows.front().position};
            for (const auto& row : rows.front().rows) sources.rows.emplace_back(row);
            const Step step = makeStep(recipe, {}, sources, stages);
            ended = std::ranges::binary_search(recipe.stopIds, step.drawn);
            if (!ended) ids.push_back(step.drawn);
            const auto& d = step.diagnostics;
            const auto active = std::ranges::count_if(d.activity, [&](double a) { return a > recipe.activeEpsilon; });
            m.drift.add(d.drift);
            m.interference.add(d.interference);
            m.oneActive.add(active == 1 ? 1 : 0);
            m.bothActive.add(active > 1 ? 1 : 0);
            for (std::size_t i = 0; i < 2; ++i) m.activity[i].add(d.activity[i + 1]);
        }
        m.texts.push_back(tokenizer.decode(ids));
        const SkillRate rate = skillRate(m.texts.back());
        m.marks.add(rate.quotationMarks);
        m.animals.add(rate.animalWords);
        m.words.add(rate.words);
        m.ended.add(ended ? 1 : 0);
    }
    return m;
}

OrderedJson keptShare(const Mean& base, const Mean& specialist, const Mean& composed) {
    const double excess = specialist.mean() - base.mean(), share = (composed.mean() - base.mean()) / excess;
    const double variance = std::pow(composed.error(), 2) + std::pow(share * specialist.error(), 2) +
                            std::pow((1 - share) * base.error(), 2);
    return {{"share", share}, {"se", std::sqrt(variance) / std::abs(excess)}};
}

OrderedJson json(const Measured& m, bool composed) {
    OrderedJson out = {{"quotation_marks", m.marks.json()},
                       {"animal_words", m.animals.json()},
                       {"words", m.words.json()},
                       {"ended_share", m.ended.mean()},
                       {"drift", m.drift.mean()}};
    if (composed) {
        out["activity_dialogue"] = m.activity[0].mean();
        out["activity_animals"] = m.activity[1].mean();
        out["interference"] = m.interference.mean();
        out["steps_one_active"] = m.oneActive.mean();
        out["steps_both_active"] = m.bothActive.mean();
    }
    return out;
}

void run(const Arguments& a) {
    OpenOptions options;
    options.threads = a.number("threads", 1);
    std::vector<EnsembleMember> members;
    for (const char* name : {"base", "dialogue", "animals"})
        members.push_back({.name = name, .source = openSource(a.text(name), options, {}), .prefix = {}});
    Ensemble ensemble(std::move(members));
    const auto tokenizer = ensemble.member(0).source->tokenizer();
    Recipe recipe;
    recipe.sourceNames = {"base", "dialogue", "animals"};
    recipe.stopIds = ensemble.stopIds();
    recipe.temperature = a.number("temperature", 0.8);
    recipe.seed = a.number<std::uint64_t>("seed", 7);
    const int samples = a.number("samples", 200), tokens = a.number("tokens", 200);

    std::array<Measured, 4> measured;
    const std::array<const char*, 4> names = {"base", "dialogue", "animals", "composed"};
    OrderedJson out = {
        {"samples", samples}, {"max_tokens", tokens}, {"temperature", recipe.temperature}, {"seed", recipe.seed}};
    for (std::size_t k = 0; k < names.size(); ++k) {
        recipe.specialists = {{.name = "dialogue", .source = 1, .enabled = k == 1 || k == 3, .mask = {}},
                              {.name = "animals", .source = 2, .enabled = k >= 2, .mask = {}}};
        for (std::size_t i = 0; i < 2; ++i) ensemble.setMember(i + 1, 1.0, {}, recipe.specialists[i].enabled);
        measured[k] = sample(ensemble, recipe, samples, tokens, *tokenizer);
        out[names[k]] = json(measured[k], k == 3);
        std::cerr << names[k] << " " << out[names[k]].dump() << std::endl;
    }
    out["kept"] = {{"quotation_marks", keptShare(measured[0].marks, measured[1].marks, measured[3].marks)},
                   {"animal_words", keptShare(measured[0].animals, measured[2].animals, measured[3].animals)}};
    std::cout << out["kept"].dump() << std::endl;
    writeFile(a.text("out"), out.dump(1) + "\n");
    if (const std::string texts = a.text("texts", ""); !texts.empty()) {
        std::string all;
        for (std::size_t k = 0; k < names.size(); ++k)
            for (const auto& text : measured[k].texts)
                all += OrderedJson{{"source", names[k]}, {"text", toValidUtf8(text)}}.dump() + "\n";
        writeFile(texts, all);
    }
}

}  // namespace

int main(int argc, char** argv) {
    try {
        run(Arguments(argc, argv, 1, "base dialogue animals samples tokens temperature seed threads out texts"));
        return 0;
    } catch (const UsageError& e) {
        std::cerr << "counterpoint_rates: " << e.what()
                  << "; usage: --base DIR --dialogue DIR --animals DIR --out FILE [--samples 200] [--tokens 200] "
                     "[--temperature 0.8]"
                     " [--seed 7] [--threads 1] [--texts FILE]"
                  << std::endl;
        return 2;
    } catch (const std::exception& e) {
        std::cerr << "counterpoint_rates: " << e.what() << std::endl;
        return 1;
    }
}
