#include "compute/routing/inclusion.h"

#include <algorithm>
#include <boost/math/quadrature/gauss.hpp>
#include <cmath>
#include <functional>
#include <limits>

#include "compute/pool.h"
#include "compute/routing/question.h"

namespace counterpoint::compute {
namespace {

constexpr double kOutOfReach = 50;  ///< nats; e^−50 is 2e-22
constexpr double kStep = 0.25;      ///< of log s: an error of e^{−π²/kStep}
constexpr double kTail = 38;        ///< e^−38 is left out below, e^{−e^4} above

/// One position's experts that are neither certain nor out of reach.
struct Race {
    std::size_t K = 0;
    std::vector<double> rates;           ///< λ, the largest 1
    std::vector<double> arrived, waits;  ///< P(arrived by s), P(not)
    std::vector<double> before, behind;  ///< [n + 1][K] P(j of those before, of those behind, arrived), j < K
    std::vector<double> sum;             ///< of the integral
};

/// sum_e += weight · λ_e e^{−λ_e s} P(fewer than K of the others arrived by s)
void addNode(Race& race, double s, double weight) {
    const std::size_t n = race.rates.size(), K = race.K;
    for (std::size_t e = 0; e < n; ++e) {
        const double x = race.rates[e] * s;
        race.waits[e] = std::exp(-x);
        race.arrived[e] = x < 0.5 ? -std::expm1(-x) : 1.0 - race.waits[e];
    }
    for (std::size_t e = 0; e < n; ++e) {
        const double p = race.arrived[e], q = race.waits[e];
        const double* from = race.before.data() + e * K;
        double* to = race.before.data() + (e + 1) * K;
        to[0] = from[0] * q;
        for (std::size_t j = 1; j < K; ++j) to[j] = from[j] * q + from[j - 1] * p;
    }
    for (std::size_t e = n; e-- > 0;) {
        const double p = race.arrived[e], q = race.waits[e];
        const double* from = race.behind.data() + (e + 1) * K;
        double* to = race.behind.data() + e * K;
        to[0] = from[0] * q;
        for (std::size_t j = 1; j < K; ++j) to[j] = from[j] * q + from[j - 1] * p;
    }
    for (std::size_t e = 0; e < n; ++e) {
        const double *left = race.before.data() + e * K, *right = race.behind.data() + (e + 1) * K;
        double fewer = 0, upTo = 0;  // Σ_{a+b<K} left[a] right[b]
        for (std::size_t b = 0; b < K; ++b) {
            upTo += right[b];
            fewer += left[K - 1 - b] * upTo;
        }
        race.sum[e] += weight * race.rates[e] * race.waits[e] * fewer;
    }
}

void byGaussLegendre(Race& race) {
    using Rule = boost::math::quadrature::gauss<double, 64>;
    double c = 0;
    for (const double rate : race.rates) c += rate;
    c /= static_cast<double>(race.K);
    for (std::size_t i = 0; i < Rule::abscissa().size(); ++i)
        for (const double side : {-1.0, 1.0}) {
            const double x = 0.5 * (1.0 + side * Rule::abscissa()[i]);
            addNode(race, -std::log(x) / c, 0.5 * Rule::weights()[i] / (c * x));
        }
}

void byTrapezoids(Race& race) {
    const double slowest = *std::min_element(race.rates.begin(), race.rates.end());
    for (double y = -kTail; y <= 4.0 - std::log(slowest); y += kStep) addNode(race, std::exp(y), kStep * std::exp(y));
}

bool adds(const Race& race) {
    double all = 0;
    for (const double p : race.sum) all += p;
    return std::abs(all - static_cast<double>(race.K)) <= 1e-12 * static_cast<double>(race.K);
}

}  // namespace

void inclusionProbabilities(std::span<const double> scaled, int K, std::span<double> inclusion) {
    std::vector<double> sorted(scaled.begin(), scaled.end());
    std::sort(sorted.begin(), sorted.end(), std::greater<>());
    const double lastIn = sorted[static_cast<std::size_t>(K) - 1];
    const double firstOut = static_cast<std::size_t>(K) < sorted.size() ? sorted[static_cast<std::size_t>(K)]
                                                                        : -std::numeric_limits<double>::infinity();
    Race race;
    race.K = static_cast<std::size_t>(K);
    std::vector<std::size_t> who;
    double top = -std::numeric_limits<double>::infinity();
    for (std::size_t e = 0; e < scaled.size(); ++e) {
        inclusion[e] = scaled[e] >= lastIn && scaled[e] > firstOut + kOutOfReach ? 1.0 : 0.0;
        if (inclusion[e] == 1.0) --race.K;
        if (inclusion[e] == 1.0 || scaled[e] < lastIn - kOutOfReach) continue;
        who.push_back(e);
        top = std::max(top, scaled[e]);
    }
    if (race.K == 0) return;
    const std::size_t n = who.size();
    for (const std::size_t e : who) race.rates.push_back(std::exp(scaled[e] - top));
    race.arrived.resize(n);
    race.waits.resize(n);
    race.before.assign((n + 1) * race.K, 0.0);
    race.behind.assign((n + 1) * race.K, 0.0);
    race.before[0] = race.behind[n * race.K] = 1.0;
    race.sum.assign(n, 0.0);
    byGaussLegendre(race);
    if (!adds(race)) {
        race.sum.assign(n, 0.0);
        byTrapezoids(race);
    }
    for (std::size_t i = 0; i < n; ++i) inclusion[who[i]] = race.sum[i];
}

IndependentForm independentForm(const RouterLaw& law, std::span<const float> logits, std::size_t experts,
                                std::uint32_t layer, int threads, const std::stop_token& stop) {
    const std::vector<double> scaled = routing::scaledLogits(law, logits, experts, layer);
    const std::size_t positions = logits.size() / experts;
    IndependentForm form{std::vector<double>(logits.size()), std::vector<double>(experts), 0.0};
    Pool::instance().run(threads, static_cast<std::int64_t>(positions), [&](std::int64_t t, int) {
        if (stop.stop_requested()) return;
        const std::size_t at = static_cast<std::size_t>(t) * experts;
        inclusionProbabilities({scaled.data() + at, experts}, law.chosen, {form.inclusion.data() + at, experts});
    });
    for (std::size_t i = 0; i < form.inclusion.size(); ++i) {
        const double p = form.inclusion[i];
        form.load[i % experts] += p;
        form.loadVariance += p * (1.0 - p);
    }
    return form;
}

}  // namespace counterpoint::compute
