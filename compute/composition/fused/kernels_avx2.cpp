#include "compute/composition/fused/loops.h"

namespace counterpoint::compute::fused {
extern const Kernels kAvx2;
const Kernels kAvx2{"avx2", compose, finish, apart, measure, bound};
}  // namespace counterpoint::compute::fused
