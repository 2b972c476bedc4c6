// R2 and R3: truncation, ties, the draw (equal to the plain formula, whatever the threads), makeStep. HAZARDS A15, A17,
// A25.
#include <future>
#include <random>
#include <set>

#include "compute/composition/compose.h"
#include "compute/error.h"
#include "compute/random/noise.h"
#include "tests/support/fixture.h"
#include "tests/support/priors.h"
#include "tests/support/rows.h"

using namespace counterpoint::compute;
using namespace counterpoint::tests;

namespace {

template <class Real>
Stages<Real> stagesOf(const Recipe& r, const std::vector<double>& row) {
    const Storage<Real> in({row});
    Stages<Real> stages;
    compose<Real>(r, {}, in.source, stages);
    return stages;
}

/// R3 as it is written.
template <class Real>
TokenId plainDraw(const Recipe& r, const Stages<Real>& s, Position t) {
    TokenId winner = kNoToken;
    double best = 0;
    for (std::size_t v = 0; v < s.kept.size(); ++v) {
        if (!s.kept[v]) continue;
        const double x = double(s.temperature[v]) + tokenGumbel({r.seed, TokenId(v), t, r.stream});
        if (winner == kNoToken || x > best) best = x, winner = TokenId(v);
    }
    return winner;
}

std::vector<double> randomRow(std::size_t size, unsigned seed, double sharpness) {
    std::mt19937 gen(seed);
    std::normal_distribution<> normal;
    std::vector<double> logits(size);
    for (double& x : logits) x = sharpness * normal(gen);
    return logSoftmaxRow(logits);
}

}  // namespace

