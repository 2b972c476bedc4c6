// R16: the objective by its terms, the score-function gradient against finite differences, and what has none.
#include <cmath>
#include <set>

#include "compute/routing/copula.h"
#include "compute/routing/inclusion.h"
#include "tests/support/training.h"

using namespace counterpoint::compute;
using namespace counterpoint::tests;

namespace {

const std::vector<std::size_t> kBounds{0, 3, 7, 9, 10};

/// The latents of one layer of Small under one draw.
struct Latents {
    std::vector<std::vector<double>> zeta, z;  ///< [G][E], [T][E]
};
Latents latentsOf(const Coupling& coupling, const NoiseAddress& address) {
    Latents latents{std::vector(4, std::vector<double>(kE)), std::vector(kT, std::vector<double>(kE))};
    std::vector<double> scratch(kE);
    for (std::size_t g = 0; g < 4; ++g) {
        const Placement placed = placementAt(coupling, Position(kBounds[g]));
        groupNormals(address, placed, latents.zeta[g], scratch);
        for (std::size_t t = kBounds[g]; t < kBounds[g + 1]; ++t)
            positionNormals(address, placed, Position(t), latents.zeta[g], latents.z[t]);
    }
    return latents;
}

/// log p(ζ, z) up to what does not depend on the dials, as R11 gives it: z | ζ ~ N(√ρ ζ, 1 − ρ), ζ_g' | ζ_g ~ N(−α ζ_g,
/// 1 − α²).
double logDensity(const Latents& latents, const Coupling& coupling) {
    double sum = 0;
    const auto add = [&](double off, double variance) { sum -= 0.5 * std::log(variance) + off * off / (2 * variance); };
    for (std::size_t e = 0; e < kE; ++e) {
        for (std::size_t g = 0; g < 4; ++g) {
            const double rho = placementAt(coupling, Position(kBounds[g])).rho;
            for (std::size_t t = kBounds[g]; t < kBounds[g + 1]; ++t)
                add(latents.z[t][e] - std::sqrt(rho) * latents.zeta[g][e], 1 - rho);
        }
        for (const std::size_t second : {2, 3})
            add(latents.zeta[second][e] + coupling.alpha * latents.zeta[second - 2][e],
                1 - coupling.alpha * coupling.alpha);
    }
    return sum;
}

}  // namespace

