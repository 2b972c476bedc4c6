// The loops over Lanes: one text for every instruction set (kernels.h says what each computes). Included inside an
// unnamed namespace after a lanes_*.h; no standard library code here, so that nothing built for a newer processor leaks
// out.

template <WeightType type>
struct Stored;
template <>
struct Stored<WeightType::Float32> {
    using Element = float;
    static Lanes full(const float* p) { return load(p); }
    static Lanes first(const float* p, std::int64_t n) { return loadFirst(p, n); }
    static Part part(const float* p) { return partF32(p); }
    static Part partFirst(const float* p, std::int64_t n) { return partF32First(p, n); }
};
template <>
struct Stored<WeightType::BFloat16> {
    using Element = std::uint16_t;
    static Lanes full(const std::uint16_t* p) { return loadBf16(p); }
    static Lanes first(const std::uint16_t* p, std::int64_t n) { return loadBf16First(p, n); }
    static Part part(const std::uint16_t* p) { return partBf16(p); }
    static Part partFirst(const std::uint16_t* p, std::int64_t n) { return partBf16First(p, n); }
};
template <>
struct Stored<WeightType::Float16> {
    using Element = std::uint16_t;
    static Lanes full(const std::uint16_t* p) { return loadF16(p); }
    static Lanes first(const std::uint16_t* p, std::int64_t n) { return loadF16First(p, n); }
    static Part part(const std::uint16_t* p) { return partF16(p); }
    static Part partFirst(const std::uint16_t* p, std::int64_t n) { return partF16First(p, n); }
};

/// A number the compiler knows.
template <int n>
struct Count {
    static constexpr int value = n;
};

/// One row of x against R rows of w; all lanes at once, so that w is read once from memory.
template <WeightType type, int R>
inline void rowsTimesOne(const MatmulArguments& a, std::int64_t row, std::int64_t column) {
    using S = Stored<type>;
    const std::int64_t K = a.columns, whole = K & ~std::int64_t{15}, rest = K - whole;
    const typename S::Element* w = static_cast<const typename S::Element*>(a.w) + row * K;
    const float* x = a.x + column * K;
    Lanes sums[R];
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) sums[r] = zeros();
    for (std::int64_t k = 0; k < whole; k += 16) {
        const Lanes xk = load(x + k);
#pragma GCC unroll 8
        for (int r = 0; r < R; ++r) {
            __builtin_prefetch(w + (R + r) * K + k);  // the rows that follow
            sums[r] = fma(S::full(w + r * K + k), xk, sums[r]);
        }
    }
    if (rest > 0) {
        const Lanes xk = loadFirst(x + whole, rest);
#pragma GCC unroll 8
        for (int r = 0; r < R; ++r) sums[r] = fma(S::first(w + r * K + whole, rest), xk, sums[r]);
    }
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
        const float total = sum(sums[r]);
        a.y[column * a.stride + row + r] = a.bias != nullptr ? total + a.bias[row + r] : total;
    }
}

/// C rows of x against R rows of w: R·C sums of one part of the lanes at a time, kept in registers.
template <WeightType type, int R, int C>
inline void tile(const MatmulArguments& a, std::int64_t row, std::int64_t column) {
    using S = Stored<type>;
    const std::int64_t K = a.columns, whole = K & ~std::int64_t{15};
    Part parts[R][C][kParts];
#pragma GCC unroll 2
    for (int p = 0; p < kParts; ++p) {
        const typename S::Element* w = static_cast<const typename S::Element*>(a.w) + row * K + p * kPartLanes;
        const float* x = a.x + column * K + p * kPartLanes;
        Part sums[R][C], xk[C];
#pragma GCC unroll 8
        for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
            for (int c = 0; c < C; ++c) sums[r][c] = partZeros();
        const auto accumulate = [&](auto wAt) {
#pragma GCC unroll 8
            for (int r = 0; r < R; ++r) {
                const Part wk = wAt(r);
#pragma GCC unroll 8
                for (int c = 0; c < C; ++c) sums[r][c] = partFma(wk, xk[c], sums[r][c]);
            }
        };
        for (std::int64_t k = 0; k < whole; k += 16) {
#pragma GCC unroll 8
            for (int c = 0; c < C; ++c) xk[c] = partF32(x + c * K + k);
            accumulate([&](int r) { return S::part(w + r * K + k); });
        }
        if (const std::int64_t rest = K - whole - p * kPartLanes; rest > 0) {
#pragma GCC unroll 8
            for (int c = 0; c < C; ++c) xk[c] = partF32First(x + c * K + whole, rest);
            accumulate([&](int r) { return S::partFirst(w + r * K + whole, rest); });
        }
#pragma GCC unroll 8
        for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
            for (int c = 0; c < C; ++c) parts[r][c][p] = sums[r][c];
    }
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
        for (int c = 0; c < C; ++c) {
            const float total = sumOfParts(parts[r][c]);
            a.y[(column + c) * a.stride + row + r] = a.bias != nullptr ? total + a.bias[row + r] : total;
        }
}

