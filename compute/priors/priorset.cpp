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

bool acts(const Prior& prior, const Factor& factor, const std::string& contextProblem) {
    return prior.enabled && !prior.unusable && etaOf(prior).eta != 0 && !factor.tokens.empty() &&
           !factor.neverMatches && contextProblem.empty();
}

void PriorSet::evaluate(Member& m) const {
    static const PriorOverride kNone;
    const BankUse& use = m_uses[m.bank];
    const auto found = use.overrides.find(m.prior->name);
    const PriorOverride& own = found == use.overrides.end() ? kNone : found->second;
    m.eta = etaOf(*m.prior, own.eta);
    m.weight = m.eta.eta * use.weight;
    m.acts = use.enabled && own.enabled.value_or(m.prior->enabled) && !m.prior->unusable && !m.factor->tokens.empty() &&
             !m.factor->neverMatches && m.weight != 0 && m_contexts->problem(m.context).empty();
}

void PriorSet::collect() {
    std::vector<std::vector<std::size_t>> byContext(m_contexts->size());
    for (std::size_t i = 0; i < m_members.size(); ++i)
        if (m_members[i].acts) byContext[m_members[i].context].push_back(i);
    m_byContext = std::make_shared<const std::vector<std::vector<std::size_t>>>(std::move(byContext));
    m_acting = static_cast<std::size_t>(
        std::count_if(m_members.begin(), m_members.end(), [](const Member& m) { return m.acts; }));
}

std::shared_ptr<const PriorSet> PriorSet::build(std::span<const BankUse> banks, const IdSpace& ids,
                                                const std::string& fingerprint, const PriorSet* before) {
    const auto sameBanks = [&] {
        return std::equal(banks.begin(), banks.end(), before->m_uses.begin(), before->m_uses.end(),
                          [](const BankUse& a, const BankUse& b) { return a.bank == b.bank; });
    };
    const bool kept = before != nullptr && sameIds(before->m_ids, ids) && before->m_fingerprint == fingerprint;
    if (kept && sameBanks()) {
        auto set = std::make_shared<PriorSet>(*before);
        set->m_uses.assign(banks.begin(), banks.end());
        bool moved = false;
        const auto again = [&](Member& m) {
            const bool acted = m.acts;
            set->evaluate(m);
            moved = moved || m.acts != acted;
        };
        for (std::size_t b = 0; b < banks.size(); ++b) {
            const BankUse& then = before->m_uses[b];
            if (then.enabled != banks[b].enabled || then.weight != banks[b].weight) {
                for (Member& m : set->m_members)
                    if (m.bank == b) again(m);
                continue;
            }
            for (const PriorOverrides* overrides : {&then.overrides, &banks[b].overrides})
                for (const auto& [name, value] : *overrides)
                    if (const auto at = (*set->m_names)[b].find(name); at != (*set->m_names)[b].end())
                        again(set->m_members[at->second]);
        }
        if (moved) set->collect();
        return set;
    }

    auto set = std::make_shared<PriorSet>();
    set->m_ids = ids;
    set->m_fingerprint = fingerprint;
    set->m_uses.assign(banks.begin(), banks.end());
    Known known;
    if (kept)
        for (std::size_t i = 0; i < before->m_members.size(); ++i)
            known.emplace(before->m_members[i].prior, before->m_held->factors[i]);
    auto held = std::make_shared<Held>();
    auto contexts = std::make_shared<Contexts>();
    std::vector<Names> names(banks.size());
    for (std::size_t b = 0; b < banks.size(); ++b) {
        if (!banks[b].bank) continue;
        const Bank& bank = *banks[b].bank;
        IdSpace own = ids;
        own.foreignIds = bank.tokenizer && !fingerprint.empty() && *bank.tokenizer != fingerprint;
        for (std::size_t i = 0; i < bank.priors.size(); ++i) {
            const PriorPtr& prior = bank.priors[i];
            names[b].emplace(prior->name, set->m_members.size());
            held->priors.push_back(prior);
            held->factors.push_back(factorOf(prior, own, known));
            set->m_members.push_back({.bank = b,
                                      .index = i,
                                      .prior = prior.get(),
                                      .factor = held->factors.back().get(),
                                      .eta = {},
                                      .weight = 0,
                                      .acts = false,
                                      .context = contexts->add(prior->when, bank.features)});
        }
    }
    set->m_held = std::move(held);
    set->m_contexts = std::move(contexts);
    set->m_names = std::make_shared<const std::vector<Names>>(std::move(names));
    for (Member& m : set->m_members) set->evaluate(m);
    set->collect();
    return set;
}

std::vector<const PriorSet::Member*> PriorSet::named(std::string_view name) const {
    std::vector<const Member*> found;
    for (std::size_t b = 0; m_names && b < m_names->size(); ++b)
        if (const auto at = (*m_names)[b].find(name); at != (*m_names)[b].end()) found.push_back(&m_members[at->second]);
    return found;
}

void PriorSet::matching(const ContextText& text, Position position, std::vector<std::size_t>& out,
                        std::vector<std::size_t>* bounded) const {
    out.clear();
    if (bounded != nullptr) bounded->clear();
    for (std::size_t c = 0; c < m_byContext->size(); ++c) {
        const std::vector<std::size_t>& members = (*m_byContext)[c];
        if (members.empty()) continue;
        const Contexts::Answer answer = m_contexts->match(c, text, position);
        if (answer == Contexts::Answer::Yes) out.insert(out.end(), members.begin(), members.end());
        if (answer == Contexts::Answer::Bound && bounded != nullptr)
            bounded->insert(bounded->end(), members.begin(), members.end());
    }
    std::sort(out.begin(), out.end());
    if (bounded != nullptr) std::sort(bounded->begin(), bounded->end());
}

void PriorSet::terms(std::span<const std::size_t> members, std::vector<PriorTerm>& out) const {
    out.clear();
    for (const std::size_t i : members) {
        const Member& m = m_members[i];
        out.push_back({m.prior->name, m.weight, m.factor->tokens, m.factor->delta, m.bank});
    }
}

}  // namespace counterpoint::compute
