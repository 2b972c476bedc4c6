// R1: a source's logits divided by its own temperature, then their log-softmax; what no softmax can be made of is
// refused by the source's name and the position.

#include <cmath>
#include <limits>
#include <random>

#include "compute/composition/compose.h"
#include "compute/error.h"
#include "tests/support/fixture.h"

using namespace counterpoint::compute;
using namespace counterpoint::tests;

namespace {

constexpr float kOut = -std::numeric_limits<float>::infinity();

std::vector<float> softmaxOf(const std::vector<float>& logits, double temperature) {
    std::vector<float> out(logits.size());
    logSoftmax(logits, temperature, out, "math", 7);
    return out;
}

std::vector<float> randomLogits(unsigned seed, std::size_t n = 700) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> uniform(-9, 9);
    std::vector<float> logits(n);
    for (float& x : logits) x = uniform(random);
    return logits;
}

}  // namespace

class TestSoftmax : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void init() { failOnAnyWarning(); }

    void againstTheFormula_data() {
        QTest::addColumn<double>("temperature");
        for (const double t : {0.25, 0.7, 1.0, 3.0, 40.0}) QTest::newRow(qPrintable(QString::number(t))) << t;
    }
    void againstTheFormula() {
        QFETCH(double, temperature);
        std::vector<float> logits = randomLogits(1);
        logits[3] = logits[699] = kOut;
        long double mass = 0;
        for (const float x : logits) mass += std::exp(static_cast<long double>(x) / temperature);
        const std::vector<float> row = softmaxOf(logits, temperature);
        for (std::size_t v = 0; v < row.size(); ++v) {
            const auto wanted = static_cast<double>(static_cast<long double>(logits[v]) / temperature - std::log(mass));
            if (logits[v] == kOut)
                QCOMPARE(row[v], kOut);
            else
                QVERIFY2(std::abs(row[v] - wanted) <= 2e-6 + 2e-7 * std::abs(wanted),
                         qPrintable(QString("id %1: %2, wanted %3").arg(v).arg(row[v]).arg(wanted)));
        }
    }

    /// A recording of log-probabilities recomposes bit for bit.
    void whatIsNormalisedStays() {
        bool rounded = false;
        for (unsigned seed = 0; seed < 50; ++seed) {
            const std::vector<float> row = softmaxOf(randomLogits(seed), 1);
            QVERIFY(softmaxOf(row, 1) == row);
            double mass = 0;
            for (const float x : row) mass += std::exp(static_cast<double>(x));
            for (const float x : row) rounded |= static_cast<float>(x - std::log(mass)) != x;
        }
        QVERIFY(rounded);  // normalising once more would not have kept all of them
    }

    void refusals_data() {
        QTest::addColumn<std::vector<float>>("logits");
        QTest::addColumn<double>("temperature");
        QTest::addColumn<QString>("says");
        const auto row = [](const char* name, std::vector<float> logits, double temperature, const char* says) {
            QTest::newRow(name) << std::move(logits) << temperature << QString::fromUtf8(says);
        };
        row("temperature 0", {1, 2, 3}, 0, "temperature must be above 0");
        row("temperature below 0", {1, 2, 3}, -1, "temperature must be above 0");
        row("temperature NaN", {1, 2, 3}, std::nan(""), "temperature must be above 0");
        row("too cold for float32", {1, 2, 3}, 1e-300, "raise the source's temperature");
        row("a narrow row", {1, 2}, 1, "fewer logits");
        row("NaN", {1, std::nanf(""), 3}, 1, "not a number");
        row("+infinity", {1, INFINITY, 3}, 1, "not a number or +infinity");
        row("nothing left", {kOut, kOut, kOut}, 1, "no token is left");
    }
    void refusals() {
        QFETCH(std::vector<float>, logits);
        QFETCH(double, temperature);
        QFETCH(QString, says);
        std::vector<float> out(3);
        try {
            logSoftmax(logits, temperature, out, "math", 7);
            QFAIL("nothing was refused");
        } catch (const Error& error) {
            const QString sentence = QString::fromUtf8(error.what());
            QVERIFY2(sentence.contains(says) && sentence.contains("'math', position 7"), qPrintable(sentence));
        }
    }
};

QTEST_GUILESS_MAIN(TestSoftmax)
#include "tst_softmax.moc"
