#include "compute/composition/fusedrow.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "compute/composition/check.h"
#include "compute/composition/score.h"
#include "compute/composition/stage.h"
#include "compute/pool.h"

namespace counterpoint::compute {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// Beyond them float32's digits no longer hold the score to 2e-5.
constexpr double kMostWeight = 16, kColdest = 1e-3;

/// One set per thread, warm after the first row of a width.
struct Warm {
    std::vector<float> blockTop, shift;
    std::vector<RowFacts> facts;
    std::vector<fused::Sums> sums;                                       ///< of each part
    std::vector<fused::Finish> finishes;                                 ///< of each part
    std::vector<float> touchedScore, touchedTilt, push, moved, massTau;  ///< of the tokens that priors touch
};

Warm& warmFor(std::size_t n) {
    thread_local Warm warm;
    if (warm.blockTop.size() < fused::blocksOf(n)) {
        warm.blockTop.resize(fused::blocksOf(n));
        warm.shift.resize(fused::blocksOf(n));
    }
    return warm;
}

/// Tokens of one part of a row. Parts are summed one after the other and then put together in their order, so that the
/// number of threads changes no bit.
constexpr std::size_t kPart = 64 * fused::kBlock;

template <class Work>
void forEachPart(std::size_t n, int threads, const Work& work) {
    const std::size_t parts = (n + kPart - 1) / kPart;
    Pool::instance().run(threads, static_cast<std::int64_t>(parts), [&](std::int64_t part, int) {
        const std::size_t from = static_cast<std::size_t>(part) * kPart;
        work(static_cast<std::size_t>(part), from, std::min(kPart, n - from));
    });
}

/// e^{factor (of − top)}, 1 where they are one, −∞ included.
double share(double of, double top, double factor = 1) { return of == top ? 1.0 : std::exp((of - top) * factor); }

/// What two parts sum to, relative to the larger of their maxima.
void add(fused::Sums& sums, const fused::Sums& part, double inverseTau, int terms) {
    const float top = std::max(sums.top, part.top);
    const double a = share(sums.top, top), b = share(part.top, top);
    const double aTau = share(sums.top, top, inverseTau), bTau = share(part.top, top, inverseTau);
    sums.top = top;
    sums.mass = a * sums.mass + b * part.mass;
    sums.tilt = a * sums.tilt + b * part.tilt;
    sums.massTau = aTau * sums.massTau + bTau * part.massTau;
    sums.tiltTau = aTau * sums.tiltTau + bTau * part.tiltTau;
    sums.scoreTau = aTau * sums.scoreTau + bTau * part.scoreTau;
    for (int i = 0; i < terms; ++i) {
        const double alone = std::max(sums.aloneTop[i], part.aloneTop[i]);
        sums.aloneMass[i] =
            share(sums.aloneTop[i], alone) * sums.aloneMass[i] + share(part.aloneTop[i], alone) * part.aloneMass[i];
        sums.aloneTop[i] = alone;
    }
    sums.noSay += part.noSay;
    sums.left += part.left;
    sums.lost += part.lost;
}

void composeRow(const fused::Pass& row, int threads, Warm& warm, fused::Sums& out) {
    warm.sums.resize((row.n + kPart - 1) / kPart);
    forEachPart(row.n, threads, [&](std::size_t i, std::size_t from, std::size_t n) {
        std::array<fused::Term, fused::kMostTerms> terms;
        std::copy_n(row.terms, row.termCount, terms.data());
        for (fused::Term& term : std::span(terms).first(static_cast<std::size_t>(row.termCount))) {
            term.own += from;
            if (term.reference != nullptr) term.reference += from;
        }
        fused::Pass part = row;
        part.base += from;
        part.n = n;
        part.terms = terms.data();
        part.score += from;
        part.blockTop += from / fused::kBlock;
        part.masses += from;
        part.shift += from / fused::kBlock;
        part.first = static_cast<std::int32_t>(from);
        const auto* end = row.touched + row.touchedCount;
        part.touched = std::lower_bound(row.touched, end, part.first);
        part.touchedCount = static_cast<std::size_t>(
            std::lower_bound(part.touched, end, static_cast<std::int32_t>(from + n)) - part.touched);
        part.touchedScore += part.touched - row.touched;
        part.touchedTilt += part.touched - row.touched;
        fused::kernels().compose(part, warm.sums[i]);
    });
    out = warm.sums[0];
    for (std::size_t i = 1; i < warm.sums.size(); ++i)
        add(out, warm.sums[i], static_cast<double>(row.inverseTau), row.termCount);
}

void finishRow(fused::Finish& row, int threads, Warm& warm) {
    warm.finishes.resize((row.n + kPart - 1) / kPart);
    forEachPart(row.n, threads, [&](std::size_t i, std::size_t from, std::size_t n) {
        fused::Finish& part = warm.finishes[i] = row;
        part.base += from;
        part.score += from;
        part.shift += from / fused::kBlock;
        part.n = n;
        part.composed += from;
        part.temperature += from;
        fused::kernels().finish(part);
    });
    for (const fused::Finish& part : warm.finishes) {
        row.tv += part.tv;
        row.js += part.js;
        row.klFromBase += part.klFromBase;
    }
}

bool plainDials(const Recipe& r) {
    const bool eosBySum = r.eosPolicy == EosPolicy::Sum || r.stopIds.empty();
    return r.rule == Rule::Product && eosBySum && !r.plausibility && !r.commonShift && !r.klBudget;
}

/// How far above everything else, in nats, priors may lift a token before float32 no longer holds the rest beside it,
/// and what may be left of the mass when they lower one.
constexpr double kMostLift = 32, kLeastMass = 1e-20;
/// What a block's masses may hold above their shift.
constexpr double kHeadroom = 40;

/// The sums that the pass left out, for stage composed (its logarithm is returned) and for what follows it (into sums);
/// the scores of touched tokens become those of stage priors. false: not for this pass.
bool addTouched(const fused::Pass& pass, const Stages<float>& stages, Warm& warm, fused::Sums& sums,
                double& logMassComposed) {
    const std::size_t n = pass.touchedCount;
    warm.push.assign(stages.push.begin(), stages.push.end());
    warm.moved.resize(n);
    warm.massTau.resize(n);
    float lifted = sums.top;
    for (std::size_t k = 0; k < n; ++k) lifted = std::max(lifted, pass.touchedScore[k] + warm.push[k]);
    const auto top = static_cast<double>(sums.top), now = static_cast<double>(lifted),
               inverse = static_cast<double>(pass.inverseTau);
    if (!(now - top <= kMostLift)) return false;
    fused::Apart apart{.score = pass.touchedScore,
                       .tilt = pass.touchedTilt,
                       .push = warm.push.data(),
                       .n = n,
                       .top = sums.top,
                       .lifted = lifted,
                       .inverseTau = pass.inverseTau,
                       .moved = warm.moved.data(),
                       .massTau = warm.massTau.data(),
                       .massComposed = 0,
                       .mass = 0,
                       .tilted = 0,
                       .sumTau = 0,
                       .tiltTau = 0,
                       .scoreTau = 0};
    fused::kernels().apart(apart);
    logMassComposed = top + std::log(sums.mass + apart.massComposed);
    const double scale = std::exp(top - now), scaleTau = std::exp((top - now) * inverse);
    sums.mass = sums.mass * scale + apart.mass;
    sums.tilt = sums.tilt * scale + apart.tilted;
    sums.massTau = sums.massTau * scaleTau + apart.sumTau;
    sums.tiltTau = sums.tiltTau * scaleTau + apart.tiltTau;
    sums.scoreTau = sums.scoreTau * scaleTau + apart.scoreTau;
    sums.top = lifted;

    std::size_t block = std::numeric_limits<std::size_t>::max();
    float share = 0;  // of the block: from masses relative to `lifted` to masses relative to its shift
    for (std::size_t k = 0; k < n; ++k) {
        const auto v = static_cast<std::size_t>(pass.touched[k]);
        const float moved = warm.moved[k];
        pass.score[v] = moved;
        if (moved == kExcluded) continue;
        bool again = v / fused::kBlock != block;
        block = v / fused::kBlock;
        pass.blockTop[block] = std::max(pass.blockTop[block], moved);
        const double above = (static_cast<double>(moved) - static_cast<double>(pass.shift[block])) * inverse;
        if (above > kHeadroom) {  // the block's masses are made relative to this token
            const std::size_t from = block * fused::kBlock, end = std::min(pass.n, from + fused::kBlock);
            const auto less = static_cast<float>(std::exp(-above));
            for (std::size_t u = from; u < end; ++u) pass.masses[u] *= less;
            pass.shift[block] = moved;
            again = true;
        }
        const double far = (now - static_cast<double>(pass.shift[block])) * inverse;
        if (far > kHeadroom) {  // another block was lifted out of this one.s sight
            pass.masses[v] = static_cast<float>(
                std::exp((static_cast<double>(moved) - static_cast<double>(pass.shift[block])) * inverse));
            continue;
        }
        if (again) share = static_cast<float>(std::exp(far));
        pass.masses[v] = warm.massTau[k] * share;
    }
    return sums.mass > kLeastMass * scale && sums.massTau > kLeastMass * scaleTau;
}

/// Facts of every row: those that were kept with it, else computed now.
std::span<const RowFacts> factsFor(const SourceRows<float>& rows, Warm& warm) {
    if (rows.facts.size() == rows.rows.size()) return rows.facts;
    warm.facts.assign(rows.rows.size(), {});
    for (std::size_t i = 0; i < rows.rows.size(); ++i)
        if (rows.rows[i].size() == rows.rows[0].size()) warm.facts[i] = factsOf(rows.rows[i], rows.rows[0]);
    return warm.facts;
}

/// Z(i alone) is what the source's own row sums to.
bool aloneIsItself(const SpecialistTerm& term, std::span<const RowFacts> facts) {
    return term.weight == 1 && term.reference == 0 && facts[0].excluded == 0 &&
           facts[static_cast<std::size_t>(term.source)].excluded == 0;
}

struct Terms {
    std::array<fused::Term, fused::kMostTerms> list;
    std::array<std::size_t, fused::kMostTerms> specialist;  ///< index in the recipe
    int count = 0;
    bool excluding = false;
};

/// The terms that speak at this position; false: not for this pass.
bool collect(const Recipe& recipe, const SourceRows<float>& rows, std::span<const RowFacts> facts, Terms& out) {
    const auto usable = [&](int source) {
        const auto i = static_cast<std::size_t>(source);
        return source >= 0 && i < rows.rows.size() && rows.rows[i].size() == rows.rows[0].size() && facts[i].proper;
    };
    if (rows.rows.empty() || rows.rows[0].empty() || !usable(0)) return false;
    const auto speaking = std::count_if(recipe.specialists.begin(), recipe.specialists.end(),
                                        [&](const SpecialistTerm& t) { return score::speaksAt(t, rows.position); });
    out.excluding = facts[0].excluded > 0;
    double weights = 0;
    for (std::size_t i = 0; i < recipe.specialists.size(); ++i) {
        const SpecialistTerm& term = recipe.specialists[i];
        if (!score::counts(term)) continue;
        const bool referenced = term.reference != kReferenceNone;
        if (!usable(term.source) || (referenced && !usable(term.reference)) || term.mask.tokens) return false;
        if (!score::speaksAt(term, rows.position)) continue;
        weights += std::abs(term.weight);
        if (out.count == fused::kMostTerms || !(weights <= kMostWeight)) return false;
        const auto own = static_cast<std::size_t>(term.source);
        const auto reference = static_cast<std::size_t>(std::max(term.reference, 0));
        out.excluding = out.excluding || facts[own].excluded > 0 || (referenced && facts[reference].excluded > 0);
        out.specialist[static_cast<std::size_t>(out.count)] = i;
        out.list[static_cast<std::size_t>(out.count++)] = {
            .own = rows.rows[own].data(),
            .reference = referenced ? rows.rows[reference].data() : nullptr,
            .weight = static_cast<float>(term.weight),
            .lowest = term.weight < 0 ? static_cast<float>(-recipe.floor) : -std::numeric_limits<float>::infinity(),
            .alone = speaking > 1 && !aloneIsItself(term, facts)};
    }
    return true;
}

void readAlone(const Recipe& recipe, const Terms& terms, std::span<const RowFacts> facts, FusedRow& out) {
    out.logAlone.assign(recipe.specialists.size(), std::numeric_limits<double>::quiet_NaN());
    for (int k = 0; k < terms.count; ++k) {
        const std::size_t i = terms.specialist[static_cast<std::size_t>(k)];
        out.logAlone[i] = terms.list[static_cast<std::size_t>(k)].alone
                              ? out.sums.aloneTop[k] + std::log(out.sums.aloneMass[k])
                              : facts[static_cast<std::size_t>(recipe.specialists[i].source)].logMass;
    }
}

/// Nobody speaks: the base's row to the last bit, and not what rounding leaves of dividing it by its sum.
void keepBase(std::span<const float> base, double tau, Stages<float>& stages, FusedRow& out) {
    std::copy(base.begin(), base.end(), stages.composed.begin());
    stages.logNormaliserComposed = stages.logNormaliserPriors = 0;
    if (tau != 1) return;
    std::copy(base.begin(), base.end(), stages.temperature.begin());
    stages.logNormaliser = 0;
    out.tv = out.js = out.klFromBase = 0;
}

}  // namespace

