#include "compute/priors/priorset.h"

#include <algorithm>
#include <unordered_map>

namespace counterpoint::compute {
namespace {

/// Factors that were resolved before, by the prior they are of.
using Known = std::unordered_map<const Prior*, std::shared_ptr<const Factor>>;

bool sameIds(const IdSpace& a, const IdSpace& b) { return a.tokenizer == b.tokenizer && a.size == b.size; }

std::shared_ptr<const Factor> factorOf(const PriorPtr& prior, const IdSpace& ids, const Known& known) {
    const auto at = known.find(prior.get());
    return at != known.end() ? at->second : std::make_shared<const Factor>(resolve(*prior, ids));
}

}  // namespace

std::shared_ptr<const PriorSet> PriorSet::build(std::span<const BankUse> banks, const IdSpace& ids,
                                                const std::string& fingerprint, const PriorSet* before) {
    auto set = std::make_shared<PriorSet>();
    set->m_ids = ids;
    set->m_fingerprint = fingerprint;
    for (const BankUse& use : banks) set->m_banks.push_back(use.bank);
    const bool kept = before != nullptr && sameIds(before->m_ids, ids) && before->m_fingerprint == fingerprint;
    if (kept && before->m_banks == set->m_banks) {
        set->m_members = before->m_members;
        set->m_contexts = before->m_contexts;
    } else {
        Known known;
        if (kept)
            for (const Member& m : before->m_members) known.emplace(m.prior.get(), m.factor);
        auto contexts = std::make_shared<Contexts>();
        for (std::size_t b = 0; b < banks.size(); ++b) {
            if (!banks[b].bank) continue;
            const Bank& bank = *banks[b].bank;
            IdSpace own = ids;
            own.foreignIds = bank.tokenizer && !fingerprint.empty() && *bank.tokenizer != fingerprint;
            for (std::size_t i = 0; i < bank.priors.size(); ++i) {
                const PriorPtr& prior = bank.priors[i];
                set->m_members.push_back({.bank = b,
                                          .index = i,
                                          .prior = prior,
                                          .factor = factorOf(prior, own, known),
                                          .eta = {},
                                          .weight = 0,
                                          .acts = false,
                                          .context = contexts->add(prior->when, bank.features)});
            }
        }
        set->m_contexts = std::move(contexts);
    }
    set->m_byContext.resize(set->m_contexts->size());
    static const PriorOverride kNone;
    for (std::size_t i = 0; i < set->m_members.size(); ++i) {
        Member& m = set->m_members[i];
        const BankUse& use = banks[m.bank];
        const auto found = use.overrides.empty() ? use.overrides.end() : use.overrides.find(m.prior->name);
        const PriorOverride& own = found == use.overrides.end() ? kNone : found->second;
        m.eta = etaOf(*m.prior, own.eta);
        m.weight = m.eta.off ? 0 : m.eta.eta * use.weight;
        m.acts = use.enabled && own.enabled.value_or(m.prior->enabled) && !m.prior->unusable &&
                 !m.factor->tokens.empty() && m.weight != 0 && set->m_contexts->problem(m.context).empty();
        if (!m.acts) continue;
        set->m_byContext[m.context].push_back(i);
        ++set->m_acting;
    }
    return set;
}

void PriorSet::matching(const ContextText& text, Position position, std::vector<std::size_t>& out,
                        std::vector<std::size_t>* bounded) const {
    out.clear();
    if (bounded != nullptr) bounded->clear();
    for (std::size_t c = 0; c < m_byContext.size(); ++c) {
        if (m_byContext[c].empty()) continue;
        const Contexts::Answer answer = m_contexts->match(c, text, position);
        if (answer == Contexts::Answer::Yes) out.insert(out.end(), m_byContext[c].begin(), m_byContext[c].end());
        if (answer == Contexts::Answer::Bound && bounded != nullptr)
            bounded->insert(bounded->end(), m_byContext[c].begin(), m_byContext[c].end());
    }
    std::sort(out.begin(), out.end());
    if (bounded != nullptr) std::sort(bounded->begin(), bounded->end());
}

void PriorSet::terms(std::span<const std::size_t> members, std::vector<PriorTerm>& out) const {
    out.clear();
    for (const std::size_t i : members) {
        const Member& m = m_members[i];
        out.push_back({m.prior->name, m.weight, m.factor->tokens, m.factor->delta});
    }
}

}  // namespace counterpoint::compute
