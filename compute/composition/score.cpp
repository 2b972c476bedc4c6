#include "compute/composition/score.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "compute/composition/budget.h"
#include "compute/composition/divergence.h"
#include "compute/composition/rowmath.h"

namespace counterpoint::compute::score {
namespace {

template <class Real>
const Real* rowOf(const SourceRows<Real>& rows, int source) noexcept {
    return rows.rows[static_cast<std::size_t>(source)].data();
}

/// What the clauses write to: D(v), −∞ = excluded.
template <class Real>
struct Work {
    const Recipe& recipe;
    const SourceRows<Real>& rows;
    std::size_t size;
    double* say;
    std::int64_t noSay = 0;
};

template <class Real>
void clauseSources(Work<Real>& w) {
    for (const SpecialistTerm& term : w.recipe.specialists) w.noSay += addSpecialist(w.recipe, term, w.rows, w.say);
}

template <class Real>
void clauseCommonShift(Work<Real>& w) {
    if (!w.recipe.commonShift) return;
    constexpr std::size_t kBlock = 512;
    std::array<double, kBlock> shift;
    for (std::size_t from = 0; from < w.size; from += kBlock) {
        const std::size_t count = std::min(kBlock, w.size - from);
        shiftOf(w.recipe, w.rows, from, count, shift.data());
        for (std::size_t j = 0; j < count; ++j) w.say[from + j] += shift[j];
    }
}

template <class Real>
void clauseEndOfText(Work<Real>& w) {
    if (w.recipe.eosPolicy == EosPolicy::Sum || w.recipe.stopIds.empty()) return;
    const SpecialistTerm* active = w.recipe.eosPolicy == EosPolicy::Active ? mostActive(w.recipe, w.rows) : nullptr;
    for (const TokenId id : w.recipe.stopIds) {
        const auto v = static_cast<std::size_t>(id);
        if (v < w.size && w.say[v] != kOut) w.say[v] = endOfTextAt(w.recipe, w.rows, active, id);
    }
}

template <class Real>
void clausePlausibility(Work<Real>& w) {
    if (!w.recipe.plausibility) return;
    const Bound bound = plausibleBound(w.recipe, w.rows);
    const Real* base = rowOf(w.rows, 0);
    for (std::size_t v = 0; v < w.size; ++v)
        if (!bound.keeps(static_cast<double>(base[v]), static_cast<TokenId>(v))) w.say[v] = kOut;
}

template <class Real>
struct Clause {
    const char* key;     ///< of SPEC.md's R1
    bool ofSpecialists;  ///< falls away at λ = 0
    void (*apply)(Work<Real>&);
};

/// R1 in order. kl_budget follows, since it needs D(v) whole; priors follow at their stage.
template <class Real>
constexpr std::array<Clause<Real>, 4> kClauses = {{{"sources", true, clauseSources<Real>},
                                                   {"common_shift", true, clauseCommonShift<Real>},
                                                   {"eos_policy", true, clauseEndOfText<Real>},
                                                   {"plausibility", false, clausePlausibility<Real>}}};

template <class Real>
std::int64_t differences(const Recipe& recipe, const SourceRows<Real>& rows, bool heard, double* say) {
    Work<Real> work{recipe, rows, rows.rows[0].size(), say};
    std::fill(say, say + work.size, 0.0);
    for (const Clause<Real>& clause : kClauses<Real>)
        if (heard || !clause.ofSpecialists) clause.apply(work);
    return work.noSay;
}

/// out = log p_b + scale · say, excluded where either excludes.
template <class Real>
void addBase(const Real* base, double scale, std::size_t n, double* say) noexcept {
#pragma omp simd
    for (std::size_t v = 0; v < n; ++v) {
        const auto b = static_cast<double>(base[v]);
        say[v] = say[v] == kOut ? kOut : b + scale * say[v];
    }
}

template <class Real>
Score productRow(const Recipe& recipe, const SourceRows<Real>& rows, double budget, double* out) {
    const Real* base = rowOf(rows, 0);
    const std::size_t n = rows.rows[0].size();
    Score score;
    score.noSay = differences(recipe, rows, true, out);
    if (recipe.klBudget)
        score.scale = largestScale(budget, [&](double scale) { return driftOfProduct(base, out, scale, n); });
    if (score.scale == 0) score.noSay = differences(recipe, rows, false, out);
    addBase(base, score.scale, n, out);
    return score;
}

template <class Real>
Score mixtureRow(const Recipe& recipe, const SourceRows<Real>& rows, double budget, double* out) {
    const Real* base = rowOf(rows, 0);
    const std::size_t n = rows.rows[0].size();
    const Bound bound = plausibleBound(recipe, rows);
    const auto fill = [&](double scale) {
        for (std::size_t v = 0; v < n; ++v) {
            const bool kept = bound.keeps(static_cast<double>(base[v]), static_cast<TokenId>(v));
            out[v] = kept ? mixtureScoreAt(recipe, rows, scale, static_cast<TokenId>(v)) : kOut;
        }
    };
    Score score;
    if (recipe.klBudget)
        score.scale = largestScale(budget, [&](double scale) {
            fill(scale);
            return driftOfScore(base, out, n);
        });
    fill(score.scale);
    return score;
}

}  // namespace

bool isBaseAlone(const Recipe& recipe, Position position) noexcept {
    return !recipe.plausibility && std::none_of(recipe.specialists.begin(), recipe.specialists.end(),
                                                [&](const auto& term) { return speaksAt(term, position); });
}

bool speaksAt(const SpecialistTerm& term, Position position) noexcept {
    if (!counts(term)) return false;
    if (!term.mask.positions) return true;
    return std::any_of(term.mask.positions->begin(), term.mask.positions->end(),
                       [position](const Interval& i) { return position >= i.from && position < i.to; });
}

bool speaksOf(const SpecialistTerm& term, TokenId token) noexcept {
    return !term.mask.tokens || std::binary_search(term.mask.tokens->begin(), term.mask.tokens->end(), token);
}

bool isStop(const Recipe& recipe, TokenId token) noexcept {
    return std::binary_search(recipe.stopIds.begin(), recipe.stopIds.end(), token);
}

template <class Real>
Say sayAt(const Recipe& recipe, const SpecialistTerm& term, const SourceRows<Real>& rows, TokenId token) noexcept {
    if (!speaksAt(term, rows.position) || !speaksOf(term, token)) return {};
    const auto v = static_cast<std::size_t>(token);
    const double reference =
        term.reference == kReferenceNone ? 0.0 : static_cast<double>(rowOf(rows, term.reference)[v]);
    return sayOf(term.weight, static_cast<double>(rowOf(rows, term.source)[v]), reference, recipe.floor);
}

template <class Real>
double activity(const SpecialistTerm& term, const SourceRows<Real>& rows) {
    const auto& own = rows.rows[static_cast<std::size_t>(term.source)];
    const auto& other = rows.rows[term.reference == kReferenceNone ? 0 : static_cast<std::size_t>(term.reference)];
    if (own.empty() || other.empty()) return 0.0;
    const bool known = rows.facts.size() == rows.rows.size() && term.reference <= 0;
    const auto i = static_cast<std::size_t>(term.source);
    return known && rows.facts[i].proper ? rows.facts[i].activity
                                         : divergence::kl(own.data(), other.data(), own.size());
}

template <class Real>
void shiftOf(const Recipe& recipe, const SourceRows<Real>& rows, std::size_t from, std::size_t count, double* out) {
    for (std::size_t j = 0; j < count; ++j) {
        const auto token = static_cast<TokenId>(from + j);
        double least = -kOut, most = kOut, weights = 0;
        int k = 0;
        for (const SpecialistTerm& term : recipe.specialists) {
            if (term.weight <= 0 || !speaksAt(term, rows.position) || !speaksOf(term, token)) continue;
            const double delta = sayAt(recipe, term, rows, token).delta;
            least = std::min(least, delta);
            most = std::max(most, delta);
            weights += term.weight;
            ++k;
        }
        const bool replaced = recipe.eosPolicy != EosPolicy::Sum && isStop(recipe, token);
        const double shared = least > 0 ? least : most < 0 ? most : 0.0;
        out[j] = k < 2 || replaced ? 0.0 : -(k - 1) * (weights / k) * shared;
    }
}

template <class Real>
const SpecialistTerm* mostActive(const Recipe& recipe, const SourceRows<Real>& rows) {
    const SpecialistTerm* best = nullptr;
    double most = recipe.activeEpsilon;
    for (const SpecialistTerm& term : recipe.specialists) {
        if (!counts(term)) continue;
        const double a = activity(term, rows);
        if (a > most) {
            most = a;
            best = &term;
        }
    }
    return best;
}

template <class Real>
double endOfTextAt(const Recipe& recipe, const SourceRows<Real>& rows, const SpecialistTerm* active,
                   TokenId token) noexcept {
    double sum = 0, largest = kOut;
    int n = 0;
    for (const SpecialistTerm& term : recipe.specialists) {
        if (!counts(term)) continue;
        const double t = sayAt(recipe, term, rows, token).total();
        sum += t;
        largest = std::max(largest, t);
        ++n;
    }
    switch (recipe.eosPolicy) {
        case EosPolicy::Sum:
            return sum;
        case EosPolicy::Mean:
            return n == 0 ? 0.0 : sum / n;
        case EosPolicy::Max:
            return n == 0 ? 0.0 : largest;
        case EosPolicy::Base:
            return 0.0;
        case EosPolicy::Active:
            return active == nullptr ? 0.0 : sayAt(recipe, *active, rows, token).total();
    }
    return sum;
}

template <class Real>
Bound plausibleBound(const Recipe& recipe, const SourceRows<Real>& rows) {
    if (!recipe.plausibility) return {};
    const Plausibility& rule = *recipe.plausibility;
    return rule.kind == PlausibilityKind::Relative ? shareBound(rows.rows[0], rule.value)
                                                   : topPBound(rows.rows[0], rule.value, {});
}

template <class Real>
std::int64_t addSpecialist(const Recipe& recipe, const SpecialistTerm& term, const SourceRows<Real>& rows,
                           double* out) {
    if (!speaksAt(term, rows.position)) return 0;
    const Real* base = rowOf(rows, 0);
    std::int64_t silent = 0;
    if (term.mask.tokens) {
        for (const TokenId token : *term.mask.tokens) {
            const auto v = static_cast<std::size_t>(token);
            const Say say = sayAt(recipe, term, rows, token);
            out[v] += say.total();
            silent += say.silent && static_cast<double>(base[v]) != kOut;
        }
        return silent;
    }
    const Real* own = rowOf(rows, term.source);
    const bool referenced = term.reference != kReferenceNone;
    const Real* reference = rowOf(rows, referenced ? term.reference : 0);
    const std::size_t n = rows.rows[0].size();
    const double weight = term.weight, floor = recipe.floor;
    std::int32_t count = 0;
#pragma omp simd reduction(+ : count)
    for (std::size_t v = 0; v < n; ++v) {
        const Say say =
            sayOf(weight, static_cast<double>(own[v]), referenced ? static_cast<double>(reference[v]) : 0.0, floor);
        out[v] += say.total();
        count += say.silent && static_cast<double>(base[v]) != kOut ? 1 : 0;
    }
    return count;
}

template <class Real>
double mixtureScoreAt(const Recipe& recipe, const SourceRows<Real>& rows, double scale, TokenId token) noexcept {
    const auto v = static_cast<std::size_t>(token);
    const auto heard = [&](const SpecialistTerm& t) { return speaksAt(t, rows.position) && speaksOf(t, token); };
    double top = static_cast<double>(rowOf(rows, 0)[v]);
    for (const SpecialistTerm& t : recipe.specialists)
        if (heard(t)) top = std::max(top, static_cast<double>(rowOf(rows, t.source)[v]));
    if (top == kOut) return kOut;
    double mass = std::exp(static_cast<double>(rowOf(rows, 0)[v]) - top), weights = 1;
    for (const SpecialistTerm& t : recipe.specialists) {
        if (!heard(t)) continue;
        mass += scale * t.weight * std::exp(static_cast<double>(rowOf(rows, t.source)[v]) - top);
        weights += scale * t.weight;
    }
    return top + std::log(mass / weights);
}

template <class Real>
Score scoreRow(const Recipe& recipe, const SourceRows<Real>& rows, double budget, double* out) {
    return recipe.rule == Rule::Product ? productRow(recipe, rows, budget, out) : mixtureRow(recipe, rows, budget, out);
}

#define COUNTERPOINT_INSTANTIATE(Real)                                                                                 \
    template Say sayAt<Real>(const Recipe&, const SpecialistTerm&, const SourceRows<Real>&, TokenId) noexcept;         \
    template double activity<Real>(const SpecialistTerm&, const SourceRows<Real>&);                                    \
    template void shiftOf<Real>(const Recipe&, const SourceRows<Real>&, std::size_t, std::size_t, double*);            \
    template const SpecialistTerm* mostActive<Real>(const Recipe&, const SourceRows<Real>&);                           \
    template double endOfTextAt<Real>(const Recipe&, const SourceRows<Real>&, const SpecialistTerm*,                   \
                                      TokenId) noexcept;                                                               \
    template Bound plausibleBound<Real>(const Recipe&, const SourceRows<Real>&);                                       \
    template std::int64_t addSpecialist<Real>(const Recipe&, const SpecialistTerm&, const SourceRows<Real>&, double*); \
    template double mixtureScoreAt<Real>(const Recipe&, const SourceRows<Real>&, double, TokenId) noexcept;            \
    template Score scoreRow<Real>(const Recipe&, const SourceRows<Real>&, double, double*);
COUNTERPOINT_INSTANTIATE(float)
COUNTERPOINT_INSTANTIATE(double)
#undef COUNTERPOINT_INSTANTIATE

}  // namespace counterpoint::compute::score
