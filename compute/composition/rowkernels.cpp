#include "compute/composition/rowkernels.h"

#include "compute/composition/divergenceloops.h"
#include "compute/composition/rowmath.h"

namespace counterpoint::compute::rowkernels {

COUNTERPOINT_CLONES float maxOf(const float* x, std::size_t n) noexcept { return rowmath::maxLoop(x, n); }
COUNTERPOINT_CLONES double maxOf(const double* x, std::size_t n) noexcept { return rowmath::maxLoop(x, n); }

COUNTERPOINT_CLONES double sumExp(const float* x, double shift, double factor, std::size_t n) noexcept {
    return rowmath::sumExpLoop<float>(x, shift, factor, n);
}
COUNTERPOINT_CLONES double sumExp(const double* x, double shift, double factor, std::size_t n) noexcept {
    return rowmath::sumExpLoop<float>(x, shift, factor, n);
}
COUNTERPOINT_CLONES double sumExp(const float* x, float shift, std::size_t n) noexcept {
    return rowmath::sumExpLoop(x, shift, n);
}

COUNTERPOINT_CLONES double kl(const float* p, const float* q, std::size_t n) noexcept {
    return divergence::klLoop(p, q, n);
}

COUNTERPOINT_CLONES divergence::Pair compare(const float* p, const float* q, std::size_t n) noexcept {
    return divergence::compareLoop(p, q, n);
}

}  // namespace counterpoint::compute::rowkernels
