// The loops over Lanes: the products, and here what lies between them: attention, norms, activations; one text for every
// instruction set (kernels.h says what each computes). Included inside an unnamed namespace after a lanes_*.h.

#include "compute/network/kernels/products.h"

/// e^x to 1e-7 relative for x <= 88; 0 below −87; not a number stays so. Reduction by log 2 in two parts, Taylor to
/// r^7/7!
/// (|r| <= 0.347: the next term is 5e-9).
inline Lanes exponential(Lanes x) {
    const Lanes low = broadcast(-87.0f);
    const Lanes bounded = larger(low, smaller(broadcast(88.0f), x));  // not a number is the second operand and passes
    const Lanes whole = nearest(mul(bounded, broadcast(1.44269504f)));
    Lanes r = fma(whole, broadcast(-0.693359375f), bounded);
    r = fma(whole, broadcast(2.12194440e-4f), r);
    Lanes p = broadcast(1.0f / 5040.0f);
    p = fma(p, r, broadcast(1.0f / 720.0f));
    p = fma(p, r, broadcast(1.0f / 120.0f));
    p = fma(p, r, broadcast(1.0f / 24.0f));
    p = fma(p, r, broadcast(1.0f / 6.0f));
    p = fma(p, r, broadcast(0.5f));
    p = fma(p, r, broadcast(1.0f));
    p = fma(p, r, broadcast(1.0f));
    return zeroWhereBelow(mul(p, powerOfTwo(whole)), x, low);
}

/// tanh x = 1 − 2 / (e^(2x) + 1), to 1e-7 of 1.
inline Lanes hyperbolicTangent(Lanes x) {
    const Lanes one = broadcast(1.0f);
    return sub(one, div(broadcast(2.0f), add(exponential(add(x, x)), one)));
}

inline Lanes capped(Lanes x, Lanes cap) { return mul(cap, hyperbolicTangent(div(x, cap))); }

constexpr float kNothing = -__builtin_inff();

void attend(const AttentionArguments& a) {
    const std::int64_t D = a.headDim;
    Lanes top = broadcast(kNothing);
    const std::int64_t begin = a.first & ~std::int64_t{15};
    for (std::int64_t start = begin; start < a.count; start += 16) {  // scores, 16 positions at a time
        const float* keys = a.pages[start / kPage] + a.offset + start % kPage;
        Lanes even = zeros(), odd = zeros();
        std::int64_t d = 0;
        for (; d + 2 <= D; d += 2) {
            even = fma(broadcast(a.q[d]), load(keys + d * kPage), even);
            odd = fma(broadcast(a.q[d + 1]), load(keys + (d + 1) * kPage), odd);
        }
        if (d < D) even = fma(broadcast(a.q[d]), load(keys + d * kPage), even);
        Lanes score = mul(add(even, odd), broadcast(a.scale));
        if (a.cap > 0.0f) score = capped(score, broadcast(a.cap));
        if (start < a.first) score = keepFirst(broadcast(kNothing), a.first - start, score);
        if (a.count - start < 16) score = keepFirst(score, a.count - start, broadcast(kNothing));
        top = larger(top, score);
        store(a.scores + start, score);
    }
    const Lanes highest = broadcast(largest(top));
    Lanes total = zeros();
    for (std::int64_t start = begin; start < a.count; start += 16) {
        const Lanes weight = exponential(sub(load(a.scores + start), highest));
        total = add(total, weight);
        store(a.scores + start, weight);
    }
    for (std::int64_t d = 0; d < D; ++d) store(a.sums + d * 16, zeros());
    for (std::int64_t page = begin / kPage; page * kPage < a.count; ++page) {
        const float* values = a.pages[page] + a.offset + D * kPage;
        const float* weights = a.scores + page * kPage;
        const std::int64_t left = a.count - page * kPage, here = left < kPage ? left : kPage;
        const std::int64_t from = page == begin / kPage ? begin % kPage : 0;
        for (std::int64_t d = 0; d < D; ++d) {
            Lanes s = load(a.sums + d * 16);
            std::int64_t j = from;
            for (; j + 16 <= here; j += 16) s = fma(load(weights + j), load(values + d * kPage + j), s);
            if (j < here) s = fma(load(weights + j), loadFirst(values + d * kPage + j, here - j), s);
            store(a.sums + d * 16, s);
        }
    }
    const float share = 1.0f / sum(total);
    for (std::int64_t d = 0; d < D; ++d) a.out[d] = sum(load(a.sums + d * 16)) * share;
}

void rmsNorm(const float* x, const float* weight, float epsilon, std::int64_t n, float* out) {
    const std::int64_t whole = n & ~std::int64_t{15}, rest = n - whole;
    Lanes squares = zeros();
    for (std::int64_t i = 0; i < whole; i += 16) squares = fma(load(x + i), load(x + i), squares);
    if (rest > 0) squares = fma(loadFirst(x + whole, rest), loadFirst(x + whole, rest), squares);
    const Lanes scale = broadcast(1.0f / __builtin_sqrtf(sum(squares) / static_cast<float>(n) + epsilon));
    for (std::int64_t i = 0; i < whole; i += 16) store(out + i, mul(mul(load(x + i), scale), load(weight + i)));
    if (rest > 0)
        storeFirst(out + whole, mul(mul(loadFirst(x + whole, rest), scale), loadFirst(weight + whole, rest)), rest);
}

