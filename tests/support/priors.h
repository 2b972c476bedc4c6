#pragma once
// Priors that own what a PriorTerm shows, given where a span of terms is asked for.

#include <span>
#include <string>
#include <vector>

#include "compute/composition/recipe.h"

namespace counterpoint::tests {

struct OwnedPrior {
    std::string name;
    double eta = 0;
    std::vector<compute::TokenId> tokens;
    std::vector<double> delta;
};

class Priors : public std::vector<OwnedPrior> {
  public:
    using vector::vector;
    operator std::span<const compute::PriorTerm>() const {
        m_terms.clear();
        for (const OwnedPrior& p : *this) m_terms.push_back({p.name, p.eta, p.tokens, p.delta});
        return m_terms;
    }

  private:
    mutable std::vector<compute::PriorTerm> m_terms;
};

}  // namespace counterpoint::tests
