#pragma once
// Conversions between the stored dtypes: widening is exact, narrowing rounds to nearest, ties to even; what is too
// large for float16 becomes an infinity (the caller says so by the tensor's name). Pure; thread: any.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "compute/network/kernels/kernels.h"

namespace counterpoint::network {

std::uint16_t toBFloat16(float x) noexcept;
std::uint16_t toFloat16(float x) noexcept;

std::string_view typeName(WeightType type);  ///< "float32", "bfloat16", "float16"
std::int64_t typeSize(WeightType type);
/// The type of that name; none for "". Any other name is an Error about `where`.
std::optional<WeightType> weightType(const std::string& name, const std::string& where);

/// x as a weight of that dtype would hold it.
float rounded(float x, WeightType type);

/// Converts n elements; returns how many finite ones became infinite.
std::int64_t convert(const void* in, WeightType from, std::int64_t n, WeightType to, void* out);

}  // namespace counterpoint::network
