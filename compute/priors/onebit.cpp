#include "compute/priors/onebit.h"

#include <algorithm>
#include <cmath>

namespace counterpoint::compute {
namespace {

/// α, as a running mean: magnitudes that are all equal give exactly that magnitude, which a sum divided by n need not.
double meanMagnitude(std::span<const double> delta) {
    double mean = 0, n = 0;
    for (const double value : delta) mean += (std::abs(value) - mean) / ++n;
    return mean;
}

double signOf(double value) { return value < 0 ? -1 : 1; }

struct Touched {
    TokenId token;
    double d;
};

/// Σ factor · η Δ of the tokens inside the vocabulary.
void add(std::span<const PriorTerm> terms, double factor, std::size_t vocabulary, std::vector<Touched>& all) {
    for (const PriorTerm& term : terms)
        for (std::size_t i = 0; i < term.delta.size(); ++i)
            if (term.tokens[i] >= 0 && static_cast<std::size_t>(term.tokens[i]) < vocabulary)
                all.push_back({term.tokens[i], factor * term.eta * term.delta[i]});
}

/// Tokens ascending, each once; what several priors do to one token is added up.
void join(std::vector<Touched>& all) {
    std::stable_sort(all.begin(), all.end(), [](const Touched& a, const Touched& b) { return a.token < b.token; });
    std::size_t kept = 0;
    for (const Touched& one : all) {
        if (kept > 0 && all[kept - 1].token == one.token)
            all[kept - 1].d += one.d;
        else
            all[kept++] = one;
    }
    all.resize(kept);
}

/// d of every token that a prior touches.
std::vector<Touched> differences(std::span<const PriorTerm> exact, double temperature, std::size_t vocabulary) {
    std::vector<Touched> all;
    for (const PriorTerm& term : exact) {
        const std::span<const double> delta = term.delta;
        const double alpha = meanMagnitude(delta);
        for (std::size_t i = 0; i < delta.size(); ++i) {
            const TokenId token = term.tokens[i];
            if (token < 0 || static_cast<std::size_t>(token) >= vocabulary) continue;
            all.push_back({token, term.eta * (delta[i] - signOf(delta[i]) * alpha) / temperature});
        }
    }
    join(all);
    return all;
}

/// e^{−x} − 1 + x, which is never below 0, without the cancellation near 0.
double curvature(double x) {
    if (std::abs(x) > 0.01) return std::expm1(-x) + x;
    return x * x * (1.0 / 2 - x * (1.0 / 6 - x * (1.0 / 24 - x * (1.0 / 120 - x * (1.0 / 720 - x * (1.0 / 5040))))));
}

/// Below it 1 − Σ p over the touched tokens has lost digits that e^{−d} may make count.
constexpr double kSmallRest = 0.1;

/// The log-probability of all that no prior touches, from those tokens themselves.
template <class Real>
double logUntouched(std::span<const Touched> touched, std::span<const Real> logP) {
    const auto each = [&](auto&& use) {
        std::size_t next = 0;
        for (std::size_t v = 0; v < logP.size(); ++v) {
            if (next < touched.size() && static_cast<std::size_t>(touched[next].token) == v)
                ++next;
            else
                use(static_cast<double>(logP[v]));
        }
    };
    double top = -INFINITY, sum = 0;
    each([&](double logOne) { top = std::max(top, logOne); });
    if (top == -INFINITY) return top;
    each([&](double logOne) { sum += std::exp(logOne - top); });
    return top + std::log(sum);
}

struct Weighted {
    double logP, p, d;
};

/// E[d] + log E[e^{−d}] = log1p E[e^{−x} − 1 + x] with x = d − E[d]: no term is below 0, so nothing cancels.
double klOf(std::span<Weighted> law) {
    const double from = law.front().d;  // a d that is almost the same everywhere keeps what digits it differs in
    double total = 0, mean = 0, least = 0;
    for (const Weighted& one : law) total += one.p;
    if (total <= 0) return 0;
    for (const Weighted& one : law) mean += one.p / total * (one.d - from);
    for (Weighted& one : law) {
        one.d = one.d - from - mean;
        if (one.logP > -INFINITY) least = std::min(least, one.d);  // e^{−d} may make a p count that is 0 by itself
    }
    if (least > -600) {
        double sum = 0;
        for (const Weighted& one : law) sum += one.p / total * curvature(one.d);
        return std::log1p(sum);
    }
    // e^{−x} alone would overflow.
    double top = -INFINITY, sum = 0;
    for (const Weighted& one : law) top = std::max(top, one.logP - one.d);
    for (const Weighted& one : law) sum += std::exp(one.logP - one.d - top);
    return std::max(0.0, top + std::log(sum) - std::log(total));
}

}  // namespace

OneBit oneBit(std::span<const double> delta) {
    OneBit out;
    out.alpha = meanMagnitude(delta);
    out.sign.reserve(delta.size());
    for (const double value : delta) {
        out.sign.push_back(value < 0 ? -1 : 1);
        const double error = std::abs(value) - out.alpha;
        out.squaredError += error * error;
    }
    return out;
}

double paperRatio(std::size_t n) { return paperRatio(std::span(&n, 1)); }

double paperRatio(std::span<const std::size_t> n) {
    double exact = 0, small = 0;
    for (const std::size_t support : n) {
        exact += 32 * static_cast<double>(support);
        small += static_cast<double>(support) + 32;
    }
    return small > 0 ? exact / small : 0;
}

namespace {

template <class Real>
OneBitDrift driftOf(const std::vector<Touched>& touched, std::span<const Real> logP) {
    OneBitDrift out;
    if (touched.empty()) return out;
    const bool everything = touched.size() == logP.size();
    double low = everything ? touched.front().d : 0, high = low, mass = 0;
    std::vector<Weighted> law;
    law.reserve(touched.size() + 1);
    for (const auto& [token, d] : touched) {
        const auto logOne = static_cast<double>(logP[static_cast<std::size_t>(token)]);
        law.push_back({logOne, std::exp(logOne), d});
        mass += law.back().p;
        out.normBound += d * d / 4;
        low = std::min(low, d);
        high = std::max(high, d);
    }
    out.rangeBound = (high - low) * (high - low) / 8;
    // All that no prior touches is one more outcome, of d = 0.
    if (!everything) {
        const double rest = 1 - mass > kSmallRest ? std::log1p(-mass) : logUntouched(touched, logP);
        law.push_back({rest, std::exp(rest), 0});
    }
    out.kl = klOf(law);
    return out;
}

}  // namespace

template <class Real>
OneBitDrift oneBitDrift(std::span<const PriorTerm> exact, double temperature, std::span<const Real> logP) {
    return driftOf(differences(exact, temperature == 0 ? 1 : temperature, logP.size()), logP);
}

template <class Real>
OneBitDrift driftBetween(std::span<const PriorTerm> exact, std::span<const PriorTerm> other, double temperature,
                         std::span<const Real> logP) {
    const double factor = temperature == 0 ? 1 : 1 / temperature;
    std::vector<Touched> all;
    add(exact, factor, logP.size(), all);
    add(other, -factor, logP.size(), all);
    join(all);
    return driftOf(all, logP);
}

template OneBitDrift oneBitDrift<float>(std::span<const PriorTerm>, double, std::span<const float>);
template OneBitDrift driftBetween<float>(std::span<const PriorTerm>, std::span<const PriorTerm>, double,
                                         std::span<const float>);
template OneBitDrift driftBetween<double>(std::span<const PriorTerm>, std::span<const PriorTerm>, double,
                                          std::span<const double>);
template OneBitDrift oneBitDrift<double>(std::span<const PriorTerm>, double, std::span<const double>);

}  // namespace counterpoint::compute
