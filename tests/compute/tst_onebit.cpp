// R9: one bit a token against golden/priors.json, and what it costs against the dense definition and the two bounds.
#include <cmath>
#include <fstream>
#include <random>

#include "compute/files/json.h"
#include "compute/priors/onebit.h"
#include "tests/support/fixture.h"
#include "tests/support/rows.h"

using namespace counterpoint::compute;
using namespace counterpoint::tests;

namespace {

struct Case {
    struct One {
        double eta;
        std::vector<TokenId> tokens;
        std::vector<double> delta;
    };
    std::vector<One> priors;
    double temperature = 1;
    std::vector<double> base;  ///< log-probabilities [V]

    std::vector<PriorTerm> terms() const {
        std::vector<PriorTerm> out;
        for (const One& one : priors) {
            PriorTerm term;
            term.name = "one";
            term.eta = one.eta;
            term.tokens = one.tokens;
            term.delta = one.delta;
            out.push_back(term);
        }
        return out;
    }
    double tau() const { return temperature == 0 ? 1 : temperature; }
    /// Stage temperature, dense: with the deltas as they are, or each by its sign and the mean of its magnitudes.
    std::vector<double> law(bool oneBitOnly) const {
        std::vector<double> score = base;
        for (const One& one : priors) {
            double mean = 0;
            for (double x : one.delta) mean += std::abs(x);
            mean /= double(one.delta.size());
            for (std::size_t i = 0; i < one.delta.size(); ++i)
                score[std::size_t(one.tokens[i])] +=
                    one.eta * (oneBitOnly ? std::copysign(mean, one.delta[i]) : one.delta[i]);
        }
        for (double& x : score) x /= tau();
        return logSoftmaxRow(score);
    }
    OneBitDrift drift() const {
        const auto exact = law(false);
        const auto all = terms();
        return oneBitDrift<double>(all, temperature, exact);
    }
};

struct Dense {
    double kl = 0, normBound = 0, rangeBound = 0;
};
/// KL and bounds by their definitions over the whole vocabulary, d from the two laws up to its constant.
Dense dense(const Case& c) {
    const auto p = c.law(false), q = c.law(true);
    std::vector<double> d(p.size(), 0.0);
    for (const auto& one : c.priors) {
        double mean = 0;
        for (double x : one.delta) mean += std::abs(x) / double(one.delta.size());
        for (std::size_t i = 0; i < one.delta.size(); ++i)
            d[std::size_t(one.tokens[i])] += one.eta / c.tau() * (one.delta[i] - std::copysign(mean, one.delta[i]));
    }
    Dense out;
    for (std::size_t v = 0; v < p.size(); ++v)
        if (std::isfinite(p[v])) out.kl += std::exp(p[v]) * (p[v] - q[v]);
    for (double x : d) out.normBound += x * x / 4;
    const auto [low, high] = std::minmax_element(d.begin(), d.end());
    out.rangeBound = (*high - *low) * (*high - *low) / 8;
    return out;
}

Case randomCase(std::mt19937_64& random, double scale) {
    std::normal_distribution<double> normal;
    Case c;
    const auto V = 2 + random() % 40;
    std::vector<double> logits(V);
    const double width = 0.1 + 4 * double(random() % 100) / 100;
    for (double& x : logits) x = width * normal(random);
    if (random() % 4 == 0) logits[random() % V] = -INFINITY;
    c.base = logSoftmaxRow(logits);
    constexpr double temperatures[] = {0, 0.05, 0.3, 0.7, 1, 1.7};
    c.temperature = temperatures[random() % std::size(temperatures)];
    for (std::size_t m = 1 + random() % 3; m > 0; --m) {
        Case::One one;
        one.eta = double(random() % 1000) / 300 - (random() % 5 == 0 ? 2 : 0);
        std::vector<TokenId> ids(V);
        for (std::size_t v = 0; v < V; ++v) ids[v] = TokenId(v);
        std::shuffle(ids.begin(), ids.end(), random);
        ids.resize(1 + random() % V);
        std::sort(ids.begin(), ids.end());
        one.tokens = ids;
        for (std::size_t i = 0; i < ids.size(); ++i) {
            const double x = scale * normal(random);
            one.delta.push_back(x == 0 ? scale : x);
        }
        c.priors.push_back(one);
    }
    return c;
}

}  // namespace

