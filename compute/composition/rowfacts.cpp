#include "compute/composition/rowfacts.h"

#include <algorithm>
#include <cmath>

#include "compute/composition/fused/kernels.h"

namespace counterpoint::compute {

RowFacts factsOf(std::span<const float> row, std::span<const float> base) {
    fused::Measured m{};
    fused::kernels().measure(row.data(), base.data(), row.size(), m);
    RowFacts facts;
    facts.excluded = m.excluded;
    facts.proper = m.improper == 0 && m.best < row.size();
    if (!facts.proper) return facts;
    facts.top = m.top;
    facts.best = static_cast<TokenId>(m.best);
    facts.logMass = static_cast<double>(m.top) + std::log(m.mass);
    facts.activity = m.unsupported > 0 ? std::numeric_limits<double>::infinity()
                                       : std::max(0.0, std::exp(static_cast<double>(m.top)) * m.tilt);
    return facts;
}

}  // namespace counterpoint::compute
