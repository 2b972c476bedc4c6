#include "compute/composition/divergence.h"

#include <type_traits>

#include "compute/composition/divergenceloops.h"
#include "compute/composition/rowkernels.h"

namespace counterpoint::compute::divergence {

template <class Real>
double kl(const Real* p, const Real* q, std::size_t n) {
    if constexpr (std::is_same_v<Real, float>)
        return rowkernels::kl(p, q, n);
    else
        return klLoop(p, q, n);
}

template <class Real>
Pair compare(const Real* p, const Real* q, std::size_t n) {
    if constexpr (std::is_same_v<Real, float>)
        return rowkernels::compare(p, q, n);
    else
        return compareLoop(p, q, n);
}

#define COUNTERPOINT_INSTANTIATE(Real)                               \
    template double kl<Real>(const Real*, const Real*, std::size_t); \
    template Pair compare<Real>(const Real*, const Real*, std::size_t);
COUNTERPOINT_INSTANTIATE(float)
COUNTERPOINT_INSTANTIATE(double)
#undef COUNTERPOINT_INSTANTIATE

}  // namespace counterpoint::compute::divergence
