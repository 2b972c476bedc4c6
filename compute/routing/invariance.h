#pragma once
// R15: is a position's own law what it is without coupling? Tests on one layer over D draws, its router logits held
// fixed:
//   lists: χ² of the first min(K,2) places against Plackett-Luce; one fixed position per test, independent across draws
//   inclusion: each expert's count against Binomial(D, π_te), π by inclusion.h
//   weights: each expert's mean mixture weight beside that of D draws of plain Gumbel noise, whose counters end in
//     4·layer + 3; experts with an expectation under 20 inclusions are left to the test before
//   gumbel: Kolmogorov-Smirnov of γ at the first position asked, all experts of all draws
// Each kind is corrected by Holm over its positions and experts, so that each errs at its nominal rate (below it where
// counts are few). Scope, to be said with it: one layer, given its inputs; scored text or redrawn noise.
// Errors: those of topk.h and groups.h; draws under 1; no position, or one outside the text. Thread: any.

#include <functional>
#include <span>
#include <stop_token>
#include <vector>

#include "compute/error.h"
#include "compute/export.h"
#include "compute/routing/copula.h"
#include "compute/routing/topk.h"

namespace counterpoint::compute {

struct InvarianceQuestion {
    std::span<const float> logits;  ///< [T][E]
    std::size_t experts = 0;
    RouterLaw law;
    Coupling coupling;
    std::uint32_t layer = 0;
    std::uint64_t seed = 7;
    int draws = 2000;                 ///< 1..D
    std::vector<Position> positions;  ///< those that are tested
};

enum class InvarianceKind { Lists, Inclusion, Weights, Gumbel };

/// One row of the panel: the smallest p-value of its kind, and where it is.
struct InvarianceTest {
    InvarianceKind kind = InvarianceKind::Lists;
    int tests = 0;         ///< how many stand behind it
    double statistic = 0;  ///< χ²; of a count or a weight its distance in standard deviations; KS distance
    int degrees = 0;       ///< of χ²
    Position position = 0;
    ExpertId expert = -1;  ///< −1: about no single one
    double pValue = 1;     ///< after Holm
};

struct Invariance {
    std::vector<InvarianceTest> rows;  ///< in the order of the kinds
};
/// No row's p-value is under its share of the level.
COUNTERPOINT_API bool holds(const Invariance& invariance, double level = 0.05);

/// γ [E] of a draw and a position, where a caller wants other noise tested than that of copula.h.
using NoiseOfDraw = std::function<void(std::uint32_t draw, Position position, std::span<double> gamma)>;

/// Cancelled: `found` is as it was.
COUNTERPOINT_API Outcome testInvariance(const InvarianceQuestion& question, const std::stop_token& stop,
                                        Invariance& found, const NoiseOfDraw& noise = {});

}  // namespace counterpoint::compute