class TestDraw : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void init() { failOnAnyWarning(); }

    // HAZARDS A17: probs [.3,.1,.1,.5], logits [1,2,2,2,3], and the limits.
    void truncation_data() {
        QTest::addColumn<QList<double>>("probs");
        QTest::addColumn<int>("topK");
        QTest::addColumn<double>("topP");
        QTest::addColumn<double>("minP");
        QTest::addColumn<QString>("kept");
        const QList<double> four{.3, .1, .1, .5};
        const QList<double> ties{std::exp(1.0), std::exp(2.0), std::exp(2.0), std::exp(2.0), std::exp(3.0)};
        QTest::newRow("all off") << four << 0 << 1.0 << 0.0 << "1111";
        QTest::newRow("top-p .8 reaches exactly") << four << 0 << 0.8 << 0.0 << "1001";
        QTest::newRow("top-p .81") << four << 0 << 0.81 << 0.0 << "1101";
        QTest::newRow("tiny top-p keeps one") << four << 0 << 1e-8 << 0.0 << "0001";
        QTest::newRow("top-p 0 keeps one") << four << 0 << 0.0 << 0.0 << "0001";
        QTest::newRow("top-k 3 of ties keeps exactly 3") << ties << 3 << 1.0 << 0.0 << "01101";
        QTest::newRow("top-k 1") << four << 1 << 1.0 << 0.0 << "0001";
        QTest::newRow("top-k beyond the vocabulary") << four << 9 << 1.0 << 0.0 << "1111";
        QTest::newRow("min-p .2 reaches exactly") << four << 0 << 1.0 << 0.2 << "1111";
        QTest::newRow("min-p .21") << four << 0 << 1.0 << 0.21 << "1001";
        QTest::newRow("min-p 1") << ties << 0 << 1.0 << 1.0 << "00001";
        QTest::newRow("top-p after top-k, renormalised") << four << 2 << 0.6 << 0.0 << "0001";
        QTest::newRow("top-p without top-k") << four << 0 << 0.6 << 0.0 << "1001";
        QTest::newRow("min-p after top-p") << four << 0 << 0.9 << 0.5 << "1001";
        QTest::newRow("excluded is never kept") << QList<double>{.5, 0, .5} << 3 << 1.0 << 0.0 << "101";
    }
    void truncation() {
        QFETCH(QList<double>, probs);
        QFETCH(int, topK);
        QFETCH(double, topP);
        QFETCH(double, minP);
        QFETCH(QString, kept);
        Recipe r = recipeOf({});
        r.topK = topK, r.topP = topP, r.minP = minP;
        const auto row = logSoftmaxRow(logsOf({probs.begin(), probs.end()}));
        const auto check = [&](const auto& stages) {
            QString got;
            double mass = 0;
            for (std::size_t v = 0; v < row.size(); ++v) {
                got += stages.kept[v] ? '1' : '0';
                if (stages.kept[v]) mass += std::exp(double(stages.temperature[v]));
            }
            QCOMPARE(got, kept);
            QCOMPARE(stages.keptCount, kept.count('1'));
            QVERIFY(std::abs(stages.logKept - std::log(mass)) < 1e-6);
        };
        check(stagesOf<double>(r, row));
        check(stagesOf<float>(r, row));
    }

    // Selection instead of sorting keeps what sorting keeps, on large rows with many ties.
    void truncationEqualsSorting() {
        for (unsigned seed = 0; seed < 14; ++seed) {
            auto row = randomRow(5000, seed, 0.2 + seed % 4);
            for (double& x : row) x = std::round(x * 8) / 8;  // ties
            // One token above all others, and top-p that needs what lies more than 8 and more than 16 nats below it.
            if (seed >= 12)
                for (std::size_t v = 1; v < row.size(); ++v) row[v] = row[0] - (seed == 12 ? 8.5 : 16.5) + row[v] / 64;
            row = logSoftmaxRow(row);
            Recipe r = recipeOf({});
            r.topK = seed % 3 == 0 ? 0 : 1000;
            r.topP = seed >= 12 ? (seed == 12 ? 0.8 : 0.9999) : seed % 2 == 0 ? 0.9 : 0.3;
            if (seed >= 12) r.topK = 0;
            const Stages<double> s = stagesOf<double>(r, row);
            std::vector<std::size_t> ids(row.size());
            for (std::size_t v = 0; v < ids.size(); ++v) ids[v] = v;
            std::stable_sort(ids.begin(), ids.end(),
                             [&](auto a, auto b) { return s.temperature[a] > s.temperature[b]; });
            if (r.topK > 0) ids.resize(std::size_t(r.topK));
            double all = 0, sum = 0;
            for (auto v : ids) all += std::exp(s.temperature[v]);
            std::size_t n = 0;
            while (sum < (r.topP - 1e-13) * all) sum += std::exp(s.temperature[ids[n++]]);
            QCOMPARE(s.keptCount, std::int64_t(n));
            for (std::size_t j = 0; j < ids.size(); ++j) QCOMPARE(s.kept[ids[j]] != 0, j < n);
        }
    }

    // HAZARDS A17: τ = 0 is the argmax, the lowest id on ties, and 1e-9 agrees.
    void coldTemperatures() {
        Recipe zero = recipeOf({}), cold = zero;
        zero.temperature = 0;
        cold.temperature = 1e-9;
        for (unsigned seed = 0; seed < 50; ++seed) {
            const auto row = randomRow(300, seed, 2);
            const auto a = stagesOf<float>(zero, row), b = stagesOf<float>(cold, row);
            QVERIFY(a.greedy && !b.greedy);
            QVERIFY(a.temperature == a.priors);
            QCOMPARE(draw<float>(zero, a, 5), draw<float>(cold, b, 5));
        }
        const auto ties = stagesOf<float>(zero, logSoftmaxRow({1, 2, 2, 2, 0}));
        QCOMPARE(draw<float>(zero, ties, 5), 1);
    }

    // HAZARDS A15: an excluded token is never drawn, whatever its noise.
    void excludedIsNeverDrawn() {
        Recipe r = recipeOf({});
        const auto s = stagesOf<float>(r, logSoftmaxRow({0, kOut, kOut, 1}));
        int ones = 0;
        for (Position t = 0; t < 10000; ++t) {
            const TokenId id = draw<float>(r, s, t);
            QVERIFY(id == 0 || id == 3);
            ones += id == 3;
        }
        QVERIFY(std::abs(ones / 1e4 - 0.7310585786300049) < 4 * std::sqrt(0.7311 * 0.2689 / 1e4));
    }

    // The bound in float32 changes nothing: flat, peaked, truncated, both storages.
    void drawEqualsPlainFormula_data() {
        QTest::addColumn<double>("sharpness");
        QTest::addColumn<double>("temperature");
        QTest::addColumn<int>("topK");
        for (double sharpness : {0.0, 0.5, 3.0, 12.0})
            for (double tau : {0.3, 1.0, 3.0})
                for (int k : {0, 40})
                    QTest::addRow("sharpness %g, tau %g, top-k %d", sharpness, tau, k) << sharpness << tau << k;
    }
    void drawEqualsPlainFormula() {
        QFETCH(double, sharpness);
        QFETCH(double, temperature);
        QFETCH(int, topK);
        Recipe r = recipeOf({});
        r.temperature = temperature;
        r.topK = topK;
        const auto row = randomRow(3001, unsigned(sharpness * 10), sharpness);
        const auto wide = stagesOf<double>(r, row);
        const auto narrow = stagesOf<float>(r, row);
        for (int i = 0; i < 40; ++i) {
            r.seed = 7 + std::uint64_t(i) * 0x100000001ull;
            r.stream = std::uint32_t(i % 3);
            QCOMPARE(draw<double>(r, wide, i), plainDraw(r, wide, i));
            QCOMPARE(draw<float>(r, narrow, i), plainDraw(r, narrow, i));
        }
    }

    // Equal values, of tokens with unequal probabilities: the lowest id, wherever the most probable stands.
    void tiesGoToTheLowestId() {
        Recipe r = recipeOf({});
        Stages<double> s = stagesOf<double>(r, randomRow(600, 5, 1));
        for (std::size_t v = 0; v < 600; ++v)
            s.temperature[v] = (v < 2 ? -1.0 : 0.0) - tokenGumbel({r.seed, TokenId(v), 4, r.stream});
        QCOMPARE(draw<double>(r, s, 4), TokenId(2));
    }

    // HAZARDS A25: the same tokens in any order and on any number of threads.
    void drawDependsOnItsAddressOnly() {
        Recipe r = recipeOf({});
        const auto s = stagesOf<float>(r, randomRow(2000, 3, 1));
        std::vector<TokenId> forward(64), backward(64);
        for (int t = 0; t < 64; ++t) forward[t] = draw<float>(r, s, t);
        for (int t = 63; t >= 0; --t) backward[t] = draw<float>(r, s, t);
        QVERIFY(forward == backward);
        for (int threads : {1, 4, 16}) {
            std::vector<std::future<std::vector<TokenId>>> parts;
            for (int k = 0; k < threads; ++k)
                parts.push_back(std::async(std::launch::async, [&r, &s, k, threads] {
                    std::vector<TokenId> out;
                    for (int t = k; t < 64; t += threads) out.push_back(draw<float>(r, s, t));
                    return out;
                }));
            for (int k = 0; k < threads; ++k) {
                const auto got = parts[k].get();
                for (std::size_t j = 0; j < got.size(); ++j) QCOMPARE(got[j], forward[k + int(j) * threads]);
            }
        }
        QVERIFY(std::set<TokenId>(forward.begin(), forward.end()).size() > 30);
    }

    // Frequencies of 20,000 positions follow p̂ (χ² with 5 degrees of freedom below its 99.99 % point).
    void drawFollowsTheDistribution() {
        Recipe r = recipeOf({});
        const auto row = logSoftmaxRow({0.3, -1, 1.2, 0, -0.4, 0.9});
        const auto s = stagesOf<double>(r, row);
        std::array<int, 6> seen{};
        for (Position t = 0; t < 20000; ++t) ++seen[std::size_t(draw<double>(r, s, t))];
        double chi = 0;
        for (std::size_t v = 0; v < 6; ++v)
            chi += std::pow(seen[v] - 20000 * std::exp(row[v]), 2) / (20000 * std::exp(row[v]));
        QVERIFY(chi < 25.7);
    }

    void topTokensInOrder() {
        std::vector<float> row(3000, kExcluded);
        for (std::size_t v = 0; v < row.size(); v += 2) row[v] = float((v * 37) % 50);
        std::vector<TokenId> got, wanted;
        for (TokenId v = 0; v < 3000; v += 2) wanted.push_back(v);
        std::stable_sort(wanted.begin(), wanted.end(), [&](TokenId a, TokenId b) { return row[a] > row[b]; });
        for (int n : {0, 1, 20, 700, 5000}) {
            topTokens<float>(row, n, got);
            QVERIFY(got ==
                    std::vector<TokenId>(wanted.begin(), wanted.begin() + std::min<std::size_t>(n, wanted.size())));
        }
    }

    void logSoftmaxCutsAndRefuses() {
        const std::vector<float> logits = {1, 2, kExcluded, 3, 99};
        std::vector<float> out(4);
        logSoftmax(logits, 2.0, out, "math", 7);
        const double sum = std::exp(0.5) + std::exp(1.0) + std::exp(1.5);
        QVERIFY(std::abs(out[0] - (0.5 - std::log(sum))) < 1e-6);
        QCOMPARE(out[2], kExcluded);
        for (float bad : {NAN, INFINITY}) {
            std::vector<float> with = logits;
            with[1] = bad;
            QVERIFY_THROWS_EXCEPTION(Error, logSoftmax(with, 1, out, "math", 7));
        }
        QVERIFY_THROWS_EXCEPTION(Error, logSoftmax(std::vector<float>(4, kExcluded), 1, out, "math", 7));
        QVERIFY_THROWS_EXCEPTION(Error, logSoftmax(logits, 0, out, "math", 7));
        QVERIFY_THROWS_EXCEPTION(Error, logSoftmax(std::span(logits).first(3), 1, out, "math", 7));
    }

    /// Dividing by a source's temperature may not exclude what it gave a logit to.
    void coldSourcesAreNamed() {
        const std::vector<float> logits = {1, 2, kExcluded, 3};
        std::vector<float> out(4);
        logSoftmax(logits, 1e-37, out, "math", 7);
        QVERIFY(out[0] < -1e37f && out[0] > kExcluded && out[2] == kExcluded && out[3] == 0);
        for (const double temperature : {1e-39, 1e-300, 5e-324}) {
            try {
                logSoftmax(logits, temperature, out, "math", 7);
                QFAIL("a logit has left float32 unseen");
            } catch (const Error& error) {
                const QString says = error.what();
                QVERIFY2(says.startsWith("source 'math', position 7: divided by its temperature its logits leave "
                                         "float32 (found temperature "),
                         error.what());
                QVERIFY2(says.endsWith("raise the source's temperature."), error.what());
            }
        }
    }

    void stepHoldsEverything() {
        Recipe r = recipeOf({1.0});
        r.revision = 42;
        r.topK = 3;
        r.stopIds = {4};
        const Storage<float> in({randomRow(60, 1, 2), randomRow(60, 2, 2)}, 17);
        const Priors priors = {{"gentle", 0.5, {1}, {1.0}}};
        Stages<float> stages;
        Step step = makeStep(r, priors, in.source, stages);
        Stages<float> whole;
        compose<float>(r, priors, in.source, whole);
        QCOMPARE(step.position, 17);
        QCOMPARE(step.revision, 42u);
        QCOMPARE(step.keptCount, 3);
        QCOMPARE(step.top.size(), 20u);
        QCOMPARE(step.matchedPriors, (std::vector<PriorName>{{0, "gentle"}}));
        QCOMPARE(step.drawn, plainDraw(r, stages, 17));
        QCOMPARE(step.token, step.drawn);
        double mass = step.tailProb;
        for (std::size_t j = 0; j < step.top.size(); ++j) {
            const TopToken& t = step.top[j];
            mass += std::exp(double(t.temperature));
            QCOMPARE(t.kept, j < 3);
            QCOMPARE(t.source[1], in.source.rows[1][std::size_t(t.token)]);
            QCOMPARE(t.composed, stages.composed[std::size_t(t.token)]);
            QVERIFY(std::abs(t.priors - whole.priors[std::size_t(t.token)]) <= 1e-6f * std::abs(t.priors));
            QCOMPARE(t.temperature, stages.temperature[std::size_t(t.token)]);
        }
        QVERIFY(std::abs(mass - 1) < 1e-5);
        QVERIFY(!step.greedy && whole.priors[1] > whole.composed[1] + 0.3f);
        r.temperature = 0;
        QVERIFY(makeStep(r, priors, in.source, stages).greedy);
        setToken(step, in.source, stages, 7);
        QCOMPARE(step.token, 7);
        QCOMPARE(step.logProbs, (std::vector<float>{in.source.rows[0][7], in.source.rows[1][7]}));
        QCOMPARE(step.logProb, stages.temperature[7]);
        QCOMPARE(step.composedLogProb, stages.composed[7]);
    }
};

QTEST_GUILESS_MAIN(TestDraw)
#include "tst_draw.moc"
