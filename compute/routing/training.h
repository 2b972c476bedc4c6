#pragma once
// R16: training of the controller by REINFORCE, forward passes only. Of one draw of the noise,
//   objective J = λ_coh·coherence − λ_ce·CE − λ_V·Σ_e (N_e − Σ_t π_te)²/(TK) − λ_O·overflow/(TK)
// coherence, load and overflow of R13 on the stored router logits, mean over layers, π in closed form (R14), a
// coherence of no pairs 0; CE, nats a token, from who has the model. With d = z − √ρ ζ and w = ζ_g' + α ζ_g the score
// of the Gaussian latents, over all layers, is (PAPERS.md 5.6)
//   ∂_ρ log p = Σ_te [dζ/(2√ρ(1−ρ)) − d²/(2(1−ρ)²) + 1/(2(1−ρ))]
//   ∂_α log p = Σ_e [α/(1−α²) − wζ_g/(1−α²) − αw²/(1−α²)²]
// carried to a, b and c by the chain rule; gradient = mean over draws of score · (J − mean of J over the other draws).
// Optimiser: Adam (Kingma & Ba 2015; β 0.9 and 0.999, ε 1e-8), upwards. A step is a function of plan and state and
// changes neither, so that whoever trains shows progress, stops between steps, keeps the last state or drops it. Step n
// takes draws n·D + 1 … n·D + D. A J that is a sum over positions of what each chose alone has gradient zero on fixed
// logits. The same bits for any number of threads. Errors: those of estimates.h; fewer than 2 draws; weights or rate
// that are none; a CE that is no finite number. Thread: any; CE is called on the caller's.

#include <array>
#include <functional>
#include <optional>
#include <stop_token>
#include <vector>

#include "compute/routing/controller.h"

namespace counterpoint::compute {

struct ObjectiveWeights {
    double coherence = 1, crossEntropy = 1, load = 0.1, overflow = 0.1;
};

/// One draw of the noise, and what the stored logits choose under it.
struct NoiseDraw {
    const Coupling& coupling;  ///< ρ of each group, α
    std::uint64_t seed;
    std::uint32_t draw;
    std::span<const std::vector<ExpertId>> chosen;  ///< [L] of [T][K]
};
/// CE of the text under a draw's noise, nats a token; none: it was stopped.
using CrossEntropy = std::function<std::optional<double>(const NoiseDraw& draw, const std::stop_token& stop)>;

struct TrainingQuestion {
    EstimateQuestion routing;  ///< groups and pairs; draws of one step; ρ and α are the controller's
    EntropyOf entropy = EntropyOf::Group;
    ObjectiveWeights weights;
    CrossEntropy crossEntropy;  ///< empty: the term is 0
    double rate = 0.05;         ///< Adam's
};

/// What is the same in every step. The question's logits are read once and may go.
struct TrainingPlan {
    struct Layer {
        std::uint32_t layer;
        std::vector<double> scaled;  ///< [T][E] ℓ'/T_r
        std::vector<double> load;    ///< [E] Σ_t π_te
        MetricsPlan metrics;
    };
    TrainingQuestion question;
    std::vector<double> entropies;  ///< [G] h
    std::vector<Layer> layers;
};
COUNTERPOINT_API TrainingPlan trainingPlan(TrainingQuestion question);

/// Terms of J without their weights, at a controller.
struct ObjectiveEstimate {
    Estimate objective, coherence, crossEntropy, load, overflow;
    std::array<Estimate, 3> gradient;  ///< of J by a, b, c; of one draw NaN
};
/// From draws first … first + count − 1; none: it was stopped.
COUNTERPOINT_API std::optional<ObjectiveEstimate> objectiveAt(const TrainingPlan& plan, const Controller& controller,
                                                              std::uint32_t first, int count,
                                                              const std::stop_token& stop);

/// What training has come to.
struct Training {
    Controller controller;
    std::uint32_t steps = 0;
    std::array<double, 3> first{}, second{};      ///< Adam's moments
    OrderedJson unknown = OrderedJson::object();  ///< keys of a file that nobody asked for
    bool operator==(const Training&) const = default;
};
/// h̄ is the mean h of the plan's groups; `from` goes on with the ρ of its own h̄.
COUNTERPOINT_API Training beginTraining(const TrainingPlan& plan, Controller from = {});

struct TrainingStep {
    Training after;
    ObjectiveEstimate before;  ///< where the step was taken from
};
/// None: it was stopped.
COUNTERPOINT_API std::optional<TrainingStep> trainStep(const TrainingPlan& plan, const Training& state,
                                                       const std::stop_token& stop);

/// {"controller", "steps", "first", "second"}: reads back to the same bits. Warnings: unknown keys.
COUNTERPOINT_API OrderedJson toJson(const Training& training);
COUNTERPOINT_API Training trainingFromJson(const OrderedJson& json, const std::string& where,
                                           std::vector<std::string>& warnings);

}  // namespace counterpoint::compute
