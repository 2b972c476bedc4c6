// The passes of fused/kernels.h on raw rows, below what a recipe can ask them for: their e^x and log x, and every sum
// of compose against the formula in float64. ctest runs this once for each instruction set (COUNTERPOINT_KERNELS).
#include <cmath>
#include <random>

#include "compute/composition/fused/kernels.h"
#include "compute/composition/rowfacts.h"
#include "tests/support/fixture.h"
#include "tests/support/near.h"

using namespace counterpoint::compute;
using namespace counterpoint::tests;
using fused::kBlock;

namespace {

constexpr float kOut = -INFINITY;
using Row = std::vector<float>;

/// One pass with all that it points to. There are more terms than it is told of.
struct Given {
    std::vector<Row> rows;  ///< [0] base, [1] a reference, then a row a term
    std::vector<fused::Term> terms;
    fused::Pass pass{};
    Row score, blockTop, masses, shift;
};

Given givenOf(unsigned seed) {
    std::mt19937 gen(seed);
    const auto chance = [&](double p) { return std::uniform_real_distribution<>(0, 1)(gen) < p; };
    std::normal_distribution<float> normal;
    constexpr std::size_t kSizes[] = {1, 511, 512, 513, 1300};
    const std::size_t n = kSizes[seed % 5];
    const bool excluding = seed % 3 == 1, allPlain = seed % 3 == 2;
    const float offset = seed % 7 == 3 ? -150.0f : -5.0f;  // far below 0, where e^x is 0 in float32
    Given g;
    g.rows.resize(2 + fused::kMostTerms, Row(n));
    for (std::size_t v = 0; v < n; ++v) {
        const float common = offset + 2 * normal(gen);
        for (Row& row : g.rows) row[v] = excluding && v + 1 < n && chance(0.1) ? kOut : common + 0.7f * normal(gen);
    }
    // The first block has nothing left: the sums begin later.
    if (excluding && n > kBlock) std::fill_n(g.rows[0].begin(), kBlock, kOut);
    for (std::size_t i = 2; i < g.rows.size(); ++i) {
        const float weight = normal(gen);
        const float* reference = allPlain || chance(0.6) ? g.rows[0].data() : chance(0.5) ? g.rows[1].data() : nullptr;
        g.terms.push_back({.own = g.rows[i].data(),
                           .reference = reference,
                           .weight = weight,
                           .lowest = weight < 0 ? -0.4f : kOut,
                           .alone = !allPlain && chance(0.3)});
    }
    g.score.resize(n), g.masses.resize(n);
    g.blockTop.resize(fused::blocksOf(n)), g.shift.resize(fused::blocksOf(n));
    constexpr float kInverseTau[] = {1, 0.4f, 2.5f};
    g.pass = {.base = g.rows[0].data(),
              .n = n,
              .terms = g.terms.data(),
              .termCount = static_cast<int>(seed % 12),
              .inverseTau = kInverseTau[seed / 3 % 3],
              .excluding = excluding,
              .score = g.score.data(),
              .blockTop = g.blockTop.data(),
              .masses = seed % 4 == 0 ? nullptr : g.masses.data(),
              .shift = g.shift.data()};
    return g;
}

/// What one term says of one token: w max(δ, lowest), −∞ where it excludes, 0 where it has no say.
struct Said {
    double term = 0;
    bool silent = false;
};
Said saidOf(const fused::Term& term, std::size_t v) {
    const float own = term.own[v], against = term.reference != nullptr ? term.reference[v] : 0.0f;
    if (against == kOut || (own == kOut && term.weight < 0)) return {0, true};
    if (own == kOut) return {-INFINITY, false};
    return {double(term.weight) * std::max(double(own) - double(against), double(term.lowest)), false};
}

}  // namespace

