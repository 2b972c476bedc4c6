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

/// Adds the tokens of row[from, end) that `within` keeps and that lie in [lowest, below).
template <class Real>
void collect(std::span<const Real> row, std::size_t from, std::size_t end, const Bound& within, Real lowest, Real below,
             std::vector<Ranked<Real>>& out) {
    for (std::size_t v = from; v < end; ++v) {
        const auto token = static_cast<TokenId>(v);
        if (row[v] >= lowest && row[v] < below && row[v] > rowmath::kMinusInfinity<Real> &&
            within.keeps(static_cast<double>(row[v]), token))
            out.push_back({row[v], token});
    }
}

constexpr std::size_t kBlock = 64;

/// The largest of each block: blocks without a token near the top are passed over.
template <class Real>
const std::vector<Real>& blockTops(std::span<const Real> row) {
    thread_local std::vector<Real> tops;  // warm after the first step
    tops.clear();
    for (std::size_t from = 0; from < row.size(); from += kBlock)
        tops.push_back(rowmath::maxOf(row.data() + from, std::min(kBlock, row.size() - from)));
    return tops;
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
    collect(row, 0, row.size(), Bound{}, rowmath::kMinusInfinity<Real>, std::numeric_limits<Real>::infinity(), list);
    if (k >= static_cast<std::int64_t>(list.size())) return {};
    const auto last = list.begin() + static_cast<std::ptrdiff_t>(k - 1);
    std::nth_element(list.begin(), last, list.end());
    return {static_cast<double>(last->logProb), last->token};
}

template <class Real>
Bound topPBound(std::span<const Real> row, double p, const Bound& within) {
    if (p >= 1) return {};
    constexpr Real kWhole = std::numeric_limits<Real>::infinity();
    const std::vector<Real>& tops = blockTops(row);
    const Real largest = rowmath::maxOf(tops.data(), tops.size());
    if (largest == -kWhole) return {};
    const auto top = static_cast<double>(largest);
    auto& list = candidates<Real>();
    double mass = 0;
    Real below = kWhole;  // what lies from here up is in the list
    const auto gather = [&](Real lowest) {
        const std::size_t before = list.size();
        for (std::size_t b = 0; b < tops.size(); ++b)
            if (tops[b] >= lowest)
                collect(row, b * kBlock, std::min((b + 1) * kBlock, row.size()), within, lowest, below, list);
        mass += massOf(list.data() + before, list.data() + list.size(), top);
        below = lowest;
    };
    const bool whole = within.logProb == rowmath::kMinusInfinity<double>;
    if (!whole) gather(-kWhole);
    const double target = (p - kGranted<Real>)*(whole ? rowmath::sumExp(row.data(), largest, row.size()) : mass);
    // Most of the mass lies near the top: where it is enough, no more is ranked.
    for (const Real depth : {Real(1), Real(2), Real(4), Real(8), Real(16), kWhole}) {
        if (mass >= target && !list.empty()) break;
        gather(largest - depth);
    }
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
