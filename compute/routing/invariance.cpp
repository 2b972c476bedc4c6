#include "compute/routing/invariance.h"

#include <algorithm>
#include <cmath>

#include "compute/random/noise.h"
#include "compute/random/philox.h"
#include "compute/routing/inclusion.h"
#include "compute/routing/pvalues.h"
#include "compute/routing/refusal.h"

namespace counterpoint::compute {
namespace {

constexpr double kLeastInclusions = 20;

/// What D draws gave at one position.
struct Drawn {
    std::vector<ExpertId> lists;          ///< [D][K]
    std::vector<double> weight, squares;  ///< [E] Σ w, Σ w²
    std::vector<double> gamma;            ///< [D][E]
};

void plainNoise(const InvarianceQuestion& q, std::uint32_t draw, Position position, std::span<double> gamma) {
    for (std::size_t e = 0; e < gamma.size(); ++e) {
        const double u =
            uniform(philox({static_cast<std::uint32_t>(e), static_cast<std::uint32_t>(position), draw, 4 * q.layer + 3},
                           detail::keyOf(q.seed)));
        gamma[e] = -std::log(-std::log(u));
    }
}

bool drawAll(const InvarianceQuestion& q, Position position, std::span<const double> biased,
             const std::stop_token& stop, const NoiseOfDraw& noise, Drawn& drawn) {
    const std::size_t E = q.experts, K = static_cast<std::size_t>(q.law.chosen), D = static_cast<std::size_t>(q.draws);
    drawn = {std::vector<ExpertId>(D * K), std::vector<double>(E), std::vector<double>(E), std::vector<double>(D * E)};
    std::vector<double> scores(E), weights(K);
    for (std::size_t d = 0; d < D; ++d) {
        if (stop.stop_requested()) return false;
        const std::span<double> gamma(drawn.gamma.data() + d * E, E);
        const std::span<ExpertId> list(drawn.lists.data() + d * K, K);
        noise(static_cast<std::uint32_t>(d) + 1, position, gamma);
        routingScores(q.law, biased, gamma, scores);
        topK(scores, list);
        mixtureWeights(q.law, biased, list, weights);
        for (std::size_t i = 0; i < K; ++i) {
            drawn.weight[static_cast<std::size_t>(list[i])] += weights[i];
            drawn.squares[static_cast<std::size_t>(list[i])] += weights[i] * weights[i];
        }
    }
    return true;
}

/// The tests of one kind, with what each is about.
struct Family {
    std::vector<InvarianceTest> tests;

