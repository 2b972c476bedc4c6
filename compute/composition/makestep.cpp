#include <cmath>

#include "compute/composition/fusedrow.h"
#include "compute/composition/stage.h"

namespace counterpoint::compute {
namespace {

constexpr int kTop = 20;

TopToken describe(const SourceRows<float>& rows, const Stages<float>& stages, TokenId token) {
    const auto v = static_cast<std::size_t>(token);
    TopToken out;
    out.token = token;
    out.kept = stages.kept[v] != 0;
    out.source.reserve(rows.rows.size());
    for (const auto& row : rows.rows) out.source.push_back(row.empty() ? kExcluded : row[v]);
    out.composed = stages.composed[v];
    out.priors = stages.priors.empty() ? priorsLogProb(stages, token) : stages.priors[v];
    out.temperature = stages.temperature[v];
    return out;
}

}  // namespace

void setToken(Step& step, const SourceRows<float>& rows, const Stages<float>& stages, TokenId token) {
    step.token = token;
    if (token == kNoToken) {
        step.logProbs.assign(rows.rows.size(), kExcluded);
        step.composedLogProb = step.logProb = kExcluded;
        return;
    }
    TopToken described = describe(rows, stages, token);
    step.logProbs = std::move(described.source);
    step.composedLogProb = described.composed;
    step.logProb = described.temperature;
}

Step makeStep(const Recipe& recipe, std::span<const PriorTerm> priors, const SourceRows<float>& rows,
              Stages<float>& stages) {
    return makeStep(recipe, priors, rows, stages, 1);
}

Step makeStep(const Recipe& recipe, std::span<const PriorTerm> priors, const SourceRows<float>& rows,
              Stages<float>& stages, int threads) {
    thread_local FusedRow fused;
    const bool inOnePass = fuse(recipe, priors, rows, stages, fused, threads);
    if (!inOnePass) composePlainly(recipe, priors, rows, stages);
    Step step;
    step.position = rows.position;
    step.greedy = stages.greedy;
    step.diagnostics = inOnePass ? diagnose(recipe, rows, stages, fused) : diagnose(recipe, priors, rows, stages);
    step.keptCount = stages.keptCount;
    step.revision = recipe.revision;
    step.drawn = draw(recipe, stages, rows.position);
    setToken(step, rows, stages, step.drawn);

    thread_local std::vector<TokenId> top;  // warm after the first step
    if (inOnePass)
        topTokens(stages.temperature, fused.blockTop, kTop, top);
    else
        topTokens(std::span<const float>(stages.temperature), kTop, top);
    double listed = 0;
    step.top.reserve(top.size());
    for (const TokenId token : top) {
        step.top.push_back(describe(rows, stages, token));
        listed += std::exp(static_cast<double>(step.top.back().temperature));
    }
    step.tailProb = listed < 1 ? 1 - listed : 0;
    for (const PriorTerm& prior : priors) step.matchedPriors.push_back({prior.bank, std::string(prior.name)});
    return step;
}

}  // namespace counterpoint::compute
