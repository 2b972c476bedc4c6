#pragma once
// A base and three specialists over 6 tokens for tests that write R1 and R5 out by hand from the differences δ.

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <vector>

#include "tests/support/priors.h"
#include "tests/support/rows.h"

namespace counterpoint::tests {

using Row = std::vector<double>;
constexpr double kTolerance = 2e-5 * (1 + 10);  ///< of the storage type, at the largest number here

/// base, a, b, c. δ of 0 and 2 have one sign in all three, 0 below, 2 above; 5 is the stop id.
inline const std::vector<Row> kRows = {
    logSoftmaxRow({1.0, 0.5, 0.0, -0.5, -1.5, 0.2}),
    logSoftmaxRow({-0.4, 1.5, 1.2, -1.5, -3.5, 1.4}),
    logSoftmaxRow({-0.5, -0.3, 1.8, 0.9, -3.0, -0.6}),
    logSoftmaxRow({-0.9, 0.8, 1.5, -0.9, 0.4, 0.3}),
};
constexpr int kA = 1, kB = 2, kC = 3, kStop = 5;
constexpr double kWeights[] = {1.0, 1.2, 0.8, 0.5};  // [source]

inline double delta(int source, int token, int reference = 0) { return kRows[source][token] - kRows[reference][token]; }
inline double term(int source, int token) { return kWeights[source] * delta(source, token); }

/// All three in the rack with kWeights; the position is 3.
struct Case {
    compute::Recipe recipe = recipeOf({kWeights[kA], kWeights[kB], kWeights[kC]});
    Priors priors;
    std::vector<Row> rows = kRows;
    compute::Position position = 3;

    Case() { recipe.stopIds = {kStop}; }
    compute::SpecialistTerm& specialist(int source) { return recipe.specialists[std::size_t(source - 1)]; }
    void leave(std::initializer_list<int> sources) {
        for (auto& s : recipe.specialists)
            s.enabled = std::find(sources.begin(), sources.end(), s.source) != sources.end();
    }
};

/// D(v) of a token, by hand.
using Says = std::function<double(int token)>;
inline Says sumOf(std::vector<int> sources) {
    return [sources](int v) {
        double sum = 0;
        for (int i : sources) sum += term(i, v);
        return sum;
    };
}

/// log p of base + D.
inline Row composedOf(const Case& c, const Says& says) {
    Row s;
    for (int v = 0; v < 6; ++v) s.push_back(says(v) == kOut ? kOut : c.rows[0][v] + says(v));
    return logSoftmaxRow(s);
}

inline Says at(int token, Says there, Says elsewhere) {
    return [=](int v) { return v == token ? there(v) : elsewhere(v); };
}
inline Says constant(double d) {
    return [d](int) { return d; };
}
/// Σ w δ − factor · weight · the smallest |δ| where all of `sources` have one sign.
inline Says shifted(Says sum, std::vector<int> sources, double factor, double weight) {
    return [=](int v) {
        double least = INFINITY, most = -INFINITY;
        for (int i : sources) least = std::min(least, delta(i, v)), most = std::max(most, delta(i, v));
        return sum(v) - factor * weight * (least > 0 ? least : most < 0 ? most : 0.0);
    };
}
inline const double kMean = (1.2 + 0.8 + 0.5) / 3;
inline const Says kAll = sumOf({kA, kB, kC});

/// Silent at the position of the case.
inline void maskPositions(Case& c, int source) { c.specialist(source).mask.positions = {{{0, 3}, {4, 9}}}; }

}  // namespace counterpoint::tests
