#pragma once
// What of a session's banks acts with one tokenizer (R8): factors, effective η, distinct contexts. Built once and
// shared; a new set after an edit takes over what did not change, so that moving one η among 10,000 priors costs
// little. Cost of a step: the distinct contexts, then the priors that match; nothing of the vocabulary. Shapes: M
// priors over the banks in rack order. Units: nats. Errors: none; `problems`. Thread: const from any.

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compute/composition/recipe.h"
#include "compute/priors/context.h"

namespace counterpoint::compute {

/// A session's say on one prior (SPEC.md 2, "overrides").
struct PriorOverride {
    std::optional<double> eta;
    std::optional<bool> enabled;
    bool operator==(const PriorOverride&) const = default;
};

struct BankUse {
    std::shared_ptr<const Bank> bank;
    bool enabled = true;
    double weight = 1;                               ///< multiplies every η
    std::map<std::string, PriorOverride> overrides;  ///< by the prior's name
};

class COUNTERPOINT_API PriorSet {
  public:
    struct Member {
        std::size_t bank = 0, index = 0;  ///< which prior of which BankUse
        PriorPtr prior;
        std::shared_ptr<const Factor> factor;
        Eta eta;
        double weight = 0;  ///< η times the bank's weight; 0: it does not act
        bool acts = false;  ///< enabled, usable, η ≠ 0, a support
        std::size_t context = 0;
    };

    static std::shared_ptr<const PriorSet> build(std::span<const BankUse> banks, const IdSpace& ids,
                                                 const std::string& fingerprint, const PriorSet* before = nullptr);
    std::span<const Member> members() const { return m_members; }
    const Contexts& contexts() const { return *m_contexts; }
    bool empty() const { return m_acting == 0; }  ///< nothing can act
    /// The terms that act at a position, in rack order; they point into this set.
    void terms(const ContextText& text, Position position, std::vector<PriorTerm>& out) const;
    /// Members that act at a position.
    void matching(const ContextText& text, Position position, std::vector<std::size_t>& out) const;

  private:
    std::vector<Member> m_members;
    std::shared_ptr<const Contexts> m_contexts;
    std::vector<std::vector<std::size_t>> m_byContext;  ///< acting members of each context
    std::size_t m_acting = 0;
};

}  // namespace counterpoint::compute
