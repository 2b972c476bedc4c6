#include <cstddef>

#include "compute/network/kernels/kernels.h"

namespace counterpoint::network {
namespace {

#include "compute/network/kernels/lanes_plain.h"
#include "compute/network/kernels/loops.h"

}  // namespace

const Kernels kPlainKernels = {"plain", matmul, attend, rmsNorm, layerNorm, activate, softCap, widen};

}  // namespace counterpoint::network
