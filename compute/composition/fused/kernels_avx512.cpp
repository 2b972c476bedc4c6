#include "compute/composition/fused/loops.h"

namespace counterpoint::compute::fused {
extern const Kernels kAvx512;
const Kernels kAvx512{"avx512", compose, finish, apart, measure, bound};
}  // namespace counterpoint::compute::fused
