#include "compute/composition/fused/loops.h"

namespace counterpoint::compute::fused {
extern const Kernels kPlain;
const Kernels kPlain{"plain", compose, finish, apart, measure, bound};
}  // namespace counterpoint::compute::fused
