// The elementary functions and the divergences that every row goes through (HAZARDS A16).
#include "compute/composition/divergence.h"

#include "compute/composition/rowmath.h"
#include "tests/support/fixture.h"
#include "tests/support/termcase.h"

using namespace counterpoint::compute;
using namespace counterpoint::tests;

class TestDivergence : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void init() { failOnAnyWarning(); }

    // What rowmath.h promises of the functions that every float32 loop is made of.
    void elementaryFunctions() {
        for (double x = -87; x < 87; x += 0.0137) {
            const auto narrow = static_cast<float>(x);
            const double e = std::exp(static_cast<double>(narrow));
            QVERIFY(std::abs(static_cast<double>(rowmath::expFloat(narrow)) - e) <= 2e-7 * e);
            const auto y = static_cast<float>(e);
            const double l = std::log(static_cast<double>(y));
            QVERIFY(std::abs(static_cast<double>(rowmath::logFloat(y)) - l) <= 2e-7 * std::abs(l) + 1e-12);
        }
        QCOMPARE(rowmath::expFloat(-90.0f), 0.0f);
        QCOMPARE(rowmath::expFloat(-INFINITY), 0.0f);
    }

    // 0 log 0 and p log 0.
    void divergences_data() {
        QTest::addColumn<QList<double>>("p");
        QTest::addColumn<QList<double>>("q");
        QTest::addColumn<double>("kl");
        QTest::newRow("both without support") << QList<double>{.5, .5, 0} << QList<double>{.5, .5, 0} << 0.0;
        QTest::newRow("p has what q has not")
            << QList<double>{.3, .3, .4} << QList<double>{.5, .5, 0} << double(INFINITY);
        QTest::newRow("q has what p has not")
            << QList<double>{0, .1, .9} << QList<double>{.1, .1, .8} << 0.10600473209074511;
        QTest::newRow("p is tiny, q is nothing") << QList<double>{1e-300, 1} << QList<double>{0, 1} << double(INFINITY);
    }
    void divergences() {
        QFETCH(QList<double>, p);
        QFETCH(QList<double>, q);
        QFETCH(double, kl);
        const auto lp = logsOf({p.begin(), p.end()}), lq = logsOf({q.begin(), q.end()});
        const std::vector<float> fp(lp.begin(), lp.end()), fq(lq.begin(), lq.end());
        const double got = divergence::kl(lp.data(), lq.data(), lp.size()),
                     narrow = divergence::kl(fp.data(), fq.data(), fp.size());
        QVERIFY(got == kl || std::abs(got - kl) < 1e-9);
        QVERIFY(narrow == kl || std::abs(narrow - kl) < 2e-5);
        const auto pair = divergence::compare(lp.data(), lq.data(), lp.size());
        QVERIFY(pair.klForward == kl || std::abs(pair.klForward - kl) < 1e-9);
        QVERIFY(std::isfinite(pair.js) && std::isfinite(pair.tv) && std::isfinite(pair.entropy));
    }

    // Rows a rounding apart: what rounding leaves of 0 is never shown below it.
    void divergencesAreNeverBelowZero() {
        for (int n = 0; n < 200; ++n) {
            std::vector<float> p, q;
            for (int v = 0; v < 6; ++v) {
                p.push_back(float(kRows[std::size_t(n % 4)][v]) - 1e-3f * float(n));
                q.push_back(std::nextafter(p.back(), v % 2 ? 0.0f : -9.0f));
            }
            const auto pair = divergence::compare(p.data(), q.data(), 6);
            QVERIFY(divergence::kl(p.data(), q.data(), 6) >= 0 && divergence::kl(q.data(), p.data(), 6) >= 0);
            QVERIFY(pair.klForward >= 0 && pair.klBackward >= 0 && pair.js >= 0 && pair.tv >= 0);
        }
    }
};

QTEST_GUILESS_MAIN(TestDivergence)
#include "tst_divergence.moc"
