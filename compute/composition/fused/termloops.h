#pragma once
// The specialists' terms of one block, for the passes of loops.h: w max(δ, lowest) added to the tilt, what is excluded,
// and what a term sums to alone. Internal to the file that includes it: it is compiled once per instruction set.

#include "compute/composition/fused/kernels.h"
#include "compute/composition/fused/scalars.h"

namespace counterpoint::compute::fused {
namespace {

struct Block {
    alignas(64) float tilt[kBlock];
    alignas(64) float out[kBlock];  ///< −∞ where a specialist excludes, else 0
};

/// Of p_b e^{w δ} in one block: the largest logarithm and Σ e^{log − shift}.
struct AloneBlock {
    float best, mass;
};

/// tilt += w max(δ, lowest) of one block, and what p_b e^{w δ} sums to where it is asked for.
template <bool Excluding, bool Alone, bool Referenced>
inline AloneBlock addTerm(const Pass& pass, const Term& term, std::size_t from, std::size_t n, Block& block,
                          float shift, long& silent) {
    const float* own = term.own + from;
    const float* reference = Referenced ? term.reference + from : own;
    const float* base = pass.base + from;
    const float weight = term.weight, lowest = term.lowest;
    float *tilt = block.tilt, *out = block.out;
    float best = kMinusInfinity, mass = 0;
    int quiet = 0;
#pragma omp simd reduction(max : best) reduction(+ : quiet, mass)
    for (std::size_t v = 0; v < n; ++v) {
        const float against = Referenced ? reference[v] : 0.0f;
        float delta = own[v] - against;
        float gone = 0.0f;
        if (Excluding) {
            const bool noOwn = own[v] == kMinusInfinity, noReference = against == kMinusInfinity;
            const bool isSilent = noReference || (noOwn && weight < 0), excludes = noOwn && !noReference && weight > 0;
            delta = isSilent || excludes ? 0.0f : delta;
            gone = excludes ? kMinusInfinity : 0.0f;
            quiet += isSilent && base[v] > kMinusInfinity ? 1 : 0;
            out[v] += gone;
        }
        delta = delta > lowest ? delta : lowest;
        const float said = weight * delta;
        tilt[v] += said;
        if (Alone) {
            const float x = base[v] + said + gone;
            best = x > best ? x : best;
            mass += massOf<Excluding>(x - shift);
        }
    }
    silent += quiet;
    return {best, mass};
}

template <bool Excluding, bool Alone>
inline AloneBlock addTermOf(const Pass& pass, const Term& term, std::size_t from, std::size_t n, Block& block,
                            float shift, long& silent) {
    return term.reference != nullptr ? addTerm<Excluding, Alone, true>(pass, term, from, n, block, shift, silent)
                                     : addTerm<Excluding, Alone, false>(pass, term, from, n, block, shift, silent);
}

/// What a block may hold above the shift: its sum of e^kHeadroom stays far from float32's end.
constexpr float kHeadroom = 40;

/// Adds term i and what it sums to alone. The sums are relative to the shift of the blocks before; a block that begins
/// them, or rises far above, is summed once more by its own maximum (into a block that nobody reads).
template <bool Excluding>
inline void addAlone(const Pass& pass, int i, std::size_t from, std::size_t n, Block& block, Sums& sums, long& silent) {
    const Term& term = pass.terms[i];
    const auto shift = static_cast<float>(sums.aloneTop[i]);
    const bool begun = shift > kMinusInfinity;
    AloneBlock of = addTermOf<Excluding, true>(pass, term, from, n, block, begun ? shift : 0.0f, silent);
    if (of.best == kMinusInfinity) return;
    if (of.best > shift + kHeadroom) {
        Block unread{};
        long again = 0;
        sums.aloneMass[i] *= begun ? rescaled(sums.aloneTop[i], of.best, 1) : 0.0;
        sums.aloneTop[i] = of.best;
        of = addTermOf<Excluding, true>(pass, term, from, n, unread, of.best, again);
    }
    sums.aloneMass[i] += of.mass;
}

/// Whether term i can be added together with others: nothing is excluded, its reference is the base, Z alone not asked
/// for.
inline bool isPlain(const Pass& pass, int i) {
    return !pass.excluding && i < pass.termCount && !pass.terms[i].alone && pass.terms[i].reference == pass.base;
}

/// Four plain terms at once; fewer are filled up with terms of weight 0.
inline void addFour(const Pass& pass, int first, std::size_t from, std::size_t n, float* tilt) {
    const float *base = pass.base + from, *own[4];
    float weight[4], lowest[4];
    bool real = true;
    for (int k = 0; k < 4; ++k) {
        real = real && isPlain(pass, first + k);
        own[k] = real ? pass.terms[first + k].own + from : base;
        weight[k] = real ? pass.terms[first + k].weight : 0.0f;
        lowest[k] = real ? pass.terms[first + k].lowest : 0.0f;
    }
    const float *a = own[0], *b = own[1], *c = own[2], *d = own[3];
    const float wa = weight[0], wb = weight[1], wc = weight[2], wd = weight[3];
    const float la = lowest[0], lb = lowest[1], lc = lowest[2], ld = lowest[3];
#pragma omp simd
    for (std::size_t v = 0; v < n; ++v) {
        const float x = a[v] - base[v], y = b[v] - base[v], z = c[v] - base[v], w = d[v] - base[v];
        tilt[v] +=
            (wa * (x > la ? x : la) + wb * (y > lb ? y : lb)) + (wc * (z > lc ? z : lc) + wd * (w > ld ? w : ld));
    }
}

template <bool Excluding>
inline void addTerms(const Pass& pass, std::size_t from, std::size_t n, Block& block, Sums& sums) {
    long silent = 0;
    for (int i = 0; i < pass.termCount; ++i) {
        const Term& term = pass.terms[i];
        if (!Excluding && isPlain(pass, i)) {
            const int first = i;
            while (i + 1 < first + 4 && isPlain(pass, i + 1)) ++i;
            addFour(pass, first, from, n, block.tilt);
            continue;
        }
        if (term.alone)
            addAlone<Excluding>(pass, i, from, n, block, sums, silent);
        else
            addTermOf<Excluding, false>(pass, term, from, n, block, 0.0f, silent);
    }
    sums.noSay += silent;
}

}  // namespace
}  // namespace counterpoint::compute::fused
