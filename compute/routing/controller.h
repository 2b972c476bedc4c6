#pragma once
// R16: a controller that sets the dials of R11 by three numbers, a, b and c (σ the logistic function):
//   ρ_g = 1e-3 + 0.949 σ(a + b (h_g − h̄)), α = 0.95 σ(c), the same for every layer
//   h_g: entropy of the noise-free gate, softmax(ℓ') over the experts, mean over a group's positions and the layers
// Scoring: h_g is the group's own, of a pass without noise. Generation: that of the group before it, so that nothing of
// the group itself is asked for when it begins; the first group has h̄. h̄ is fitted in training (training.h) and saved.
// It reads the model and never touches it. ρ lies in [1e-3, 0.95] and α in [0, 0.95]: where the score of training is
// singular they cannot come. Units: nats. Errors: those of topk.h and groups.h; of the JSON: Error for a number that is
// missing or is none. Pure; thread: any. Source: PAPERS.md 5.6; SPEC.md R16.

#include <span>
#include <string>
#include <vector>

#include "compute/export.h"
#include "compute/files/json.h"
#include "compute/routing/estimates.h"

namespace counterpoint::compute {

struct Controller {
    double a = 0, b = 0, c = 0;
    double meanEntropy = 0;                       ///< h̄
    OrderedJson unknown = OrderedJson::object();  ///< keys of a file that nobody asked for
    bool operator==(const Controller&) const = default;
};

/// ρ of a group whose entropy is `entropy`; α of a pair.
COUNTERPOINT_API double rhoOf(const Controller& controller, double entropy) noexcept;
COUNTERPOINT_API double alphaOf(const Controller& controller) noexcept;

/// Entropy of softmax(ℓ'), −∞ for an expert that is off. ℓ' [E], one of them finite.
COUNTERPOINT_API double gateEntropy(std::span<const double> biased) noexcept;
/// h of each group of the question's coupling, on its layers.
COUNTERPOINT_API std::vector<double> groupEntropies(const EstimateQuestion& question);

/// Whose h_g sets a group's ρ: its own (scoring) or that of the group before it (generation).
enum class EntropyOf { Group, PreviousGroup };
/// h of what sets the ρ of groups 0, 1, …; in generation of one group more than `entropies` tells of: the one to come.
COUNTERPOINT_API std::vector<double> controllingEntropies(const Controller& controller,
                                                          std::span<const double> entropies, EntropyOf of);
/// The groups and pairs of `coupling` under the controller's ρ of each group and α; a group further on has ρ(h̄).
COUNTERPOINT_API Coupling controlled(const Controller& controller, Coupling coupling, std::span<const double> entropies,
                                     EntropyOf of);

/// {"a", "b", "c", "mean_entropy"}. Warnings: unknown keys, which are kept.
COUNTERPOINT_API OrderedJson toJson(const Controller& controller);
COUNTERPOINT_API Controller controllerFromJson(const OrderedJson& json, const std::string& where,
                                               std::vector<std::string>& warnings);

}  // namespace counterpoint::compute