class TestFusedPasses : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void init() { failOnAnyWarning(); }

    /// e^x through measure's Σ e^x (x − other), where other makes each summand 1. Without fused products x − n ln 2 is
    /// as exact as float32 holds x.
    void exponential() {
        for (double x = -0.01; x > -86; x -= 0.013) {
            const Row row{0, float(x)}, other{0, float(x - std::exp(-x))};
            fused::Measured m{};
            fused::kernels().measure(row.data(), other.data(), 2, m);
            const double wanted = std::exp(double(row[1])) * (double(row[1]) - double(other[1]));
            QVERIFY2(std::abs(m.tilt - wanted) < 4e-7 - 8e-8 * x, qPrintable(QStringLiteral("e^%1").arg(x)));
        }
    }

    /// What is excluded has mass 0, not merely little.
    void excludedHasNoMass() {
        const Row row{0, kOut}, other{0, -3e38f};
        fused::Measured m{};
        fused::kernels().measure(row.data(), other.data(), 2, m);
        QCOMPARE(m.tilt, 0.0);
    }

    void everyPartOfMeasure() {
        const std::size_t n = kBlock + 3;
        Row row(n, -7), other(n, -6.5f);
        row[4] = row[kBlock + 1] = -1, row[2] = row[9] = other[2] = kOut;
        fused::Measured m{.top = 9, .best = 9, .mass = 9, .tilt = 9, .excluded = 9, .improper = 9, .unsupported = 9};
        fused::kernels().measure(row.data(), other.data(), n, m);
        const double tilt = 2 * 5.5 - 0.5 * double(n - 4) * std::exp(-6.0);
        QCOMPARE(m.top, -1.0f);
        QCOMPARE(m.best, std::size_t{4});
        QVERIFY(std::abs(m.mass - 2 - double(n - 4) * std::exp(-6.0)) < 1e-4);
        QVERIFY(std::abs(m.tilt - tilt) < 1e-4);
        QCOMPARE(m.excluded, std::int64_t{2});
        QCOMPARE(m.unsupported, std::int64_t{0});
        QCOMPARE(m.improper, std::int64_t{0});
        other[5] = kOut, row[7] = NAN, row[8] = INFINITY;
        fused::kernels().measure(row.data(), other.data(), n, m);
        QCOMPARE(m.unsupported, std::int64_t{1});
        QCOMPARE(m.improper, std::int64_t{2});
        QCOMPARE(m.best, n);
    }

    /// log x through finish's Jensen-Shannon sum: p̂ = p and p_b = 0 give −p log(p/2) for log p̂ = 0.
    void logarithm() {
        for (double exponent = -80; exponent < 3; exponent += 0.0137) {
            const float p = float(std::exp(exponent)), base = kOut, score = 0, shift = 0;
            float composed = 0, temperature = p;
            fused::Finish f{.base = &base,
                            .score = &score,
                            .shift = &shift,
                            .n = 1,
                            .top = 0,
                            .inverseTau = 1,
                            .restComposed = 0,
                            .restTau = 0,
                            .excluding = true,
                            .composed = &composed,
                            .temperature = &temperature,
                            .tv = 0,
                            .js = 0,
                            .klFromBase = 0};
            fused::kernels().finish(f);
            const double got = -2 * f.js / double(p), wanted = std::log(double(p) / 2);
            QVERIFY2(std::abs(got - wanted) < 2e-7 * (1 + std::abs(wanted)), qPrintable(QString::number(p)));
        }
    }

    /// Terms of every kind in every order: added four at once or one by one, with Z of each alone or without.
    void everySumOfCompose() {
        for (unsigned seed = 0; seed < 420; ++seed) {
            Given g = givenOf(seed);
            const fused::Pass& pass = g.pass;
            fused::Sums sums{};
            fused::kernels().compose(pass, sums);

            std::vector<double> s(pass.n), t(pass.n);
            std::int64_t left = 0, lost = 0, noSay = 0;
            double top = -INFINITY;
            for (std::size_t v = 0; v < pass.n; ++v) {
                const double base = pass.base[v];
                bool out = false;
                for (int i = 0; i < pass.termCount; ++i) {
                    const Said said = saidOf(g.terms[std::size_t(i)], v);
                    noSay += said.silent && std::isfinite(base);
                    out = out || said.term == -INFINITY;
                    if (std::isfinite(said.term)) t[v] += said.term;
                }
                s[v] = out ? -INFINITY : base + t[v];
                left += std::isfinite(s[v]);
                lost += std::isfinite(base) && out;
                top = std::max(top, s[v]);
                NEAR(pass.score[v], s[v], "score");
            }
            QCOMPARE(sums.left, left);
            QCOMPARE(sums.lost, lost);
            QCOMPARE(sums.noSay, noSay);
            NEAR(sums.top, top, "top");

            const double factor = double(pass.inverseTau);
            double mass = 0, tilt = 0, massTau = 0, tiltTau = 0, scoreTau = 0;
            for (std::size_t v = 0; v < pass.n; ++v) {
                if (!std::isfinite(s[v])) continue;
                const double e = std::exp(s[v] - top), eTau = std::exp((s[v] - top) * factor);
                mass += e, tilt += e * t[v];
                massTau += eTau, tiltTau += eTau * (factor * s[v] - double(pass.base[v])), scoreTau += eTau * s[v];
            }
            NEAR(std::log(sums.mass), std::log(mass), "mass");
            NEAR(sums.tilt / sums.mass, tilt / mass, "tilt");
            NEAR(std::log(sums.massTau), std::log(massTau), "mass at τ");
            NEAR(sums.tiltTau / sums.massTau, tiltTau / massTau, "tilt at τ");
            NEAR(sums.scoreTau / sums.massTau, scoreTau / massTau, "score at τ");

            for (std::size_t from = 0; from < pass.n; from += kBlock) {
                double best = -INFINITY;
                for (std::size_t v = from; v < std::min(from + kBlock, pass.n); ++v) {
                    best = std::max(best, s[v]);
                    if (pass.masses == nullptr || !std::isfinite(s[v])) continue;
                    const double relative = (s[v] - double(pass.shift[from / kBlock])) * factor;
                    if (relative > -80) NEAR(std::log(double(pass.masses[v])), relative, "masses");
                }
                NEAR(pass.blockTop[from / kBlock], best, "block's top");
            }
            for (int i = 0; i < pass.termCount; ++i) {
                if (!g.terms[std::size_t(i)].alone) continue;
                double alone = 0;
                for (std::size_t v = 0; v < pass.n; ++v)
                    alone += std::exp(double(pass.base[v]) + saidOf(g.terms[std::size_t(i)], v).term);
                NEAR(sums.aloneTop[i] + std::log(sums.aloneMass[i]), std::log(alone), "alone");
            }
        }
    }
};

QTEST_GUILESS_MAIN(TestFusedPasses)
#include "tst_fusedpasses.moc"
