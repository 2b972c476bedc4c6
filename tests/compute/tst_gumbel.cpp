// R11: the map from normals to Gumbel noise, at the ends where a plain Φ saturates. HAZARDS A4.

#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "compute/routing/gumbel.h"
#include "tests/support/fixture.h"

using counterpoint::compute::gumbelOfNormal;
using counterpoint::compute::gumbelsOfNormals;

class TestGumbel : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void init() { counterpoint::tests::failOnAnyWarning(); }

    /// mpmath: q = erfc(|z|/sqrt(2))/2; -log(-log(q if z < 0 else 1 - q)) with mp.dps = 400.
    void knownValues_data() {
        QTest::addColumn<double>("z");
        QTest::addColumn<double>("expected");
        QTest::newRow("-38") << -38.0 << -6.5883172356130829;
        QTest::newRow("-40") << -40.0 << -6.69035575164776155;
        QTest::newRow("-37.5") << -37.5 << -6.56197645515530031;
        QTest::newRow("-25") << -25.0 << -5.7577636122467103;
        QTest::newRow("-20.5") << -20.5 << -5.3662877840021967;
        QTest::newRow("-19.5") << -19.5 << -5.2679456077009119;
        QTest::newRow("-10") << -10.0 << -3.9746462902430692;
        QTest::newRow("-6") << -6.0 << -3.0319084023321727;
        QTest::newRow("-1") << -1.0 << -0.61032065938403267;
        QTest::newRow("0") << 0.0 << 0.36651292058166433;
        QTest::newRow("0.5") << 0.5 << 0.99710386150637833;
        QTest::newRow("5") << 5.0 << 15.064998250662923;
        QTest::newRow("6") << 6.0 << 20.736768949481412;
        QTest::newRow("8") << 8.0 << 35.01343715991455;
        QTest::newRow("8.5") << 8.5 << 39.197396428217669;
        QTest::newRow("10") << 10.0 << 53.231285150512471;
        QTest::newRow("19.5") << 19.5 << 194.0169657774975;
        QTest::newRow("20.5") << 20.5 << 214.0667289632638;
        QTest::newRow("30") << 30.0 << 454.3212439563432;
        QTest::newRow("38") << 38.0 << 726.55721601882013;
    }
    void knownValues() {
        QFETCH(double, z);
        QFETCH(double, expected);
        const double found = gumbelOfNormal(z);
        QVERIFY2(std::abs(found - expected) < 1e-12 * std::max(1.0, std::abs(expected)),
                 qPrintable(QString::number(found, 'g', 17)));
    }

    void finiteAndIncreasing() {
        double before = -std::numeric_limits<double>::infinity();
        for (int i = -380'000; i <= 380'000; ++i) {
            const double z = i * 1e-4, now = gumbelOfNormal(z);
            QVERIFY2(std::isfinite(now) && now > before, qPrintable(QString::number(z)));
            before = now;
        }
    }

    /// Where one formula hands over to another, neighbours keep their order.
    void noStepWhereFormulasMeet() {
        for (const double z : {-20.0, 0.0, 20.0}) {
            const double below = gumbelOfNormal(z - 1e-9), at = gumbelOfNormal(z), above = gumbelOfNormal(z + 1e-9);
            QVERIFY(below < at && at < above);
            QVERIFY(std::abs((above - at) - (at - below)) < 1e-13 * std::max(1.0, std::abs(at)) + 1e-15);
        }
    }

    /// A row has the bits of its elements taken alone, at any length.
    void rowsAndElements() {
        std::vector<double> z(77);
        for (std::size_t i = 0; i < z.size(); ++i) z[i] = -38.0 + static_cast<double>(i);
        for (std::size_t n = 0; n <= z.size(); ++n) {
            std::vector<double> row(z.begin(), z.begin() + static_cast<std::ptrdiff_t>(n));
            gumbelsOfNormals(row);
            for (std::size_t i = 0; i < n; ++i) QVERIFY(row[i] == gumbelOfNormal(z[i]));
        }
    }

    /// The file's value at z = -37.5 carries an error of its own of 1.16e-12, more than its tolerance (a Φ among the
    /// denormals): there the row is knownValues'.
    void golden() {
        REQUIRE_SHARED("golden/routing.json");
        std::ifstream in(counterpoint::tests::shared("golden/routing.json"));
        const auto g = nlohmann::json::parse(in);
        QVERIFY(g["gumbel_from_normal"].size() >= 20);
        const double tolerance = g["tolerance"]["gumbel_relative"];
        for (const auto& row : g["gumbel_from_normal"]) {
            if (row["z"].get<double>() == -37.5) continue;
            const double wanted = row["gumbel"], found = gumbelOfNormal(row["z"].get<double>());
            QVERIFY2(std::abs(found - wanted) <= tolerance * std::abs(wanted), row.dump().c_str());
        }
    }

    void notANumberStaysSo() { QVERIFY(std::isnan(gumbelOfNormal(NAN))); }
};

QTEST_GUILESS_MAIN(TestGumbel)
#include "tst_gumbel.moc"
