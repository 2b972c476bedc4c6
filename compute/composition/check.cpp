#include "compute/composition/check.h"

#include <array>
#include <charconv>
#include <cmath>

#include "compute/composition/rowmath.h"
#include "compute/composition/score.h"
#include "compute/error.h"

namespace counterpoint::compute {
namespace {

template <class Real>
bool allProper(const std::span<const Real>& row) noexcept {
    int improper = 0;
    const Real* x = row.data();
    const std::size_t n = row.size();
#pragma omp simd reduction(+ : improper)
    for (std::size_t v = 0; v < n; ++v) improper += x[v] < std::numeric_limits<Real>::infinity() ? 0 : 1;
    return improper == 0;
}

void require(bool good, std::string where, std::string what) {
    if (!good) throw Error({.where = std::move(where), .what = std::move(what)});
}

void checkDials(const Recipe& r) {
    require(std::isfinite(r.temperature) && r.temperature >= 0, "dial 'temperature'",
            "the temperature must be a number of 0 or more");
    require(r.topP >= 0 && r.topP <= 1, "dial 'top_p'", "top-p must lie between 0 and 1");
    require(r.minP >= 0 && r.minP <= 1, "dial 'min_p'", "min-p must lie between 0 and 1");
    require(r.floor >= 0, "dial 'floor'", "the clamp must be a number of 0 or more");
    require(!r.klBudget || *r.klBudget >= 0, "dial 'kl_budget'", "the budget must be a number of 0 or more");
    require(!r.plausibility || (r.plausibility->value >= 0 && r.plausibility->value <= 1), "dial 'plausibility'",
            "the value must lie between 0 and 1");
}

/// Above it w·δ of float32 log-probabilities may leave float64.
constexpr double kLargestSafeWeight = 1e260;

[[noreturn]] void throwTooHeavy(const SpecialistTerm& term, Position position) {
    std::array<char, 32> weight{};
    const auto end = std::to_chars(weight.data(), weight.data() + weight.size(), term.weight).ptr;
    throw Error({.where = "source '" + term.name + "', position " + std::to_string(position),
                 .what = "with its weight the scores are no finite numbers",
                 .found = "weight " + std::string(weight.data(), end),
                 .advice = "lower the weight"});
}

template <class Real>
void checkSpecialist(const Recipe& recipe, const SpecialistTerm& term, const SourceRows<Real>& rows,
                     std::size_t width) {
    const std::string who = "source '" + term.name + "'";
    const auto given = [&](int source) {
        return source >= 0 && static_cast<std::size_t>(source) < rows.rows.size() &&
               !rows.rows[static_cast<std::size_t>(source)].empty();
    };
    require(std::isfinite(term.weight), who, "its weight is not a number");
    require(recipe.rule == Rule::Product || term.weight >= 0, who,
            "its weight is below 0, which a mixture cannot have; give it a weight of 0 or more");
    require(given(term.source), who + ", position " + std::to_string(rows.position),
            "there is no row of logits for it");
    require(term.reference == kReferenceNone || given(term.reference),
            who + ", position " + std::to_string(rows.position), "there is no row of logits for its reference");
    if (recipe.rule == Rule::Product && std::abs(term.weight) > kLargestSafeWeight)
        for (std::size_t v = 0; v < width; ++v) {
            const score::Say say = score::sayAt(recipe, term, rows, static_cast<TokenId>(v));
            if (!say.excludes && !std::isfinite(say.term)) throwTooHeavy(term, rows.position);
        }
    if (!term.mask.tokens || term.mask.tokens->empty()) return;
    const TokenId first = term.mask.tokens->front(), last = term.mask.tokens->back();
    if (first < 0 || static_cast<std::size_t>(last) >= width)
        throw Error({.where = who + ", \"mask\"",
                     .what = "its mask names a token outside the vocabulary",
                     .expected = "0 to " + std::to_string(width - 1),
                     .found = std::to_string(first < 0 ? first : last)});
}

/// Nothing is said, and no text made, of a prior that is in order.
void checkPrior(const PriorTerm& prior, std::size_t width) {
    const char* what = nullptr;
    if (std::isnan(prior.eta)) what = "its weight is not a number";
    if (std::isinf(prior.eta)) what = "its η times its bank's weight is too large for a number; lower one of them";
    if (prior.tokens.size() != prior.delta.size()) what = "it has not one factor for each token";
    for (std::size_t j = 0; what == nullptr && j < prior.tokens.size(); ++j) {
        if (prior.tokens[j] < 0 || static_cast<std::size_t>(prior.tokens[j]) >= width)
            what = "it names a token outside the vocabulary";
        else if (!std::isfinite(prior.delta[j]))
            what = "a factor is not a finite number";
        else if (!std::isfinite(prior.eta * prior.delta[j]))
            what = "its weight times a factor is not a finite number";
    }
    if (what != nullptr) require(false, "prior '" + std::string(prior.name) + "'", what);
}

}  // namespace

std::string sourceAt(const Recipe& recipe, std::size_t source, Position position) {
    const std::string name = source < recipe.sourceNames.size() ? recipe.sourceNames[source] : std::to_string(source);
    return "source '" + name + "', position " + std::to_string(position);
}

template <class Real>
void check(const Recipe& recipe, std::span<const PriorTerm> priors, const SourceRows<Real>& rows) {
    checkDials(recipe);
    require(!rows.rows.empty() && !rows.rows[0].empty(), sourceAt(recipe, 0, rows.position),
            "the base gives no row of logits");
    const std::size_t width = rows.rows[0].size();
    for (std::size_t i = 0; i < rows.rows.size(); ++i) {
        if (rows.rows[i].empty()) continue;
        if (rows.rows[i].size() != width)
            throw Error({.where = sourceAt(recipe, i, rows.position),
                         .what = "its row has another width than the base's",
                         .expected = std::to_string(width),
                         .found = std::to_string(rows.rows[i].size())});
        const bool known = rows.facts.size() == rows.rows.size() && rows.facts[i].proper;
        if (!known && !allProper(rows.rows[i]))
            throw Error({.where = sourceAt(recipe, i, rows.position),
                         .what = "a logit is not a number or +infinity",
                         .expected = "finite logits, or -infinity for an excluded token",
                         .advice = "the model's arithmetic overflowed: try float32 or bfloat16"});
    }
    for (const SpecialistTerm& term : recipe.specialists)
        if (score::counts(term)) checkSpecialist(recipe, term, rows, width);
    for (const PriorTerm& prior : priors) checkPrior(prior, width);
}

template <class Real>
void throwNothingLeft(const Recipe& recipe, const SourceRows<Real>& rows) {
    const std::span<const Real> base = rows.rows[0];
    const std::size_t best = rowmath::argMax(base.data(), base.size());
    std::string who = sourceAt(recipe, 0, rows.position);
    if (best < base.size())
        for (const SpecialistTerm& term : recipe.specialists)
            if (score::speaksAt(term, rows.position) &&
                score::sayAt(recipe, term, rows, static_cast<TokenId>(best)).excludes)
                who = sourceAt(recipe, static_cast<std::size_t>(term.source), rows.position);
    throw Error({.where = who,
                 .what = "no token is left: every one is excluded by a source or by the plausibility rule",
                 .advice = "switch off a source that excludes, or lower its weight to 0"});
}

template <class Real>
void throwNotFinite(const Recipe& recipe, const SourceRows<Real>& rows) {
    const SpecialistTerm* heaviest = nullptr;
    for (const SpecialistTerm& term : recipe.specialists)
        if (score::speaksAt(term, rows.position) &&
            (heaviest == nullptr || std::abs(term.weight) > std::abs(heaviest->weight)))
            heaviest = &term;
    if (heaviest != nullptr) throwTooHeavy(*heaviest, rows.position);
    throw Error({.where = sourceAt(recipe, 0, rows.position), .what = "its scores are no finite numbers"});
}

#define COUNTERPOINT_INSTANTIATE(Real)                                                             \
    template void check<Real>(const Recipe&, std::span<const PriorTerm>, const SourceRows<Real>&); \
    template void throwNothingLeft<Real>(const Recipe&, const SourceRows<Real>&);                  \
    template void throwNotFinite<Real>(const Recipe&, const SourceRows<Real>&);
COUNTERPOINT_INSTANTIATE(float)
COUNTERPOINT_INSTANTIATE(double)
#undef COUNTERPOINT_INSTANTIATE

}  // namespace counterpoint::compute