class TestOneBit : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void init() { failOnAnyWarning(); }

    void golden() {
        REQUIRE_SHARED("golden/priors.json");
        std::ifstream in(shared("golden/priors.json"));
        const Json golden = Json::parse(in);
        const double tolerance = golden["tolerance"];
        std::vector<std::size_t> supports;
        for (const Json& row : golden["one_bit"]) {
            const std::vector<double> delta = row["delta"];
            const OneBit got = oneBit(delta);
            QVERIFY(std::abs(got.alpha - row["alpha"].get<double>()) <= tolerance);
            QCOMPARE(std::vector<int>(got.sign.begin(), got.sign.end()), row["sign"].get<std::vector<int>>());
            QVERIFY(std::abs(got.squaredError - row["l2_error"].get<double>()) <= tolerance);
            QVERIFY(std::abs(paperRatio(delta.size()) - row["paper_ratio"].get<double>()) <= tolerance);
            supports.push_back(delta.size());
        }
        double bits = 0, small = 0;
        for (std::size_t n : supports) bits += 32.0 * double(n), small += double(n) + 32;
        QCOMPARE(paperRatio(supports), bits / small);
    }

    // PAPERS.md's table of the formula; the seed's own supports end at 200.
    void paperRatios() {
        constexpr std::pair<std::size_t, double> rows[] = {{5, 4.324},    {20, 12.308},   {32, 16},
                                                           {50, 19.512},  {100, 24.242},  {200, 27.586},
                                                           {378, 29.502}, {32000, 31.968}};
        for (const auto& [n, ratio] : rows) QVERIFY(std::abs(paperRatio(n) - ratio) < 5e-4);
        QCOMPARE(paperRatio(std::size_t(0)), 0.0);
        QCOMPARE(paperRatio(std::vector<std::size_t>()), 0.0);
        QVERIFY(std::abs(paperRatio(std::vector<std::size_t>{5, 195}) - paperRatio(100)) < 1e-12);  // of the mean n
    }

    // Unequal promotion and demotion, n₊n₋/n (δ₊ − δ₋)²: 50 of 1 and 50 of −½.
    void unequalSides() {
        std::vector<double> delta(100, 1.0);
        std::fill(delta.begin() + 50, delta.end(), -0.5);
        const OneBit got = oneBit(delta);
        QCOMPARE(got.alpha, 0.75);
        QCOMPARE(got.squaredError, 6.25);
    }

    void equalMagnitudesAreLossless() {
        for (const double magnitude : {1.0, 0.1, 0.3, 1.0 / 3, 1e-9, 7.7e5}) {
            for (const std::size_t n : {1, 3, 7, 100}) {
                Case c;
                std::vector<double> logits;
                for (std::size_t v = 0; v < 120; ++v) logits.push_back(std::sin(double(v)));
                c.base = logSoftmaxRow(logits);
                c.temperature = 0.7;
                Case::One one{1.3, {}, {}};
                for (std::size_t i = 0; i < n; ++i) {
                    one.tokens.push_back(TokenId(i));
                    one.delta.push_back(i % 3 == 1 ? -magnitude : magnitude);
                }
                c.priors = {one};
                const OneBit got = oneBit(one.delta);
                QCOMPARE(got.alpha, magnitude);
                QVERIFY(got.alpha == magnitude && got.squaredError == 0);  // QCOMPARE is fuzzy
                const OneBitDrift drift = c.drift();
                QVERIFY(drift.kl == 0 && drift.normBound == 0 && drift.rangeBound == 0);
            }
        }
    }

    // 10,000 cases at six temperatures, several priors on one token among them, tokens the base excludes, whole
    // supports.
    void neverAboveTheBounds() {
        std::mt19937_64 random(9);
        double nearestNorm = 0, nearestRange = 0;
        for (int n = 0; n < 10'000; ++n) {
            const Case c = randomCase(random, n % 2 == 0 ? 1 : 0.05);
            const OneBitDrift got = c.drift();
            const Dense wanted = dense(c);
            const auto close = [](double a, double b) { return std::abs(a - b) <= 1e-12 + 1e-9 * std::abs(b); };
            QVERIFY2(close(got.kl, wanted.kl), qPrintable(QStringLiteral("case %1").arg(n)));
            QVERIFY2(close(got.normBound, wanted.normBound), qPrintable(QStringLiteral("case %1").arg(n)));
            QVERIFY2(close(got.rangeBound, wanted.rangeBound), qPrintable(QStringLiteral("case %1").arg(n)));
            QVERIFY2(
                got.kl >= 0 && got.kl <= got.normBound && got.kl <= got.rangeBound,
                qPrintable(
                    QStringLiteral("case %1: %2, %3, %4").arg(n).arg(got.kl).arg(got.normBound).arg(got.rangeBound)));
            if (got.normBound > 0) nearestNorm = std::max(nearestNorm, got.kl / got.normBound);
            if (got.rangeBound > 0) nearestRange = std::max(nearestRange, got.kl / got.rangeBound);
        }
        QVERIFY2(nearestNorm > 0.9 && nearestRange > 0.9,  // so a bound that is half as large would have been crossed
                 qPrintable(QStringLiteral("%1 %2").arg(nearestNorm).arg(nearestRange)));
    }

    // Differences down to 1e-12: KL is of the order of their square, which a sum of terms of their own size would lose.
    void smallDifferencesKeepTheirDigits() {
        const std::vector<double> probs{0.3, 0.2, 0.1, 0.4};
        for (const double size : {1e-3, 1e-6, 1e-9, 1e-12}) {
            PriorTerm term;
            const std::vector<TokenId> tokens{0, 1};
            const std::vector<double> delta{1 + size, 1 - size};
            term.eta = 1;
            term.tokens = tokens;
            term.delta = delta;
            const double d = (delta[0] - delta[1]) / 2;              // as float64 holds it: d = (+d, −d, 0, 0)
            const double half = 0.5 * (0.5 * d * d - 0.01 * d * d);  // ½ Var(d); the third moment is of the order d³
            const auto row = logsOf(probs);
            const OneBitDrift got = oneBitDrift<double>(std::span(&term, 1), 1, row);
            QVERIFY2(std::abs(got.kl / half - 1) < 1e-3 + size,
                     qPrintable(QStringLiteral("%1: %2, %3").arg(size).arg(got.kl).arg(half)));
        }
    }

    // A token of probability e^-900 that one bit makes certain: e^{−d} alone is no float64.
    void largeDifferences() {
        Case c;
        c.base = logSoftmaxRow({0, -1, -2});
        c.priors = {{1, {0, 1}, {-1, -1801}}};
        const OneBitDrift got = c.drift();
        QVERIFY2(std::abs(got.kl - dense(c).kl) < 1e-9 * got.kl, qPrintable(QString::number(got.kl)));
        QVERIFY(got.kl > 100 && got.kl <= got.rangeBound);
    }

    // One bit gives a token of no float64 probability e^997 times as much, and another one e^-333.
    void largeDifferencesOfImpossibleTokens() {
        Case c;
        c.base = logSoftmaxRow({0, -1, -2, -3});
        c.priors = {{1, {0, 1, 2}, {1000, -1000, 3}}};
        const OneBitDrift got = c.drift();
        QVERIFY2(std::abs(got.kl - dense(c).kl) < 1e-9 * got.kl, qPrintable(QString::number(got.kl)));
        QVERIFY(got.kl > 0 && got.kl <= got.rangeBound && got.kl <= got.normBound);
    }

    // 0 off the supports counts in max and min, unless nothing is off them.
    void rangeKnowsWhatIsTouched() {
        PriorTerm term;
        std::vector<TokenId> tokens{0, 1, 2};
        const std::vector<double> delta{1, 1, 4};  // d = −1, −1, +2
        term.eta = 1;
        term.delta = delta;
        term.tokens = tokens;
        const std::vector<double> row = logSoftmaxRow({0, 0, 0, 0}), small = logSoftmaxRow({0, 0, 0});
        QCOMPARE(oneBitDrift<double>(std::span(&term, 1), 1, row).rangeBound, 9.0 / 8);
        // d of one sign everywhere.
        PriorTerm other = term;
        const std::vector<double> lone{1, 1, -5};  // α = 7/3: d = −4/3, −4/3, −8/3
        other.delta = lone;
        QVERIFY(std::abs(oneBitDrift<double>(std::span(&other, 1), 1, small).rangeBound - 16.0 / 9 / 8) < 1e-12);
        QVERIFY(std::abs(oneBitDrift<double>(std::span(&other, 1), 1, row).rangeBound - 64.0 / 9 / 8) < 1e-12);
    }

    void nothingMatches() {
        const std::vector<double> row = logSoftmaxRow({0, 1});
        const OneBitDrift got = oneBitDrift<double>({}, 0.7, row);
        QVERIFY(got.kl == 0 && got.normBound == 0 && got.rangeBound == 0);
    }

    // A row as it is stored: what float32 rounds of log p moves KL by no more.
    void storedRows() {
        std::mt19937_64 random(4);
        for (int n = 0; n < 200; ++n) {
            const Case c = randomCase(random, 1);
            const auto exact = c.law(false);
            const std::vector<float> narrow(exact.begin(), exact.end());
            const auto all = c.terms();
            const OneBitDrift got = oneBitDrift<float>(all, c.temperature, narrow);
            QVERIFY(std::abs(got.kl - dense(c).kl) <= 1e-5 + 1e-5 * got.kl);
            QVERIFY(got.kl <= got.normBound && got.kl <= got.rangeBound);
        }
    }

    // p·Πφ^η normalised, in probabilities, is the log formula (R8).
    void logSpaceIsProbabilitySpace() {
        std::mt19937_64 random(5);
        for (int n = 0; n < 500; ++n) {
            Case c = randomCase(random, 1);
            c.temperature = 1;
            std::vector<double> product;
            for (double x : c.base) product.push_back(std::exp(x));
            for (const auto& one : c.priors)
                for (std::size_t i = 0; i < one.delta.size(); ++i)
                    product[std::size_t(one.tokens[i])] *= std::pow(std::exp(one.delta[i]), one.eta);
            double sum = 0;
            for (double x : product) sum += x;
            const auto logs = c.law(false);
            for (std::size_t v = 0; v < product.size(); ++v)
                QVERIFY(std::abs(std::exp(logs[v]) - product[v] / sum) < 1e-12);
        }
    }
};

QTEST_GUILESS_MAIN(TestOneBit)
#include "tst_onebit.moc"
