#pragma once
// How often a prior from examples moves probability the right way, on the texts that were held out, scored by the base
// alone (its own temperature and prefix; τ = 1, no specialists, no other priors), at η = 1.
//   A position counts where the context matches and the prior moves the log-probability of the text's own token there
//   by more than kLeastMove; it is right where that goes up in a preferred text, down in one that is not. q = (1 +
//   s)/(2 + n), brought to [0.05, 0.95]; η = log(q/(1−q)) follows (R8)
// A position counts also where the text's own token is not in the support: what a prior promotes it takes from the
// others. Positions of one text are not independent, so the interval is one of positions, not of texts. A text is
// scored up to the base's context and kMostScored positions. Errors: Error as of a decode. Thread: any; it blocks, with
// an Engine of its own.

#include "model/examples.h"
#include "model/runner.h"

namespace counterpoint::model {

constexpr double kLeastMove = 1e-6;  ///< nats
constexpr double kLeastQuality = 0.05, kMostEstimated = 0.95;
constexpr compute::Position kMostScored = 4096;

struct QualityEstimate {
    double q = 0.5;                          ///< of all counted, clipped
    compute::Quality counted;                ///< right of seen, unclipped mean and 95 % interval
    std::int64_t right = 0, seen = 0;        ///< the same two
    std::int64_t ownRight = 0, ownSeen = 0;  ///< those of them whose own token is in the support
    std::int64_t positions = 0;              ///< looked at
    std::size_t texts = 0;                   ///< scored to their end
    bool stopped = false;                    ///< the rest is of what was scored until then
};

/// `bank`: whose features the prior's context may name. `options`: device, dtype, opener, stop, patience and progress.
QualityEstimate estimateQuality(const compute::Prior& prior, const compute::Bank* bank,
                                std::span<const ExampleText> texts, std::span<const std::size_t> heldOut,
                                const Session& session, const RunOptions& options);

}  // namespace counterpoint::model
