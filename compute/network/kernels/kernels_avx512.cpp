#include <immintrin.h>

#include <cstddef>

#include "compute/network/kernels/kernels.h"

namespace counterpoint::network {
namespace {

#include "compute/network/kernels/lanes_avx512.h"
#include "compute/network/kernels/loops.h"

}  // namespace

const Kernels kAvx512Kernels = {"avx512", matmul, attend, rmsNorm, layerNorm, activate, softCap, widen};

}  // namespace counterpoint::network
