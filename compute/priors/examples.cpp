#include "compute/priors/examples.h"

#include <algorithm>
#include <boost/math/special_functions/beta.hpp>
#include <cmath>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "compute/error.h"

namespace counterpoint::compute {
namespace {

void checkWeight(const Example& example) {
    if (!std::isfinite(example.weight) || example.weight < 0)
        throw Error({.where = "examples",
                     .what = "the weight of an example is no weight",
                     .expected = "a finite number that is not negative",
                     .found = std::to_string(example.weight)});
}

}  // namespace

std::vector<Candidate> candidates(std::span<const Example> examples, double priorStrength) {
    std::unordered_map<TokenId, Candidate> all;
    double preferred = 0, other = 0;
    for (const Example& example : examples) {
        checkWeight(example);
        if (example.weight == 0) continue;
        std::unordered_set<TokenId> seen;
        for (const TokenId token : example.ids) {
            Candidate& candidate = all[token];
            candidate.token = token;
            (example.preferred ? candidate.countPreferred : candidate.countOther) += example.weight;
            (example.preferred ? preferred : other) += example.weight;
            if (seen.insert(token).second) ++(example.preferred ? candidate.textsPreferred : candidate.textsOther);
        }
    }
    for (const auto& [count, which] : {std::pair(preferred, "preferred"), std::pair(other, "not preferred")})
        if (count <= 0)
            throw Error({.where = "examples",
                         .what = std::string("no token stands in the ") + which + " texts",
                         .expected = "texts on both sides"});

    const double both = preferred + other, strength = priorStrength > 0 ? priorStrength : both;
    std::vector<Candidate> out;
    out.reserve(all.size());
    for (auto& [token, candidate] : all) {
        const double informed = strength * (candidate.countPreferred + candidate.countOther) / both;  // a_v
        const double yes = candidate.countPreferred + informed, no = candidate.countOther + informed;
        if (all.size() > 1) {  // a token alone has no odds against others
            candidate.logOdds = std::log(yes / (preferred + strength - yes)) - std::log(no / (other + strength - no));
            candidate.z = candidate.logOdds / std::sqrt(1 / yes + 1 / no);
        }
        out.push_back(candidate);
    }
    std::sort(out.begin(), out.end(), [](const Candidate& a, const Candidate& b) {
        const double za = std::abs(a.z), zb = std::abs(b.z);
        return za != zb ? za > zb : a.token < b.token;
    });
    return out;
}

double confidenceOf(std::span<const Candidate> chosen, std::span<const Example> examples) {
    double sides[2] = {0, 0};  // weight of the other texts, of the preferred ones
    for (const Example& example : examples) {
        checkWeight(example);
        sides[example.preferred] += example.weight;
    }
    std::unordered_map<TokenId, double> containing;  // weight of a chosen token's own side that contains it
    std::unordered_map<TokenId, bool> sideOf;
    for (const Candidate& candidate : chosen) sideOf[candidate.token] = candidate.logOdds > 0;
    for (const Example& example : examples) {
        std::unordered_set<TokenId> seen;
        for (const TokenId token : example.ids) {
            const auto side = sideOf.find(token);
            if (side != sideOf.end() && side->second == example.preferred && seen.insert(token).second)
                containing[token] += example.weight;
        }
    }
    double sum = 0;
    for (const Candidate& candidate : chosen) {
        const double side = sides[candidate.logOdds > 0];
        if (side > 0) sum += std::min(1.0, containing[candidate.token] / side);
    }
    return chosen.empty() ? 0 : sum / static_cast<double>(chosen.size());
}

double movedBy(const PriorTerm& prior, std::span<const float> logProbs, TokenId token) {
    const auto within = [&](TokenId id) { return id >= 0 && static_cast<std::size_t>(id) < logProbs.size(); };
    if (!within(token) || !std::isfinite(logProbs[static_cast<std::size_t>(token)])) return 0;
    constexpr double kLargest = 600;  // e^x of it is finite
    double own = 0, most = 0;
    for (std::size_t i = 0; i < prior.tokens.size(); ++i) {
        if (!within(prior.tokens[i])) continue;
        const double push = prior.eta * prior.delta[i];
        most = std::max(most, push);
        if (prior.tokens[i] == token) own = push;
    }
    // Relative to the largest push where e^x alone would overflow: the rest of the row then weighs e^{−shift}.
    const double shift = most > kLargest ? most : 0;
    double sum = 0;  // Σ p(v)(e^{ηΔ} − 1)·e^{−shift}
    for (std::size_t i = 0; i < prior.tokens.size(); ++i) {
        if (!within(prior.tokens[i])) continue;
        const double p = std::exp(static_cast<double>(logProbs[static_cast<std::size_t>(prior.tokens[i])]));
        const double push = prior.eta * prior.delta[i];
        sum += shift > 0 ? p * (std::exp(push - shift) - std::exp(-shift)) : p * std::expm1(push);
    }
    return own - shift - (shift > 0 ? std::log(std::exp(-shift) + sum) : std::log1p(sum));
}

Quality qualityFrom(double right, double seen) {
    Quality quality;
    quality.seen = std::max(seen, 0.0);
    quality.right = std::clamp(right, 0.0, quality.seen);
    const double a = 1.0 + quality.right, b = 1.0 + (quality.seen - quality.right);
    quality.mean = a / (a + b);
    quality.low = boost::math::ibeta_inv(a, b, 0.025);
    quality.high = boost::math::ibetac_inv(a, b, 0.025);
    return quality;
}

}  // namespace counterpoint::compute
