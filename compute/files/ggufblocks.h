#pragma once
// The number types of a GGUF file and their widening to float32. A block type stores a row in blocks of 32 or 256
// numbers: small integers q with a float16 scale d (and an offset m; the K types have eight or sixteen scales of six or
// eight bits within the block, times d and m).
//   Q4_0, Q5_0, Q8_0  x = d·q            Q4_1, Q5_1  x = d·q + m
//   Q4_K, Q5_K        x = d·s·q − m·o    Q6_K        x = d·s·q           (s, o: of each 32 or 16 numbers)
// Shapes: n numbers, n a multiple of the block. Numerics: float32, one rounding for each product or sum, no fused
// operations: the same bits on every machine. Source: the block layouts of ggml (MIT). Pure; thread: any.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "compute/export.h"

namespace counterpoint::compute {

/// The numbers are those of the files.
enum class GgmlType : std::uint32_t {
    F32 = 0,
    F16 = 1,
    Q4_0 = 2,
    Q4_1 = 3,
    Q5_0 = 6,
    Q5_1 = 7,
    Q8_0 = 8,
    Q4_K = 12,
    Q5_K = 13,
    Q6_K = 14,
    BF16 = 30
};

struct GgmlTypeRow {
    GgmlType type{};
    std::string_view name;
    std::int64_t block = 1;  ///< numbers that are stored together
    std::int64_t bytes = 0;  ///< of a block
    /// Widens `blocks` blocks; null for the types that are plain numbers.
    void (*widen)(const std::byte* in, std::int64_t blocks, float* out) = nullptr;
};

/// Every type that can be read.
COUNTERPOINT_API std::span<const GgmlTypeRow> ggmlTypes();
/// The row of a type's number in a file, or nullptr.
COUNTERPOINT_API const GgmlTypeRow* findGgmlType(std::uint32_t number);
COUNTERPOINT_API const GgmlTypeRow& ggmlType(GgmlType type);
/// "IQ4_XS" for types that exist and cannot be read, "number 77" for what does not.
COUNTERPOINT_API std::string ggmlTypeName(std::uint32_t number);

}  // namespace counterpoint::compute
