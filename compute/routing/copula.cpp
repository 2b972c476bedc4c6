#include "compute/routing/copula.h"

#include <cmath>

#include "compute/random/noise.h"
#include "compute/routing/gumbel.h"

namespace counterpoint::compute {
namespace {

void draw(const NoiseAddress& address, NormalKind kind, Position index, std::span<double> out) noexcept {
    copulaNormals({address.seed, kind, address.draw, address.layer, static_cast<std::uint32_t>(index)}, out);
}

/// x ← a·other + b·x
void blend(double a, std::span<const double> other, double b, std::span<double> x) noexcept {
    const double* from = other.data();
    double* to = x.data();
#pragma omp simd
    for (std::size_t e = 0; e < x.size(); ++e) to[e] = a * from[e] + b * to[e];
}

}  // namespace

void groupNormals(const NoiseAddress& address, const Placement& placed, std::span<double> zeta,
                  std::span<double> scratch) noexcept {
    const bool looksBack = placed.partnerFirst >= 0 && placed.alpha > 0.0;
    draw(address, NormalKind::Zeta, placed.first, zeta);
    if (!looksBack) return;
    draw(address, NormalKind::Zeta, placed.partnerFirst, scratch);
    blend(-placed.alpha, scratch, std::sqrt((1.0 - placed.alpha) * (1.0 + placed.alpha)), zeta);
}

void positionNormals(const NoiseAddress& address, const Placement& placed, Position position,
                     std::span<const double> zeta, std::span<double> z) noexcept {
    if (placed.rho >= 1.0) {
        std::copy(zeta.begin(), zeta.end(), z.begin());
        return;
    }
    draw(address, NormalKind::Epsilon, position, z);
    if (placed.rho > 0.0) blend(std::sqrt(placed.rho), zeta, std::sqrt(1.0 - placed.rho), z);
}

void routingNoise(const NoiseAddress& address, const Placement& placed, Position position, GroupMemory& memory,
                  std::span<double> gamma) {
    if (placed.rho > 0.0 &&
        (memory.zeta.size() != gamma.size() || memory.address != address || memory.placed != placed)) {
        memory.zeta.resize(gamma.size());
        memory.scratch.resize(gamma.size());
        groupNormals(address, placed, memory.zeta, memory.scratch);
        memory.address = address;
        memory.placed = placed;
    }
    positionNormals(address, placed, position, memory.zeta, gamma);
    gumbelsOfNormals(gamma);
}

}  // namespace counterpoint::compute
