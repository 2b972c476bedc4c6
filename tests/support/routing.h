#pragma once
// Questions of estimates for tests, and what "within 4 standard errors" means.

#include <cmath>
#include <random>

#include "compute/routing/estimates.h"
#include "tests/support/fixture.h"

namespace counterpoint::tests {

using namespace counterpoint::compute;

inline EstimateQuestion questionOf(std::span<const float> logits, std::size_t E, int K, Position window, double rho,
                                   double alpha, int draws) {
    EstimateQuestion q;
    q.layers = {{.layer = 3, .logits = logits, .law = {.chosen = K, .bias = {}}}};
    q.experts = E;
    q.coupling = {
        .groups = windowsOf(window), .pairs = {}, .rho = rho, .alpha = alpha, .rhoOfGroup = {}, .alphaOfPair = {}};
    q.seed = 20;
    q.draws = draws;
    q.threads = 2;
    return q;
}

inline Estimates lastOf(const EstimateQuestion& question) {
    Estimates last;
    if (estimate(question, {}, [&](const Estimates& e) { last = e; }) != Outcome::Done)
        throw std::logic_error("stopped");
    return last;
}

inline std::vector<float> someLogits(std::size_t n, unsigned seed = 5) {
    std::mt19937 gen(seed);
    std::normal_distribution<float> normal(0, 1);
    std::vector<float> logits(n);
    for (float& x : logits) x = normal(gen);
    return logits;
}

inline bool within(const Estimate& found, double wanted, double wantedError) {
    return std::abs(found.mean - wanted) <= 4 * std::sqrt(found.se * found.se + wantedError * wantedError);
}

inline QString told(const char* what, const Estimate& found, double wanted, double error) {
    return QStringLiteral("%1: %2 ± %3, wanted %4 ± %5").arg(what).arg(found.mean).arg(found.se).arg(wanted).arg(error);
}

}  // namespace counterpoint::tests
