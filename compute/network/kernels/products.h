// Matrix products over Lanes: one text for every instruction set (kernels.h says what matmul computes). Included inside
// an unnamed namespace after a lanes_*.h; no standard library code here, so that nothing built for a newer processor
// leaks out.

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

/// Bytes ahead that a row read alone is asked for.
constexpr std::int64_t kAlone = 1024;

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
            // The rows that follow; of one row alone what follows in it.
            __builtin_prefetch(R > 1 ? static_cast<const void*>(w + (R + r) * K + k)
                                     : w + k + kAlone / static_cast<std::int64_t>(sizeof(*w)));
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
        constexpr int kRows = sizeof(typename Stored<type>::Element) == 2 ? kNarrowGemvRows : kGemvRows;
        for (; n + kRows <= to; n += kRows) rowsTimesOne<type, kRows>(a, n, 0);
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
