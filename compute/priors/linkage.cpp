#include "compute/priors/linkage.h"

#include <algorithm>
#include <cmath>
#include <compare>
#include <map>
#include <numeric>
#include <unordered_map>
#include <utility>

namespace counterpoint::compute {
namespace {

/// Tokens numbered from 0 in the order in which they are met.
class Numbering {
  public:
    std::size_t of(TokenId token) { return m_numbers.try_emplace(token, m_numbers.size()).first->second; }

  private:
    std::unordered_map<TokenId, std::size_t> m_numbers;
};

/// By tokens, then by signs.
std::strong_ordering compare(const SignedSupport& a, const SignedSupport& b) {
    const auto order = [](const auto& x, const auto& y) {
        return std::lexicographical_compare_three_way(x.begin(), x.end(), y.begin(), y.end());
    };
    const auto tokens = order(a.tokens, b.tokens);
    return tokens != 0 ? tokens : order(a.sign, b.sign);
}

std::int64_t inSteps(double cosine) { return std::llround(cosine * 0x1p40); }

class Linkage {
  public:
    Linkage(std::span<const SignedSupport> items, double threshold, const GoOn& goOn)
        : m_threshold(inSteps(threshold)), m_goOn(goOn) {
        addClusters(items, threshold);
        m_dots.resize(m_clusters.size());
    }

    std::vector<std::vector<std::size_t>> run() {
        for (std::size_t i = 0; i < m_clusters.size(); ++i, ++m_done) findNearest(i);
        for (; !m_stopped; ++m_done) {
            std::size_t first = m_clusters.size();
            std::int64_t best = m_threshold;
            for (std::size_t i = 0; i < m_clusters.size(); ++i) {
                if (m_clusters[i].nearness <= best) continue;
                best = m_clusters[i].nearness;
                first = i;
            }
            if (first == m_clusters.size()) break;
            join(first, m_clusters[first].nearest);
        }
        std::vector<std::vector<std::size_t>> out;
        for (Cluster& cluster : m_clusters) {
            if (cluster.members.empty()) continue;
            std::sort(cluster.members.begin(), cluster.members.end());
            out.push_back(std::move(cluster.members));
        }
        std::sort(out.begin(), out.end());
        return out;
    }

  private:
    struct Part {
        std::size_t token;
        double value;
    };
    struct Posting {
        std::size_t cluster;
        double value;
    };
    struct Cluster {
        std::vector<std::size_t> members;  ///< empty: joined to another
        std::vector<Part> sum;             ///< Σ signs/√n, tokens ascending
        std::int64_t nearness = 0;         ///< of the nearest later cluster, in steps; 0: none above the threshold
        std::size_t nearest = 0;
    };
    std::int64_t m_threshold;
    const GoOn& m_goOn;
    bool m_stopped = false;
    std::size_t m_done = 0;  ///< first searches, then joins: fewer than two a cluster
    std::vector<Cluster> m_clusters;
    /// Who has a token: of many clusters a row of all, which takes no more than some times their postings.
    struct Holders {
        std::vector<Posting> postings;  ///< clusters ascending
        std::vector<double> row;        ///< [clusters], 0: has it not; empty: the postings say it
    };
    static constexpr std::size_t kRowShare = 8;  ///< a row where more than one cluster in so many has the token
    std::vector<Holders> m_holders;              ///< [token]
    std::vector<double> m_dots;                  ///< [clusters], 0 between searches
    std::vector<std::size_t> m_met;

    /// Equal priors have the cosine 1 and would be joined first, so they start as one cluster where that is enough.
    void addClusters(std::span<const SignedSupport> items, double threshold) {
        Numbering numbers;
        const auto less = [](const SignedSupport* a, const SignedSupport* b) { return compare(*a, *b) < 0; };
        std::map<const SignedSupport*, std::size_t, decltype(less)> equal;
        for (std::size_t i = 0; i < items.size(); ++i) {
            const auto [place, added] = equal.try_emplace(&items[i], m_clusters.size());
            if (added || !exceeds(1, threshold)) {
                place->second = m_clusters.size();
                m_clusters.emplace_back();
            }
            m_clusters[place->second].members.push_back(i);
        }
        for (std::size_t k = 0; k < m_clusters.size(); ++k) {
            Cluster& cluster = m_clusters[k];
            const SignedSupport& item = items[cluster.members.front()];
            const double weight =
                static_cast<double>(cluster.members.size()) / std::sqrt(static_cast<double>(item.tokens.size()));
            for (std::size_t j = 0; j < item.tokens.size(); ++j) {
                const std::size_t token = numbers.of(item.tokens[j]);
                if (token == m_holders.size()) m_holders.emplace_back();
                cluster.sum.push_back({token, weight * item.sign[j]});
                m_holders[token].postings.push_back({k, cluster.sum.back().value});
            }
            std::sort(cluster.sum.begin(), cluster.sum.end(),
                      [](const Part& a, const Part& b) { return a.token < b.token; });
        }
        for (Holders& holders : m_holders) {
            if (holders.postings.size() * kRowShare <= m_clusters.size()) continue;
            holders.row.resize(m_clusters.size());
            for (const Posting& posting : holders.postings) holders.row[posting.cluster] = posting.value;
            holders.postings = {};
        }
    }

    /// The place of a cluster, or of the next one, in the postings of a token.
    static auto from(std::vector<Posting>& postings, std::size_t cluster) {
        return std::lower_bound(postings.begin(), postings.end(), cluster,
                                [](const Posting& p, std::size_t c) { return p.cluster < c; });
    }