class TestControllerGradient : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void init() { failOnAnyWarning(); }

    /// Every term of single draws as it is written, from noise made by its addresses; the weights' signs.
    void termsOfADraw() {
        Small small({0.7, 1.3, 0.4, 0.9});
        small.question.routing.capacityFactor = 0.8;
        small.question.crossEntropy = [](const NoiseDraw& d, const std::stop_token&) { return meetings(d); };
        const TrainingPlan plan = trainingPlan(small.question);
        const std::vector<double> h = groupEntropies(small.question.routing);
        const Coupling coupling = controlled(small.controller, small.question.routing.coupling, h, EntropyOf::Group);
        std::vector<double> objectives;
        ObjectiveEstimate mean;
        for (std::uint32_t draw = 5; draw < 9; ++draw) {
            double coherence = 0, load = 0, overflow = 0;
            std::vector<std::vector<ExpertId>> all;
            for (const RouterLayer& layer : small.question.routing.layers) {
                const auto K = static_cast<std::size_t>(layer.law.chosen);
                std::vector<std::set<ExpertId>> sets;
                std::vector<ExpertId> chosen;
                for (std::size_t t = 0; t < kT; ++t) {
                    GroupMemory memory;
                    std::vector<double> gamma(kE);
                    routingNoise({21, draw, layer.layer}, placementAt(coupling, Position(t)), Position(t), memory,
                                 gamma);
                    for (std::size_t e = 0; e < kE; ++e) gamma[e] += layer.logits[t * kE + e];
                    std::vector<ExpertId> top(K);
                    topK(gamma, top);
                    sets.emplace_back(top.begin(), top.end());
                    chosen.insert(chosen.end(), top.begin(), top.end());
                }
                double jaccard = 0;
                int pairs = 0;
                for (std::size_t g = 0; g < 4; ++g)
                    for (std::size_t t = kBounds[g]; t < kBounds[g + 1]; ++t)
                        for (std::size_t u = kBounds[g]; u < t; ++u, ++pairs) {
                            std::set<ExpertId> both;
                            for (const ExpertId e : sets[t])
                                if (sets[u].count(e)) both.insert(e);
                            jaccard += double(both.size()) / double(2 * K - both.size());
                        }
                coherence += jaccard / pairs / 2;
                const auto form = independentForm(layer.law, layer.logits, kE, layer.layer, 1);
                const double capacity = std::ceil(0.8 * double(kT * K) / kE);
                for (std::size_t e = 0; e < kE; ++e) {
                    const double n = double(std::count(chosen.begin(), chosen.end(), ExpertId(e)));
                    load += (n - form.load[e]) * (n - form.load[e]) / double(kT * K) / 2;
                    overflow += std::max(0.0, n - capacity) / double(kT * K) / 2;
                }
                all.push_back(chosen);
            }
            const double ce = meetings({coupling, 21, draw, all});
            objectives.push_back(0.7 * coherence - 1.3 * ce - 0.4 * load - 0.9 * overflow);
            mean.coherence.mean += coherence / 4;
            mean.crossEntropy.mean += ce / 4;
            mean.load.mean += load / 4;
            mean.overflow.mean += overflow / 4;
        }
        const auto found = objectiveAt(plan, small.controller, 5, 4, {}).value();
        double wanted = 0, squares = 0;
        for (const double x : objectives) wanted += x / 4;
        for (const double x : objectives) squares += (x - wanted) * (x - wanted);
        QVERIFY(std::abs(found.objective.mean - wanted) < 1e-12);
        QVERIFY(std::abs(found.objective.se - std::sqrt(squares / 3 / 4)) < 1e-12);
        QVERIFY(std::abs(found.coherence.mean - mean.coherence.mean) < 1e-12);
        QVERIFY(std::abs(found.crossEntropy.mean - mean.crossEntropy.mean) < 1e-12);
        QVERIFY(std::abs(found.load.mean - mean.load.mean) < 1e-12);
        QVERIFY(std::abs(found.overflow.mean - mean.overflow.mean) < 1e-12);
        QVERIFY(found.overflow.mean > 0 && found.crossEntropy.mean != 0 && found.load.mean > 0);
    }

    /// The estimate itself on four draws: mean of score · (J − mean J of the others), the score by differences of the
    /// log density.
    void gradientOfDraws_data() {
        QTest::addColumn<bool>("generation");
        QTest::newRow("by the group's own entropy") << false;
        QTest::newRow("by the group before") << true;
    }
    void gradientOfDraws() {
        QFETCH(bool, generation);
        const EntropyOf entropy = generation ? EntropyOf::PreviousGroup : EntropyOf::Group;
        Small small({0.7, 1.3, 0.4, 0.9}, entropy);
        const std::vector<double> h = groupEntropies(small.question.routing);
        const auto couplingAt = [&](const Controller& c) {
            return controlled(c, small.question.routing.coupling, h, entropy);
        };
        constexpr double delta = 1e-5;
        double objective[4], score[4][3] = {}, all = 0;
        for (std::uint32_t d = 0; d < 4; ++d) {
            objective[d] = small.at(small.controller, 5 + d, 1).objective.mean;
            all += objective[d];
            for (const RouterLayer& layer : small.question.routing.layers) {
                const Latents latents = latentsOf(couplingAt(small.controller), {21, 5 + d, layer.layer});
                for (int i = 0; i < 3; ++i)
                    for (const int side : {-1, 1}) {
                        Controller moved = small.controller;
                        *parameter(moved, i) += side * delta;
                        score[d][i] += side * logDensity(latents, couplingAt(moved)) / (2 * delta);
                    }
            }
        }
        const ObjectiveEstimate found = small.at(small.controller, 5, 4);
        for (int i = 0; i < 3; ++i) {
            double terms[4], mean = 0, squares = 0;
            for (int d = 0; d < 4; ++d) {
                terms[d] = score[d][i] * (objective[d] - (all - objective[d]) / 3);
                mean += terms[d] / 4;
            }
            for (const double x : terms) squares += (x - mean) * (x - mean);
            const Estimate& slope = found.gradient[std::size_t(i)];
            QVERIFY2(std::abs(slope.mean - mean) < 1e-7 * std::max(1.0, std::abs(mean)) && std::abs(mean) > 1e-3,
                     qPrintable(told("gradient", slope.mean, mean, 1e-7)));
            QVERIFY(std::abs(slope.se - std::sqrt(squares / 12)) < 1e-7);
        }
    }

    /// d E J/dθ by the score against (E J(θ + δ) − E J(θ − δ))/2δ on the same noise, in forty lots with their error; at
    /// most a third of what is found is error, where there is anything to find.
    void finiteDifferences_data() {
        QTest::addColumn<int>("term");
        QTest::newRow("coherence") << 0;
        QTest::newRow("meetings as CE") << 1;
        QTest::newRow("load") << 2;
    }
    void finiteDifferences() {
        QFETCH(int, term);
        constexpr std::array terms{&ObjectiveWeights::coherence, &ObjectiveWeights::crossEntropy,
                                   &ObjectiveWeights::load};
        Small small(only(terms[std::size_t(term)]));
        if (term == 1)
            small.question.crossEntropy = [](const NoiseDraw& d, const std::stop_token&) { return meetings(d); };
        constexpr int kLots = 40, kLot = 500;
        constexpr double delta = 0.15;
        const ObjectiveEstimate score = small.at(small.controller, 1, 80'000);
        for (int which = 0; which < 3; ++which) {
            double sum = 0, squares = 0;
            for (int lot = 0; lot < kLots; ++lot) {
                double ends[2];
                for (const int side : {0, 1}) {
                    Controller moved = small.controller;
                    *parameter(moved, which) += side == 0 ? -delta : delta;
                    ends[side] = small.at(moved, std::uint32_t(1 + lot * kLot), kLot).objective.mean;
                }
                const double slope = (ends[1] - ends[0]) / (2 * delta);
                sum += slope;
                squares += slope * slope;
            }
            const double wanted = sum / kLots;
            const double error = std::sqrt((squares / kLots - wanted * wanted) / (kLots - 1));
            const Estimate& found = score.gradient[std::size_t(which)];
            const QString what = told("gradient", found.mean, wanted, std::hypot(found.se, error));
            QVERIFY2(std::abs(found.mean - wanted) <= 4 * std::hypot(found.se, error), qPrintable(what));
            if (term != 0 || which != 2) QVERIFY2(std::abs(wanted) > 3 * std::hypot(found.se, error), qPrintable(what));
        }
    }

    /// A sum over positions of what each chose alone: its law does not move, so nothing pulls at the dials.
    void separableHasNone() {
        Small small(only(&ObjectiveWeights::crossEntropy));
        small.question.crossEntropy = [](const NoiseDraw& d, const std::stop_token&) { return separable(d); };
        const ObjectiveEstimate flat = small.at(small.controller, 1, 60'000);
        for (const Estimate& slope : flat.gradient)
            QVERIFY2(std::abs(slope.mean) <= 4 * slope.se, qPrintable(told("gradient", slope.mean, 0, slope.se)));
        QVERIFY(flat.crossEntropy.se > 0);
        // What depends on several positions at once is pulled at.
        small.question.crossEntropy = [](const NoiseDraw& d, const std::stop_token&) { return meetings(d); };
        const ObjectiveEstimate pulled = small.at(small.controller, 1, 60'000);
        for (const Estimate& slope : pulled.gradient)
            QVERIFY2(std::abs(slope.mean) > 4 * slope.se, qPrintable(told("gradient", slope.mean, 0, slope.se)));
    }

    /// Coherence and load both grow with ρ, α spreads the load and leaves coherence alone: the signs of the pulls.
    void signsOfTheTerms_data() {
        QTest::addColumn<int>("term");
        QTest::addColumn<int>("byA");
        QTest::addColumn<int>("byC");
        QTest::newRow("coherence pulls ρ up") << 0 << 1 << 0;
        QTest::newRow("load pulls ρ down, α up") << 2 << -1 << 1;
        QTest::newRow("overflow pulls ρ down, α up") << 3 << -1 << 1;
    }
    void signsOfTheTerms() {
        QFETCH(int, term);
        QFETCH(int, byA);
        QFETCH(int, byC);
        constexpr std::array terms{&ObjectiveWeights::coherence, &ObjectiveWeights::crossEntropy,
                                   &ObjectiveWeights::load, &ObjectiveWeights::overflow};
        const std::vector<float> even(32 * 8);
        TrainingQuestion question;
        question.routing = questionOf(even, 8, 2, 8, 0, 0, 64);
        question.weights = only(terms[std::size_t(term)]);
        const TrainingPlan plan = trainingPlan(question);
        const auto found = objectiveAt(plan, beginTraining(plan).controller, 1, 20'000, {}).value();
        const auto holds = [](const Estimate& slope, int sign) {
            return sign == 0 ? std::abs(slope.mean) <= 4 * slope.se : sign * slope.mean > 4 * slope.se;
        };
        QVERIFY2(holds(found.gradient[0], byA),
                 qPrintable(told("a", found.gradient[0].mean, byA, found.gradient[0].se)));
        QVERIFY2(holds(found.gradient[2], byC),
                 qPrintable(told("c", found.gradient[2].mean, byC, found.gradient[2].se)));
        QCOMPARE(found.gradient[1].mean, 0.0);  // every entropy is h̄
    }
};

QTEST_GUILESS_MAIN(TestControllerGradient)
#include "tst_controllergradient.moc"
