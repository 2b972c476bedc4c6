#include "compute/files/nonfinite.h"

#include <algorithm>
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

bool holdsNonFinite(const TensorView& tensor) {
    switch (tensor.dtype) {
        case DType::F32:
            return holds<std::uint32_t>(tensor.bytes, 0x7F800000u);
        case DType::F16:
            return holds<std::uint16_t>(tensor.bytes, 0x7C00u);
        case DType::BF16:
            return holds<std::uint16_t>(tensor.bytes, 0x7F80u);
        default:
            return false;
    }
}

}  // namespace

const TensorView* firstNonFinite(const Safetensors& files) {
    const auto& all = files.tensors();
    const auto found =
        std::find_if(all.begin(), all.end(), [](const auto& entry) { return holdsNonFinite(entry.second); });
    return found == all.end() ? nullptr : &found->second;
}

}  // namespace counterpoint::compute