    void findNearest(std::size_t i) {
        m_stopped = m_stopped || !m_goOn(static_cast<double>(m_done) / static_cast<double>(2 * m_clusters.size()));
        if (m_stopped) return;
        Cluster& cluster = m_clusters[i];
        bool all = false;
        for (const Part& part : cluster.sum) {
            Holders& holders = m_holders[part.token];
            for (auto it = from(holders.postings, i + 1); it != holders.postings.end(); ++it) {
                if (m_dots[it->cluster] == 0) m_met.push_back(it->cluster);
                m_dots[it->cluster] += part.value * it->value;
            }
            for (std::size_t other = i + 1; other < holders.row.size(); ++other)
                m_dots[other] += part.value * holders.row[other];
            all = all || !holders.row.empty();
        }
        if (all) {
            m_met.resize(m_clusters.size() - i - 1);
            std::iota(m_met.begin(), m_met.end(), i + 1);
        }
        cluster.nearness = 0;
        for (const std::size_t other : m_met) {
            const double dot = std::exchange(m_dots[other], 0);
            if (dot == 0) continue;  // nothing in common, or it is gone
            const auto pairs = static_cast<double>(cluster.members.size() * m_clusters[other].members.size());
            const std::int64_t near = inSteps(dot / pairs);
            if (near <= m_threshold || near < cluster.nearness) continue;
            if (near == cluster.nearness && other > cluster.nearest) continue;
            cluster.nearness = near;
            cluster.nearest = other;
        }
        m_met.clear();
    }

    void join(std::size_t to, std::size_t gone) {
        Cluster &a = m_clusters[to], &b = m_clusters[gone];
        for (const Part& part : b.sum) {
            if (std::vector<double>& row = m_holders[part.token].row; !row.empty()) {
                row[to] += part.value;
                row[gone] = 0;
                continue;
            }
            std::vector<Posting>& postings = m_holders[part.token].postings;
            postings.erase(from(postings, gone));
            const auto place = from(postings, to);
            if (place != postings.end() && place->cluster == to)
                place->value += part.value;
            else
                postings.insert(place, {to, part.value});
        }
        std::vector<Part> sum;
        sum.reserve(std::max(a.sum.size(), b.sum.size()));
        auto x = a.sum.begin(), y = b.sum.begin();
        while (x != a.sum.end() || y != b.sum.end()) {
            if (y == b.sum.end() || (x != a.sum.end() && x->token < y->token))
                sum.push_back(*x++);
            else if (x == a.sum.end() || y->token < x->token)
                sum.push_back(*y++);
            else
                sum.push_back({x->token, x->value + y->value}), ++x, ++y;
        }
        a.sum = std::move(sum);
        a.members.insert(a.members.end(), b.members.begin(), b.members.end());
        b = {};
        // A joined cluster is never nearer to a third one than the nearer of its two was: the others' nearest stand.
        for (std::size_t k = 0; k < gone; ++k)
            if (k == to ||
                (m_clusters[k].nearness > 0 && (m_clusters[k].nearest == to || m_clusters[k].nearest == gone)))
                findNearest(k);
    }
};

}  // namespace

bool exceeds(double cosine, double threshold) { return inSteps(cosine) > inSteps(threshold); }

std::vector<std::vector<std::size_t>> averageLinkage(std::span<const SignedSupport> items, double threshold,
                                                     const GoOn& goOn) {
    return Linkage(items, threshold, goOn).run();
}

void forAlike(std::span<const SignedSupport> items, std::span<const std::size_t> cluster, double least,
              const std::function<void(const Alike&)>& visit, const GoOn& goOn) {
    std::vector<std::size_t> order(items.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return cluster[a] != cluster[b] ? cluster[a] < cluster[b] : compare(items[a], items[b]) < 0;
    });
    // Equal ones of a cluster are looked at once.
    struct Same {
        std::span<const std::size_t> members;
        const SignedSupport* support;
        std::size_t cluster;
    };
    std::vector<Same> all;
    for (auto from = order.begin(); from != order.end();) {
        const std::size_t first = *from;
        const auto to = std::find_if(from, order.end(), [&](std::size_t i) {
            return cluster[i] != cluster[first] || compare(items[i], items[first]) != 0;
        });
        all.push_back({std::span(from, to), &items[first], cluster[first]});
        from = to;
    }
    struct Posting {
        std::size_t same;
        int sign;
    };
    Numbering numbers;
    std::vector<std::vector<Posting>> postings;
    std::vector<int> common(all.size()), agreeing(all.size());
    std::vector<std::size_t> met;
    for (std::size_t b = 0; b < all.size(); ++b) {
        if (!goOn(static_cast<double>(b) / static_cast<double>(all.size()))) return;
        const SignedSupport& own = *all[b].support;
        for (std::size_t j = 0; j < own.tokens.size(); ++j) {
            const std::size_t token = numbers.of(own.tokens[j]);
            if (token == postings.size()) postings.emplace_back();
            for (const auto& [a, sign] : postings[token]) {
                if (all[a].cluster == all[b].cluster) break;  // those of one cluster stand together, its own at the end
                if (common[a]++ == 0) met.push_back(a);
                agreeing[a] += sign * own.sign[j];
            }
            postings[token].push_back({b, own.sign[j]});
        }
        for (const std::size_t a : met) {
            const double norm =
                std::sqrt(static_cast<double>(all[a].support->tokens.size()) * static_cast<double>(own.tokens.size()));
            const double overlap = common[a] / norm, cosine = agreeing[a] / norm;
            common[a] = agreeing[a] = 0;
            if (overlap <= least) continue;
            for (const std::size_t x : all[a].members)
                for (const std::size_t y : all[b].members) visit({std::min(x, y), std::max(x, y), cosine, overlap});
        }
        met.clear();
    }
}

}  // namespace counterpoint::compute