bool fuse(const Recipe& recipe, std::span<const PriorTerm> priors, const SourceRows<float>& rows, Stages<float>& stages,
          FusedRow& out, int threads) {
    check(recipe, priors, rows);
    const bool greedy = isGreedy(recipe);
    if (!plainDials(recipe) || !(greedy || recipe.temperature >= kColdest) || rows.rows.empty()) return false;
    const std::size_t n = rows.rows[0].size();
    Warm& warm = warmFor(n);
    const std::span<const RowFacts> facts = factsFor(rows, warm);
    Terms terms;
    if (!collect(recipe, rows, facts, terms)) return false;

    stages.composed.resize(n);
    stages.temperature.resize(n);
    gatherPriors(priors, n, stages.touched, stages.push);
    warm.touchedScore.resize(stages.touched.size());
    warm.touchedTilt.resize(stages.touched.size());
    const double tau = greedy ? 1.0 : recipe.temperature;
    const fused::Pass pass{.base = rows.rows[0].data(),
                           .n = n,
                           .terms = terms.list.data(),
                           .termCount = terms.count,
                           .inverseTau = static_cast<float>(1 / tau),
                           .excluding = terms.excluding,
                           .score = stages.composed.data(),
                           .blockTop = warm.blockTop.data(),
                           .masses = stages.temperature.data(),
                           .shift = warm.shift.data(),
                           .touched = stages.touched.data(),
                           .touchedCount = stages.touched.size(),
                           .first = 0,
                           .touchedScore = warm.touchedScore.data(),
                           .touchedTilt = warm.touchedTilt.data()};
    composeRow(pass, threads, warm, out.sums);
    fused::Sums& sums = out.sums;
    if (sums.left == 0 || !std::isfinite(sums.top) || !std::isfinite(sums.mass) || !std::isfinite(sums.tiltTau))
        return false;
    double logMassComposed = static_cast<double>(sums.top) + std::log(sums.mass);
    if (pass.touchedCount > 0 && !addTouched(pass, stages, warm, sums, logMassComposed)) return false;
    const auto top = static_cast<double>(sums.top);

    const double rest = std::log(sums.mass), restTau = std::log(sums.massTau);
    fused::Finish finish{.base = pass.base,
                         .score = pass.score,
                         .shift = pass.shift,
                         .n = n,
                         .top = sums.top,
                         .inverseTau = pass.inverseTau,
                         .restComposed = static_cast<float>(logMassComposed - top),
                         .restTau = static_cast<float>(restTau),
                         .excluding = terms.excluding,
                         .composed = stages.composed.data(),
                         .temperature = stages.temperature.data(),
                         .tv = 0,
                         .js = 0,
                         .klFromBase = 0};
    finishRow(finish, threads, warm);
    out.tv = finish.tv;
    out.js = std::max(0.0, finish.js);
    out.klFromBase = sums.lost > 0 ? kInfinity : std::max(0.0, finish.klFromBase);
    readAlone(recipe, terms, facts, out);

    stages.priors.clear();
    stages.greedy = greedy;
    stages.scale = 1;
    stages.noSay = sums.noSay;
    stages.logNormaliserComposed = logMassComposed;
    stages.logNormaliserPriors = top + rest;
    for (std::size_t k = 0; k < pass.touchedCount; ++k)
        stages.composed[static_cast<std::size_t>(pass.touched[k])] =
            static_cast<float>(static_cast<double>(pass.touchedScore[k]) - logMassComposed);
    stages.logNormaliser = top / tau + restTau;
    // As bounds of the stage: rounding of the stage's own row is granted.
    for (float& x : std::span(warm.blockTop).first(fused::blocksOf(n))) {
        if (x == -std::numeric_limits<float>::infinity()) continue;
        const double bound = (static_cast<double>(x) - top) / tau - restTau;
        x = static_cast<float>(bound + 1e-6 * (1 + std::abs(bound)));
    }
    if (terms.count == 0 && pass.touchedCount == 0) keepBase(rows.rows[0], tau, stages, out);
    out.blockTop = std::span<const float>(warm.blockTop).first(fused::blocksOf(n));
    truncate(recipe, sums.left, stages);
    return true;
}

}  // namespace counterpoint::compute
