#include "model/bankedit.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "compute/error.h"
#include "compute/priors/hierarchy.h"
#include "compute/text/pattern.h"
#include "model/priornames.h"

namespace counterpoint::model {

using compute::Bank;
using compute::Error;
using compute::Prior;
using compute::PriorOverride;
using compute::PriorPtr;

namespace {

bool holds(std::span<const std::size_t> sorted, std::size_t i) {
    return std::binary_search(sorted.begin(), sorted.end(), i);
}

PriorPtr shared(Prior prior) { return std::make_shared<const Prior>(std::move(prior)); }

bool hasName(const Bank& bank, const std::string& name) {
    return std::any_of(bank.priors.begin(), bank.priors.end(), [&](const PriorPtr& p) { return p->name == name; });
}

void put(Session& session, std::size_t bank, Bank changed) {
    session.priors[bank].content = std::make_shared<const Bank>(std::move(changed));
}

/// `overrides` with `change` done to each prior's of `bank`; a table of names, since an object of 10,000 keys has none.
template <class Change>
OrderedJson changedOverrides(const BankEntry& entry, const Bank& bank, Change change) {
    compute::PriorOverrides all = readOverrides(entry.overrides, "bank '" + entry.bank + "'");
    std::unordered_set<std::string> changed;
    for (std::size_t i = 0; i < bank.priors.size(); ++i) {
        PriorOverride& one = all[bank.priors[i]->name];
        change(i, one);
        changed.insert(bank.priors[i]->name);
    }
    OrderedJson json = OrderedJson::object();
    auto& object = json.get_ref<OrderedJson::object_t&>();
    using Pairs = OrderedJson::object_t::Container;
    const auto append = [&object](const std::string& name, OrderedJson value) {
        static_cast<Pairs&>(object).emplace_back(name, std::move(value));
    };
    const auto said = [](OrderedJson one, const PriorOverride& value) {
        one.erase("eta");
        one.erase("enabled");
        if (value.eta) one["eta"] = *value.eta;
        if (value.enabled) one["enabled"] = *value.enabled;
        return one;
    };
    for (const auto& [name, one] : entry.overrides.items()) {  // in the order of the file
        if (!changed.contains(name)) {
            append(name, one);
            continue;
        }
        changed.erase(name);
        if (OrderedJson now = said(one, all[name]); !now.empty()) append(name, std::move(now));
    }
    for (const PriorPtr& prior : bank.priors)
        if (changed.erase(prior->name) > 0)
            if (OrderedJson now = said(OrderedJson::object(), all[prior->name]); !now.empty())
                append(prior->name, std::move(now));
    return json;
}

}  // namespace

const Bank& bankAt(const Session& session, std::size_t bank) {
    const BankEntry& entry = session.priors.at(bank);
    if (!entry.content)
        throw Error({.where = "bank '" + entry.bank + "'",
                     .what = "it was not read, so there is nothing to edit",
                     .expected = {},
                     .found = {},
                     .advice = "mend its file, or remove it from the rack",
                     .details = {}});
    return *entry.content;
}

std::string freePriorName(const Bank& bank, const std::string& wanted) { return PriorNames(bank).take(wanted); }

Session withPrior(Session session, std::size_t bank, std::size_t index, Prior prior) {
    Bank changed = bankAt(session, bank);
    const std::string before = changed.priors.at(index)->name;
    const auto refuse = [&](const char* what, const char* advice) {
        throw Error({.where = "prior '" + before + "'",
                     .what = what,
                     .expected = {},
                     .found = {},
                     .advice = advice,
                     .details = {}});
    };
    if (changed.priors[index]->unusable)
        refuse("it could not be read, and is saved again as it is written",
               "mend the bank's file, or delete it and make a new one");
    if (prior.name != before) {
        if (prior.name.empty()) refuse("a prior needs a name", "choose one");
        if (hasName(changed, prior.name)) refuse("another prior of this bank has that name", "choose another");
    }
    const std::string name = prior.name;
    changed.priors[index] = shared(std::move(prior));
    if (OrderedJson& overrides = session.priors[bank].overrides; name != before && overrides.contains(before)) {
        OrderedJson own = overrides[before];
        if (!hasName(changed, before)) overrides.erase(before);
        overrides[name] = std::move(own);
    }
    put(session, bank, std::move(changed));
    return session;
}

Session withNewPrior(Session session, std::size_t bank, std::size_t at, Prior prior) {
    Bank changed = bankAt(session, bank);
    prior.name = freePriorName(changed, prior.name);
    changed.priors.insert(changed.priors.begin() + static_cast<std::ptrdiff_t>(std::min(at, changed.priors.size())),
                          shared(std::move(prior)));
    put(session, bank, std::move(changed));
    return session;
}

Session withoutPriors(Session session, std::size_t bank, std::span<const std::size_t> indices) {
    Bank changed = bankAt(session, bank);
    std::vector<PriorPtr> left, gone;
    for (std::size_t i = 0; i < changed.priors.size(); ++i)
        (holds(indices, i) ? gone : left).push_back(changed.priors[i]);
    changed.priors = std::move(left);
    for (const PriorPtr& prior : gone)
        if (session.priors[bank].overrides.contains(prior->name) && !hasName(changed, prior->name))
            session.priors[bank].overrides.erase(prior->name);
    put(session, bank, std::move(changed));
    return session;
}

Session withDuplicates(Session session, std::size_t bank, std::span<const std::size_t> indices) {
    if (indices.empty()) return session;
    Bank changed = bankAt(session, bank);
    BankEntry& entry = session.priors[bank];
    const compute::PriorOverrides said = readOverrides(entry.overrides, "bank '" + entry.bank + "'");
    PriorNames names(changed);
    std::vector<PriorPtr> copies;
    for (const std::size_t i : indices) {
        Prior copy = *changed.priors.at(i);
        const auto own = said.find(copy.name);
        copy.name = names.take(copy.name);
        if (copy.unusable && copy.written.is_object()) copy.written["name"] = copy.name;  // which is what is saved
        if (own != said.end()) entry.overrides = withOverride(entry.overrides, copy.name, own->second);
        copies.push_back(shared(std::move(copy)));
    }
    changed.priors.insert(changed.priors.begin() + static_cast<std::ptrdiff_t>(indices.back() + 1), copies.begin(),
                          copies.end());
    put(session, bank, std::move(changed));
    return session;
}

Session withFeature(Session session, std::size_t bank, compute::Feature feature) {
    Bank changed = bankAt(session, bank);
    const std::string where = "feature '" + feature.name + "'";
    const auto refuse = [&](const char* what, const char* advice) {
        throw Error({.where = where, .what = what, .expected = {}, .found = {}, .advice = advice, .details = {}});
    };
    if (feature.name.empty()) refuse("a feature needs a name", "choose one");
    for (const auto& [key, pattern] : {std::pair("open", &feature.open), std::pair("close", &feature.close)}) {
        if (pattern->empty()) refuse("a feature needs a pattern that opens and one that closes it", "write both");
        (void)compute::Pattern(*pattern, where + ", \"" + key + '"');
    }
    const auto there = std::ranges::find(changed.features, feature.name, &compute::Feature::name);
    const auto aside = changed.unknown.find("features");
    if (there != changed.features.end())
        *there = std::move(feature);
    else if (aside != changed.unknown.end() && aside->contains(feature.name))
        refuse("the bank's file has a feature of that name, which could not be read and is kept as it is",
               "choose another name");
    else
        changed.features.push_back(std::move(feature));
    put(session, bank, std::move(changed));
    return session;
}

Session withPriorsMoved(Session session, std::size_t bank, std::vector<std::size_t>& indices, int by) {
    Bank changed = bankAt(session, bank);
    if (indices.empty() || (by < 0 ? indices.front() == 0 : indices.back() + 1 >= changed.priors.size()))
        return session;
    const auto step = [&](std::size_t& i) {
        const std::size_t to = by < 0 ? i - 1 : i + 1;
        std::swap(changed.priors[i], changed.priors[to]);
        i = to;
    };
    if (by < 0)
        std::for_each(indices.begin(), indices.end(), step);
    else
        std::for_each(indices.rbegin(), indices.rend(), step);
    put(session, bank, std::move(changed));
    return session;
}

Session withSplit(Session session, std::size_t bank, std::size_t index, std::span<const std::size_t> entries) {
    const Prior& whole = *bankAt(session, bank).priors.at(index);
    const std::size_t all = whole.promote.size() + whole.demote.size() + whole.delta.size();
    std::vector<std::size_t> rest;
    for (std::size_t i = 0; i < all; ++i)
        if (!holds(entries, i)) rest.push_back(i);
    if (entries.empty() || rest.empty())
        throw Error({.where = "prior '" + whole.name + "'",
                     .what = "a split needs entries on both sides",
                     .expected = {},
                     .found = {},
                     .advice = "select some of its entries, not all",
                     .details = {}});
    Prior part = withoutEntries(whole, rest), left = withoutEntries(whole, entries);
    const std::string name = whole.name;
    session = withPrior(std::move(session), bank, index, std::move(left));
    const PriorOverride said = overrideOf(session.priors[bank], name);
    session = withNewPrior(std::move(session), bank, index + 1, std::move(part));
    // Together they say what the one said: its override is both's.
    session.priors[bank].overrides =
        withOverride(session.priors[bank].overrides, bankAt(session, bank).priors[index + 1]->name, said);
    return session;
}

Session withMerged(Session session, std::size_t bank, std::span<const std::size_t> indices,
                   const compute::IdSpace& ids) {
    const Bank& whole = bankAt(session, bank);
    const auto refuse = [&](const std::string& name, const std::string& what) {
        throw Error({.where = "prior '" + name + "'",
                     .what = what,
                     .expected = {},
                     .found = {},
                     .advice = "select priors of one task and context that act",
                     .details = {}});
    };
    const Prior& first = *whole.priors.at(indices.front());
    std::vector<compute::Joinable> priors;
    for (const std::size_t i : indices) {
        const PriorPtr& prior = whole.priors.at(i);
        if (prior->task != first.task || prior->when != first.when)
            refuse(prior->name, "it has another task or context than '" + first.name + "', so they cannot be joined");
        const PriorOverride said = overrideOf(session.priors[bank], prior->name);
        const compute::Eta eta = compute::etaOf(*prior, said.eta);
        compute::Factor factor = compute::resolve(*prior, ids);
        if (!isOn(*prior, said) || eta.off || eta.eta == 0 || factor.tokens.empty())
            refuse(prior->name, "it does not act, so it cannot be joined");
        priors.push_back({.prior = prior, .factor = std::move(factor), .eta = eta.eta});
    }
    Prior one = compute::joinedPrior(priors);
    if (one.delta.empty())
        throw Error({.where = "prior '" + first.name + "'",
                     .what = "nothing would be left of the merged priors: on every token as much promotes as demotes",
                     .expected = {},
                     .found = {},
                     .advice = "leave one of them out",
                     .details = {}});
    one.name = first.name;
    const std::size_t place = indices.front();
    session = withoutPriors(std::move(session), bank, indices);
    return withNewPrior(std::move(session), bank, place, std::move(one));
}

PriorOverride overrideOf(const BankEntry& entry, const std::string& prior) {
    const auto found = entry.overrides.find(prior);
    if (found == entry.overrides.end()) return {};
    OrderedJson one = OrderedJson::object();
    one[prior] = *found;
    return readOverrides(one, "bank '" + entry.bank + "'").begin()->second;
}

bool isOn(const Prior& prior, const PriorOverride& override) { return override.enabled.value_or(prior.enabled); }

Session withEta(Session session, std::size_t bank, std::size_t index, std::optional<double> eta) {
    const std::string& name = bankAt(session, bank).priors.at(index)->name;
    BankEntry& entry = session.priors[bank];
    PriorOverride said = overrideOf(entry, name);
    said.eta = eta;
    entry.overrides = withOverride(entry.overrides, name, said);
    return session;
}

Session withDerivedEta(Session session, std::size_t bank, std::span<const std::size_t> indices) {
    Bank changed = bankAt(session, bank);
    session.priors[bank].overrides =
        changedOverrides(session.priors[bank], changed, [&](std::size_t i, PriorOverride& one) {
            if (holds(indices, i)) one.eta.reset();
        });
    for (const std::size_t i : indices) {
        if (!changed.priors.at(i)->eta || changed.priors[i]->unusable) continue;
        Prior own = *changed.priors[i];
        own.eta.reset();
        changed.priors[i] = shared(std::move(own));
    }
    put(session, bank, std::move(changed));
    return session;
}

std::vector<bool> switchesOf(const Session& session, std::size_t bank) {
    const Bank& content = bankAt(session, bank);
    const compute::PriorOverrides said =
        readOverrides(session.priors[bank].overrides, "bank '" + session.priors[bank].bank + "'");
    std::vector<bool> on;
    for (const PriorPtr& prior : content.priors) {
        const auto found = said.find(prior->name);
        on.push_back(isOn(*prior, found == said.end() ? PriorOverride{} : found->second));
    }
    return on;
}

Session withSwitched(Session session, std::size_t bank, std::span<const std::size_t> indices, bool on) {
    std::vector<bool> all = switchesOf(session, bank);
    for (const std::size_t i : indices) all.at(i) = on;
    return withSwitches(std::move(session), bank, all);
}

Session withSwitches(Session session, std::size_t bank, const std::vector<bool>& on) {
    const Bank& content = bankAt(session, bank);
    session.priors[bank].overrides =
        changedOverrides(session.priors[bank], content, [&](std::size_t i, PriorOverride& one) {
            one.enabled = on.at(i) == content.priors[i]->enabled ? std::nullopt : std::optional<bool>(on[i]);
        });
    return session;
}

Prior withToken(Prior prior, Side side, compute::TokenId token, const compute::Factor& became) {
    std::vector<std::size_t> said;
    for (std::size_t i = 0; i < became.entries.size(); ++i)
        if (became.entries[i].token == token) said.push_back(i);
    prior = withoutEntries(std::move(prior), said);
    const auto same = [token](const compute::PriorEntry& e) { return e.id == token; };  // of an id that became nothing
    std::erase_if(prior.promote, same);
    std::erase_if(prior.demote, same);
    std::erase_if(prior.delta, [token](const auto& pair) { return pair.first == token; });
    (side == Side::Promote ? prior.promote : prior.demote).push_back({.text = {}, .id = token});
    return prior;
}

Prior withText(Prior prior, Side side, std::string text) {
    (side == Side::Promote ? prior.promote : prior.demote)
        .push_back({.text = std::move(text), .id = compute::kNoToken});
    return prior;
}

Prior withoutEntries(Prior prior, std::span<const std::size_t> entries) {
    std::size_t at = 0;
    const auto filter = [&](auto& list) {
        auto kept = std::decay_t<decltype(list)>();
        for (auto& entry : list)
            if (!holds(entries, at++)) kept.push_back(std::move(entry));
        list = std::move(kept);
    };
    filter(prior.promote);
    filter(prior.demote);
    filter(prior.delta);
    return prior;
}

}  // namespace counterpoint::model
