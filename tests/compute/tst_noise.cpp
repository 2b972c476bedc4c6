// R3, R11: addressed noise against golden/noise.json (made by an independent implementation; 1e-12).
#include <charconv>
#include <fstream>
#include <nlohmann/json.hpp>

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

    void copulaNormals() {
        REQUIRE_SHARED("golden/noise.json");
        const json g = golden();
        const double tolerance = g["tolerance"];
        for (const json& row : g["copula"]) {
            const NormalKind kind = row["kind"] == "zeta" ? NormalKind::Zeta : NormalKind::Epsilon;
            const double x = copulaNormal({seedOf(row), kind, row["draw"], row["layer"], row["index"], row["expert"]});
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

    // Every part of an address matters.
    void addressesDiffer() {
        const double g = tokenGumbel({7, 3, 5, 1});
        for (const TokenAddress& other : {TokenAddress{8, 3, 5, 1}, TokenAddress{7 + (1ull << 32), 3, 5, 1},
                                          TokenAddress{7, 4, 5, 1}, TokenAddress{7, 3, 6, 1}, TokenAddress{7, 3, 5, 2}})
            QVERIFY(tokenGumbel(other) != g);
        const double z = copulaNormal({7, NormalKind::Zeta, 1, 2, 3, 4});
        for (const NormalAddress& other :
             {NormalAddress{8, NormalKind::Zeta, 1, 2, 3, 4}, NormalAddress{7, NormalKind::Epsilon, 1, 2, 3, 4},
              NormalAddress{7, NormalKind::Zeta, 2, 2, 3, 4}, NormalAddress{7, NormalKind::Zeta, 1, 3, 3, 4},
              NormalAddress{7, NormalKind::Zeta, 1, 2, 4, 4}, NormalAddress{7, NormalKind::Zeta, 1, 2, 3, 5}})
            QVERIFY(copulaNormal(other) != z);
    }

    // 40,000 fixed addresses: mean γ (Euler's constant) and 0, variance π²/6 and 1, within 4 standard errors.
    void moments() {
        constexpr int n = 40000;
        double g = 0, gg = 0, z = 0, zz = 0;
        for (int i = 0; i < n; ++i) {
            const double x = tokenGumbel({11, i, 3, 0});
            g += x / n, gg += x * x / n;
            const double y = copulaNormal({11, NormalKind::Epsilon, 0, 1, static_cast<std::uint32_t>(i), 2});
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
