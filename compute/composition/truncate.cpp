#include "compute/composition/truncate.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "compute/composition/rowmath.h"

namespace counterpoint::compute {
namespace {

template <class Real>
struct Ranked {
    Real logProb;
    TokenId token;
    bool operator<(const Ranked& other) const noexcept {
        return logProb > other.logProb || (logProb == other.logProb && token < other.token);
    }
};

template <class Real>
std::vector<Ranked<Real>>& candidates() {
    thread_local std::vector<Ranked<Real>> list;  // warm after the first step
    list.clear();
    return list;
}

template <class Real>
void collect(std::span<const Real> row, const Bound& within, Real lowest, std::vector<Ranked<Real>>& out) {
    for (std::size_t v = 0; v < row.size(); ++v) {
        const auto token = static_cast<TokenId>(v);
        if (row[v] >= lowest && row[v] > rowmath::kMinusInfinity<Real> &&
            within.keeps(static_cast<double>(row[v]), token))
            out.push_back({row[v], token});
    }
}

template <class Real>
double massOf(const Ranked<Real>* first, const Ranked<Real>* last, double top) {
    double sum = 0;
    for (; first != last; ++first) sum += std::exp(static_cast<double>(first->logProb) - top);
    return sum;
}

/// The last member of the shortest prefix of the ranked list with mass >= target (at least one member).
template <class Real>
Ranked<Real> reach(std::vector<Ranked<Real>>& list, double target, double top) {
    Ranked<Real>*lo = list.data(), *hi = lo + list.size();
    double before = 0;
    while (hi - lo > 32) {
        Ranked<Real>* const middle = lo + (hi - lo) / 2;
        std::nth_element(lo, middle, hi);
        const double upper = massOf(lo, middle, top);
        if (before + upper >= target) {
            hi = middle;
        } else {
            before += upper;
            lo = middle;
        }
    }
    std::sort(lo, hi);
    for (Ranked<Real>* at = lo; at + 1 < hi; ++at) {
        before += std::exp(static_cast<double>(at->logProb) - top);
        if (before >= target) return *at;
    }
    return hi[-1];
}

template <class Real>
constexpr double kGranted = 8 * static_cast<double>(std::numeric_limits<Real>::epsilon());

}  // namespace

template <class Real>
Bound topKBound(std::span<const Real> row, std::int64_t k) {
    if (k <= 0 || k >= static_cast<std::int64_t>(row.size())) return {};
    auto& list = candidates<Real>();
    collect(row, Bound{}, rowmath::kMinusInfinity<Real>, list);
    if (k >= static_cast<std::int64_t>(list.size())) return {};
    const auto last = list.begin() + static_cast<std::ptrdiff_t>(k - 1);
    std::nth_element(list.begin(), last, list.end());
    return {static_cast<double>(last->logProb), last->token};
}

template <class Real>
Bound topPBound(std::span<const Real> row, double p, const Bound& within) {
    if (p >= 1) return {};
    const double top = static_cast<double>(rowmath::maxOf(row.data(), row.size()));
    if (top == rowmath::kMinusInfinity<double>) return {};
    auto& list = candidates<Real>();
    const auto gather = [&](double depth) {
        list.clear();
        collect(row, within, static_cast<Real>(top - depth), list);
        return massOf(list.data(), list.data() + list.size(), top);
    };
    constexpr double kWhole = std::numeric_limits<double>::infinity();
    const bool whole = within.logProb == -kWhole;
    const double target =
        (p - kGranted<Real>)*(whole ? rowmath::sumExp<Real>(row.data(), top, 1.0, row.size()) : gather(kWhole));
    // Most of the mass lies near the top: where it is enough, no more is ranked.
    for (const double depth : {8.0, 16.0, kWhole})
        if (gather(depth) >= target) break;
    const Ranked<Real> last = reach(list, target, top);
    return {static_cast<double>(last.logProb), last.token};
}

template <class Real>
std::int64_t keep(std::span<const Real> row, const Bound& bound, std::uint8_t* kept) {
    const double edge = bound.logProb;
    const TokenId last =
        edge == rowmath::kMinusInfinity<double> ? kNoToken : bound.last;  // what is excluded never stays
    const Real* x = row.data();
    const auto n = static_cast<TokenId>(row.size());
    TokenId count = 0;
#pragma omp simd reduction(+ : count)
    for (TokenId v = 0; v < n; ++v) {
        const auto logProb = static_cast<double>(x[v]);
        const int stays =
            static_cast<int>(logProb > edge) | (static_cast<int>(logProb == edge) & static_cast<int>(v <= last));
        kept[v] = static_cast<std::uint8_t>(stays);
        count += stays;
    }
    return count;
}

template <class Real>
Bound shareBound(std::span<const Real> row, double share) {
    if (share <= 0) return {};
    const double edge = static_cast<double>(rowmath::maxOf(row.data(), row.size())) + std::log(share);
    return {edge - kGranted<Real> * (1 + std::abs(edge)), std::numeric_limits<TokenId>::max()};
}

Bound stricter(const Bound& a, const Bound& b) noexcept {
    if (a.logProb != b.logProb) return a.logProb > b.logProb ? a : b;
    return a.last < b.last ? a : b;
}

#define COUNTERPOINT_INSTANTIATE(Real)                                           \
    template Bound topKBound<Real>(std::span<const Real>, std::int64_t);         \
    template Bound topPBound<Real>(std::span<const Real>, double, const Bound&); \
    template Bound shareBound<Real>(std::span<const Real>, double);              \
    template std::int64_t keep<Real>(std::span<const Real>, const Bound&, std::uint8_t*);
COUNTERPOINT_INSTANTIATE(float)
COUNTERPOINT_INSTANTIATE(double)
#undef COUNTERPOINT_INSTANTIATE

}  // namespace counterpoint::compute
