#include "compute/files/nonfinite.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

namespace counterpoint::compute {
namespace {

/// Whether an element has every bit of `exponent` set: a NaN or an infinity.
template <class Bits>
bool holds(std::span<const std::byte> bytes, Bits exponent) {
    for (std::size_t at = 0; at + sizeof(Bits) <= bytes.size(); at += sizeof(Bits)) {
        Bits element = 0;
        std::memcpy(&element, bytes.data() + at, sizeof(Bits));
        if ((element & exponent) == exponent) return true;
    }
    return false;
}

bool holdsNonFinite(DType dtype, std::span<const std::byte> bytes) {
    switch (dtype) {
        case DType::F32:
            return holds<std::uint32_t>(bytes, 0x7F800000u);
        case DType::F16:
            return holds<std::uint16_t>(bytes, 0x7C00u);
        case DType::BF16:
            return holds<std::uint16_t>(bytes, 0x7F80u);
        default:
            return false;
    }
}

bool holdsNonFinite(GgmlType type, std::span<const std::byte> bytes) {
    if (type == GgmlType::F32) return holdsNonFinite(DType::F32, bytes);
    if (type == GgmlType::F16) return holdsNonFinite(DType::F16, bytes);
    if (type == GgmlType::BF16) return holdsNonFinite(DType::BF16, bytes);
    const GgmlTypeRow& row = ggmlType(type);
    std::array<float, 256> wide;  // the largest block
    for (std::size_t at = 0; at < bytes.size(); at += static_cast<std::size_t>(row.bytes)) {
        row.widen(bytes.data() + at, 1, wide.data());
        if (!std::all_of(wide.begin(), wide.begin() + row.block, [](float x) { return std::isfinite(x); })) return true;
    }
    return false;
}

/// Whether a piece of `unit`-sized elements or blocks does; false where stop was asked for.
template <class Type>
bool anyPiece(Type type, std::span<const std::byte> bytes, std::size_t unit, const std::stop_token& stop) {
    const std::size_t most = (std::size_t{4} << 20) / unit * unit;
    for (std::size_t at = 0; at < bytes.size() && !stop.stop_requested(); at += most)
        if (holdsNonFinite(type, bytes.subspan(at, std::min(most, bytes.size() - at)))) return true;
    return false;
}

}  // namespace

const TensorView* firstNonFinite(const Safetensors& files, const std::stop_token& stop) {
    const auto& all = files.tensors();
    const auto found = std::find_if(all.begin(), all.end(), [&](const auto& entry) {
        return anyPiece(entry.second.dtype, entry.second.bytes, 8, stop);
    });
    return found == all.end() ? nullptr : &found->second;
}

const GgufTensor* firstNonFinite(const Gguf& gguf, const std::stop_token& stop) {
    const auto& all = gguf.tensors();
    const auto found = std::find_if(all.begin(), all.end(), [&](const GgufTensor& t) {
        return anyPiece(t.type, t.bytes, static_cast<std::size_t>(ggmlType(t.type).bytes), stop);
    });
    return found == all.end() ? nullptr : &*found;
}

}  // namespace counterpoint::compute
