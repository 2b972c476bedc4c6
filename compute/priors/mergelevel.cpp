// R10 level 2: which priors become one, what they become, and why others that are alike do not.
#include <algorithm>
#include <map>

#include "compute/priors/levels.h"
#include "compute/priors/linkage.h"

namespace counterpoint::compute {
namespace {

constexpr double kRounding = 1e-12;

struct Merged {
    Prior prior;
    std::size_t ties = 0;
};

Merged merge(const Members& members, const Indices& of, Keep keep) {
    Merged out{joined(members, of), 0};
    out.prior.name = members[of.front()].prior->name + " (+" + std::to_string(of.size() - 1) + ")";
    struct Vote {
        double sum = 0, size = 0;
    };
    std::map<TokenId, Vote> votes;
    double etas = 0, products = 0, scales = 0;
    for (const std::size_t i : of) {
        const Member& one = members[i];
        const double eta = std::abs(one.eta);
        etas += eta;
        products += eta * one.scale();
        scales += one.scale();
        for (std::size_t j = 0; j < one.factor.tokens.size(); ++j) {
            Vote& vote = votes[one.factor.tokens[j]];
            vote.sum += eta * one.push(j);
            vote.size += eta * one.scale();
        }
    }
    const auto n = static_cast<double>(of.size());
    out.prior.eta = keep == Keep::Product ? etas : etas / n;
    const double alpha = keep == Keep::Product ? products / etas : scales / n;
    for (const auto& [token, vote] : votes) {
        if (std::abs(vote.sum) <= kRounding * vote.size)
            ++out.ties;
        else
            out.prior.delta.emplace_back(token, vote.sum > 0 ? alpha : -alpha);
    }
    return out;
}

/// Pairs that are alike and were not joined, the most alike first; not more than a person reads.
class Apart {
  public:
    Apart(const Members& members, double threshold) : m_members(members), m_threshold(threshold) {}

    void look(std::span<const SignedSupport> supports, const Indices& group, const Indices& cluster, const GoOn& goOn) {
        const double close = m_threshold * 5 / 6;
        forAlike(
            supports, cluster, close,
            [&](const Alike& pair) {
                const bool near = exceeds(pair.cosine, m_threshold), together = group[pair.a] == group[pair.b];
                if (near)
                    add({together ? Why::Average : Why::Group, pair.cosine, pair});
                else if (together && exceeds(pair.overlap, m_threshold))
                    add({Why::Signs, pair.overlap, pair});
                else if (together && pair.cosine > close)
                    add({Why::Cosine, pair.cosine, pair});
            },
            goOn);
    }

    std::vector<std::string> sentences() const {
        std::vector<std::string> out;
        for (const Found& found : m_found) out.push_back(sentence(found));
        if (m_count > m_found.size())
            out.push_back(std::to_string(m_count - m_found.size()) + " more pairs are alike and stay apart.");
        return out;
    }

  private:
    static constexpr std::size_t kMost = 100;
    enum class Why { Group, Average, Signs, Cosine };
    struct Found {
        Why why;
        double rank;
        Alike pair;
        bool operator<(const Found& other) const {
            if (rank != other.rank) return rank > other.rank;
            return std::pair(pair.a, pair.b) < std::pair(other.pair.a, other.pair.b);
        }
    };
    const Members& m_members;
    double m_threshold;
    std::set<Found> m_found;
    std::size_t m_count = 0;

    void add(const Found& found) {
        ++m_count;
        if (m_found.size() == kMost && !(found < *m_found.rbegin())) return;
        m_found.insert(found);
        if (m_found.size() > kMost) m_found.erase(std::prev(m_found.end()));
    }

