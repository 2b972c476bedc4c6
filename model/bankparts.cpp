#include "model/bankparts.h"

#include <algorithm>

#include "compute/error.h"
#include "model/priornames.h"

namespace counterpoint::model {

using compute::Bank;
using compute::Feature;
using compute::Prior;
using compute::PriorPtr;

namespace {

bool isOf(const Prior& prior, const Feature& feature) {
    return prior.when.kind == compute::ContextKind::Feature && prior.when.name == feature.name;
}

bool statesIds(const Bank& bank) {
    return std::ranges::any_of(bank.priors,
                               [](const PriorPtr& prior) { return prior->unusable || !idsIn(*prior).empty(); });
}

/// Whether ids of `from` mean the same tokens in `to`; `to` then states its tokenizer, where there is one to state.
bool idsComeAlong(const Bank& from, Bank& to, const compute::Tokenizer* tokenizer) {
    const auto mayBe = [&](const Bank& bank, const std::string& fingerprint) {
        return tokenizer != nullptr && tokenizer->fingerprint() == fingerprint && hasIdsOf(bank, *tokenizer);
    };
    if (from.tokenizer == to.tokenizer) return true;
    if (!from.tokenizer) return mayBe(from, *to.tokenizer);
    if (to.tokenizer || (statesIds(to) && !mayBe(to, *from.tokenizer))) return false;
    to.tokenizer = from.tokenizer;
    return true;
}

/// The feature that a prior names, in `to` under a name that is free or already its own.
void bringFeature(Prior& prior, const Bank& from, Bank& to) {
    const auto feature = std::ranges::find_if(from.features, [&](const Feature& f) { return isOf(prior, f); });
    if (feature == from.features.end()) return;  // the context says so
    Feature own = *feature;
    const auto there = [&] { return std::ranges::find(to.features, own.name, &Feature::name); };
    for (int n = 2; there() != to.features.end() && *there() != own; ++n)
        own.name = feature->name + " " + std::to_string(n);
    prior.when.name = own.name;
    if (there() == to.features.end()) to.features.push_back(std::move(own));
}

}  // namespace

std::vector<std::size_t> demotedEntries(const Prior& prior) {
    std::vector<std::size_t> places;
    const std::size_t lists = prior.promote.size() + prior.demote.size();
    for (std::size_t i = prior.promote.size(); i < lists; ++i) places.push_back(i);
    for (std::size_t i = 0; i < prior.delta.size(); ++i)
        if (prior.delta[i].second < 0) places.push_back(lists + i);
    return places;
}

bool hasBothSides(const Prior& prior) {
    const std::size_t demoted = demotedEntries(prior).size();
    return demoted > 0 && demoted < prior.promote.size() + prior.demote.size() + prior.delta.size();
}

Bank bankOfPriors(const Bank& bank, std::span<const std::size_t> indices, std::string name) {
    Bank part;
    part.name = std::move(name);
    part.tokenizer = bank.tokenizer;
    part.stake = bank.stake;
    part.level = bank.level;
    for (const std::size_t i : indices) part.priors.push_back(bank.priors.at(i));
    for (const Feature& feature : bank.features)
        if (std::ranges::any_of(part.priors, [&](const PriorPtr& prior) { return isOf(*prior, feature); }))
            part.features.push_back(feature);
    return part;
}

Import withImported(Session session, std::size_t bank, const Bank& from, const compute::Tokenizer* tokenizer,
                    const std::string& where) {
    Bank changed = bankAt(session, bank);
    Import import;
    import.first = changed.priors.size();
    const bool withIds = idsComeAlong(from, changed, tokenizer);
    PriorNames names(changed);
    for (const PriorPtr& prior : from.priors) {
        if (prior->unusable) {
            ++import.unusable;
        } else if (!withIds && !idsIn(*prior).empty()) {
            ++import.ofIds;
        } else {
            Prior own = *prior;
            own.name = names.take(own.name);
            bringFeature(own, from, changed);
            const bool same = own.name == prior->name && own.when == prior->when;
            changed.priors.push_back(same ? prior : std::make_shared<const Prior>(std::move(own)));
        }
    }
    import.count = changed.priors.size() - import.first;
    if (import.count == 0)
        throw compute::Error({.where = where,
                              .what = import.ofIds > 0
                                          ? "its ids belong to another tokenizer than those of this bank, where they "
                                            "are other tokens"
                                      : from.priors.empty() ? "it has no priors"
                                                            : "none of its priors could be read",
                              .expected = {},
                              .found = {},
                              .advice = import.ofIds > 0 ? "open it as a bank of its own" : "choose another bank",
                              .details = {}});
    session.priors[bank].content = std::make_shared<const Bank>(std::move(changed));
    import.session = std::move(session);
    return import;
}

std::string countOf(std::size_t count, const std::string& what) {
    return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string leftBehind(const Import& import) {
    std::string said;
    if (import.ofIds > 0)
        said += "; left behind for their ids, which are another tokenizer's: " + countOf(import.ofIds, "prior");
    if (import.unusable > 0) said += "; left behind since it could not be read: " + countOf(import.unusable, "prior");
    return said;
}

}  // namespace counterpoint::model
