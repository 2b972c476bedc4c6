// A prior from examples: candidates against a plain dense computation, confidence and quality against known values.
#include <cmath>
#include <map>
#include <random>
#include <set>

#include "compute/error.h"
#include "compute/priors/examples.h"
#include "tests/support/fixture.h"

using namespace counterpoint::compute;
using namespace counterpoint::tests;

namespace {

std::vector<Example> randomExamples(std::mt19937_64& random) {
    std::vector<Example> out;
    const int V = 3 + int(random() % 30);
    for (std::size_t n = 4 + random() % 12; n > 0; --n) {
        Example example;
        example.preferred = n % 2 == 0;
        example.weight = random() % 3 == 0 ? 0.25 + double(random() % 8) / 4 : 1;
        for (std::size_t t = 1 + random() % 40; t > 0; --t)
            example.ids.push_back(TokenId(random() % std::size_t(example.preferred ? V : V / 2 + 1)));
        out.push_back(example);
    }
    return out;
}

/// The header's equations over all ids, written as they stand.
std::map<TokenId, Candidate> plain(const std::vector<Example>& examples, double strength) {
    std::map<TokenId, Candidate> all;
    double n[2] = {0, 0};
    for (const Example& e : examples) {
        for (TokenId v : e.ids) {
            all[v].token = v;
            n[e.preferred] += e.weight;
        }
    }
    if (strength == 0) strength = n[0] + n[1];
    for (auto& [v, c] : all) {
        double y[2] = {0, 0};
        for (const Example& e : examples) {
            const auto times = std::count(e.ids.begin(), e.ids.end(), v);
            y[e.preferred] += double(times) * e.weight;
            if (times > 0) ++(e.preferred ? c.textsPreferred : c.textsOther);
        }
        c.countOther = y[0];
        c.countPreferred = y[1];
        const double a = strength * (y[0] + y[1]) / (n[0] + n[1]);
        const auto odds = [&](int side) { return (y[side] + a) / (n[side] + strength - y[side] - a); };
        c.logOdds = std::log(odds(1) / odds(0));
        c.z = c.logOdds / std::sqrt(1 / (y[1] + a) + 1 / (y[0] + a));
    }
    return all;
}

Example example(std::vector<TokenId> ids, bool preferred, double weight = 1) {
    return {std::move(ids), preferred, weight};
}

}  // namespace

