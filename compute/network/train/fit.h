#pragma once
// One training run: warm-up, cosine decay, held-out loss as it goes; keeps the best held-out weights where asked.
//   η(t) = peak·t/warm-up, then final + (peak − final)·½(1 + cos π·progress)
// Every eighth batch has windows of the model's full length, the others half of it, all with the same number of tokens.
// Routed experts are chosen under R11's independent noise, new at every step, unless the mode is deterministic.
// Deterministic in the seed with one thread. Errors: Error naming the step when the loss is not finite. Thread: one
// owner.

#include <functional>
#include <vector>

#include "compute/network/train/corpus.h"
#include "compute/network/train/llama.h"
#include "compute/network/train/optimiser.h"

namespace counterpoint::network::train {

struct FitOptions {
    std::int64_t steps = 2000;   ///< of the schedule
    std::int64_t stopAfter = 0;  ///< steps really done; 0: all (a trunk stops at a high rate, its branches anneal)
    std::int64_t warmUp = 100, tokensPerStep = 1024, evaluateEvery = 200;
    double peakRate = 3e-3, finalRate = 3e-5, dropout = 0.0;
    double balance = 0.01;  ///< coefficient of the load-balancing term of routed experts
    compute::RoutingMode routing = compute::RoutingMode::Independent;
    OptimiserOptions optimiser = {};
    std::uint64_t seed = 1;
    bool keepBest = true;  ///< false: the last weights (fine-tuning moves away from the held-out stories on purpose)
};

struct FitPoint {
    std::int64_t step = 0;
    double trainLoss = 0;    ///< mean since the point before, with dropout and weights
    double balance = 0;      ///< mean of that term since the point before; 0 without routed experts
    double heldOutLoss = 0;  ///< nats per token
    double seconds = 0;
};

struct FitResult {
    std::vector<FitPoint> points;
    FitPoint kept;  ///< whose weights the model has afterwards
    double epochs = 0, seconds = 0;
};

FitResult fit(Llama& model, WindowStream& stream, const std::vector<std::vector<TokenId>>& heldOut,
              const FitOptions& options, const std::function<void(const FitPoint&)>& progress);

}  // namespace counterpoint::network::train
