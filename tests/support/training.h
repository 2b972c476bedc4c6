#pragma once
// A small question for the controller's training, and functions of what a draw chose.

#include <cmath>
#include <vector>

#include "compute/routing/training.h"
#include "tests/support/routing.h"

namespace counterpoint::tests {

constexpr std::size_t kT = 10, kE = 4;

/// Two layers of ten positions and four experts: groups of 3, 4, 2 and 1, pairs (0,2) and (1,3), entropies that differ.
struct Small {
    std::vector<float> logits = [] {
        auto x = someLogits(2 * kT * kE);
        for (std::size_t i = 0; i < x.size(); ++i) x[i] *= i / kE % kT < 3 ? 0.2f : i / kE % kT < 7 ? 2.0f : 1.0f;
        return x;
    }();
    TrainingQuestion question;
    Controller controller{.a = -0.4, .b = 0.8, .c = 0.5, .meanEntropy = 1.0};

    explicit Small(const ObjectiveWeights& weights, EntropyOf entropy = EntropyOf::Group) {
        EstimateQuestion& q = question.routing;
        q.layers = {{.layer = 3, .logits = std::span(logits).first(kT * kE), .law = {.chosen = 2, .bias = {}}},
                    {.layer = 5, .logits = std::span(logits).last(kT * kE), .law = {.chosen = 1, .bias = {}}}};
        q.experts = kE;
        q.coupling = {
            .groups = groupsFrom({0, 3, 7, 9}), .pairs = {{{0, 2}, {1, 3}}}, .rhoOfGroup = {}, .alphaOfPair = {}};
        q.seed = 21;
        q.draws = 64;
        q.threads = 2;
        question.weights = weights;
        question.entropy = entropy;
    }
    Small(const Small&) = delete;
    ObjectiveEstimate at(const Controller& c, std::uint32_t first, int draws) const {
        return objectiveAt(trainingPlan(question), c, first, draws, {}).value();
    }
};

constexpr ObjectiveWeights kNothing{0, 0, 0, 0};
constexpr ObjectiveWeights only(double ObjectiveWeights::*term, double weight = 1) {
    ObjectiveWeights weights = kNothing;
    weights.*term = weight;
    return weights;
}

inline double* parameter(Controller& c, int which) { return which == 0 ? &c.a : which == 1 ? &c.b : &c.c; }

/// Something of pairs of positions, within and across groups: no sum over positions.
inline double meetings(const NoiseDraw& draw) {
    const auto& chosen = draw.chosen[0];
    const auto meet = [&](std::size_t t, std::size_t u) {
        return double(chosen[2 * t] == chosen[2 * u]) + 0.5 * double(chosen[2 * t + 1] == chosen[2 * u]);
    };
    return meet(0, 2) + 2 * meet(3, 5) - meet(1, 7) - meet(4, 9);
}

/// A sum over positions of what each chose alone.
inline double separable(const NoiseDraw& draw) {
    double sum = 0;
    for (std::size_t l = 0; l < draw.chosen.size(); ++l)
        for (std::size_t i = 0; i < draw.chosen[l].size(); ++i)
            sum += std::sin(1.0 + 3.0 * double(draw.chosen[l][i]) + double(i) + double(l));
    return sum;
}

inline QString told(const char* what, double found, double wanted, double error) {
    return QStringLiteral("%1: %2, wanted %3 ± %4").arg(what).arg(found).arg(wanted).arg(error);
}

}  // namespace counterpoint::tests
