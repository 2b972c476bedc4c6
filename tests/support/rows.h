#pragma once
// Small rows for tests of composition: log-softmax of given logits, and conversions to the storage type.

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "compute/composition/compose.h"

namespace counterpoint::tests {

constexpr double kOut = -INFINITY;

inline std::vector<double> logSoftmaxRow(const std::vector<double>& logits) {
    const double top = *std::max_element(logits.begin(), logits.end());
    double sum = 0;
    for (double x : logits) sum += std::exp(x - top);
    std::vector<double> out;
    for (double x : logits) out.push_back(x - top - std::log(sum));
    return out;
}

inline std::vector<double> logsOf(const std::vector<double>& probs) {
    std::vector<double> out;
    for (double p : probs) out.push_back(std::log(p));
    return out;
}

/// Rows in storage type Real, with the spans that compose wants.
template <class Real>
struct Storage {
    explicit Storage(const std::vector<std::vector<double>>& rows, compute::Position position = 1) {
        for (const auto& row : rows) data.emplace_back(row.begin(), row.end());
        for (const auto& row : data) source.rows.emplace_back(row);
        source.position = position;
    }
    std::vector<std::vector<Real>> data;
    compute::SourceRows<Real> source;
};

/// A recipe with k specialists of these weights (sources 1..k, reference base), τ = 1, nothing truncated.
inline compute::Recipe recipeOf(const std::vector<double>& weights) {
    compute::Recipe r;
    r.sourceNames = {"base"};
    for (std::size_t i = 0; i < weights.size(); ++i) {
        compute::SpecialistTerm t;
        t.name = std::string(1, static_cast<char>('a' + i));
        t.source = static_cast<int>(i) + 1;
        t.weight = weights[i];
        r.specialists.push_back(t);
        r.sourceNames.push_back(t.name);
    }
    return r;
}

}  // namespace counterpoint::tests
