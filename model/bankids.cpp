#include "model/bankids.h"

#include <algorithm>
#include <charconv>

#include "compute/error.h"

namespace counterpoint::model {

using compute::TokenId;

std::vector<TokenId> idsIn(const compute::Prior& prior) {
    std::vector<TokenId> ids;
    for (const auto* side : {&prior.promote, &prior.demote})
        for (const compute::PriorEntry& entry : *side) {
            TokenId id = entry.id;
            if (id == compute::kNoToken && prior.policy == compute::Policy::ExactId) {
                const char* end = entry.text.data() + entry.text.size();
                if (std::from_chars(entry.text.data(), end, id).ptr != end) id = compute::kNoToken;
            }
            if (id != compute::kNoToken) ids.push_back(id);
        }
    for (const auto& [id, delta] : prior.delta) ids.push_back(id);
    if (prior.when.kind == compute::ContextKind::Tokens)
        ids.insert(ids.end(), prior.when.ids.begin(), prior.when.ids.end());
    std::ranges::sort(ids);
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    return ids;
}

bool bringsIds(const compute::Prior& before, const compute::Prior& after) {
    return !std::ranges::includes(idsIn(before), idsIn(after));
}

bool hasIdsOf(const compute::Bank& bank, const compute::Tokenizer& tokenizer) {
    const auto known = [&](TokenId id) { return id >= 0 && id < tokenizer.size() && tokenizer.isToken(id); };
    return std::ranges::all_of(bank.priors, [&](const compute::PriorPtr& prior) {
        return !prior->unusable && std::ranges::all_of(idsIn(*prior), known);
    });
}

Session withIdsOf(Session session, std::size_t bank, const compute::Tokenizer* tokenizer) {
    const compute::Bank& content = bankAt(session, bank);
    if (tokenizer == nullptr) return session;
    const std::string fingerprint = tokenizer->fingerprint();
    if (content.tokenizer && *content.tokenizer != fingerprint)
        throw compute::Error({.where = "bank '" + session.priors[bank].bank + "'",
                              .what = "it was made for another tokenizer, where these ids are other tokens",
                              .expected = {},
                              .found = {},
                              .advice = "choose a bank of this tokenizer, or a new one",
                              .details = {}});
    if (content.tokenizer || !hasIdsOf(content, *tokenizer)) return session;
    compute::Bank stated = content;
    stated.tokenizer = fingerprint;
    session.priors[bank].content = std::make_shared<const compute::Bank>(std::move(stated));
    return session;
}

}  // namespace counterpoint::model
