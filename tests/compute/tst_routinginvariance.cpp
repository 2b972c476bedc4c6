// R15: p-values of known cases; the panel accepts correct noise at its nominal rate and rejects planted faults.
#include <boost/math/distributions/chi_squared.hpp>
#include <cmath>
#include <random>

#include "compute/random/noise.h"
#include "compute/routing/gumbel.h"
#include "compute/routing/invariance.h"
#include "compute/routing/pvalues.h"
#include "compute/routing/route.h"
#include "tests/support/fixture.h"

using namespace counterpoint::compute;

namespace {

/// PAPERS.md 5.5: E = 5, K = 2, 20 lists; positions 0 to 15 in windows of 4, so that position 5 looks back.
const std::vector<float> kSlope{1, 0.5f, 0, -0.5f, -1};
std::vector<float> rowsOf(const std::vector<float>& row, int positions) {
    std::vector<float> logits;
    for (int t = 0; t < positions; ++t) logits.insert(logits.end(), row.begin(), row.end());
    return logits;
}

InvarianceQuestion questionOf(std::span<const float> logits, double rho, double alpha, int draws) {
    InvarianceQuestion q;
    q.logits = logits;
    q.experts = kSlope.size();
    q.law = {.chosen = 2, .bias = {}};
    q.coupling = {.groups = windowsOf(4), .pairs = {}, .rho = rho, .alpha = alpha, .rhoOfGroup = {}, .alphaOfPair = {}};
    q.layer = 2;
    q.draws = draws;
    q.positions = {5};
    return q;
}

Invariance panelOf(const InvarianceQuestion& q, const NoiseOfDraw& noise = {}) {
    Invariance found;
    if (testInvariance(q, {}, found, noise) != Outcome::Done) throw std::logic_error("stopped");
    return found;
}

bool about(double found, double wanted, double tolerance = 1e-12) {
    return std::abs(found - wanted) <= tolerance * std::max(1.0, std::abs(wanted));
}

}  // namespace

