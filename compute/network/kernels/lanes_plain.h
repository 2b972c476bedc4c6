// Sixteen float32 lanes in plain C++: the fallback and the readable statement of what the others do.
// Included inside an unnamed namespace by kernels_plain.cpp only.

struct Lanes {
    float v[16];
};
constexpr int kGemvRows = 2, kNarrowGemvRows = 2, kGemmRows = 1, kGemmColumns = 2, kOuterRows = 1, kOuterColumns = 2;

template <class F>
inline Lanes each(F f) {
    Lanes r;
    for (int j = 0; j < 16; ++j) r.v[j] = f(j);
    return r;
}

inline float fromBits(std::uint32_t bits) {
    float x;
    __builtin_memcpy(&x, &bits, sizeof x);
    return x;
}
inline float fromBf16(std::uint16_t bits) { return fromBits(static_cast<std::uint32_t>(bits) << 16); }
inline float fromF16(std::uint16_t half) {
    const std::uint32_t sign = (half & 0x8000u) << 16, exponent = (half >> 10) & 31u, mantissa = half & 1023u;
    if (exponent == 31u) return fromBits(sign | 0x7f800000u | (mantissa << 13));
    if (exponent != 0u) return fromBits(sign | ((exponent + 112u) << 23) | (mantissa << 13));
    const float small = static_cast<float>(mantissa) * 0x1p-24f;  // subnormal or zero
    return sign != 0u ? -small : small;
}

inline Lanes broadcast(float x) {
    return each([=](int) { return x; });
}
inline Lanes zeros() { return broadcast(0.0f); }
inline Lanes load(const float* p) {
    return each([=](int j) { return p[j]; });
}
inline Lanes loadFirst(const float* p, std::int64_t n) {
    return each([=](int j) { return j < n ? p[j] : 0.0f; });
}
inline Lanes loadBf16(const std::uint16_t* p) {
    return each([=](int j) { return fromBf16(p[j]); });
}
inline Lanes loadBf16First(const std::uint16_t* p, std::int64_t n) {
    return each([=](int j) { return j < n ? fromBf16(p[j]) : 0.0f; });
}
inline Lanes loadF16(const std::uint16_t* p) {
    return each([=](int j) { return fromF16(p[j]); });
}
inline Lanes loadF16First(const std::uint16_t* p, std::int64_t n) {
    return each([=](int j) { return j < n ? fromF16(p[j]) : 0.0f; });
}
inline void storeFirst(float* p, Lanes a, std::int64_t n) {
    for (int j = 0; j < n; ++j) p[j] = a.v[j];
}
inline void store(float* p, Lanes a) { storeFirst(p, a, 16); }
inline Lanes keepFirst(Lanes a, std::int64_t n, Lanes other) {
    return each([&](int j) { return j < n ? a.v[j] : other.v[j]; });
}
inline Lanes add(Lanes a, Lanes b) {
    return each([&](int j) { return a.v[j] + b.v[j]; });
}
inline Lanes sub(Lanes a, Lanes b) {
    return each([&](int j) { return a.v[j] - b.v[j]; });
}
inline Lanes mul(Lanes a, Lanes b) {
    return each([&](int j) { return a.v[j] * b.v[j]; });
}
inline Lanes div(Lanes a, Lanes b) {
    return each([&](int j) { return a.v[j] / b.v[j]; });
}
inline Lanes fma(Lanes a, Lanes b, Lanes c) {
    return each([&](int j) { return a.v[j] * b.v[j] + c.v[j]; });
}
inline Lanes larger(Lanes a, Lanes b) {
    return each([&](int j) { return a.v[j] > b.v[j] ? a.v[j] : b.v[j]; });
}
inline Lanes smaller(Lanes a, Lanes b) {
    return each([&](int j) { return a.v[j] < b.v[j] ? a.v[j] : b.v[j]; });
}
/// Adding and taking away 1.5·2^23 rounds to the nearest whole number for |a| < 2^22.
inline Lanes nearest(Lanes a) {
    return each([&](int j) { return (a.v[j] + 12582912.0f) - 12582912.0f; });
}
/// 2^a for whole a in [-126, 127]; not a number gives some number, which the caller multiplies by not a number.
inline Lanes powerOfTwo(Lanes a) {
    return each([&](int j) {
        const int whole = a.v[j] == a.v[j] ? static_cast<int>(a.v[j]) : 0;
        return fromBits(static_cast<std::uint32_t>(whole + 127) << 23);
    });
}
inline Lanes zeroWhereBelow(Lanes a, Lanes x, Lanes bound) {
    return each([&](int j) { return x.v[j] < bound.v[j] ? 0.0f : a.v[j]; });
}
inline float sum(Lanes a) {
    for (int half = 8; half > 0; half /= 2)
        for (int j = 0; j < half; ++j) a.v[j] = a.v[j] + a.v[j + half];
    return a.v[0];
}
inline float largest(Lanes a) {
    for (int half = 8; half > 0; half /= 2)
        for (int j = 0; j < half; ++j) a.v[j] = a.v[j] > a.v[j + half] ? a.v[j] : a.v[j + half];
    return a.v[0];
}

/// Matrix products go over the lanes in parts that leave room in the registers: here one part, all lanes.
using Part = Lanes;
constexpr int kParts = 1, kPartLanes = 16;
inline Part partF32(const float* p) { return load(p); }
inline Part partF32First(const float* p, std::int64_t n) { return loadFirst(p, n); }
inline Part partBf16(const std::uint16_t* p) { return loadBf16(p); }
inline Part partBf16First(const std::uint16_t* p, std::int64_t n) { return loadBf16First(p, n); }
inline Part partF16(const std::uint16_t* p) { return loadF16(p); }
inline Part partF16First(const std::uint16_t* p, std::int64_t n) { return loadF16First(p, n); }
inline Part partZeros() { return zeros(); }
inline Part partFma(Part a, Part b, Part c) { return fma(a, b, c); }
inline float sumOfParts(const Part* a) { return sum(a[0]); }
