// Sixteen float32 lanes in one AVX-512 register. Included inside an unnamed namespace by kernels_avx512.cpp only.

struct Lanes {
    __m512 v;
};
constexpr int kGemvRows = 8, kNarrowGemvRows = 8, kGemmRows = 6, kGemmColumns = 4, kOuterRows = 3, kOuterColumns = 6;

inline __mmask16 firstLanes(std::int64_t n) { return static_cast<__mmask16>((1u << n) - 1u); }
inline __m512 widenBf16(__m256i bits) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
}

inline Lanes zeros() { return {_mm512_setzero_ps()}; }
inline Lanes broadcast(float x) { return {_mm512_set1_ps(x)}; }
inline Lanes load(const float* p) { return {_mm512_loadu_ps(p)}; }
inline Lanes loadFirst(const float* p, std::int64_t n) { return {_mm512_maskz_loadu_ps(firstLanes(n), p)}; }
inline Lanes loadBf16(const std::uint16_t* p) {
    return {widenBf16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)))};
}
inline Lanes loadBf16First(const std::uint16_t* p, std::int64_t n) {
    return {widenBf16(_mm256_maskz_loadu_epi16(firstLanes(n), p))};
}
inline Lanes loadF16(const std::uint16_t* p) {
    return {_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)))};
}
inline Lanes loadF16First(const std::uint16_t* p, std::int64_t n) {
    return {_mm512_cvtph_ps(_mm256_maskz_loadu_epi16(firstLanes(n), p))};
}
inline void store(float* p, Lanes a) { _mm512_storeu_ps(p, a.v); }
inline void storeFirst(float* p, Lanes a, std::int64_t n) { _mm512_mask_storeu_ps(p, firstLanes(n), a.v); }
inline Lanes keepFirst(Lanes a, std::int64_t n, Lanes other) {
    return {_mm512_mask_blend_ps(firstLanes(n), other.v, a.v)};
}
inline Lanes add(Lanes a, Lanes b) { return {_mm512_add_ps(a.v, b.v)}; }
inline Lanes sub(Lanes a, Lanes b) { return {_mm512_sub_ps(a.v, b.v)}; }
inline Lanes mul(Lanes a, Lanes b) { return {_mm512_mul_ps(a.v, b.v)}; }
inline Lanes div(Lanes a, Lanes b) { return {_mm512_div_ps(a.v, b.v)}; }
inline Lanes fma(Lanes a, Lanes b, Lanes c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
inline Lanes larger(Lanes a, Lanes b) { return {_mm512_max_ps(a.v, b.v)}; }
inline Lanes smaller(Lanes a, Lanes b) { return {_mm512_min_ps(a.v, b.v)}; }
inline Lanes nearest(Lanes a) { return {_mm512_roundscale_ps(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)}; }
/// 2^a for whole a in [-126, 127].
inline Lanes powerOfTwo(Lanes a) {
    return {
        _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_add_epi32(_mm512_cvtps_epi32(a.v), _mm512_set1_epi32(127)), 23))};
}
inline Lanes zeroWhereBelow(Lanes a, Lanes x, Lanes bound) {
    return {_mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x.v, bound.v, _CMP_NLT_UQ), a.v)};
}
inline float sum8(__m256 a) {
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
}
inline float sum(Lanes a) { return sum8(_mm256_add_ps(_mm512_castps512_ps256(a.v), _mm512_extractf32x8_ps(a.v, 1))); }
inline float largest(Lanes a) { return _mm512_reduce_max_ps(a.v); }

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