class TestRoutingInvariance : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void init() { counterpoint::tests::failOnAnyWarning(); }

    /// λ = (1/2, 1/4, 1/4): lists 01 02 10 12 20 21 have 1/4 1/4 1/6 1/12 1/6 1/12.
    void listsByHand() {
        const std::vector<double> scaled{std::log(2.0), 0, 0};
        const std::vector<int> counts{30, 25, 15, 12, 22, 16};
        const std::vector<std::pair<ExpertId, ExpertId>> pairs{{0, 1}, {0, 2}, {1, 0}, {1, 2}, {2, 0}, {2, 1}};
        const double share[] = {1.0 / 4, 1.0 / 4, 1.0 / 6, 1.0 / 12, 1.0 / 6, 1.0 / 12};
        std::vector<ExpertId> lists;
        double chi = 0;
        for (std::size_t i = 0; i < 6; ++i) {
            chi += std::pow(counts[i] - 120 * share[i], 2) / (120 * share[i]);
            for (int n = 0; n < counts[i]; ++n) lists.insert(lists.end(), {pairs[i].first, pairs[i].second});
        }
        ChiSquare test = plackettLuceTest(lists, 2, scaled);
        QVERIFY(about(test.statistic, chi));
        QCOMPARE(test.degrees, 5);
        QVERIFY(about(test.pValue, cdf(complement(boost::math::chi_squared(5), chi))));
        // Three places: only the first two are read.
        std::vector<ExpertId> longer;
        for (std::size_t i = 0; i < lists.size(); i += 2)
            longer.insert(longer.end(), {lists[i], lists[i + 1], 3 - lists[i] - lists[i + 1]});
        QCOMPARE(plackettLuceTest(longer, 3, scaled).statistic, test.statistic);
        // One place: 1/2, 1/4, 1/4.
        std::vector<ExpertId> firsts;
        for (std::size_t i = 0; i < lists.size(); i += 2) firsts.push_back(lists[i]);
        test = plackettLuceTest(firsts, 1, scaled);
        QVERIFY(about(test.statistic, 25.0 / 60 + 9.0 / 30 + 64.0 / 30));
        QCOMPARE(test.degrees, 2);
    }

    void smallCellsArePooled() {
        const std::vector<double> scaled{std::log(80.0), std::log(10.0), std::log(4.0), std::log(4.0), std::log(2.0)};
        std::vector<ExpertId> firsts(100, 0);
        for (int i = 0; i < 11; ++i) firsts[std::size_t(i)] = 1;
        for (int i = 11; i < 24; ++i) firsts[std::size_t(i)] = static_cast<ExpertId>(2 + i % 3);
        const ChiSquare test = plackettLuceTest(firsts, 1, scaled);  // 80, 10, and 4 + 4 + 2 pooled
        QVERIFY(about(test.statistic, 16.0 / 80 + 1.0 / 10 + 9.0 / 10));
        QCOMPARE(test.degrees, 2);
        // A pool that is itself too small takes the next cell.
        const ChiSquare two = plackettLuceTest(std::vector<ExpertId>(50, 0), 1,
                                               std::vector<double>{std::log(84.0), std::log(14.0), std::log(2.0)});
        QCOMPARE(two.degrees, 1);
        QVERIFY(about(two.statistic, 64.0 / 42 + 64.0 / 8));
        QCOMPARE(plackettLuceTest(std::vector<ExpertId>(50, 0), 1, std::vector<double>{0.0}).degrees, 0);
        const double off = -std::numeric_limits<double>::infinity();
        QCOMPARE(plackettLuceTest(std::vector<ExpertId>(50, 1), 1, std::vector<double>{0.0, off}).pValue, 0.0);
    }

    void binomialByHand() {
        QVERIFY(about(binomialPValue(1, 4, 0.5), 2 * 5.0 / 16));
        QVERIFY(about(binomialPValue(4, 4, 0.5), 2.0 / 16));
        QVERIFY(about(binomialPValue(0, 3, 0.1), 1.0));
        QVERIFY(about(binomialPValue(3, 3, 0.1), 2e-3));
        QVERIFY(binomialPValue(0, 9, 0) == 1 && binomialPValue(1, 9, 0) == 0);
        QVERIFY(binomialPValue(9, 9, 1) == 1 && binomialPValue(8, 9, 1) == 0);
        QVERIFY(about(normalPValue(1.959963984540054), 0.05) && about(normalPValue(-1.959963984540054), 0.05));
    }

    void holmByHand() {
        std::vector<double> p{0.01, 0.04, 0.03, 0.005, 0.9};
        correctByHolm(p);
        const double wanted[] = {0.04, 0.09, 0.09, 0.025, 0.9};
        for (std::size_t i = 0; i < p.size(); ++i) QVERIFY(about(p[i], wanted[i]));
    }

    void kolmogorovByHand() {
        // F(x) = 0.1, 0.2, 0.9: the distance is 2/3 − 0.2.
        std::vector<double> x;
        for (const double f : {0.9, 0.1, 0.2}) x.push_back(-std::log(-std::log(f)));
        QVERIFY(about(gumbelTest(x).distance, 2.0 / 3 - 0.2));
        // Quantiles (i + ½)/n + 0.0136 of n = 10,000: λ = 1.36 is the 5 % point.
        x.clear();
        for (int i = 0; i < 9700; ++i) x.push_back(-std::log(-std::log((i + 0.5) / 10'000 + 0.013535)));
        for (int i = 9700; i < 10'000; ++i) x.push_back(-std::log(-std::log((i + 0.5) / 10'000)));
        const KolmogorovSmirnov test = gumbelTest(x);
        QVERIFY(about(test.distance, 0.013585, 1e-9));
        QVERIFY2(std::abs(test.pValue - 0.0494) < 1e-3, qPrintable(QString::number(test.pValue)));
    }

    void nominalRate_data() {
        QTest::addColumn<double>("rho");
        QTest::addColumn<double>("alpha");
        for (const auto& [rho, alpha] : {std::pair{0.0, 0.0}, {0.5, 0.0}, {0.5, 0.5}, {0.95, 1.0}, {1.0, 1.0}})
            QTest::addRow("%g %g", rho, alpha) << rho << alpha;
    }
    /// 1,000 panels of 500 draws: each row is under 5 % as often as it says, and not oftener where counts are whole
    /// numbers.
    void nominalRate() {
        QFETCH(double, rho);
        QFETCH(double, alpha);
        constexpr int n = 1000;
        const auto logits = rowsOf(kSlope, 16);
        InvarianceQuestion q = questionOf(logits, rho, alpha, 500);
        int rejected[4] = {}, verdicts = 0;
        double chi = 0;
        for (int i = 0; i < n; ++i) {
            q.seed = static_cast<std::uint64_t>(1000 + i);
            const Invariance panel = panelOf(q);
            for (std::size_t row = 0; row < 4; ++row) rejected[row] += panel.rows[row].pValue < 0.05;
            verdicts += !holds(panel);
            chi += panel.rows[0].statistic / n;
        }
        const double spread = 4 * std::sqrt(n * 0.05 * 0.95);
        const QString told = QStringLiteral("%1 %2 %3 %4, verdicts %5, mean %6")
                                 .arg(rejected[0])
                                 .arg(rejected[1])
                                 .arg(rejected[2])
                                 .arg(rejected[3])
                                 .arg(verdicts)
                                 .arg(chi);
        QVERIFY2(std::abs(rejected[0] - 50) < spread && std::abs(rejected[3] - 50) < spread, qPrintable(told));
        QVERIFY2(rejected[1] < 50 + spread && rejected[2] < 50 + spread && verdicts < 50 + spread, qPrintable(told));
        QVERIFY2(rejected[1] > 5 && rejected[2] > 5 && verdicts > 5, qPrintable(told));
    }

    void rejectsFaults_data() {
        QTest::addColumn<int>("fault");
        QTest::newRow("no square roots") << 0;
        QTest::newRow("one zeta for all experts") << 1;
        QTest::newRow("no Phi") << 2;
    }
    /// At ρ = 0.5; the same noise without the fault is accepted.
    void rejectsFaults() {
        QFETCH(int, fault);
        const auto logits = rowsOf(kSlope, 16);
        const InvarianceQuestion q = questionOf(logits, 0.5, 0.0, 20'000);
        const auto noise = [&](bool faulty) {
            return panelOf(q, [&q, fault, faulty](std::uint32_t draw, Position t, std::span<double> gamma) {
                std::vector<double> zeta(gamma.size());
                copulaNormals({q.seed, NormalKind::Zeta, draw, q.layer, 4}, zeta);
                copulaNormals({q.seed, NormalKind::Epsilon, draw, q.layer, static_cast<std::uint32_t>(t)}, gamma);
                if (faulty && fault == 1) std::fill(zeta.begin(), zeta.end(), zeta[0]);
                const double part = faulty && fault == 0 ? 0.5 : std::sqrt(0.5);
                for (std::size_t e = 0; e < gamma.size(); ++e) gamma[e] = part * zeta[e] + part * gamma[e];
                if (!faulty || fault != 2) gumbelsOfNormals(gamma);
            });
        };
        const Invariance correct = noise(false), planted = noise(true);
        QVERIFY(holds(correct) && !holds(planted));
        QVERIFY2(planted.rows[0].statistic > 250 && planted.rows[0].pValue < 1e-12,
                 qPrintable(QString::number(planted.rows[0].statistic)));
        QVERIFY(planted.rows[1].pValue < 1e-9);
        QVERIFY(planted.rows[2].pValue < 1e-9);
        if (fault != 1) QVERIFY(planted.rows[3].pValue < 1e-9);  // one ζ for all leaves each γ Gumbel
    }

    /// Many positions with logits of their own, of every place in a group; temperature, biases, weights that do not sum
    /// to 1.
    void manyPositions() {
        std::mt19937 gen(4);
        std::normal_distribution<float> normal(0, 1.5f);
        std::vector<float> logits(16 * 5);
        for (float& x : logits) x = normal(gen);
        InvarianceQuestion q = questionOf(logits, 0.8, 0.7, 2000);
        q.law = {.chosen = 3, .normTopkProb = false, .temperature = 1.3, .bias = {0, 0.5, 0, 0, -INFINITY}};
        q.positions = {0, 3, 4, 5, 7, 8, 12, 15};
        const Invariance panel = panelOf(q);
        QVERIFY(holds(panel));
        QCOMPARE(panel.rows.size(), std::size_t{4});
        QVERIFY(panel.rows[0].kind == InvarianceKind::Lists && panel.rows[0].tests == 8);
        QVERIFY(panel.rows[1].kind == InvarianceKind::Inclusion && panel.rows[1].tests == 40);
        QVERIFY(panel.rows[2].kind == InvarianceKind::Weights && panel.rows[2].tests <= 32);
        QVERIFY(panel.rows[3].kind == InvarianceKind::Gumbel && panel.rows[3].tests == 1);
        // One position whose noise is wrong is found among them, and named.
        const NoiseOfDraw faulty = [&](std::uint32_t draw, Position t, std::span<double> gamma) {
            GroupMemory memory;
            routingNoise({q.seed, draw, q.layer}, placementAt(q.coupling, t), t, memory, gamma);
            if (t == 8) gamma[1] += 0.5;
        };
        const Invariance wrong = panelOf(q, faulty);
        QVERIFY(!holds(wrong));
        for (std::size_t row = 0; row < 3; ++row) QCOMPARE(wrong.rows[row].position, 8);
        QVERIFY(wrong.rows[3].pValue > 0.01);
        QVERIFY(wrong.rows[1].expert == 1 && wrong.rows[1].statistic > 5);
        // Its χ² is that of its own logits, its lists made one by one.
        std::vector<ExpertId> lists;
        std::vector<double> gamma(5), scaled(5);
        RouteMemory memory;
        Routed routed;
        for (std::uint32_t draw = 1; draw <= 2000; ++draw) {
            faulty(draw, 8, gamma);
            route(q.law, q.logits.subspan(40, 5), gamma, {2, 8}, memory, routed);
            lists.insert(lists.end(), routed.experts.begin(), routed.experts.end());
        }
        routingScores(q.law, memory.biased, {}, scaled);
        QCOMPARE(wrong.rows[0].statistic, plackettLuceTest(lists, 3, scaled).statistic);
    }

    void nothingToTest() {
        const std::vector<float> one{0.5f, 0.1f};
        InvarianceQuestion q = questionOf(one, 0.5, 0.5, 100);
        q.experts = 1;
        q.law.chosen = 1;
        q.positions = {0, 1};
        const Invariance panel = panelOf(q);
        QVERIFY(holds(panel) && panel.rows[0].degrees == 0 && panel.rows[0].pValue == 1 && panel.rows[2].pValue == 1);
    }

    void refusalsAndStop() {
        const auto logits = rowsOf(kSlope, 16);
        const auto refusal = [&](auto change) {
            InvarianceQuestion q = questionOf(logits, 0.5, 0.5, 100);
            change(q);
            try {
                (void)panelOf(q);
            } catch (const Error& e) {
                return e.sentence();
            }
            return std::string("nothing was refused");
        };
        QCOMPARE(
            refusal([](auto& q) { q.positions = {16}; }),
            std::string("routing, \"positions\": the position lies outside the text (expected 0 to 15, found 16)."));
        QCOMPARE(refusal([](auto& q) { q.positions = {}; }),
                 std::string("routing, \"positions\": a test needs a position (expected one or more, found none)."));
        QCOMPARE(refusal([](auto& q) { q.draws = 0; }),
                 std::string("routing, \"draws\": a test needs draws (expected 1 or more, found 0)."));
        QCOMPARE(refusal([](auto& q) { q.coupling.rho = 2; }),
                 std::string("routing, \"rho\": the value is outside its bounds (expected 0 to 1, found 2)."));
        QCOMPARE(refusal([](auto& q) { q.law.chosen = 6; }),
                 std::string("routing, \"experts_per_token\": a position chooses among the experts that there are "
                             "(expected 1 to 5, found 6)."));
        std::stop_source stop;
        stop.request_stop();
        Invariance found;
        QVERIFY(testInvariance(questionOf(logits, 0.5, 0.5, 100), stop.get_token(), found) == Outcome::Cancelled);
        QVERIFY(found.rows.empty());
    }
};

QTEST_GUILESS_MAIN(TestRoutingInvariance)
#include "tst_routinginvariance.moc"