void layerNorm(const float* x, const float* weight, const float* bias, float epsilon, std::int64_t n, float* out) {
    const std::int64_t whole = n & ~std::int64_t{15}, rest = n - whole;
    const float size = static_cast<float>(n);
    Lanes total = zeros();
    for (std::int64_t i = 0; i < whole; i += 16) total = add(total, load(x + i));
    if (rest > 0) total = add(total, loadFirst(x + whole, rest));
    const Lanes mean = broadcast(sum(total) / size);
    const auto last = [&] { return keepFirst(sub(loadFirst(x + whole, rest), mean), rest, zeros()); };
    Lanes squares = zeros();
    for (std::int64_t i = 0; i < whole; i += 16) {
        const Lanes d = sub(load(x + i), mean);
        squares = fma(d, d, squares);
    }
    if (rest > 0) squares = fma(last(), last(), squares);
    const Lanes scale = broadcast(1.0f / __builtin_sqrtf(sum(squares) / size + epsilon));
    for (std::int64_t i = 0; i < whole; i += 16) {
        const Lanes y = mul(mul(sub(load(x + i), mean), scale), load(weight + i));
        store(out + i, bias != nullptr ? add(y, load(bias + i)) : y);
    }
    if (rest == 0) return;
    const Lanes y = mul(mul(last(), scale), loadFirst(weight + whole, rest));
    storeFirst(out + whole, bias != nullptr ? add(y, loadFirst(bias + whole, rest)) : y, rest);
}

inline Lanes silu(Lanes x) { return div(x, add(broadcast(1.0f), exponential(sub(zeros(), x)))); }

inline Lanes geluTanh(Lanes x) {
    const Lanes inner = mul(x, fma(mul(x, x), broadcast(0.044715f), broadcast(1.0f)));
    const Lanes twice = mul(inner, broadcast(1.5957691216f));  // 2·√(2/π)
    return div(x, add(broadcast(1.0f), exponential(sub(zeros(), twice))));
}

/// x·Φ(x) = max(x, 0) − |x|·½erfc(|x|/√2); erfc by Abramowitz and Stegun 7.1.26, which is within 1.5e-7.
inline Lanes gelu(Lanes x) {
    const Lanes size = larger(sub(zeros(), x), x), z = mul(size, broadcast(0.70710678f));
    const Lanes t = div(broadcast(1.0f), fma(broadcast(0.3275911f), z, broadcast(1.0f)));
    Lanes p = broadcast(1.061405429f);
    p = fma(p, t, broadcast(-1.453152027f));
    p = fma(p, t, broadcast(1.421413741f));
    p = fma(p, t, broadcast(-0.284496736f));
    p = fma(p, t, broadcast(0.254829592f));
    const Lanes beyond = mul(mul(mul(p, t), broadcast(0.5f)), exponential(sub(zeros(), mul(z, z))));
    return sub(larger(zeros(), x), mul(size, beyond));
}

template <class Function>
inline void activateBy(float* gate, const float* up, std::int64_t n, Function f) {
    const std::int64_t whole = n & ~std::int64_t{15}, rest = n - whole;
    for (std::int64_t i = 0; i < whole; i += 16)
        store(gate + i, up != nullptr ? mul(f(load(gate + i)), load(up + i)) : f(load(gate + i)));
    if (rest == 0) return;
    const Lanes last = f(loadFirst(gate + whole, rest));
    storeFirst(gate + whole, up != nullptr ? mul(last, loadFirst(up + whole, rest)) : last, rest);
}

void activate(Activation f, float* gate, const float* up, std::int64_t n) {
    switch (f) {
        case Activation::Silu:
            return activateBy(gate, up, n, [](Lanes x) { return silu(x); });
        case Activation::Gelu:
            return activateBy(gate, up, n, [](Lanes x) { return gelu(x); });
        case Activation::GeluTanh:
            return activateBy(gate, up, n, [](Lanes x) { return geluTanh(x); });
    }
}

void softCap(float* x, float cap, std::int64_t n) {
    activateBy(x, nullptr, n, [cap](Lanes v) { return capped(v, broadcast(cap)); });
}

template <WeightType type>
void widenOf(const void* in, std::int64_t n, float* out) {
    using S = Stored<type>;
    const typename S::Element* p = static_cast<const typename S::Element*>(in);
    std::int64_t i = 0;
    for (; i + 16 <= n; i += 16) store(out + i, S::full(p + i));
    if (i < n) storeFirst(out + i, S::first(p + i, n - i), n - i);
}

void widen(const void* in, WeightType type, std::int64_t n, float* out) {
    switch (type) {
        case WeightType::Float32:
            return widenOf<WeightType::Float32>(in, n, out);
        case WeightType::BFloat16:
            return widenOf<WeightType::BFloat16>(in, n, out);
        case WeightType::Float16:
            return widenOf<WeightType::Float16>(in, n, out);
    }
}
