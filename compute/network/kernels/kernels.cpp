#include "compute/network/kernels/kernels.h"

#include <cstdlib>
#include <string_view>

namespace counterpoint::network {
namespace {

const Kernels& choose() {
    const char* asked = std::getenv("COUNTERPOINT_KERNELS");
    const std::string_view limit = asked != nullptr ? asked : "";
#if defined(__x86_64__)
    __builtin_cpu_init();
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
    const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
    if (avx512 && limit != "avx2" && limit != "plain") return kAvx512Kernels;
    if (avx2 && limit != "plain") return kAvx2Kernels;
#endif
    return kPlainKernels;
}

}  // namespace

const Kernels& kernels() {
    static const Kernels& chosen = choose();
    return chosen;
}

}  // namespace counterpoint::network
