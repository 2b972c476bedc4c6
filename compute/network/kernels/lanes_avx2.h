// Sixteen float32 lanes in two AVX registers. Included inside an unnamed namespace by kernels_avx2.cpp only.

struct Lanes {
    __m256 lo, hi;
};
// Rows of narrow weights one after the other: side by side they were a fifth slower.
constexpr int kGemvRows = 4, kNarrowGemvRows = 1, kGemmRows = 4, kGemmColumns = 3, kOuterRows = 1, kOuterColumns = 6;

inline __m256i laneMask(std::int64_t n, int first) {
    const __m256i index = _mm256_add_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_epi32(first));
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)), index);
}
inline __m256 widenBf16(const std::uint16_t* p) {
    return _mm256_castsi256_ps(
        _mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))), 16));
}
inline __m256 widenF16(const std::uint16_t* p) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}

inline Lanes zeros() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }
inline Lanes broadcast(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
inline Lanes load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
inline Lanes loadFirst(const float* p, std::int64_t n) {
    return {_mm256_maskload_ps(p, laneMask(n, 0)), _mm256_maskload_ps(p + 8, laneMask(n, 8))};
}
inline Lanes loadBf16(const std::uint16_t* p) { return {widenBf16(p), widenBf16(p + 8)}; }
inline Lanes loadF16(const std::uint16_t* p) { return {widenF16(p), widenF16(p + 8)}; }
inline Lanes loadBf16First(const std::uint16_t* p, std::int64_t n) {
    std::uint16_t buffer[16] = {};
    __builtin_memcpy(buffer, p, static_cast<std::size_t>(n) * sizeof(std::uint16_t));
    return loadBf16(buffer);
}
inline Lanes loadF16First(const std::uint16_t* p, std::int64_t n) {
    std::uint16_t buffer[16] = {};
    __builtin_memcpy(buffer, p, static_cast<std::size_t>(n) * sizeof(std::uint16_t));
    return loadF16(buffer);
}
inline void store(float* p, Lanes a) {
    _mm256_storeu_ps(p, a.lo);
    _mm256_storeu_ps(p + 8, a.hi);
}
inline void storeFirst(float* p, Lanes a, std::int64_t n) {
    _mm256_maskstore_ps(p, laneMask(n, 0), a.lo);
    _mm256_maskstore_ps(p + 8, laneMask(n, 8), a.hi);
}
inline Lanes keepFirst(Lanes a, std::int64_t n, Lanes other) {
    return {_mm256_blendv_ps(other.lo, a.lo, _mm256_castsi256_ps(laneMask(n, 0))),
            _mm256_blendv_ps(other.hi, a.hi, _mm256_castsi256_ps(laneMask(n, 8)))};
}
inline Lanes add(Lanes a, Lanes b) { return {_mm256_add_ps(a.lo, b.lo), _mm256_add_ps(a.hi, b.hi)}; }
inline Lanes sub(Lanes a, Lanes b) { return {_mm256_sub_ps(a.lo, b.lo), _mm256_sub_ps(a.hi, b.hi)}; }
inline Lanes mul(Lanes a, Lanes b) { return {_mm256_mul_ps(a.lo, b.lo), _mm256_mul_ps(a.hi, b.hi)}; }
inline Lanes div(Lanes a, Lanes b) { return {_mm256_div_ps(a.lo, b.lo), _mm256_div_ps(a.hi, b.hi)}; }
inline Lanes fma(Lanes a, Lanes b, Lanes c) {
    return {_mm256_fmadd_ps(a.lo, b.lo, c.lo), _mm256_fmadd_ps(a.hi, b.hi, c.hi)};
}
inline Lanes larger(Lanes a, Lanes b) { return {_mm256_max_ps(a.lo, b.lo), _mm256_max_ps(a.hi, b.hi)}; }
inline Lanes smaller(Lanes a, Lanes b) { return {_mm256_min_ps(a.lo, b.lo), _mm256_min_ps(a.hi, b.hi)}; }
inline Lanes nearest(Lanes a) {
    return {_mm256_round_ps(a.lo, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC),
            _mm256_round_ps(a.hi, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
}
inline __m256 powerOfTwo8(__m256 a) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(a), _mm256_set1_epi32(127)), 23));
}
/// 2^a for whole a in [-126, 127].
inline Lanes powerOfTwo(Lanes a) { return {powerOfTwo8(a.lo), powerOfTwo8(a.hi)}; }
inline Lanes zeroWhereBelow(Lanes a, Lanes x, Lanes bound) {
    return {_mm256_and_ps(a.lo, _mm256_cmp_ps(x.lo, bound.lo, _CMP_NLT_UQ)),
            _mm256_and_ps(a.hi, _mm256_cmp_ps(x.hi, bound.hi, _CMP_NLT_UQ))};
}
inline float sum8(__m256 a) {
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
}
inline float sum(Lanes a) { return sum8(_mm256_add_ps(a.lo, a.hi)); }
inline float largest(Lanes a) {
    const __m256 eight = _mm256_max_ps(a.lo, a.hi);
    const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_shuffle_ps(two, two, 1)));
}

/// Matrix products go over the lanes in two parts, one after the other: 12 sums of eight lanes fit the 16 registers.
using Part = __m256;
constexpr int kParts = 2, kPartLanes = 8;
inline Part partF32(const float* p) { return _mm256_loadu_ps(p); }
inline Part partF32First(const float* p, std::int64_t n) { return _mm256_maskload_ps(p, laneMask(n, 0)); }
inline Part partBf16(const std::uint16_t* p) { return widenBf16(p); }
inline Part partF16(const std::uint16_t* p) { return widenF16(p); }
inline __m128i firstOf8(const std::uint16_t* p, std::int64_t n) {
    std::uint16_t buffer[8] = {};
    if (n > 0) __builtin_memcpy(buffer, p, static_cast<std::size_t>(n < 8 ? n : 8) * sizeof(std::uint16_t));
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(buffer));
}
inline Part partBf16First(const std::uint16_t* p, std::int64_t n) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(firstOf8(p, n)), 16));
}
inline Part partF16First(const std::uint16_t* p, std::int64_t n) { return _mm256_cvtph_ps(firstOf8(p, n)); }
inline Part partZeros() { return _mm256_setzero_ps(); }
inline Part partFma(Part a, Part b, Part c) { return _mm256_fmadd_ps(a, b, c); }
inline float sumOfParts(const Part* a) { return sum8(_mm256_add_ps(a[0], a[1])); }
