#include "compute/network/convert.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "compute/error.h"

namespace counterpoint::network {

std::uint16_t toBFloat16(float x) noexcept {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    if (std::isnan(x)) return static_cast<std::uint16_t>((bits >> 16) | 0x40u);
    return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

std::uint16_t toFloat16(float x) noexcept {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
    const std::uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return static_cast<std::uint16_t>(sign | 0x7e00u);
    if (magnitude >= 0x477ff000u)
        return static_cast<std::uint16_t>(sign | 0x7c00u);  // 65520 and more round to infinity
    if (magnitude < 0x38800000u)  // below 2^-14: whole multiples of 2^-24; the current rounding is to nearest even
        return static_cast<std::uint16_t>(sign | static_cast<std::uint16_t>(std::nearbyint(std::abs(x) * 0x1p24f)));
    const std::uint32_t rebased = magnitude - (112u << 23);
    return static_cast<std::uint16_t>(sign | ((rebased + 0xfffu + ((rebased >> 13) & 1u)) >> 13));
}

std::string_view typeName(WeightType type) {
    switch (type) {
        case WeightType::Float32:
            return "float32";
        case WeightType::BFloat16:
            return "bfloat16";
        case WeightType::Float16:
            return "float16";
    }
    return {};
}

std::optional<WeightType> weightType(const std::string& name, const std::string& where) {
    if (name.empty()) return {};
    for (const WeightType type : {WeightType::Float32, WeightType::BFloat16, WeightType::Float16})
        if (typeName(type) == name) return type;
    throw compute::Error({.where = where,
                          .what = "there is no dtype of that name",
                          .expected = "float32, bfloat16 or float16",
                          .found = name,
                          .advice = {},
                          .details = {}});
}

std::int64_t typeSize(WeightType type) { return type == WeightType::Float32 ? 4 : 2; }

std::int64_t convert(const void* in, WeightType from, std::int64_t n, WeightType to, void* out) {
    constexpr std::int64_t kBlock = 1024;
    std::array<float, kBlock> wide{};
    std::int64_t overflowed = 0;
    for (std::int64_t start = 0; start < n; start += kBlock) {
        const std::int64_t here = std::min(kBlock, n - start);
        kernels().widen(static_cast<const std::byte*>(in) + start * typeSize(from), from, here, wide.data());
        if (to == WeightType::Float32) {
            std::memcpy(static_cast<float*>(out) + start, wide.data(), static_cast<std::size_t>(here) * sizeof(float));
            continue;
        }
        auto* narrow = static_cast<std::uint16_t*>(out) + start;
        for (std::int64_t i = 0; i < here; ++i) {
            const float x = wide[static_cast<std::size_t>(i)];
            narrow[i] = to == WeightType::BFloat16 ? toBFloat16(x) : toFloat16(x);
            if (to == WeightType::Float16 && (narrow[i] & 0x7fffu) == 0x7c00u && std::isfinite(x)) ++overflowed;
        }
    }
    return overflowed;
}

float rounded(float x, WeightType type) {
    if (type == WeightType::Float32) return x;
    const std::uint16_t narrow = type == WeightType::BFloat16 ? toBFloat16(x) : toFloat16(x);
    float wide = 0.0f;
    kernels().widen(&narrow, type, 1, &wide);
    return wide;
}

}  // namespace counterpoint::network
