// The passes of kernels.h on raw pointers, included by one file per instruction set; everything here is internal to it.
// Written so that the loops vectorise as they stand.

#include "compute/composition/fused/philoxlanes.h"
#include "compute/composition/fused/termloops.h"

namespace counterpoint::compute::fused {
namespace {

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
