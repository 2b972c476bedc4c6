#pragma once
// R14: what routing does, estimated from stored router logits that are held fixed while noise is redrawn: draws 1..D by
// their addresses. Of every metric of R13 the mean over draws and its standard error (sample deviation/√D); of
//   load_variance Σ_e Var(N_e), the sample variance, by the jackknife over draws
// Layer by layer given the layer's inputs: no end-to-end statement. Independent noise and flat coupling are the same
// call with independentOf(coupling) and flatOf(coupling); independent routing also has a closed form (inclusion.h).
// Checked on every set of draws, to 1e-9, π̂ and Var being its own moments:
//   Σ_e [Var N_e − Σ_t π̂_te(1 − π̂_te)] = Σ_{t≠t'} (mean|S_t∩S_t'| − Σ_e π̂_te π̂_t'e)
// Shapes: logits [T][E] per layer, one T and E for all. The same bits for any number of threads; no allocation per
// draw. Errors: those of topk.h, groups.h and metrics.h; draws under 1; layers of unequal shape. Thread: any; progress
// is called on the caller's.

#include <functional>
#include <span>
#include <stop_token>
#include <vector>

#include "compute/error.h"
#include "compute/export.h"
#include "compute/routing/metrics.h"
#include "compute/routing/topk.h"

namespace counterpoint::compute {

struct RouterLayer {
    std::uint32_t layer = 0;        ///< of the model: part of the noise's address
    std::span<const float> logits;  ///< [T][E]
    RouterLaw law;
};

struct EstimateQuestion {
    std::vector<RouterLayer> layers;
    std::size_t experts = 0;  ///< E
    Coupling coupling;
    std::uint64_t seed = 7;
    double capacityFactor = 1;
    int draws = 256;  ///< D
    int threads = 1;
    std::vector<double> capacityFactors;  ///< further ones that the overflow is asked for
};

struct Estimate {
    double mean = 0, se = 0;  ///< se of one draw (of the load variance: of two) is not a number
};

struct MetricEstimates {
    Estimate coherence, boundary, boundaryPaired, boundaryUnpaired, distinct, cv, overflow, loadVariance;
};

struct LayerEstimates {
    MetricEstimates metrics;
    std::vector<Estimate> load;    ///< [E] selections of one draw
    std::vector<float> inclusion;  ///< [T][E] π̂
    std::vector<Estimate> distinctOfGroup;  ///< [G] distinct experts of each group
    std::vector<Estimate> overflowAt;       ///< [capacityFactors]
};

struct Estimates {
    int draws = 0;                       ///< those that went into it
    std::vector<LayerEstimates> layers;  ///< in the question's order
    MetricEstimates pooled;              ///< mean over layers
};

/// A first answer after 32 draws, then after twice as many and so on up to D, each through `progress`; `between` is
/// called every few hundredths of a second. Stopped: Cancelled.
COUNTERPOINT_API Outcome estimate(const EstimateQuestion& question, const std::stop_token& stop,
                                  const std::function<void(const Estimates&)>& progress,
                                  const std::function<void()>& between = {});

struct DeterministicRouting {
    RoutingMetrics metrics;
    std::vector<std::int32_t> load;  ///< [E]
    std::vector<ExpertId> chosen;    ///< [T][K]
};
/// Each layer as published, without noise.
COUNTERPOINT_API std::vector<DeterministicRouting> deterministicRouting(const EstimateQuestion& question);

}  // namespace counterpoint::compute
