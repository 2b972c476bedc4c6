#include "compute/priors/levels.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "compute/printable.h"

namespace counterpoint::compute {
namespace {

/// What a context says, as one text to compare by.
std::string keyOf(const Context& when) {
    const OrderedJson key = {
        static_cast<int>(when.kind), when.pattern, when.chars, when.ids, when.language, when.name, when.unknown};
    return key.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

/// The value that all share, or nothing.
std::string shared(const Members& members, const Indices& of, std::string Prior::*field) {
    const std::string& first = (*members[of.front()].prior).*field;
    const bool all =
        std::all_of(of.begin(), of.end(), [&](std::size_t i) { return (*members[i].prior).*field == first; });
    return all ? first : std::string();
}

/// Unknown keys that all have with one value.
OrderedJson sharedUnknown(const Members& members, const Indices& of) {
    OrderedJson out = OrderedJson::object();
    for (const auto& item : members[of.front()].prior->unknown.items()) {
        const bool all = std::all_of(of.begin(), of.end(), [&](std::size_t i) {
            const OrderedJson& unknown = members[i].prior->unknown;
            return unknown.contains(item.key()) && unknown[item.key()] == item.value();
        });
        if (all) out[item.key()] = item.value();
    }
    return out;
}

double weightOf(const Member& member) {
    const double weight = member.prior->quality * member.stake;
    return weight > 0 ? weight : 0;  // not of a quality that is no number
}

/// R10 level 3 of one group: η α s by the lower weighted median, as Δ under an η of 1.
Prior aggregate(const Members& members, const Indices& of) {
    Prior prior = joined(members, of);
    const std::string where = describe(prior.when);
    prior.name = prior.task.empty() ? where : prior.task + ", " + where;
    prior.eta = 1;
    struct Votes {
        std::vector<double> values, weights;
    };
    std::map<TokenId, Votes> votes;
    for (const std::size_t i : of) {
        const Member& one = members[i];
        for (std::size_t j = 0; j < one.factor.tokens.size(); ++j) {
            Votes& vote = votes[one.factor.tokens[j]];
            vote.values.push_back(one.eta * one.factor.delta[j]);
            vote.weights.push_back(weightOf(one));
        }
    }
    double all = 0;
    for (const std::size_t i : of) all += weightOf(members[i]);
    for (auto& [token, vote] : votes) {
        double present = 0;
        for (const double weight : vote.weights) present += weight;
        vote.values.push_back(0);  // those that do not name the token
        vote.weights.push_back(vote.values.size() > of.size() ? 0 : std::max(0.0, all - present));
        const double median = medianTowardsZero(vote.values, vote.weights);
        if (median != 0) prior.delta.emplace_back(token, median);
    }
    return prior;
}

}  // namespace

std::string inQuotes(const std::string& name) {
    std::string text(1, '\'');
    return text.append(printable(shortened(name))).append(1, '\'');
}

std::string shownNumber(double value) {
    char text[32];
    return {text, std::to_chars(text, text + sizeof text, value, std::chars_format::general, 3).ptr};
}

void bound(std::vector<std::string>& sentences, const std::string& what) {
    constexpr std::size_t kMost = 100;
    if (sentences.size() <= kMost) return;
    const std::size_t more = sentences.size() - kMost;
    sentences.resize(kMost);
    sentences.push_back(std::to_string(more) + " more " + what);
}

std::vector<Indices> groupsOf(const Members& members, bool acrossBanks) {
    std::map<std::tuple<std::size_t, std::string, std::string>, std::size_t> known;
    std::vector<Indices> groups;
    for (std::size_t i = 0; i < members.size(); ++i) {
        if (!members[i].acts) continue;
        const Prior& prior = *members[i].prior;
        const auto [place, added] =
            known.try_emplace({acrossBanks ? 0 : members[i].bank, prior.task, keyOf(prior.when)}, groups.size());
        if (added) groups.emplace_back();
        groups[place->second].push_back(i);
    }
    return groups;
}

std::vector<std::string> namesOf(const Members& members, const Indices& of) {
    std::vector<std::string> names;
    for (const std::size_t i : of) names.push_back(members[i].prior->name);
    return names;
}

Prior joined(const Members& members, const Indices& of) {
    Prior prior;
    prior.task = members[of.front()].prior->task;
    prior.when = members[of.front()].prior->when;
    prior.kind = shared(members, of, &Prior::kind);
    prior.source = shared(members, of, &Prior::source);
    prior.unknown = sharedUnknown(members, of);
    prior.quality = prior.confidence = 0;
    for (const std::size_t i : of) {
        const Prior& one = *members[i].prior;
        prior.quality += one.quality;
        prior.confidence += one.confidence;
        if (one.merged.empty())
            prior.merged.push_back(one.name);
        else
            prior.merged.insert(prior.merged.end(), one.merged.begin(), one.merged.end());
    }
    prior.quality /= static_cast<double>(of.size());
    prior.confidence /= static_cast<double>(of.size());
    return prior;
}

Member memberOf(Prior prior, const Member& first) {
    Member out;
    out.eta = *prior.eta;
    out.stake = first.stake;
    out.bank = first.bank;
    out.acts = true;
    for (const auto& [token, delta] : prior.delta) {
        out.factor.tokens.push_back(token);
        out.factor.delta.push_back(delta);
    }
    out.prior = std::make_shared<const Prior>(std::move(prior));
    return out;
}

Names::Names(const Members& members) {
    for (const Member& member : members) m_taken.insert(member.prior->name);
}

std::string Names::take(const std::string& wanted) {
    std::string name = wanted;
    for (int n = 2; !m_taken.insert(name).second; ++n) name = wanted + " " + std::to_string(n);
    return name;
}

double paperBits(const Member& member) {
    const auto n = static_cast<double>(member.factor.delta.size());
    const bool oneScale = member.acts && std::all_of(member.factor.delta.begin(), member.factor.delta.end(),
                                                     [&](double delta) { return std::abs(delta) == member.scale(); });
    return oneScale ? n + 32 : 32 * n;
}

LevelStep oneBitLevel(const Members& before) {
    LevelStep step{before, 0, {}, {}};
    for (Member& member : step.members) {
        if (!member.acts) continue;
        member.prior = oneBitOf(member.prior, member.factor);
        for (std::size_t j = 0; j < member.factor.delta.size(); ++j) {
            const double now = member.prior->delta[j].second, error = member.factor.delta[j] - now;
            step.squaredError += error * error;
            member.factor.delta[j] = now;
        }
    }
    return step;
}

LevelStep aggregatedLevel(const Members& before) {
    LevelStep step{{}, NAN, {}, {}};
    Names names(before);
    std::vector<std::optional<Member>> kept(before.begin(), before.end());
    for (const Indices& group : groupsOf(before, true)) {
        if (group.size() == 1) continue;  // it is its own median
        step.merged.push_back(namesOf(before, group));
        for (const std::size_t i : group) kept[i].reset();
        Prior prior = aggregate(before, group);
        if (prior.delta.empty()) {
            step.apart.push_back("The " + std::to_string(group.size()) + " priors of " + inQuotes(prior.name) +
                                 " have no token that more than half of their weight moves one way, so nothing of "
                                 "them is left.");
            continue;
        }
        prior.name = names.take(prior.name);
        kept[group.front()] = memberOf(std::move(prior), before[group.front()]);
    }
    bound(step.apart, "groups of priors agree on no token.");
    for (auto& member : kept)
        if (member) step.members.push_back(std::move(*member));
    return step;
}

}  // namespace counterpoint::compute
