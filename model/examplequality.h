#pragma once
// How often a prior from examples moves probability the right way, on the texts that were held out, scored by the base
// alone (its own temperature and prefix; τ = 1, no specialists, no other priors), at η = 1.
//   A position counts where the context matches, the text's own token there is in the support, and the prior moves its
//   log-probability by more than kLeastMove; it is right where that goes up in a preferred text, down in one that is
//   not. A position of a set has weight min(P₊, P₋)/P of that set, with P the positions looked at, so that a longer set
//   does not make every token look like its own (1 where one set is empty). With s and n the sums of weights
//     q = (1 + s)/(2 + n), brought to [0.05, 0.95]; η = log(q/(1−q)) follows (R8)
// What a prior promotes it takes from all other tokens: `everywhere` counts those positions too, and is shown beside q,
// not used for it: nearly every position of a preferred text would speak against a prior that promotes. Positions of
// one text are not independent, so the interval is one of positions, not of texts: too narrow where texts are long. A
// text's `weight` is not used: it says how much a text teaches (candidates and c), and here positions are counted,
// which a weight of 10 would count ten times though each was seen once. A text is scored up to the base's context and
// kMostScored positions. Errors: Error as of a decode. Thread: any; it blocks, with an Engine of its own.

#include "model/examples.h"
#include "model/runner.h"

namespace counterpoint::model {

constexpr double kLeastMove = 1e-6;  ///< nats
constexpr double kLeastQuality = 0.05, kMostEstimated = 0.95;
constexpr compute::Position kMostScored = 4096;

struct QualityEstimate {
    struct Count {
        std::int64_t right = 0, seen = 0;
    };
    struct Set {
        std::int64_t positions = 0;  ///< looked at
        Count support;               ///< own token in the support
        double weight = 1;
    };
    double q = 0.5;            ///< clipped
    compute::Quality counted;  ///< s of n, unclipped mean and 95 % interval
    Set preferred, other;
    Count everywhere;       ///< every position that the prior moves
    std::size_t texts = 0;  ///< scored to their end
    bool stopped = false;   ///< the rest is of what was scored until then

    std::int64_t positions() const { return preferred.positions + other.positions; }
    Count support() const {
        return {preferred.support.right + other.support.right, preferred.support.seen + other.support.seen};
    }
};

/// `bank`: whose features the prior's context may name. `options`: device, dtype, opener, stop, patience and progress.
QualityEstimate estimateQuality(const compute::Prior& prior, const compute::Bank* bank,
                                std::span<const ExampleText> texts, std::span<const std::size_t> heldOut,
                                const Session& session, const RunOptions& options);

}  // namespace counterpoint::model
