// R14: estimates within 4 standard errors of golden/copula_statistics.json, of the reference table of PAPERS.md 5.4 and
// of closed forms; what independent noise and flat coupling give beside. Fixed seeds.
#include <fstream>
#include <nlohmann/json.hpp>

#include "compute/routing/inclusion.h"
#include "tests/support/routing.h"

using namespace counterpoint::compute;
using namespace counterpoint::tests;

class TestRoutingStatistics : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void init() { failOnAnyWarning(); }

    void golden_data() {
        QTest::addColumn<int>("at");
        for (int i = 0; i < 7; ++i) QTest::addRow("case %d", i) << i;
    }
    void golden() {
        REQUIRE_SHARED("golden/copula_statistics.json");
        QFETCH(int, at);
        std::ifstream in(counterpoint::tests::shared("golden/copula_statistics.json"));
        const auto row = nlohmann::json::parse(in)["cases"][static_cast<std::size_t>(at)];
        std::vector<float> logits;
        for (const auto& position : row["router_logits"])
            for (const double x : position) logits.push_back(static_cast<float>(x));
        const std::size_t E = row["E"];
        EstimateQuestion q = questionOf(logits, E, row["K"], row["window"], row["rho"], row["alpha"], 4000);
        q.coupling.pairs.emplace();
        for (const auto& pair : row["pairs"]) q.coupling.pairs->push_back({pair[0], pair[1]});
        const Estimates all = lastOf(q);
        const MetricEstimates& m = all.layers[0].metrics;
        const auto check = [&](const char* what, const Estimate& found) {
            const double mean = row[what][0], error = row[what][1];
            QVERIFY2(within(found, mean, error), qPrintable(told(what, found, mean, error)));
        };
        check("within_jaccard", m.coherence);
        check("boundary_jaccard", m.boundary);
        check("distinct_per_group", m.distinct);
        check("load_variance_sum", m.loadVariance);
        const IndependentForm form = independentForm(q.layers[0].law, logits, E, 3, 2);
        for (std::size_t e = 0; e < E; ++e) {
            const double wanted = row["expected_load"][e];
            QVERIFY2(within(all.layers[0].load[e], wanted, 0),
                     qPrintable(told("load", all.layers[0].load[e], wanted, 0)));
            QVERIFY(std::abs(form.load[e] - wanted) < 2e-5 * row["T"].get<double>());
        }
        QVERIFY(std::abs(form.loadVariance - row["independent_load_variance_sum"].get<double>()) < 1e-3);
        for (std::size_t i = 0; i < form.inclusion.size(); ++i) {
            const double p = form.inclusion[i];
            QVERIFY(std::abs(all.layers[0].inclusion[i] - p) <= 4.9 * std::sqrt(p * (1 - p) / 4000) + 1e-3);
        }
    }

    /// PAPERS.md 5.4: E = 8, K = 2, two groups of 8; its last digits are of 400,000 draws.
    void referenceTable_data() {
        QTest::addColumn<bool>("sloped");
        QTest::addColumn<double>("rho");
        QTest::addColumn<double>("alpha");
        QTest::addColumn<double>("coherence");
        QTest::addColumn<double>("distinct");
        QTest::addColumn<double>("boundary");
        QTest::addColumn<double>("variance");
        QTest::newRow("uniform, independent") << false << 0.0 << 0.0 << .1786 << 7.199 << .1786 << 24.0;
        QTest::newRow("uniform 0.25") << false << 0.25 << 0.0 << .2588 << 6.288 << .1786 << 46.1;
        QTest::newRow("uniform 0.5") << false << 0.5 << 0.0 << .3623 << 5.355 << .1786 << 71.9;
        QTest::newRow("uniform 0.75") << false << 0.75 << 0.0 << .5140 << 4.290 << .1786 << 105.0;
        QTest::newRow("uniform 0.9") << false << 0.9 << 0.0 << .6691 << 3.428 << .1786 << 134.8;
        QTest::newRow("uniform 1") << false << 1.0 << 0.0 << 1.0 << 2.0 << .1786 << 192.0;
        QTest::newRow("uniform 0.5 0.5") << false << 0.5 << 0.5 << .3623 << 5.355 << .1127 << 49.6;
        QTest::newRow("uniform 0.5 1") << false << 0.5 << 1.0 << .3623 << 5.355 << .0592 << 30.1;
        QTest::newRow("uniform 0.9 1") << false << 0.9 << 1.0 << .6691 << 3.428 << .0030 << 72.0;
        QTest::newRow("uniform 1 1") << false << 1.0 << 1.0 << 1.0 << 2.0 << 0.0 << 128.0;
        QTest::newRow("sloped, independent") << true << 0.0 << 0.0 << .3470 << 5.457 << .3465 << 17.63;
        QTest::newRow("sloped 0.5") << true << 0.5 << 0.0 << .4987 << 4.350 << .3466 << 51.1;
        QTest::newRow("sloped 0.5 1") << true << 0.5 << 1.0 << .4987 << 4.350 << .2460 << 22.2;
        QTest::newRow("sloped 0.9 1") << true << 0.9 << 1.0 << .7467 << 3.038 << .1851 << 50.0;
    }
    void referenceTable() {
        QFETCH(bool, sloped);
        QFETCH(double, rho);
        QFETCH(double, alpha);
        QFETCH(double, coherence);
        QFETCH(double, distinct);
        QFETCH(double, boundary);
        QFETCH(double, variance);
        std::vector<float> logits(16 * 8);
        for (std::size_t i = 0; i < logits.size(); ++i) logits[i] = sloped ? -0.5f * static_cast<float>(i % 8) : 0.0f;
        constexpr int D = 20'000;
        const MetricEstimates m = lastOf(questionOf(logits, 8, 2, 8, rho, alpha, D)).layers[0].metrics;
        // The table's own error: that of 400,000 draws, and half of its last digit.
        const auto check = [](const char* what, const Estimate& found, double wanted, double digit) {
            const double error = found.se * std::sqrt(D / 4e5);
            QVERIFY2(std::abs(found.mean - wanted) <= 4 * std::hypot(found.se, error) + digit,
                     qPrintable(told(what, found, wanted, error)));
        };
        check("coherence", m.coherence, coherence, 5e-5);
        check("distinct", m.distinct, distinct, 5e-4);
        check("boundary", m.boundary, boundary, 5e-5);
        check("load variance", m.loadVariance, variance, variance == 17.63 ? 5e-3 : 0.05);
    }

    /// PAPERS.md 5.4: uniform logits, α = 1, two groups of n.
    void smallGroups() {
        const auto variance = [](Position n, double rho) {
            const std::vector<float> logits(static_cast<std::size_t>(2 * n) * 8);
            return lastOf(questionOf(logits, 8, 2, n, rho, 1.0, 20'000)).layers[0].metrics.loadVariance;
        };
        for (const auto& [n, rho, wanted] : {std::tuple{1, 1.0, 2.0}, {2, 0.5, 5.10}, {3, 0.5, 8.25}, {2, 1.0, 8.0}}) {
            const Estimate v = variance(n, rho);
            QVERIFY2(std::abs(v.mean - wanted) <= 4 * v.se + 0.05, qPrintable(told("variance", v, wanted, 0)));
        }
    }

    /// Uniform logits, independent: E|S∩S'| = K²/E; Jaccard Σ_j Hyp(j) j/(2K − j); distinct E(1 − (1 − K/E)^n).
    void closedFormsOfUniformLogits() {
        const std::vector<float> logits(40 * 12);
        const MetricEstimates m = lastOf(questionOf(logits, 12, 3, 5, 0.0, 0.7, 4000)).layers[0].metrics;
        const auto choose = [](int n, int k) {
            return std::tgamma(n + 1) / std::tgamma(k + 1) / std::tgamma(n - k + 1);
        };
        double jaccard = 0;
        for (int j = 0; j <= 3; ++j) jaccard += choose(3, j) * choose(9, 3 - j) / choose(12, 3) * j / (6 - j);
        QVERIFY2(within(m.coherence, jaccard, 0), qPrintable(told("coherence", m.coherence, jaccard, 0)));
        QVERIFY(within(m.boundary, jaccard, 0) && within(m.boundaryPaired, jaccard, 0) &&
                within(m.boundaryUnpaired, jaccard, 0));
        QVERIFY(within(m.distinct, 12 * (1 - std::pow(0.75, 5)), 0));
        QVERIFY(within(m.loadVariance, 40 * 12 * 0.25 * 0.75, 0));
    }

    /// Independent and flat: the same law a token, so the same loads; coherence and variance as Prop. 1 orders them.
    void settingsBeside() {
        const auto logits = someLogits(64 * 8);
        EstimateQuestion q = questionOf(logits, 8, 2, 8, 0.7, 0.8, 2000);
        q.coupling.rhoOfGroup = {0.9};
        q.coupling.alphaOfPair = {0.9};
        const Estimates coupled = lastOf(q);
        q.coupling = flatOf(q.coupling);
        const Estimates flat = lastOf(q);
        q.coupling = independentOf(q.coupling);
        const Estimates independent = lastOf(q);
        const IndependentForm form = independentForm(q.layers[0].law, logits, 8, 3, 1);
        for (std::size_t e = 0; e < 8; ++e)
            for (const Estimates* each : {&coupled, &flat, &independent})
                QVERIFY(within(each->layers[0].load[e], form.load[e], 0));
        QVERIFY(within(independent.pooled.loadVariance, form.loadVariance, 0));
        QVERIFY(independent.pooled.loadVariance.mean < coupled.pooled.loadVariance.mean);
        QVERIFY(coupled.pooled.loadVariance.mean < flat.pooled.loadVariance.mean);
        QVERIFY(within(coupled.pooled.coherence, flat.pooled.coherence.mean, flat.pooled.coherence.se));
        QVERIFY(coupled.pooled.boundaryPaired.mean + 0.02 < flat.pooled.boundaryPaired.mean);
        QVERIFY(within(coupled.pooled.boundaryUnpaired, independent.pooled.boundaryUnpaired.mean,
                       independent.pooled.boundaryUnpaired.se));
        QVERIFY(flat.pooled.coherence.mean > independent.pooled.coherence.mean + 0.1);
    }
};

QTEST_GUILESS_MAIN(TestRoutingStatistics)
#include "tst_routingstatistics.moc"