class TestExamples : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void init() { failOnAnyWarning(); }

    void candidatesAgainstThePlainFormula() {
        std::mt19937_64 random(11);
        for (int n = 0; n < 200; ++n) {
            const auto examples = randomExamples(random);
            const double strength = n % 3 == 0 ? 0 : n % 3 == 1 ? 0.5 : 40;
            const auto got = candidates(examples, strength);
            const auto wanted = plain(examples, strength);
            QCOMPARE(got.size(), wanted.size());
            const auto close = [](double a, double b) { return std::abs(a - b) <= 1e-11 * (1 + std::abs(b)); };
            for (std::size_t i = 0; i < got.size(); ++i) {
                const Candidate& w = wanted.at(got[i].token);
                QVERIFY(close(got[i].logOdds, w.logOdds) && close(got[i].z, w.z));
                QVERIFY(close(got[i].countPreferred, w.countPreferred) && close(got[i].countOther, w.countOther));
                QCOMPARE(got[i].textsPreferred, w.textsPreferred);
                QCOMPARE(got[i].textsOther, w.textsOther);
                if (i == 0) continue;
                const double before = std::abs(got[i - 1].z), here = std::abs(got[i].z);
                QVERIFY(before > here || (before == here && got[i - 1].token < got[i].token));
            }
        }
    }

    // By hand: 5 is in the preferred texts alone, 6 in the others, 7 in both alike. a₀ = 8, so a = y.
    void candidatesByHand() {
        const std::vector<Example> examples{example({5, 7, 5, 7}, true), example({6, 7, 6, 7}, false)};
        const auto got = candidates(examples);
        QCOMPARE(got.size(), std::size_t(3));
        QCOMPARE(got[0].token, TokenId(5));  // |z| ties with 6: id ascending
        QCOMPARE(got[1].token, TokenId(6));
        const double logOdds = std::log(4.0 / 8) - std::log(2.0 / 10);
        QCOMPARE(got[0].logOdds, logOdds);
        QCOMPARE(got[0].z, logOdds / std::sqrt(1.0 / 4 + 1.0 / 2));
        QCOMPARE(got[1].z, -got[0].z);
        QCOMPARE(got[2].z, 0.0);
    }

    void oneTokenEverywhereSaysNothing() {
        const std::vector<Example> examples{example({3, 3}, true), example({3}, false)};
        const auto got = candidates(examples);
        QCOMPARE(got.size(), std::size_t(1));
        QVERIFY(got[0].logOdds == 0 && got[0].z == 0);
    }

    void emptySets_data() {
        QTest::addColumn<int>("which");
        QTest::addColumn<QString>("said");
        QTest::newRow("no example") << 0 << "in the preferred";
        QTest::newRow("only preferred") << 1 << "not preferred";
        QTest::newRow("only others") << 2 << "in the preferred";
        QTest::newRow("others without a token") << 3 << "not preferred";
        QTest::newRow("others without weight") << 4 << "not preferred";
        QTest::newRow("negative weight") << 5 << "no weight";
        QTest::newRow("weight that is no number") << 6 << "no weight";
    }
    void emptySets() {
        QFETCH(int, which);
        QFETCH(QString, said);
        const std::vector<std::vector<Example>> all{
            {},
            {example({1, 2}, true)},
            {example({1, 2}, false)},
            {example({1}, true), example({}, false)},
            {example({1}, true), example({1}, false, 0)},
            {example({1}, true), example({1}, false, -1)},
            {example({1}, true), example({1}, false, std::nan(""))},
        };
        try {
            candidates(all[std::size_t(which)]);
            QFAIL("nothing was thrown");
        } catch (const Error& error) {
            QVERIFY2(QString::fromStdString(error.sentence()).contains(said), error.what());
        }
    }

    // 5 stands in three of four preferred texts (by weight 4 of 5), 6 in one of two others.
    void confidence() {
        const std::vector<Example> examples{example({5, 5, 9}, true), example({5}, true, 2),  example({9}, true),
                                            example({5, 6, 8}, true), example({6, 6}, false), example({5, 9}, false)};
        Candidate five, six;
        five.token = 5;
        five.logOdds = 1;
        six.token = 6;
        six.logOdds = -1;
        QCOMPARE(confidenceOf(std::vector{five}, examples), 0.8);
        QCOMPARE(confidenceOf(std::vector{six}, examples), 0.5);
        QCOMPARE(confidenceOf(std::vector{five, six}, examples), 0.65);
        QCOMPARE(confidenceOf({}, examples), 0.0);
    }

    void consistencyOfWhatIsChosen() {
        std::mt19937_64 random(12);
        for (int n = 0; n < 100; ++n) {
            const auto examples = randomExamples(random);
            const auto all = candidates(examples);
            const double c = confidenceOf(std::span(all).first(1), examples);
            QVERIFY(c >= 0 && c <= 1);
        }
    }

    // Against the definition: log-softmax with the push less log-softmax without it, in float64.
    void whatAPriorMoves() {
        std::mt19937_64 random(5);
        std::uniform_real_distribution<double> uniform(-1, 1);
        for (int n = 0; n < 200; ++n) {
            const std::size_t V = 5 + random() % 40;
            std::vector<double> logits(V), push(V);
            for (double& x : logits) x = 4 * uniform(random);
            if (n % 4 == 0) logits[0] = -INFINITY;
            double z = 0, zPushed = 0;
            for (double x : logits) z += std::exp(x);
            std::vector<float> row(V);
            for (std::size_t v = 0; v < V; ++v) row[v] = float(logits[v] - std::log(z));
            std::vector<TokenId> tokens;
            std::vector<double> delta;
            const double eta = n % 3 == 0 ? 1 : 2.5, size = n % 5 == 0 ? 1e-4 : 2;
            for (std::size_t v = 0; v < V; v += 1 + random() % 4) {
                tokens.push_back(TokenId(v));
                delta.push_back(size * uniform(random));
                push[v] = eta * delta.back();
            }
            tokens.push_back(TokenId(V));  // of no row
            delta.push_back(3);
            for (std::size_t v = 0; v < V; ++v) zPushed += std::exp(double(row[v]) + push[v]);
            const double mass = [&] {
                double sum = 0;
                for (float x : row) sum += std::exp(double(x));
                return sum;
            }();
            for (std::size_t v = 0; v < V; ++v) {
                const double wanted = std::isinf(row[v]) ? 0 : push[v] - std::log(zPushed / mass);
                const double got = movedBy({"p", eta, tokens, delta}, row, TokenId(v));
                QVERIFY2(std::abs(got - wanted) < 5e-7, qPrintable(QString("%1 %2").arg(got).arg(wanted)));
            }
            QCOMPARE(movedBy({"p", eta, tokens, delta}, row, TokenId(V)), 0.0);
            QCOMPARE(movedBy({"p", eta, tokens, delta}, row, kNoToken), 0.0);
        }
        const std::vector<float> half{float(std::log(0.5)), float(std::log(0.5))};
        const std::vector<TokenId> first{0};
        for (const double huge : {590.0, 610.0, 1e5, 1e30}) {
            const std::vector<double> delta{huge};
            QVERIFY(std::abs(movedBy({"p", 1, first, delta}, half, 0) - std::log(2.0)) < 1e-6);
            QVERIFY(std::abs(movedBy({"p", 1, first, delta}, half, 1) / (std::log(2.0) - huge) - 1) < 1e-9);
        }
    }

    // Central 95 % of Beta(1 + s, 1 + n − s). Closed forms where one parameter is 1: x^a, 1 − (1−x)^b.
    void qualityPosterior() {
        const Quality none = qualityFrom(0, 0);
        QCOMPARE(none.mean, 0.5);
        QCOMPARE(none.low, 0.025);
        QCOMPARE(none.high, 0.975);
        const Quality always = qualityFrom(9, 9);
        QCOMPARE(always.mean, 10.0 / 11);
        QCOMPARE(always.low, std::pow(0.025, 0.1));
        QCOMPARE(always.high, std::pow(0.975, 0.1));
        const Quality never = qualityFrom(0, 9);
        QCOMPARE(never.low, 1 - std::pow(0.975, 0.1));
        QCOMPARE(never.high, 1 - std::pow(0.025, 0.1));
        // Roots of the regularised incomplete beta function, by mpmath with 25 digits.
        const Quality some = qualityFrom(7, 10);
        QCOMPARE(some.mean, 8.0 / 12);
        QVERIFY(std::abs(some.low - 0.3902574404275787617) < 1e-12);
        QVERIFY(std::abs(some.high - 0.8907365561809018982) < 1e-12);
        QVERIFY(some.right == 7 && some.seen == 10);
    }

    void qualityWithinBounds() {
        const Quality more = qualityFrom(12, 10), less = qualityFrom(-3, 10), negative = qualityFrom(1, -1);
        QCOMPARE(more.mean, 11.0 / 12);
        QCOMPARE(less.mean, 1.0 / 12);
        QCOMPARE(negative.mean, 0.5);
    }
};

QTEST_GUILESS_MAIN(TestExamples)
#include "tst_examples.moc"
