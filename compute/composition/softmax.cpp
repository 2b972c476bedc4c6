#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>
#include <string>
#include <utility>

#include "compute/composition/fusedrow.h"
#include "compute/composition/rowmath.h"
#include "compute/error.h"

namespace counterpoint::compute {
namespace {

/// |log Σ exp x| of a row of float32 log-probabilities: their rounding, and that of their exponentials.
constexpr double kNormalised = 2e-6;

std::string shortest(double x) {
    std::array<char, 32> buffer{};
    return {buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), x).ptr};
}

}  // namespace

void logSoftmax(std::span<const float> logits, double temperature, std::span<float> out, const char* source,
                Position position) {
    const auto fail = [&](const char* what, const char* advice, std::string found = {}) {
        throw Error({.where = "source '" + std::string(source) + "', position " + std::to_string(position),
                     .what = what,
                     .found = std::move(found),
                     .advice = advice});
    };
    const std::size_t n = out.size();
    if (logits.size() < n)
        fail("it gives fewer logits than the tokenizer has tokens", "check that model and tokenizer belong together");
    if (!(temperature > 0)) fail("its temperature must be above 0", "set it to 1");
    const float* x = logits.data();
    int improper = 0;
#pragma omp simd reduction(+ : improper)
    for (std::size_t v = 0; v < n; ++v) improper += x[v] < std::numeric_limits<float>::infinity() ? 0 : 1;
    if (improper != 0)
        fail("a logit is not a number or +infinity", "the model's arithmetic overflowed: try float32 or bfloat16");
    const auto top = static_cast<double>(rowmath::maxOf(x, n));
    if (top == rowmath::kMinusInfinity<double>)
        fail("every logit is -infinity, so no token is left", "check the model's files");

    const double rest = std::log(rowmath::sumExp<float>(x, top, 1 / temperature, n));
    float* row = out.data();
    // What was normalised in float32 before, as a recording of log-probabilities is, stays bit for bit what it is.
    if (temperature == 1 && std::abs(top + rest) < kNormalised) {
        if (row != x) std::copy_n(x, n, row);
        return;
    }
    int lost = 0;  // −∞ is a state, which dividing may not bring, and NaN where 1/temperature is no number
#pragma omp simd reduction(+ : lost)
    for (std::size_t v = 0; v < n; ++v) {
        const float before = x[v];
        row[v] = static_cast<float>((static_cast<double>(before) - top) / temperature - rest);
        lost += before > rowmath::kMinusInfinity<float> && !(row[v] > rowmath::kMinusInfinity<float>) ? 1 : 0;
    }
    if (lost != 0)
        fail("divided by its temperature its logits leave float32", "raise the source's temperature",
             "temperature " + shortest(temperature));
}

namespace {

/// A heap of the best n so far, its worst on top; blocks whose bound is not above the worst are passed over whole.
/// Below `worst` there is nothing of the n.
template <class Real, class Bound>
void collectTop(std::span<const Real> row, int n, std::size_t block, const Bound& boundOf, Real worst,
                std::vector<TokenId>& out) {
    out.clear();
    if (n <= 0) return;
    const auto wanted = static_cast<std::size_t>(n);
    const auto before = [row](TokenId a, TokenId b) {
        const Real x = row[static_cast<std::size_t>(a)], y = row[static_cast<std::size_t>(b)];
        return x > y || (x == y && a < b);
    };
    for (std::size_t from = 0; from < row.size(); from += block) {
        const std::size_t end = std::min(from + block, row.size());
        if (!(boundOf(from, end) > worst)) continue;
        for (std::size_t v = from; v < end; ++v) {
            if (!(row[v] > worst)) continue;  // at equality the earlier id stays
            if (out.size() == wanted) {
                std::pop_heap(out.begin(), out.end(), before);
                out.pop_back();
            }
            out.push_back(static_cast<TokenId>(v));
            std::push_heap(out.begin(), out.end(), before);
            if (out.size() == wanted) worst = row[static_cast<std::size_t>(out.front())];
        }
    }
    std::sort_heap(out.begin(), out.end(), before);
}

}  // namespace

template <class Real>
void topTokens(std::span<const Real> row, int n, std::vector<TokenId>& out) {
    constexpr std::size_t kBlock = 256;
    const auto bound = [row](std::size_t from, std::size_t end) {
        return rowmath::maxOf(row.data() + from, end - from);
    };
    collectTop(row, n, kBlock, bound, rowmath::kMinusInfinity<Real>, out);
}

void topTokens(std::span<const float> row, std::span<const float> blockTop, int n, std::vector<TokenId>& out) {
    const auto bound = [blockTop](std::size_t from, std::size_t) { return blockTop[from / fused::kBlock]; };
    // The n-th largest maximum of a block is at most the n-th largest token; what a bound grants to rounding comes off.
    float lowest = rowmath::kMinusInfinity<float>;
    if (n > 0 && blockTop.size() >= static_cast<std::size_t>(n)) {
        thread_local std::vector<float> tops;  // warm after the first row
        tops.assign(blockTop.begin(), blockTop.end());
        std::nth_element(tops.begin(), tops.begin() + (n - 1), tops.end(), std::greater<>());
        lowest = tops[static_cast<std::size_t>(n - 1)];
        lowest -= 1e-5f * (1 + std::abs(lowest));
    }
    collectTop(row, n, fused::kBlock, bound, lowest, out);
}

template void topTokens<float>(std::span<const float>, int, std::vector<TokenId>&);
template void topTokens<double>(std::span<const double>, int, std::vector<TokenId>&);

}  // namespace counterpoint::compute