    InvarianceTest smallest(InvarianceKind kind) const {
        if (tests.empty()) return {.kind = kind};
        std::vector<double> p;
        for (const InvarianceTest& test : tests) p.push_back(test.pValue);
        correctByHolm(p);
        const auto at = std::min_element(tests.begin(), tests.end(),
                                         [](const auto& a, const auto& b) { return a.pValue < b.pValue; }) -
                        tests.begin();
        InvarianceTest row = tests[static_cast<std::size_t>(at)];
        row.kind = kind;
        row.tests = static_cast<int>(tests.size());
        row.pValue = p[static_cast<std::size_t>(at)];
        return row;
    }
};

void addInclusion(const InvarianceQuestion& q, Position position, const Drawn& drawn, std::span<const double> inclusion,
                  Family& family) {
    std::vector<std::int64_t> counts(q.experts);
    for (const ExpertId e : drawn.lists) ++counts[static_cast<std::size_t>(e)];
    for (std::size_t e = 0; e < q.experts; ++e) {
        const double p = inclusion[e], expected = q.draws * p, spread = std::sqrt(expected * (1.0 - p));
        const double off = static_cast<double>(counts[e]) - expected;
        family.tests.push_back({.statistic = spread > 0.0 ? off / spread : off,
                                .position = position,
                                .expert = static_cast<ExpertId>(e),
                                .pValue = binomialPValue(counts[e], q.draws, p)});
    }
}

void addWeights(const InvarianceQuestion& q, Position position, const Drawn& drawn, const Drawn& plain,
                std::span<const double> inclusion, Family& family) {
    const double D = q.draws;
    const auto variance = [D](const Drawn& of, std::size_t e) {
        return std::max(0.0, of.squares[e] / D - of.weight[e] / D * (of.weight[e] / D)) / D;
    };
    for (std::size_t e = 0; e < q.experts; ++e) {
        if (D * inclusion[e] < kLeastInclusions) continue;
        const double off = (drawn.weight[e] - plain.weight[e]) / D;
        const double spread = std::sqrt(variance(drawn, e) + variance(plain, e));
        // Without any spread (a single expert, say) both are one number but for rounding.
        const double z = spread > 1e-9 ? off / spread : off / 1e-9;
        family.tests.push_back(
            {.statistic = z, .position = position, .expert = static_cast<ExpertId>(e), .pValue = normalPValue(z)});
    }
}

void checkQuestion(const InvarianceQuestion& q) {
    check(q.law, q.experts);
    check(q.coupling);
    if (q.draws < 1) routing::refuse("\"draws\"", "a test needs draws", "1 or more", std::to_string(q.draws));
    const auto positions = static_cast<Position>(q.logits.size() / q.experts);
    if (q.positions.empty()) routing::refuse("\"positions\"", "a test needs a position", "one or more", "none");
    for (const Position t : q.positions)
        if (t < 0 || t >= positions)
            routing::refuse("\"positions\"", "the position lies outside the text",
                            "0 to " + std::to_string(positions - 1), std::to_string(t));
}

}  // namespace

bool holds(const Invariance& invariance, double level) {
    const double share = level / static_cast<double>(invariance.rows.size());
    return std::none_of(invariance.rows.begin(), invariance.rows.end(),
                        [share](const InvarianceTest& row) { return row.pValue < share; });
}

Outcome testInvariance(const InvarianceQuestion& q, const std::stop_token& stop, Invariance& found,
                       const NoiseOfDraw& given) {
    checkQuestion(q);
    GroupMemory memory;
    const NoiseOfDraw coupled = [&](std::uint32_t draw, Position position, std::span<double> gamma) {
        routingNoise({q.seed, draw, q.layer}, placementAt(q.coupling, position), position, memory, gamma);
    };
    const NoiseOfDraw plain = [&](std::uint32_t draw, Position position, std::span<double> gamma) {
        plainNoise(q, draw, position, gamma);
    };
    Family lists, inclusions, weights;
    InvarianceTest gumbel{.kind = InvarianceKind::Gumbel, .tests = 1, .position = q.positions.front()};
    std::vector<double> biased(q.experts), scaled(q.experts), inclusion(q.experts);
    Drawn drawn, beside;
    for (std::size_t i = 0; i < q.positions.size(); ++i) {
        const Position t = q.positions[i];
        biasedLogits(q.law, q.logits.subspan(static_cast<std::size_t>(t) * q.experts, q.experts), biased, {q.layer, t});
        routingScores(q.law, biased, {}, scaled);
        inclusionProbabilities(scaled, q.law.chosen, inclusion);
        if (!drawAll(q, t, biased, stop, given ? given : coupled, drawn) || !drawAll(q, t, biased, stop, plain, beside))
            return Outcome::Cancelled;
        const ChiSquare test = plackettLuceTest(drawn.lists, q.law.chosen, scaled);
        lists.tests.push_back(
            {.statistic = test.statistic, .degrees = test.degrees, .position = t, .pValue = test.pValue});
        addInclusion(q, t, drawn, inclusion, inclusions);
        addWeights(q, t, drawn, beside, inclusion, weights);
        if (i > 0) continue;
        const KolmogorovSmirnov ks = gumbelTest(drawn.gamma);
        gumbel.statistic = ks.distance;
        gumbel.pValue = ks.pValue;
    }
    found.rows = {lists.smallest(InvarianceKind::Lists), inclusions.smallest(InvarianceKind::Inclusion),
                  weights.smallest(InvarianceKind::Weights), gumbel};
    return Outcome::Done;
}

}  // namespace counterpoint::compute
