#include "compute/files/ggufblocks.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace counterpoint::compute {
namespace {

using Byte = std::uint8_t;

/// IEEE half precision to float32, exact.
float widenHalf(const Byte* at) {
    std::uint16_t half = 0;
    std::memcpy(&half, at, 2);
    const std::uint32_t sign = (half & 0x8000u) << 16, exponent = half >> 10 & 31u, fraction = half & 0x3FFu;
    if (exponent == 31) return std::bit_cast<float>(sign | 0x7F800000u | fraction << 13);
    if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;  // 0 and subnormals
    return sign != 0 ? -magnitude : magnitude;
}

int low(Byte b) { return b & 15; }
int high(Byte b) { return b >> 4; }

// Blocks of 32. In the four- and five-bit types the low half of byte j is number j, the high half number j + 16; the
// fifth bits stand apart, bit j for number j.

void q8_0(const std::byte* in, std::int64_t blocks, float* out) {
    const auto* b = reinterpret_cast<const Byte*>(in);
    for (std::int64_t i = 0; i < blocks; ++i, b += 34, out += 32) {
        const float d = widenHalf(b);
        const Byte* q = b + 2;
        for (int j = 0; j < 32; ++j) out[j] = d * static_cast<float>(static_cast<std::int8_t>(q[j]));
    }
}

void q4_0(const std::byte* in, std::int64_t blocks, float* out) {
    const auto* b = reinterpret_cast<const Byte*>(in);
    for (std::int64_t i = 0; i < blocks; ++i, b += 18, out += 32) {
        const float d = widenHalf(b);
        const Byte* q = b + 2;
        for (int j = 0; j < 16; ++j) out[j] = d * static_cast<float>(low(q[j]) - 8);
        for (int j = 0; j < 16; ++j) out[j + 16] = d * static_cast<float>(high(q[j]) - 8);
    }
}

void q4_1(const std::byte* in, std::int64_t blocks, float* out) {
    const auto* b = reinterpret_cast<const Byte*>(in);
    for (std::int64_t i = 0; i < blocks; ++i, b += 20, out += 32) {
        const float d = widenHalf(b), m = widenHalf(b + 2);
        const Byte* q = b + 4;
        for (int j = 0; j < 16; ++j) out[j] = d * static_cast<float>(low(q[j])) + m;
        for (int j = 0; j < 16; ++j) out[j + 16] = d * static_cast<float>(high(q[j])) + m;
    }
}

void q5_0(const std::byte* in, std::int64_t blocks, float* out) {
    const auto* b = reinterpret_cast<const Byte*>(in);
    for (std::int64_t i = 0; i < blocks; ++i, b += 22, out += 32) {
        const float d = widenHalf(b);
        std::uint32_t fifth = 0;
        std::memcpy(&fifth, b + 2, 4);
        const Byte* q = b + 6;
        for (unsigned j = 0; j < 16; ++j)
            out[j] = d * static_cast<float>((low(q[j]) | static_cast<int>(fifth >> j & 1u) << 4) - 16);
        for (unsigned j = 0; j < 16; ++j)
            out[j + 16] = d * static_cast<float>((high(q[j]) | static_cast<int>(fifth >> (j + 16) & 1u) << 4) - 16);
    }
}

void q5_1(const std::byte* in, std::int64_t blocks, float* out) {
    const auto* b = reinterpret_cast<const Byte*>(in);
    for (std::int64_t i = 0; i < blocks; ++i, b += 24, out += 32) {
        const float d = widenHalf(b), m = widenHalf(b + 2);
        std::uint32_t fifth = 0;
        std::memcpy(&fifth, b + 4, 4);
        const Byte* q = b + 8;
        for (unsigned j = 0; j < 16; ++j)
            out[j] = d * static_cast<float>(low(q[j]) | static_cast<int>(fifth >> j & 1u) << 4) + m;
        for (unsigned j = 0; j < 16; ++j)
            out[j + 16] = d * static_cast<float>(high(q[j]) | static_cast<int>(fifth >> (j + 16) & 1u) << 4) + m;
    }
}

/// Scale and offset j (of eight, six bits each) from the twelve bytes of a Q4_K or Q5_K block: the first four of each
/// in the low six bits of bytes 0 to 7; of the last four the low four bits in bytes 8 to 11, the upper two above the
/// first ones.
struct ScaleAndOffset {
    float scale, offset;
};
ScaleAndOffset sixBits(const Byte* packed, int j) {
    if (j < 4) return {static_cast<float>(packed[j] & 63), static_cast<float>(packed[j + 4] & 63)};
    return {static_cast<float>(low(packed[j + 4]) | packed[j - 4] >> 6 << 4),
            static_cast<float>(high(packed[j + 4]) | packed[j] >> 6 << 4)};
}

// Blocks of 256. Bytes of 64 numbers at a time: their low halves are the first 32 numbers, the high halves the next.

void q4_k(const std::byte* in, std::int64_t blocks, float* out) {
    const auto* b = reinterpret_cast<const Byte*>(in);
    for (std::int64_t i = 0; i < blocks; ++i, b += 144) {
        const float d = widenHalf(b), m = widenHalf(b + 2);
        const Byte *scales = b + 4, *q = b + 16;
        for (int part = 0; part < 4; ++part, q += 32, out += 64) {
            const ScaleAndOffset first = sixBits(scales, 2 * part), second = sixBits(scales, 2 * part + 1);
            const float d1 = d * first.scale, m1 = m * first.offset, d2 = d * second.scale, m2 = m * second.offset;
            for (int j = 0; j < 32; ++j) out[j] = d1 * static_cast<float>(low(q[j])) - m1;
            for (int j = 0; j < 32; ++j) out[j + 32] = d2 * static_cast<float>(high(q[j])) - m2;
        }
    }
}

void q5_k(const std::byte* in, std::int64_t blocks, float* out) {
    const auto* b = reinterpret_cast<const Byte*>(in);
    for (std::int64_t i = 0; i < blocks; ++i, b += 176) {
        const float d = widenHalf(b), m = widenHalf(b + 2);
        const Byte *scales = b + 4, *fifth = b + 16, *q = b + 48;  // bit 2·part (+1) of fifth[j] belongs to number j
        for (int part = 0; part < 4; ++part, q += 32, out += 64) {
            const ScaleAndOffset first = sixBits(scales, 2 * part), second = sixBits(scales, 2 * part + 1);
            const float d1 = d * first.scale, m1 = m * first.offset, d2 = d * second.scale, m2 = m * second.offset;
            for (int j = 0; j < 32; ++j)
                out[j] = d1 * static_cast<float>(low(q[j]) | (fifth[j] >> (2 * part) & 1) << 4) - m1;
            for (int j = 0; j < 32; ++j)
                out[j + 32] = d2 * static_cast<float>(high(q[j]) | (fifth[j] >> (2 * part + 1) & 1) << 4) - m2;
        }
    }
}

/// 128 numbers at a time: low four bits in 64 bytes (low halves first), upper two bits in 32 bytes, a quarter of each
/// byte for each 32 numbers; one signed scale for each 16 numbers.
void q6_k(const std::byte* in, std::int64_t blocks, float* out) {
    const auto* b = reinterpret_cast<const Byte*>(in);
    for (std::int64_t i = 0; i < blocks; ++i, b += 210) {
        const float d = widenHalf(b + 208);
        const Byte *q = b, *upper = b + 128, *scales = b + 192;
        for (int half = 0; half < 2; ++half, q += 64, upper += 32, scales += 8, out += 128)
            for (int sixteen = 0; sixteen < 8; ++sixteen) {
                const float ds = d * static_cast<float>(static_cast<std::int8_t>(scales[sixteen]));
                const int quarter = sixteen / 2, from = sixteen % 2 * 16;
                const Byte* lower = q + (quarter % 2) * 32 + from;
                const int lowerShift = quarter / 2 * 4, upperShift = quarter * 2;
                for (int j = 0; j < 16; ++j) {
                    const int value = (lower[j] >> lowerShift & 15) | (upper[from + j] >> upperShift & 3) << 4;
                    out[sixteen * 16 + j] = ds * static_cast<float>(value - 32);
                }
            }
    }
}

constexpr std::array<GgmlTypeRow, 11> kTypes = {{{GgmlType::F32, "F32", 1, 4, nullptr},
                                                 {GgmlType::F16, "F16", 1, 2, nullptr},
                                                 {GgmlType::BF16, "BF16", 1, 2, nullptr},
                                                 {GgmlType::Q4_0, "Q4_0", 32, 18, q4_0},
                                                 {GgmlType::Q4_1, "Q4_1", 32, 20, q4_1},
                                                 {GgmlType::Q5_0, "Q5_0", 32, 22, q5_0},
                                                 {GgmlType::Q5_1, "Q5_1", 32, 24, q5_1},
                                                 {GgmlType::Q8_0, "Q8_0", 32, 34, q8_0},
                                                 {GgmlType::Q4_K, "Q4_K", 256, 144, q4_k},
                                                 {GgmlType::Q5_K, "Q5_K", 256, 176, q5_k},
                                                 {GgmlType::Q6_K, "Q6_K", 256, 210, q6_k}}};

/// Types that exist and are not read here, for the sentence that refuses them.
constexpr std::array<std::pair<std::uint32_t, std::string_view>, 24> kOthers = {
    {{9, "Q8_1"},     {10, "Q2_K"},  {11, "Q3_K"},   {15, "Q8_K"},     {16, "IQ2_XXS"},  {17, "IQ2_XS"},
     {18, "IQ3_XXS"}, {19, "IQ1_S"}, {20, "IQ4_NL"}, {21, "IQ3_S"},    {22, "IQ2_S"},    {23, "IQ4_XS"},
     {24, "I8"},      {25, "I16"},   {26, "I32"},    {27, "I64"},      {28, "F64"},      {29, "IQ1_M"},
     {34, "TQ1_0"},   {35, "TQ2_0"}, {39, "MXFP4"},  {31, "Q4_0_4_4"}, {32, "Q4_0_4_8"}, {33, "Q4_0_8_8"}}};

}  // namespace

std::span<const GgmlTypeRow> ggmlTypes() { return kTypes; }

const GgmlTypeRow* findGgmlType(std::uint32_t number) {
    const auto* row = std::find_if(kTypes.begin(), kTypes.end(),
                                   [&](const GgmlTypeRow& r) { return static_cast<std::uint32_t>(r.type) == number; });
    return row == kTypes.end() ? nullptr : row;
}

const GgmlTypeRow& ggmlType(GgmlType type) { return *findGgmlType(static_cast<std::uint32_t>(type)); }

std::string ggmlTypeName(std::uint32_t number) {
    if (const GgmlTypeRow* row = findGgmlType(number)) return std::string(row->name);
    for (const auto& [other, name] : kOthers)
        if (other == number) return std::string(name);
    return "number " + std::to_string(number);
}

}  // namespace counterpoint::compute