template <WeightType type, int R>
inline void tileColumns(const MatmulArguments& a, std::int64_t row) {
    std::int64_t t = 0;
    for (; t + kGemmColumns <= a.count; t += kGemmColumns) tile<type, R, kGemmColumns>(a, row, t);
    for (; t < a.count; ++t) rowsTimesOne<type, R>(a, row, t);
}

/// C rows of x against 16·R rows of the output, w transposed: every sum over k in order. Fewer than 16 rows: R = 1.
template <WeightType type, int R, int C, bool whole>
inline void outer(const MatmulArguments& a, std::int64_t row, std::int64_t column, std::int64_t rows) {
    using S = Stored<type>;
    const std::int64_t K = a.columns;
    const typename S::Element* w = static_cast<const typename S::Element*>(a.w) + row;
    const float* x = a.x + column * K;
    Lanes sums[R][C];
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
        for (int c = 0; c < C; ++c) sums[r][c] = zeros();
    for (std::int64_t k = 0; k < K; ++k, w += a.stride) {
        Lanes wk[R];
#pragma GCC unroll 8
        for (int r = 0; r < R; ++r) wk[r] = whole ? S::full(w + 16 * r) : S::first(w, rows);
#pragma GCC unroll 8
        for (int c = 0; c < C; ++c) {
            const Lanes xk = broadcast(x[c * K + k]);
#pragma GCC unroll 8
            for (int r = 0; r < R; ++r) sums[r][c] = fma(wk[r], xk, sums[r][c]);
        }
    }
#pragma GCC unroll 8
    for (int c = 0; c < C; ++c)
#pragma GCC unroll 8
        for (int r = 0; r < R; ++r) {
            float* y = a.y + (column + c) * a.stride + row + 16 * r;
            const float* bias = a.bias + row + 16 * r;
            if (whole)
                store(y, a.bias != nullptr ? add(sums[r][c], load(bias)) : sums[r][c]);
            else
                storeFirst(y, a.bias != nullptr ? add(sums[r][c], loadFirst(bias, rows)) : sums[r][c], rows);
        }
}

template <WeightType type, int R, bool whole>
inline void outerColumns(const MatmulArguments& a, std::int64_t row, std::int64_t rows) {
    std::int64_t t = 0;
    for (; t + kOuterColumns <= a.count; t += kOuterColumns) outer<type, R, kOuterColumns, whole>(a, row, t, rows);
    for (; t < a.count; ++t) outer<type, R, 1, whole>(a, row, t, rows);
}

/// Elements of a sum in one panel, so that it stays in the first cache.
template <int R>
constexpr std::int64_t kPanelDepth = 384 / R;
/// Fewer rows of x do not pay for a copy of w.
constexpr std::int64_t kWorthAPanel = 2 * kOuterColumns;

/// C rows of x against one panel of w, [depth][16·R] float32 from element k on: goes on with the sums in y.
template <int R, int C>
inline void panelTile(const MatmulArguments& a, const float* panel, std::int64_t k, std::int64_t depth,
                      std::int64_t row, std::int64_t column) {
    const float* x = a.x + column * a.columns + k;
    Lanes sums[R][C];
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
        for (int c = 0; c < C; ++c) sums[r][c] = k > 0 ? load(a.y + (column + c) * a.stride + row + 16 * r) : zeros();
    for (std::int64_t i = 0; i < depth; ++i, panel += 16 * R) {
        Lanes wk[R];
#pragma GCC unroll 8
        for (int r = 0; r < R; ++r) wk[r] = load(panel + 16 * r);
#pragma GCC unroll 8
        for (int c = 0; c < C; ++c) {
            const Lanes xk = broadcast(x[c * a.columns + i]);
#pragma GCC unroll 8
            for (int r = 0; r < R; ++r) sums[r][c] = fma(wk[r], xk, sums[r][c]);
        }
    }
    const bool last = k + depth == a.columns && a.bias != nullptr;
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
        for (int c = 0; c < C; ++c)
            store(a.y + (column + c) * a.stride + row + 16 * r,
                  last ? add(sums[r][c], load(a.bias + row + 16 * r)) : sums[r][c]);
}

/// Panels copied in one go: what is read of a row of w in one piece.
constexpr int kPanels = 4;

