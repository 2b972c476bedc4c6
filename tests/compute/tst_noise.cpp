// R3, R11: addressed noise against golden/noise.json (made by an independent implementation; 1e-12).
#include <boost/math/distributions/normal.hpp>
#include <charconv>
#include <fstream>
#include <nlohmann/json.hpp>

#include "compute/random/lanes.h"
#include "compute/random/noise.h"
#include "tests/support/fixture.h"

using namespace counterpoint::compute;
using nlohmann::json;

namespace {
json golden() {
    std::ifstream in(counterpoint::tests::shared("golden/noise.json"));
    return json::parse(in);
}
std::uint64_t seedOf(const json& row) {
    const auto text = row["seed"].get<std::string>();
    std::uint64_t seed = 0;
    std::from_chars(text.data(), text.data() + text.size(), seed);
    return seed;
}
double normalOf(const NormalAddress& address, std::size_t expert) {
    std::vector<double> row(expert + 1);
    copulaNormals(address, row);
    return row[expert];
}
}  // namespace

class TestNoise : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void init() { counterpoint::tests::failOnAnyWarning(); }

    void philoxKnownAnswers() {
        REQUIRE_SHARED("golden/noise.json");
        const json g = golden();
        QVERIFY(g["philox_known_answers"].size() >= 3);
        for (const json& row : g["philox_known_answers"]) {
            const auto c = row["counter"].get<std::array<std::uint32_t, 4>>();
            const auto k = row["key"].get<std::array<std::uint32_t, 2>>();
            QVERIFY((philox(c, k) == row["words"].get<std::array<std::uint32_t, 4>>()));
        }
    }

    void tokenGumbels() {
        REQUIRE_SHARED("golden/noise.json");
        const json g = golden();
        const double tolerance = g["tolerance"];
        for (const json& row : g["token"]) {
            const double x = tokenGumbel({seedOf(row), row["v"], row["position"], row["stream"]});
            QVERIFY2(std::abs(x - row["gumbel"].get<double>()) <= tolerance, row.dump().c_str());
        }
    }

    void goldenNormals() {
        REQUIRE_SHARED("golden/noise.json");
        const json g = golden();
        const double tolerance = g["tolerance"];
        for (const json& row : g["copula"]) {
            const NormalKind kind = row["kind"] == "zeta" ? NormalKind::Zeta : NormalKind::Epsilon;
            const double x = normalOf({seedOf(row), kind, row["draw"], row["layer"], row["index"]},
                                      row["expert"].get<std::size_t>());
            QVERIFY2(std::abs(x - row["normal"].get<double>()) <= tolerance, row.dump().c_str());
        }
    }

    // HAZARDS A15: the ends of the generator give finite noise in the open interval.
    void endsAreFinite_data() {
        QTest::addColumn<quint32>("word0");
        QTest::addColumn<quint32>("word1");
        QTest::newRow("all zeros") << 0u << 0u;
        QTest::newRow("smallest of word 0") << 1u << 0u;
        QTest::newRow("largest below one") << 0xFFFFFFFFu << 0xFFFFFFFEu;
        QTest::newRow("all ones") << 0xFFFFFFFFu << 0xFFFFFFFFu;
    }
    void endsAreFinite() {
        QFETCH(quint32, word0);
        QFETCH(quint32, word1);
        const double u = uniform({word0, word1, 0, 0});
        QVERIFY(u > 0 && u < 1);
        QVERIFY(std::isfinite(-std::log(-std::log(u))));
    }

    // u uses the top 52 bits: the low 12 bits of word 1 do not matter, bit 12 does.
    void uniformUsesTop52Bits() {
        QCOMPARE(uniform({5, 0x0FFF, 0, 0}), uniform({5, 0, 0, 0}));
        QVERIFY(uniform({5, 0x1000, 0, 0}) > uniform({5, 0, 0, 0}));
        QCOMPARE(uniform({0x80000000u, 0, 7, 9}), 0.5 + 0x1p-53);
    }

    // What the widest instruction set gives is what plain instructions give, bit for bit.
    void theSameBitsOnEveryInstructionSet() {
#if defined(__x86_64__)
        std::vector<double> row(64);
        for (std::uint32_t index = 0; index < 200; ++index) {
            copulaNormals({7, NormalKind::Zeta, 1, 2, index}, row);
            for (std::uint32_t e = 0; e < row.size(); ++e)
                QVERIFY(row[e] == detail::laneNormal(uniform(philox({e, index, 1, 9}, {7, 0}))));
        }
#else
        QSKIP("one instruction set");
#endif
    }

    // Every part of an address matters.
    void addressesDiffer() {
        const double g = tokenGumbel({7, 3, 5, 1});
        for (const TokenAddress& other : {TokenAddress{8, 3, 5, 1}, TokenAddress{7 + (1ull << 32), 3, 5, 1},
                                          TokenAddress{7, 4, 5, 1}, TokenAddress{7, 3, 6, 1}, TokenAddress{7, 3, 5, 2}})
            QVERIFY(tokenGumbel(other) != g);
        const double z = normalOf({7, NormalKind::Zeta, 1, 2, 3}, 4);
        for (const NormalAddress& other :
             {NormalAddress{8, NormalKind::Zeta, 1, 2, 3}, NormalAddress{7 + (1ull << 32), NormalKind::Zeta, 1, 2, 3},
              NormalAddress{7, NormalKind::Epsilon, 1, 2, 3}, NormalAddress{7, NormalKind::Zeta, 2, 2, 3},
              NormalAddress{7, NormalKind::Zeta, 1, 3, 3}, NormalAddress{7, NormalKind::Zeta, 1, 2, 4}})
            QVERIFY(normalOf(other, 4) != z);
        QVERIFY(normalOf({7, NormalKind::Zeta, 1, 2, 3}, 5) != z);
    }

    // A row is the same however long it is: vectors of any width, remainders, one expert.
    void rowsOfAnyLength() {
        std::vector<double> whole(67);
        copulaNormals({7, NormalKind::Epsilon, 3, 2, 11}, whole);
        for (std::size_t n = 0; n <= whole.size(); ++n) {
            std::vector<double> part(n);
            copulaNormals({7, NormalKind::Epsilon, 3, 2, 11}, part);
            QVERIFY(std::equal(part.begin(), part.end(), whole.begin()));
        }
    }

    // Φ⁻¹ against Boost.Math over all of what u can be, both ends included.
    void quantiles() {
        const boost::math::normal normal;
        std::vector<double> u, z;
        for (int i = 1; i < 4000; ++i) u.push_back(i / 4000.0);
        for (int i = 1; i <= 53; ++i) u.push_back(std::ldexp(1.0, -i)), u.push_back(1 - std::ldexp(1.0, -i));
        for (const double x : {0.075, 0.925, 1.388794386496402e-11}) u.push_back(x);
        z = u;
        normalsOfUniforms(z);
        for (std::size_t i = 0; i < u.size(); ++i) {
            const double wanted = u[i] < 0.5 ? quantile(normal, u[i]) : quantile(complement(normal, 1 - u[i]));
            QVERIFY2(std::abs(z[i] - wanted) <= 4e-15 * std::max(1.0, std::abs(wanted)),
                     qPrintable(QString::number(u[i])));
        }
    }

    // 40,000 fixed addresses: mean γ (Euler's constant) and 0, variance π²/6 and 1, within 4 standard errors.
    void moments() {
        constexpr int n = 40000;
        double g = 0, gg = 0, z = 0, zz = 0;
        for (int i = 0; i < n; ++i) {
            const double x = tokenGumbel({11, i, 3, 0});
            g += x / n, gg += x * x / n;
            const double y = normalOf({11, NormalKind::Epsilon, 0, 1, static_cast<std::uint32_t>(i)}, 2);
            z += y / n, zz += y * y / n;
        }
        const double root = std::sqrt(double(n));
        QVERIFY(std::abs(g - 0.5772156649015329) < 4 * 1.2825498301618641 / root);
        QVERIFY(std::abs(gg - g * g - 1.6449340668482264) < 4 * 3.45 / root);
        QVERIFY(std::abs(z) < 4 / root);
        QVERIFY(std::abs(zz - 1) < 4 * std::sqrt(2.0) / root);
    }
};

QTEST_GUILESS_MAIN(TestNoise)
#include "tst_noise.moc"
