#include "model/banks.h"

#include <algorithm>
#include <set>
#include <utility>

#include "compute/error.h"
#include "compute/files/jsonreader.h"

namespace counterpoint::model {

using compute::Error;
using compute::PriorOverride;

BankFile readBankFile(const std::string& path) {
    BankFile file{.path = path, .bank = {}, .problem = {}, .warnings = {}};
    try {
        file.bank = std::make_shared<const compute::Bank>(compute::readBank(path, file.warnings));
    } catch (const Error& error) {
        file.problem = error.sentence();
    }
    return file;
}

void fillBanks(Session& session, const std::function<BankPtr(const std::string& path)>& find) {
    for (BankEntry& entry : session.priors)
        if (!entry.content) entry.content = find(session.resolve(entry.bank).string());
}

void requireBanks(const Session& session, const std::function<std::string(const std::string& path)>& why) {
    for (const BankEntry& entry : session.priors) {
        if (!entry.enabled || entry.content) continue;
        std::string problem = why(session.resolve(entry.bank).string());
        while (problem.ends_with('.')) problem.pop_back();
        throw Error({.where = "bank '" + entry.bank + "'",
                     .what = problem.empty() ? "it was not read" : problem,
                     .expected = {},
                     .found = {},
                     .advice = "or switch the bank off to decode without it",
                     .details = {}});
    }
}

compute::PriorOverrides readOverrides(const OrderedJson& overrides, const std::string& where,
                                      std::vector<std::string>* warnings) {
    compute::PriorOverrides all;
    for (const auto& [name, json] : overrides.items()) {
        compute::JsonReader reader(json, where + ", \"" + name + "\"");
        PriorOverride one;
        if (const auto eta = reader.takeNonNull("eta")) {
            if (!eta->is_number() || !(std::abs(eta->get<double>()) <= compute::kMostEta))
                reader.fail("eta", compute::kEtaExpected, *eta);
            one.eta = eta->get<double>();
        }
        if (const auto enabled = reader.takeNonNull("enabled")) {
            if (!enabled->is_boolean()) reader.fail("enabled", "true, false or null", *enabled);
            one.enabled = enabled->get<bool>();
        }
        if (warnings != nullptr) (void)reader.unknown(*warnings);
        all.emplace(name, one);
    }
    return all;
}

OrderedJson withOverride(const OrderedJson& overrides, const std::string& prior, const PriorOverride& value) {
    OrderedJson changed = overrides;
    OrderedJson one = changed.contains(prior) && changed[prior].is_object() ? changed[prior] : OrderedJson::object();
    one.erase("eta");
    one.erase("enabled");
    if (value.eta) one["eta"] = *value.eta;
    if (value.enabled) one["enabled"] = *value.enabled;
    if (one.empty())
        changed.erase(prior);
    else
        changed[prior] = std::move(one);
    return changed;
}

PriorSetPtr priorSetOf(const Session& session, const compute::Tokenizer* tokenizer, std::int64_t vocabulary,
                       const compute::PriorSet* before) {
    std::vector<compute::BankUse> uses;
    for (const BankEntry& entry : session.priors)
        uses.push_back({entry.content, entry.enabled, entry.weight, readOverrides(entry.overrides, "bank '" + entry.bank + "'")});
    return compute::PriorSet::build(uses, {tokenizer, vocabulary, false},
                                    tokenizer != nullptr ? tokenizer->fingerprint() : std::string(), before);
}

std::vector<std::string> bankNotices(const Session& session, const compute::PriorSet& set) {
    struct Told {
        std::size_t unusable = 0, entries = 0, contexts = 0;
        std::string first;
    };
    std::vector<Told> told(session.priors.size());
    for (const auto& m : set.members()) {
        Told& of = told[m.bank];
        const std::string& context = set.contexts().problem(m.context);
        of.unusable += m.prior->unusable ? 1 : 0;
        of.entries += m.prior->unusable ? 0 : m.factor->problems.size();
        of.contexts += context.empty() ? 0 : 1;
        if (!of.first.empty()) continue;
        if (!context.empty()) of.first = context;
        if (!m.factor->problems.empty()) of.first = m.factor->problems.front();
        if (m.prior->unusable && !m.prior->problems.empty()) of.first = m.prior->problems.front();
        if (!of.first.empty() && !of.first.starts_with("prior '")) of.first = "prior '" + m.prior->name + "': " + of.first;
    }
    std::vector<std::string> sentences;
    for (std::size_t b = 0; b < told.size(); ++b) {
        const Told& of = told[b];
        if (of.first.empty() || !session.priors[b].enabled) continue;
        const std::size_t all = of.unusable + of.entries + of.contexts;
        std::string text = "Bank '" + session.priors[b].bank + "', " + of.first;
        while (text.ends_with('.')) text.pop_back();
        if (all > 1)
            text += "; the bank has " + std::to_string(all - 1) + " more such problems, which its priors in the window and 'counterpoint bank report' tell";
        sentences.push_back(compute::printable(text + "."));
    }
    std::set<std::string> acting;
    for (const BankEntry& entry : session.priors)
        if (entry.content && entry.enabled && entry.weight != 0 &&
            !acting.insert(session.resolve(entry.bank).string()).second)
            sentences.push_back(compute::printable("Bank '" + entry.bank +
                                                   "' stands in the session more than once and acts each time; switch "
                                                   "one of them off unless that is meant."));
    for (std::size_t b = 0; b < session.priors.size(); ++b) {
        if (!session.priors[b].content || !session.priors[b].overrides.is_object()) continue;
        for (const auto& [name, override] : session.priors[b].overrides.items()) {
            const auto found = set.named(name);
            if (std::none_of(found.begin(), found.end(), [&](const auto* m) { return m->bank == b; }))
                sentences.push_back(compute::printable("Bank '" + session.priors[b].bank + "': it has no prior '" + name +
                                                       "', so that the session's override of it does nothing."));
        }
    }
    return sentences;
}

void PriorsAt::look(const compute::PriorSet* set, const compute::ContextText& text, compute::Position position) {
    matching.clear();
    bounded.clear();
    terms.clear();
    if (set == nullptr || set->empty()) return;
    set->matching(text, position, matching, &bounded);
    set->terms(matching, terms);
}

}  // namespace counterpoint::model