    std::string sentence(const Found& found) const {
        const Member &a = m_members[found.pair.a], &b = m_members[found.pair.b];
        const std::string both = inQuotes(a.prior->name) + " and " + inQuotes(b.prior->name);
        const std::string alike = " are alike (cosine " + shownNumber(found.pair.cosine) + ")";
        switch (found.why) {
            case Why::Average:
                return both + alike + " but are not joined: on average what each of them is joined to is not above " +
                       shownNumber(m_threshold) + ".";
            case Why::Signs:
                return both + " name the same tokens but are not joined: their signs conflict (cosine " +
                       shownNumber(found.pair.cosine) + ").";
            case Why::Cosine:
                return both + alike + " but are not joined: it is not above " + shownNumber(m_threshold) + ".";
            case Why::Group:
                break;
        }
        return both + alike + " but are not joined: " + difference(a, b) + ".";
    }

    static std::string difference(const Member& a, const Member& b) {
        if (a.prior->task != b.prior->task)
            return "they have different tasks, " + inQuotes(a.prior->task) + " and " + inQuotes(b.prior->task);
        if (a.bank == b.bank)
            return "they act in different contexts, " + describe(a.prior->when) + " and " + describe(b.prior->when);
        return "they stand in different banks";
    }
};

}  // namespace

Prior joinedPrior(std::span<const Joinable> priors) {
    Members members;
    Indices all;
    for (const Joinable& one : priors) {
        all.push_back(members.size());
        members.push_back({.prior = one.prior, .factor = one.factor, .eta = one.eta, .acts = true});
    }
    return merge(oneBitLevel(members).members, all, Keep::Product).prior;
}

LevelStep mergedLevel(const Members& before, const CompressOptions& options) {
    LevelStep step{{}, NAN, {}, {}};
    std::vector<SignedSupport> supports(before.size());
    for (std::size_t i = 0; i < before.size(); ++i) {
        if (!before[i].acts) continue;
        supports[i].tokens = before[i].factor.tokens;
        for (std::size_t j = 0; j < supports[i].tokens.size(); ++j)
            supports[i].sign.push_back(before[i].push(j) < 0 ? -1 : 1);
    }
    Names names(before);
    std::vector<std::optional<Member>> kept(before.begin(), before.end());
    Indices groupNumber(before.size()), clusterNumber(before.size());
    std::size_t groups = 0, clusters = 0, linked = 0;
    // Joining is the first half of the level, telling what stays apart the second.
    const auto goOn = [&](double share) { return !options.goOn || options.goOn(2, share); };
    const auto all = static_cast<double>(2 * before.size());
    for (const Indices& group : groupsOf(before, false)) {
        ++groups;
        std::vector<SignedSupport> items;
        for (const std::size_t i : group) items.push_back(supports[i]);
        const auto linking = [&](double done) {
            return goOn((static_cast<double>(linked) + done * static_cast<double>(group.size())) / all);
        };
        for (const Indices& cluster : averageLinkage(items, options.threshold, linking)) {
            ++clusters;
            Indices of;
            for (const std::size_t k : cluster) {
                of.push_back(group[k]);
                groupNumber[group[k]] = groups;
                clusterNumber[group[k]] = clusters;
            }
            if (of.size() == 1) continue;
            for (const std::size_t i : of) kept[i].reset();
            Merged merged = merge(before, of, options.keep);
            merged.prior.name = names.take(merged.prior.name);
            step.merged.push_back(namesOf(before, of));
            if (merged.ties > 0)
                step.apart.push_back(inQuotes(merged.prior.name) + " is without " + std::to_string(merged.ties) +
                                     (merged.ties == 1 ? " token" : " tokens") +
                                     " of what it joins: their signs conflict with equal weight.");
            kept[of.front()] = memberOf(std::move(merged.prior), before[of.front()]);
        }
        linked += group.size();
    }
    bound(step.apart, "joined priors are without tokens whose signs conflict.");
    Apart apart(before, options.threshold);
    apart.look(supports, groupNumber, clusterNumber, [&](double done) { return goOn((1 + done) / 2); });
    for (std::string& sentence : apart.sentences()) step.apart.push_back(std::move(sentence));
    for (auto& member : kept)
        if (member) step.members.push_back(std::move(*member));
    return step;
}

}  // namespace counterpoint::compute
