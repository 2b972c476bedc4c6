#pragma once
// PriorTally: what each prior did on a trace, counted once per step. hits: the steps where it matched
// (Step::matchedPriors). effect: the mean over its hits of
// |η·Δ(token)/τ|, nats, what it added to the score of the token that stands there, either way. tokens: of each token of
// its support, the hits where that token stands. Cost: of the steps that are new; all again where steps were replaced.
// Thread: the trace owner's.

#include <string>
#include <unordered_map>
#include <vector>

#include "model/trace.h"

namespace counterpoint::model {

class PriorTally {
  public:
    struct Of {
        std::size_t hits = 0, bounded = 0;  ///< bounded: steps where its context hit its bound
        double moved = 0;                   ///< Σ over the hits, nats
        std::unordered_map<compute::TokenId, std::size_t> tokens;
        /// NaN without a hit.
        double effect() const;
    };
    /// Whether anything changed. null: no trace.
    bool follow(const Trace* trace);
    /// Steps that follow() has counted were replaced: it would count all again.
    bool wouldRecount(const Trace* trace) const;
    /// `bank`: which of the trace's priors.
    const Of& of(std::size_t bank, const std::string& prior) const;

  private:
    void count(const Trace& trace, const compute::Step& step);
    int m_trace = -1;
    std::shared_ptr<const compute::PriorSet> m_set;
    std::vector<StepPtr> m_counted;
    std::vector<std::unordered_map<std::string, Of>> m_of;  ///< [bank]
};

}  // namespace counterpoint::model
