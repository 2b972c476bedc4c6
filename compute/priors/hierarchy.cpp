#include "compute/priors/hierarchy.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "compute/error.h"
#include "compute/priors/bankparts.h"
#include "compute/priors/levels.h"
#include "compute/priors/priorset.h"

namespace counterpoint::compute {
namespace {

double norm(const Factor& factor) {
    double sum = 0;
    for (const double delta : factor.delta) sum += delta * delta;
    return std::sqrt(sum);
}

struct MedianInterval {
    double low = 0, high = 0;
};

/// From inf{x : weight up to x >= W/2} to sup{x : weight from x on >= W/2}. A half that sums miss by their rounding is
/// one: equal weights must not lean to a side by their last bit.
MedianInterval medianInterval(std::span<const double> values, std::span<const double> weights) {
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
    double all = 0;
    for (const double weight : weights) all += weight;
    if (!(all > 0)) return {};
    constexpr double kRounding = 1e-12;
    const double half = all / 2 * (1 - kRounding);
    const auto reached = [&](auto from, auto to) {
        double sum = 0;
        for (; from != to; ++from)
            if ((sum += weights[*from]) >= half) break;
        return from == to ? 0.0 : values[*from];
    };
    return {reached(order.begin(), order.end()), reached(order.rbegin(), order.rend())};
}

/// `name`, or with the bank behind it where the name is taken by another.
std::string distinct(const std::string& name, const std::string& bank, std::set<std::string>& taken) {
    std::string own = name;
    for (int n = 1; !taken.insert(own).second; ++n) {
        own = name;
        own.append(" (").append(bank);
        if (n > 1) own.append(" ").append(std::to_string(n));
        own.append(")");
    }
    return own;
}

/// The features of a bank beside those of the banks before; which of its names stand for which.
std::map<std::string, std::string> addFeatures(const Bank& from, Bank& to, std::set<std::string>& taken) {
    std::map<std::string, std::string> renamed;
    for (Feature feature : from.features) {
        if (std::find(to.features.begin(), to.features.end(), feature) != to.features.end()) continue;
        const std::string name = distinct(feature.name, from.name, taken);
        if (name != feature.name) renamed[feature.name] = name;
        feature.name = name;
        to.features.push_back(feature);
    }
    return renamed;
}

PriorPtr underNames(const PriorPtr& prior, const std::string& name, const std::map<std::string, std::string>& renamed) {
    const auto feature = prior->when.kind == ContextKind::Feature ? renamed.find(prior->when.name) : renamed.end();
    if (name == prior->name && feature == renamed.end()) return prior;
    auto changed = std::make_shared<Prior>(*prior);
    changed->name = name;
    if (feature != renamed.end()) changed->when.name = feature->second;
    return changed;
}

/// What of a bank nobody knows, beside that of the banks before; what stands in its features goes with their names.
void keepUnknown(const Bank& from, const std::map<std::string, std::string>& renamed, Bank& to,
                 std::set<std::string>& features, std::set<std::string>& keys) {
    for (const auto& item : from.unknown.items()) {
        if (item.key() != "features" || !item.value().is_object()) {
            if (to.unknown.contains(item.key()) && to.unknown[item.key()] == item.value()) continue;
            to.unknown[distinct(item.key(), from.name, keys)] = item.value();
            continue;
        }
        for (const auto& feature : item.value().items()) {
            const bool own = std::any_of(from.features.begin(), from.features.end(),
                                         [&](const Feature& f) { return f.name == feature.key(); });
            const auto name = renamed.find(feature.key());
            OrderedJson& all = to.unknown["features"];
            if (!own)
                all[distinct(feature.key(), from.name, features)] = feature.value();
            else if (OrderedJson& rest = all[name == renamed.end() ? feature.key() : name->second]; rest.is_null())
                rest = feature.value();
            else
                addUnknown(rest, feature.value());  // two banks have the one feature
        }
    }
}

/// The stake that all have; else each by its bank's name, for a person to read.
void addStakes(std::span<const Bank> banks, Bank& to, std::set<std::string>& keys) {
    const double first = banks.empty() ? 1 : banks.front().stake;
    if (std::all_of(banks.begin(), banks.end(), [&](const Bank& bank) { return bank.stake == first; })) {
        to.stake = first;
        return;
    }
    std::set<std::string> names;
    OrderedJson stakes = OrderedJson::object();
    for (const Bank& bank : banks) stakes[distinct(bank.name, "another", names)] = number(bank.stake);
    to.unknown[distinct("stakes", "of these banks", keys)] = std::move(stakes);
}

/// One bank of all of them, with names that are no one else's.
Bank unite(std::span<const Bank> banks) {
    if (banks.size() == 1) return banks.front();
    Bank all;
    std::set<std::string> features, priors, keys{"features"};
    for (const Bank& bank : banks) {
        if (all.tokenizer && bank.tokenizer && *all.tokenizer != *bank.tokenizer)
            throw Error({.where = inQuotes(bank.name),
                         .what = "the banks were made for different tokenizers, so their ids mean different tokens"});
        if (!all.tokenizer) all.tokenizer = bank.tokenizer;
        all.name.append(all.name.empty() ? "" : " + ").append(bank.name);
        all.level = std::max(all.level, bank.level);
        const auto renamed = addFeatures(bank, all, features);
        for (const PriorPtr& prior : bank.priors)
            all.priors.push_back(underNames(prior, distinct(prior->name, bank.name, priors), renamed));
        keepUnknown(bank, renamed, all, features, keys);
    }
    addStakes(banks, all, keys);
    return all;
}

Members membersOf(const Bank& all, std::span<const Bank> banks, const IdSpace& ids) {
    Members members;
    members.reserve(all.priors.size());
    Contexts contexts;
    for (std::size_t b = 0; b < banks.size(); ++b) {
        for (std::size_t i = 0; i < banks[b].priors.size(); ++i) {
            const PriorPtr& prior = all.priors[members.size()];
            Member& member = members.emplace_back();
            member.prior = prior;
            member.factor = resolve(*prior, ids);
            member.eta = etaOf(*prior).eta;
            member.stake = banks[b].stake;
            member.bank = b;
            member.acts = acts(*prior, member.factor, contexts.problem(contexts.add(prior->when, all.features)));
        }
    }
    return members;
}

LevelStep stepTo(int level, const Members& members, const CompressOptions& options) {
    if (level == 1) return oneBitLevel(members);
    return level == 2 ? mergedLevel(members, options) : aggregatedLevel(members);
}

double bitsOf(const Members& members) {
    return std::accumulate(members.begin(), members.end(), 0.0,
                           [](double sum, const Member& member) { return sum + paperBits(member); });
}

}  // namespace

double cosine(const Factor& a, const Factor& b) {
    double dot = 0;
    for (std::size_t i = 0, j = 0; i < a.tokens.size() && j < b.tokens.size();) {
        if (a.tokens[i] < b.tokens[j])
            ++i;
        else if (b.tokens[j] < a.tokens[i])
            ++j;
        else
            dot += a.delta[i++] * b.delta[j++];
    }
    const double norms = norm(a) * norm(b);
    return norms > 0 ? dot / norms : 0;
}

double lowerWeightedMedian(std::span<const double> values, std::span<const double> weights) {
    return medianInterval(values, weights).low;
}

double medianTowardsZero(std::span<const double> values, std::span<const double> weights) {
    const auto [low, high] = medianInterval(values, weights);
    return low <= 0 && high >= 0 ? 0 : low;
}

Compressed compress(std::span<const Bank> banks, const IdSpace& ids, const CompressOptions& options) {
    constexpr int kMostLevel = 3;
    if (options.level < 0 || options.level > kMostLevel)
        throw Error({.where = "compression",
                     .what = "there is no such level",
                     .expected = "1, 2 or 3",
                     .found = std::to_string(options.level)});
    if (!(options.threshold >= 0 && options.threshold <= 1))
        throw Error({.where = "compression",
                     .what = "the threshold of merging is no cosine that priors can exceed",
                     .expected = "a number from 0 to 1",
                     .found = shownNumber(options.threshold)});
    if (ids.foreignIds)
        throw Error({.where = "compression",
                     .what = "the bank was made for another tokenizer, so its ids mean other tokens",
                     .advice = "compress it with its own"});
    Compressed out;
    out.bank = unite(banks);
    Members members = membersOf(out.bank, banks, ids);
    const std::uint64_t whole = bytesOf(out.bank, ids, true).file;
    double wholeBits = 0;
    for (const Member& member : members) wholeBits += 32 * static_cast<double>(member.factor.tokens.size());
    out.levels.push_back({.level = 0, .priors = members.size(), .bytes = whole, .merged = {}, .apart = {}});
    out.before.push_back(out.bank);
    if (ids.tokenizer != nullptr && options.level > 0) out.bank.tokenizer = ids.tokenizer->fingerprint();
    for (int level = 1; level <= options.level; ++level) {
        const auto stopped = [&](double done) { return options.goOn && !options.goOn(level, done); };
        if (stopped(0)) return {};
        LevelStep step = stepTo(level, members, options);
        if (stopped(1)) return {};
        if (level > 1) out.before.push_back(out.bank);
        members = std::move(step.members);
        out.bank.level = std::max(out.bank.level, level);
        out.bank.priors.clear();
        for (const Member& member : members) out.bank.priors.push_back(member.prior);
        LevelReport report{.level = level, .priors = members.size(), .merged = {}, .apart = {}};
        report.bytes = bytesOf(out.bank, ids, true).file;
        const double bits = bitsOf(members);
        report.paperRatio = bits > 0 ? wholeBits / bits : wholeBits > 0 ? INFINITY : 1;
        report.trueRatio = static_cast<double>(whole) / static_cast<double>(report.bytes);
        report.squaredError = step.squaredError;
        report.merged = std::move(step.merged);
        report.apart = std::move(step.apart);
        out.levels.push_back(std::move(report));
    }
    return out;
}

}  // namespace counterpoint::compute