/// All rows of x against up to kPanels · 16·R rows of the output, w transposed and copied panel by panel: as it lies
/// its rows fall on the same lines of the cache. The same sums in the same order as outer().
template <WeightType type, int R>
inline void panelColumns(const MatmulArguments& a, std::int64_t row, int panels) {
    using S = Stored<type>;
    constexpr std::int64_t kDepth = kPanelDepth<R>, kSize = kDepth * 16 * R, kAhead = 16;
    alignas(64) float copied[kPanels * kSize];
    for (std::int64_t k = 0; k < a.columns; k += kDepth) {
        const std::int64_t depth = a.columns - k < kDepth ? a.columns - k : kDepth;
        const typename S::Element* w = static_cast<const typename S::Element*>(a.w) + k * a.stride + row;
        for (std::int64_t i = 0; i < depth; ++i, w += a.stride)
            for (int p = 0; p < panels; ++p)
#pragma GCC unroll 8
                for (int r = 0; r < R; ++r) {
                    __builtin_prefetch(w + (i + kAhead < depth ? kAhead * a.stride : 0) + (p * R + r) * 16);
                    store(copied + p * kSize + (i * R + r) * 16, S::full(w + (p * R + r) * 16));
                }
        for (int p = 0; p < panels; ++p) {
            const float* panel = copied + p * kSize;
            const std::int64_t at = row + p * R * 16;
            std::int64_t t = 0;
            for (; t + kOuterColumns <= a.count; t += kOuterColumns)
                panelTile<R, kOuterColumns>(a, panel, k, depth, at, t);
            for (; t < a.count; ++t) panelTile<R, 1>(a, panel, k, depth, at, t);
        }
    }
}

/// One row of x, w transposed: w is read row after row as it lies in memory, the sums are kept in y.
template <WeightType type>
inline void outerOne(const MatmulArguments& a, std::int64_t from, std::int64_t to) {
    using S = Stored<type>;
    constexpr int kTogether = 4;
    const std::int64_t n = to - from, full = n & ~std::int64_t{15}, rest = n - full;
    float* y = a.y + from;
    for (std::int64_t i = 0; i < full; i += 16) store(y + i, zeros());
    if (rest > 0) storeFirst(y + full, zeros(), rest);
    const auto accumulate = [&](auto together, std::int64_t k) {
        constexpr int rows = decltype(together)::value;
        const typename S::Element* w = static_cast<const typename S::Element*>(a.w) + k * a.stride + from;
        Lanes xk[rows];
#pragma GCC unroll 8
        for (int r = 0; r < rows; ++r) xk[r] = broadcast(a.x[k + r]);
        for (std::int64_t i = 0; i < full; i += 16) {
            Lanes s = load(y + i);
#pragma GCC unroll 8
            for (int r = 0; r < rows; ++r) {
                __builtin_prefetch(w + (rows + r) * a.stride + i);  // the rows that follow
                s = fma(S::full(w + r * a.stride + i), xk[r], s);
            }
            store(y + i, s);
        }
        if (rest == 0) return;
        Lanes s = loadFirst(y + full, rest);
#pragma GCC unroll 8
        for (int r = 0; r < rows; ++r) s = fma(S::first(w + r * a.stride + full, rest), xk[r], s);
        storeFirst(y + full, s, rest);
    };
    std::int64_t k = 0;
    for (; k + kTogether <= a.columns; k += kTogether) accumulate(Count<kTogether>(), k);
    for (; k < a.columns; ++k) accumulate(Count<1>(), k);
    if (a.bias == nullptr) return;
    for (std::int64_t i = 0; i < full; i += 16) store(y + i, add(load(y + i), load(a.bias + from + i)));
    if (rest > 0) storeFirst(y + full, add(loadFirst(y + full, rest), loadFirst(a.bias + from + full, rest)), rest);
}

template <WeightType type>
void matmulOf(const MatmulArguments& a, std::int64_t from, std::int64_t to) {
    std::int64_t n = from;
    if (a.transposed) {
        if (a.count == 1) return outerOne<type>(a, from, to);
        constexpr std::int64_t kPanel = 16 * kOuterRows;
        if (a.count >= kWorthAPanel)
            for (std::int64_t left = (to - n) / kPanel; left > 0; left = (to - n) / kPanel) {
                const int panels = left < kPanels ? static_cast<int>(left) : kPanels;
                panelColumns<type, kOuterRows>(a, n, panels);
                n += panels * kPanel;
            }
        for (; n + kPanel <= to; n += kPanel) outerColumns<type, kOuterRows, true>(a, n, 16);
        for (; n + 16 <= to; n += 16) outerColumns<type, 1, true>(a, n, 16);
        if (n < to) outerColumns<type, 1, false>(a, n, to - n);
        return;
    }
    if (a.count == 1) {
        for (; n + kGemvRows <= to; n += kGemvRows) rowsTimesOne<type, kGemvRows>(a, n, 0);
    } else {
        for (; n + kGemmRows <= to; n += kGemmRows) tileColumns<type, kGemmRows>(a, n);
    }
    for (; n < to; ++n) tileColumns<type, 1>(a, n);
}

void matmul(const MatmulArguments& a, std::int64_t from, std::int64_t to) {
    switch (a.type) {
        case WeightType::Float32:
            return matmulOf<WeightType::Float32>(a, from, to);
        case WeightType::BFloat16:
            return matmulOf<WeightType::BFloat16>(a, from, to);
        case WeightType::Float16:
            return matmulOf<WeightType::Float16>(a, from, to);
    }
}

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
