#pragma once
// PriorNames: the names that the priors of a bank have, and the next that is free: "prefer get 2". A table, since a
// bank of 10,000 priors may be copied or imported at once. Thread: one.

#include <string>
#include <unordered_map>
#include <unordered_set>

#include "compute/priors/bank.h"

namespace counterpoint::model {

class PriorNames {
  public:
    explicit PriorNames(const compute::Bank& bank) {
        for (const compute::PriorPtr& p : bank.priors) m_taken.insert(p->name);
    }
    /// `wanted`, or the first with a number that is free; taken from then on.
    std::string take(const std::string& wanted) {
        if (!wanted.empty() && m_taken.insert(wanted).second) return wanted;
        std::string stem = wanted.empty() ? "prior" : wanted;  // of "prefer get 2": "prefer get"
        if (const auto end = stem.find_last_not_of("0123456789");
            end != std::string::npos && end > 0 && stem[end] == ' ')
            stem.resize(end);
        for (std::size_t& n = m_next.try_emplace(stem, 2).first->second;; ++n)
            if (std::string name = stem + " " + std::to_string(n); m_taken.insert(name).second) return name;
    }

  private:
    std::unordered_set<std::string> m_taken;
    std::unordered_map<std::string, std::size_t> m_next;
};

}  // namespace counterpoint::model
