#pragma once
// What of a session's banks acts with one tokenizer (R8): factors, effective η, distinct contexts. Built once and
// shared; a new set after an edit takes over what did not change, so that moving one η among 10,000 priors costs
// little.
//   weight of a prior's log φ = η · the bank's weight; what acts: enabled (the bank, the prior, the session's
//   override), usable, a support, a weight that is not 0, a context that can match
// Cost of a step: the distinct contexts, then the priors that match; nothing of the vocabulary.
// Shapes: M priors over the banks in rack order. Units: nats. Errors: none; see problem(). Thread: const from any.

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compute/composition/recipe.h"
#include "compute/priors/context.h"

namespace counterpoint::compute {

/// A session's say on one prior (SPEC.md 2, "overrides").
struct PriorOverride {
    std::optional<double> eta = std::nullopt;
    std::optional<bool> enabled = std::nullopt;
    bool operator==(const PriorOverride&) const = default;
};
using PriorOverrides = std::map<std::string, PriorOverride>;  ///< by the prior's name

struct BankUse {
    std::shared_ptr<const Bank> bank;
    bool enabled = true;
    double weight = 1;  ///< multiplies every η
    PriorOverrides overrides = {};
};

/// Whether a prior acts where nobody overrides it: on, with an η and tokens, in a context that can match.
/// `contextProblem`: of Contexts.
COUNTERPOINT_API bool acts(const Prior& prior, const Factor& factor, const std::string& contextProblem);

class COUNTERPOINT_API PriorSet {
  public:
    struct Member {
        std::size_t bank = 0, index = 0;  ///< which prior of which BankUse
        const Prior* prior = nullptr;     ///< the set's, as long as it lives
        const Factor* factor = nullptr;
        Eta eta;
        double weight = 0;  ///< of log φ
        bool acts = false;
        std::size_t context = 0;
    };

    /// `ids`: of the tokenizer in use, which has this fingerprint; a bank made for another has foreign ids. `before`:
    /// what of it was built with the same `ids` is taken over.
    static std::shared_ptr<const PriorSet> build(std::span<const BankUse> banks, const IdSpace& ids,
                                                 const std::string& fingerprint, const PriorSet* before = nullptr);
    std::span<const Member> members() const { return m_members; }
    /// Of each bank the one of that name.
    std::vector<const Member*> named(std::string_view name) const;
    const Contexts& contexts() const { return *m_contexts; }
    /// Nothing can act.
    bool empty() const { return m_acting == 0; }
    /// Members that act at a position, in rack order. `bounded`: those whose context hit its bound there; null: not
    /// asked.
    void matching(const ContextText& text, Position position, std::vector<std::size_t>& out,
                  std::vector<std::size_t>* bounded = nullptr) const;
    /// Their terms; they point into this set.
    void terms(std::span<const std::size_t> members, std::vector<PriorTerm>& out) const;

  private:
    using Names = std::unordered_map<std::string_view, std::size_t>;  ///< member of a bank by its prior's name
    void evaluate(Member& member) const;
    void collect();

    /// What members point into: not copied with them, since counting 20,000 owners costs more than a step.
    struct Held {
        std::vector<PriorPtr> priors;
        std::vector<std::shared_ptr<const Factor>> factors;
    };
    std::vector<Member> m_members;
    std::shared_ptr<const Held> m_held;  ///< [members]
    std::vector<BankUse> m_uses;
    std::shared_ptr<const std::vector<Names>> m_names;  ///< [banks]
    IdSpace m_ids;
    std::string m_fingerprint;
    std::shared_ptr<const Contexts> m_contexts;
    std::shared_ptr<const std::vector<std::vector<std::size_t>>> m_byContext;  ///< acting members of each context
    std::size_t m_acting = 0;
};

}  // namespace counterpoint::compute
