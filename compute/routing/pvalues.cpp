#include "compute/routing/pvalues.h"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace counterpoint::compute {
namespace {

constexpr double kLeastExpected = 5;

struct Cell {
    double expected = 0;
    double observed = 0;
};

/// Cells (e) or (e, f), e·E + f, of the first one or two places.
std::vector<Cell> cellsOf(std::span<const ExpertId> lists, std::size_t K, std::span<const double> scaled) {
    const std::size_t E = scaled.size(), draws = lists.size() / K;
    const bool two = K > 1;
    const double top = *std::max_element(scaled.begin(), scaled.end());
    std::vector<double> rates;
    for (const double x : scaled) rates.push_back(std::exp(x - top));
    const double all = std::accumulate(rates.begin(), rates.end(), 0.0);
    std::vector<Cell> cells(two ? E * E : E);
    for (std::size_t e = 0; e < E; ++e) {
        const double first = static_cast<double>(draws) * rates[e] / all;
        if (!two) cells[e].expected = first;
        double others = 0;  // summed anew: where one expert has nearly all, Λ − λ_e has no digits left
        for (std::size_t f = 0; f < E; ++f) others += f == e ? 0.0 : rates[f];
        for (std::size_t f = 0; two && f < E; ++f)
            if (f != e && others > 0.0) cells[e * E + f].expected = first * rates[f] / others;
    }
    for (std::size_t d = 0; d < draws; ++d) {
        const auto e = static_cast<std::size_t>(lists[d * K]);
        ++cells[two ? e * E + static_cast<std::size_t>(lists[d * K + 1]) : e].observed;
    }
    return cells;
}

}  // namespace

ChiSquare plackettLuceTest(std::span<const ExpertId> lists, int chosen, std::span<const double> scaled) {
    std::vector<Cell> cells = cellsOf(lists, static_cast<std::size_t>(chosen), scaled);
    for (const Cell& cell : cells)
        if (cell.expected == 0.0 && cell.observed > 0.0)
            return {std::numeric_limits<double>::infinity(), static_cast<int>(cells.size()) - 1, 0.0};
    std::sort(cells.begin(), cells.end(), [](const Cell& a, const Cell& b) { return a.expected > b.expected; });
    Cell pool;
    while (!cells.empty() &&
           (cells.back().expected < kLeastExpected || (pool.expected > 0.0 && pool.expected < kLeastExpected))) {
        pool.expected += cells.back().expected;
        pool.observed += cells.back().observed;
        cells.pop_back();
    }
    if (pool.expected > 0.0) cells.push_back(pool);
    if (cells.size() < 2) return {};
    ChiSquare test{.statistic = 0, .degrees = static_cast<int>(cells.size()) - 1, .pValue = 1};
    for (const Cell& cell : cells) {
        const double off = cell.observed - cell.expected;
        test.statistic += off * off / cell.expected;
    }
    test.pValue = cdf(complement(boost::math::chi_squared(test.degrees), test.statistic));
    return test;
}

double binomialPValue(std::int64_t count, std::int64_t draws, double p) {
    if (p <= 0.0) return count == 0 ? 1.0 : 0.0;
    if (p >= 1.0) return count == draws ? 1.0 : 0.0;
    const boost::math::binomial law(static_cast<double>(draws), p);
    const auto k = static_cast<double>(count);
    const double atMost = cdf(law, k);
    const double atLeast = count == 0 ? 1.0 : cdf(complement(law, k - 1.0));
    return std::min(1.0, 2.0 * std::min(atMost, atLeast));
}

double normalPValue(double z) { return 2.0 * cdf(complement(boost::math::normal(), std::abs(z))); }

KolmogorovSmirnov gumbelTest(std::span<double> x) {
    std::sort(x.begin(), x.end());
    const auto n = static_cast<double>(x.size());
    KolmogorovSmirnov test;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const double below = std::exp(-std::exp(-x[i])), at = static_cast<double>(i);
        test.distance = std::max({test.distance, below - at / n, (at + 1.0) / n - below});
    }
    const double lambda = (std::sqrt(n) + 0.12 + 0.11 / std::sqrt(n)) * test.distance;
    if (lambda < 0.2) return test;  // p is 1 to 12 digits, and the series would need many terms
    double sum = 0;
    for (int k = 1; k <= 40; ++k) sum += (k % 2 == 1 ? 1.0 : -1.0) * std::exp(-2.0 * k * k * lambda * lambda);
    test.pValue = std::clamp(2.0 * sum, 0.0, 1.0);
    return test;
}

void correctByHolm(std::span<double> pValues) {
    std::vector<std::size_t> order(pValues.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return pValues[a] < pValues[b]; });
    double least = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
        double& p = pValues[order[i]];
        least = std::max(least, p * static_cast<double>(order.size() - i));
        p = std::min(1.0, least);
    }
}

}  // namespace counterpoint::compute
