#include "compute/composition/fused/kernels.h"

#include <cstdlib>
#include <string_view>

namespace counterpoint::compute::fused {
namespace {

const Kernels& choose() {
    const char* asked = std::getenv("COUNTERPOINT_KERNELS");
    const std::string_view limit = asked != nullptr ? asked : "";
#if defined(__x86_64__)
    __builtin_cpu_init();
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq");
    if (avx512 && limit != "avx2" && limit != "plain") return kAvx512;
    if (avx2 && limit != "plain") return kAvx2;
#endif
    return kPlain;
}

}  // namespace

const Kernels& kernels() {
    static const Kernels& chosen = choose();
    return chosen;
}

}  // namespace counterpoint::compute::fused
