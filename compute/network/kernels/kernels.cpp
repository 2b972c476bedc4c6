#include "compute/network/kernels/kernels.h"

#include <cstdlib>
#include <string_view>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace counterpoint::network {
namespace {

#if defined(__x86_64__)
/// clang 16 does not know "f16c" as a name.
bool widensHalves() {
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}
#endif

const Kernels& choose() {
    const char* asked = std::getenv("COUNTERPOINT_KERNELS");
    const std::string_view limit = asked != nullptr ? asked : "";
#if defined(__x86_64__)
    __builtin_cpu_init();
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && widensHalves();
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
