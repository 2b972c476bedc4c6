// The passes of kernels.h on raw pointers, included by one file per instruction set; everything here is internal to it.
// Written so that the loops vectorise as they stand. e^x by 2^n times a polynomial of degree 5 on |r| <= ln 2/2
// (relative error below 4e-7 + 8e-8 |x|, as float32 holds x), log x by Cephes' polynomial on [√½, √2).

#include "compute/composition/fused/kernels.h"
#include "compute/composition/fused/philoxlanes.h"

namespace counterpoint::compute::fused {
namespace {

constexpr float kMinusInfinity = -__builtin_inff();
constexpr float kLowest = -86.5f;  ///< e^x below it is taken as e^kLowest: 2.7e-38

inline unsigned bitsOf(float x) {
    unsigned bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    return bits;
}
inline float floatOf(unsigned bits) {
    float x;
    __builtin_memcpy(&x, &bits, sizeof x);
    return x;
}

inline float expOf(float x) {
    constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: its low mantissa bits become the rounded integer
    const float clamped = x > kLowest ? x : kLowest;
    const float shifted = clamped * 1.44269504f + kRound;
    const float n = shifted - kRound;
    const float r = clamped - n * 0.693147182f;  // ln 2 is off by 2e-9, n times: large only where the mass is small
    float p = 8.31252523e-3f;
    p = p * r + 4.18901145e-2f;
    p = p * r + 1.66671142e-1f;
    p = p * r + 4.99992311e-1f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    return floatOf(bitsOf(p) + (bitsOf(shifted) << 23));
}

/// log x for normal x > 0.
inline float logOf(float x) {
    const unsigned offset = bitsOf(x) - 0x3F3504F3u;
    const float e = static_cast<float>(static_cast<int>(offset) >> 23);
    const float f = floatOf((offset & 0x7FFFFFu) + 0x3F3504F3u) - 1.0f, z = f * f;
    float p = 7.0376836292e-2f;
    p = p * f - 1.1514610310e-1f;
    p = p * f + 1.1676998740e-1f;
    p = p * f - 1.2420140846e-1f;
    p = p * f + 1.4249322787e-1f;
    p = p * f - 1.6668057665e-1f;
    p = p * f + 2.0000714765e-1f;
    p = p * f - 2.4999993993e-1f;
    p = p * f + 3.3333331174e-1f;
    return e * 0.693359375f + (f + (z * (f * p - 0.5f) - e * 2.12194440e-4f));
}

/// e^x that is 0 for −∞ where rows may hold it.
template <bool Excluding>
inline float massOf(float x) {
    if (!Excluding) return expOf(x);
    return x > kMinusInfinity ? expOf(x) : 0.0f;
}
/// x, or 0 in the place of −∞: what a mass of 0 is multiplied with.
template <bool Excluding>
inline float finiteOf(float x) {
    if (!Excluding) return x;
    return x > kMinusInfinity ? x : 0.0f;
}

/// The scale of sums taken relative to `before` when they are to be relative to `now`.
inline double rescaled(double before, double now, double factor) {
    return before == now ? 1.0 : __builtin_exp((before - now) * factor);
}

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

/// s of one block; returns its maximum.
template <bool Excluding>
inline float scoreBlock(const float* base, const Block& block, float* score, std::size_t n, Sums& sums) {
    float best = kMinusInfinity;
    int left = 0, lost = 0;
    const float *tilt = block.tilt, *out = block.out;
#pragma omp simd reduction(max : best) reduction(+ : left, lost)
    for (std::size_t v = 0; v < n; ++v) {
        const float s = Excluding ? base[v] + tilt[v] + out[v] : base[v] + tilt[v];
        score[v] = s;
        best = s > best ? s : best;
        if (Excluding) {
            left += s > kMinusInfinity ? 1 : 0;
            lost += base[v] > kMinusInfinity && s == kMinusInfinity ? 1 : 0;
        }
    }
    sums.left += Excluding ? left : static_cast<int>(n);
    sums.lost += lost;
    return best;
}

template <bool Excluding, bool Warm, bool Kept>
inline void sumBlock(const float* tilt, const float* score, float* masses, std::size_t n, float top, float inverseTau,
                     Sums& sums) {
    float mass = 0, tilted = 0, massTau = 0, tiltTau = 0, scoreTau = 0;
    const float more = inverseTau - 1.0f;
#pragma omp simd reduction(+ : mass, tilted, massTau, tiltTau, scoreTau)
    for (std::size_t v = 0; v < n; ++v) {
        const float s = finiteOf<Excluding>(score[v]), t = tilt[v], x = score[v] - top;
        const float e = massOf<Excluding>(x);
        mass += e;
        tilted += e * t;
        const float eTau = Warm ? massOf<Excluding>(x * inverseTau) : e;
        if (Warm) {
            massTau += eTau;
            tiltTau += eTau * (t + s * more);
        }
        scoreTau += eTau * s;
        if (Kept) masses[v] = eTau;
    }
    sums.mass += mass;
    sums.tilt += tilted;
    sums.massTau += Warm ? massTau : mass;
    sums.tiltTau += Warm ? tiltTau : tilted;
    sums.scoreTau += scoreTau;
}

/// In the place of the score of a token that is summed by the caller: its mass is e^kLowest at any temperature.
constexpr float kApart = -1e20f;

/// Takes the touched tokens of one block out; `next` is the first that was not yet met.
inline void setApart(const Pass& pass, std::size_t from, std::size_t n, const float* tilt, float* score,
                     std::size_t& next) {
    const std::size_t end = static_cast<std::size_t>(pass.first) + from + n;
    while (next < pass.touchedCount && static_cast<std::size_t>(pass.touched[next]) < end) {
        const std::size_t v = static_cast<std::size_t>(pass.touched[next] - pass.first) - from;
        pass.touchedScore[next] = score[v];
        pass.touchedTilt[next] = tilt[v];
        score[v] = kApart;
        ++next;
    }
}

template <bool Excluding, bool Warm, bool Kept>
inline void composeLoop(const Pass& pass, Sums& sums) {
    Block block;
    std::size_t next = 0;
    sums = {};
    sums.top = kMinusInfinity;
    for (int i = 0; i < pass.termCount; ++i) sums.aloneTop[i] = kMinusInfinity;
    for (std::size_t from = 0; from < pass.n; from += kBlock) {
        const std::size_t n = pass.n - from < kBlock ? pass.n - from : kBlock;
        for (std::size_t v = 0; v < n; ++v) block.tilt[v] = 0;
        if (Excluding)
            for (std::size_t v = 0; v < n; ++v) block.out[v] = 0;
        addTerms<Excluding>(pass, from, n, block, sums);
        float* score = pass.score + from;
        const float best = scoreBlock<Excluding>(pass.base + from, block, score, n, sums);
        pass.blockTop[from / kBlock] = best;
        setApart(pass, from, n, block.tilt, score, next);
        if (best > sums.top) {
            const double scale = rescaled(sums.top, best, 1), scaleTau = rescaled(sums.top, best, pass.inverseTau);
            sums.mass *= scale;
            sums.tilt *= scale;
            sums.massTau *= scaleTau;
            sums.tiltTau *= scaleTau;
            sums.scoreTau *= scaleTau;
            sums.top = best;
        }
        const float top = sums.top > kMinusInfinity ? sums.top : 0.0f;  // nothing left so far
        if (Kept) pass.shift[from / kBlock] = sums.top;
        sumBlock<Excluding, Warm, Kept>(block.tilt, score, pass.masses + (Kept ? from : 0), n, top, pass.inverseTau,
                                        sums);
    }
}

template <bool Excluding, bool Warm>
inline void composeWith(const Pass& pass, Sums& sums) {
    pass.masses != nullptr ? composeLoop<Excluding, Warm, true>(pass, sums)
                           : composeLoop<Excluding, Warm, false>(pass, sums);
}

void compose(const Pass& pass, Sums& sums) {
    const bool warm = pass.inverseTau != 1.0f;
    if (pass.excluding)
        warm ? composeWith<true, true>(pass, sums) : composeWith<true, false>(pass, sums);
    else
        warm ? composeWith<false, true>(pass, sums) : composeWith<false, false>(pass, sums);
}

template <bool Excluding>
inline void finishLoop(Finish& f) {
    double tvAll = 0, jsAll = 0, backAll = 0;
    for (std::size_t from = 0; from < f.n; from += kBlock) {
        const std::size_t n = f.n - from < kBlock ? f.n - from : kBlock;
        const float *base = f.base + from, *score = f.score + from;
        float *composed = f.composed + from, *temperature = f.temperature + from;
        const float top = f.top, inverseTau = f.inverseTau, rest = f.restComposed, restTau = f.restTau;
        // The pass's e^{(s − shift)/τ} becomes p̂ by one factor a block.
        const float share = expOf((f.shift[from / kBlock] - top) * inverseTau - restTau);
        float tv = 0, js = 0, back = 0;
#pragma omp simd reduction(+ : tv, js, back)
        for (std::size_t v = 0; v < n; ++v) {
            const float x = score[v] - top, logP = x * inverseTau - restTau;
            const float p = temperature[v] * share, q = massOf<Excluding>(base[v]);
            composed[v] = x - rest;
            temperature[v] = logP;
            const float difference = p - q;
            tv += difference < 0 ? -difference : difference;
            const float mean = 0.5f * (p + q);
            const float logMean = logOf(mean > 1e-37f ? mean : 1e-37f);
            const float a = finiteOf<Excluding>(logP), b = finiteOf<Excluding>(base[v]);
            js += p * (a - logMean) + q * (b - logMean);
            back += q * (b - a);
        }
        tvAll += tv;
        jsAll += js;
        backAll += back;
    }
    f.tv = tvAll / 2;
    f.js = jsAll / 2;
    f.klFromBase = backAll;
}

void finish(Finish& f) { f.excluding ? finishLoop<true>(f) : finishLoop<false>(f); }

void apart(Apart& a) {
    a.massComposed = a.mass = a.tilted = a.sumTau = a.tiltTau = a.scoreTau = 0;
    const float top = a.top, lifted = a.lifted, inverseTau = a.inverseTau, more = inverseTau - 1.0f;
    for (std::size_t from = 0; from < a.n; from += kBlock) {
        const std::size_t n = a.n - from < kBlock ? a.n - from : kBlock;
        const float *score = a.score + from, *tilt = a.tilt + from, *push = a.push + from;
        float *moved = a.moved + from, *massTau = a.massTau + from;
        float before = 0, mass = 0, tilted = 0, sumTau = 0, tiltTau = 0, scoreTau = 0;
#pragma omp simd reduction(+ : before, mass, tilted, sumTau, tiltTau, scoreTau)
        for (std::size_t k = 0; k < n; ++k) {
            const float x = score[k] + push[k], s = finiteOf<true>(x), t = tilt[k] + push[k];
            moved[k] = x;
            before += massOf<true>(score[k] - top);
            const float e = massOf<true>(x - lifted), eTau = massOf<true>((x - lifted) * inverseTau);
            massTau[k] = eTau;
            mass += e;
            tilted += e * t;
            sumTau += eTau;
            tiltTau += eTau * (t + s * more);
            scoreTau += eTau * s;
        }
        a.massComposed += before;
        a.mass += mass;
        a.tilted += tilted;
        a.sumTau += sumTau;
        a.tiltTau += tiltTau;
        a.scoreTau += scoreTau;
    }
}

void measure(const float* row, const float* other, std::size_t n, Measured& out) {
    out = {};
    float top = kMinusInfinity;
    int excluded = 0, improper = 0, unsupported = 0;
#pragma omp simd reduction(max : top) reduction(+ : excluded, improper, unsupported)
    for (std::size_t v = 0; v < n; ++v) {
        top = row[v] > top ? row[v] : top;
        excluded += row[v] == kMinusInfinity ? 1 : 0;
        improper += row[v] < __builtin_inff() ? 0 : 1;
        unsupported += row[v] > kMinusInfinity && other[v] == kMinusInfinity ? 1 : 0;
    }
    out.top = top;
    out.excluded = excluded;
    out.improper = improper;
    out.unsupported = unsupported;
    out.best = n;
    if (improper != 0 || top == kMinusInfinity) return;
    out.best = 0;
    while (row[out.best] != top) ++out.best;
    for (std::size_t from = 0; from < n; from += kBlock) {
        const std::size_t count = n - from < kBlock ? n - from : kBlock;
        const float *x = row + from, *y = other + from;
        float mass = 0, tilt = 0;
#pragma omp simd reduction(+ : mass, tilt)
        for (std::size_t v = 0; v < count; ++v) {
            const float e = massOf<true>(x[v] - top);
            mass += e;
            tilt += e * (finiteOf<true>(x[v]) - finiteOf<true>(y[v]));
        }
        out.mass += mass;
        out.tilt += tilt;
    }
}

/// An upper bound of G from word 0 alone: −ln(1−u) <= −ln(d/2^31), d = (2^32 − 1 − w0)/2, and log2 x lies above the
/// line through its exponent and mantissa bits. d = 0 gives 88, above every G.
inline float gumbelBound(std::uint32_t word0) {
    const float d = static_cast<float>(static_cast<int>(~word0 >> 1));
    const float log2Below = static_cast<float>(static_cast<int>(bitsOf(d))) * 0x1p-23f - 127.0f;
    return 0.693147181f * (31.0f - log2Below);
}

float bound(const float* row, std::uint32_t first, std::size_t n, const Noise& noise, float* out) {
    const RowOfCounters counters(noise.key0, noise.key1, noise.position, noise.stream);
    alignas(64) std::uint32_t words[kBlock];
    words0(counters, first, (n + 2 * kLanes - 1) / (2 * kLanes) * (2 * kLanes), words);
    float best = kMinusInfinity;
#pragma omp simd reduction(max : best)
    for (std::size_t v = 0; v < n; ++v) {
        const float x = row[v] + gumbelBound(words[v]);
        out[v] = x;
        best = x > best ? x : best;
    }
    return best;
}

}  // namespace
}  // namespace counterpoint::compute::fused
