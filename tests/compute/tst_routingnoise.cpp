// R11: the copula noise by its addresses, and its correlations.
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <numeric>

#include "compute/random/noise.h"
#include "compute/routing/copula.h"
#include "tests/support/fixture.h"

using namespace counterpoint::compute;

namespace {

/// As SPEC.md writes it: one normal from its counter.
double normalOf(std::uint64_t seed, std::uint32_t purpose, std::uint32_t draw, std::uint32_t layer, Position index,
                std::uint32_t expert) {
    const double u = uniform(philox({expert, static_cast<std::uint32_t>(index), draw, 4 * layer + purpose},
                                    {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}));
    return quantile(boost::math::normal(), u);
}

struct Asked {
    NoiseAddress address;
    Position position;
};

std::vector<double> noiseAt(const Coupling& c, const Asked& asked, std::size_t experts, GroupMemory& memory) {
    std::vector<double> gamma(experts);
    routingNoise(asked.address, placementAt(c, asked.position), asked.position, memory, gamma);
    return gamma;
}

double correlation(const std::vector<double>& x, const std::vector<double>& y) {
    const auto n = static_cast<double>(x.size());
    const double mx = std::accumulate(x.begin(), x.end(), 0.0) / n, my = std::accumulate(y.begin(), y.end(), 0.0) / n;
    double xy = 0, xx = 0, yy = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
        xy += (x[i] - mx) * (y[i] - my), xx += (x[i] - mx) * (x[i] - mx), yy += (y[i] - my) * (y[i] - my);
    return xy / std::sqrt(xx * yy);
}

std::vector<double> ranksOf(const std::vector<double>& x) {
    std::vector<std::size_t> order(x.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](auto a, auto b) { return x[a] < x[b]; });
    std::vector<double> ranks(x.size());
    for (std::size_t i = 0; i < order.size(); ++i) ranks[order[i]] = static_cast<double>(i);
    return ranks;
}

}  // namespace

class TestRoutingNoise : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void init() { counterpoint::tests::failOnAnyWarning(); }

    void formula_data() {
        QTest::addColumn<double>("rho");
        QTest::addColumn<double>("alpha");
        for (const double rho : {0.0, 0.3, 1.0})
            for (const double alpha : {0.0, 0.4, 1.0}) QTest::addRow("%g %g", rho, alpha) << rho << alpha;
    }
    /// Groups of 3, pairs (0,2): an unpaired group, the first and the second of a pair, each with a ρ of its own.
    void formula() {
        QFETCH(double, rho);
        QFETCH(double, alpha);
        const Coupling c{.groups = windowsOf(3),
                         .pairs = {{{0, 2}}},
                         .rho = rho,
                         .alpha = alpha,
                         .rhoOfGroup = {0.6},
                         .alphaOfPair = {}};
        constexpr std::uint64_t seed = 0x1234567890ABCDEFu;
        GroupMemory memory;
        for (const std::uint32_t draw : {0u, 5u})
            for (Position t = 0; t < 9; ++t) {
                const auto gamma = noiseAt(c, {{seed, draw, 3}, t}, 11, memory);
                const double r = t < 3 ? 0.6 : rho;
                for (std::uint32_t e = 0; e < 11; ++e) {
                    double zeta = normalOf(seed, 1, draw, 3, t - t % 3, e);
                    if (t >= 6) zeta = -alpha * normalOf(seed, 1, draw, 3, 0, e) + std::sqrt(1 - alpha * alpha) * zeta;
                    const double z = std::sqrt(r) * zeta + std::sqrt(1 - r) * normalOf(seed, 2, draw, 3, t, e);
                    const double wanted = -std::log(-std::log(0.5 * std::erfc(-z / std::sqrt(2.0))));
                    QVERIFY2(std::abs(gamma[e] - wanted) < 1e-12 * std::max(1.0, std::abs(wanted)),
                             qPrintable(QStringLiteral("t %1 e %2: %3, wanted %4")
                                            .arg(t)
                                            .arg(e)
                                            .arg(gamma[e], 0, 'g', 17)
                                            .arg(wanted, 0, 'g', 17)));
                }
            }
    }

    /// Prefill, step by step, backwards, with other draws and layers between, with fresh memory, with fewer experts.
    void anyOrder() {
        const Coupling c{
            .groups = windowsOf(4), .pairs = {}, .rho = 0.5, .alpha = 0.8, .rhoOfGroup = {}, .alphaOfPair = {}};
        GroupMemory memory;
        std::vector<std::vector<double>> prefill;
        for (Position t = 0; t < 24; ++t) prefill.push_back(noiseAt(c, {{7, 0, 2}, t}, 16, memory));
        GroupMemory other;
        for (Position t = 23; t >= 0; --t) {
            (void)noiseAt(c, {{7, 1, 2}, t}, 16, other);
            (void)noiseAt(c, {{7, 0, 3}, (t * 7) % 24}, 16, other);
            QVERIFY(noiseAt(c, {{7, 0, 2}, t}, 16, other) == prefill[static_cast<std::size_t>(t)]);
            GroupMemory fresh;
            QVERIFY(noiseAt(c, {{7, 0, 2}, t}, 16, fresh) == prefill[static_cast<std::size_t>(t)]);
            const auto few = noiseAt(c, {{7, 0, 2}, t}, 5, other);
            QVERIFY(std::equal(few.begin(), few.end(), prefill[static_cast<std::size_t>(t)].begin()));
        }
    }

    /// Other draws, layers and seeds are other noise; memory does not confuse them, nor dials that moved.
    void addressesDiffer() {
        Coupling c{.groups = windowsOf(4), .pairs = {}, .rho = 1.0, .alpha = 0.8, .rhoOfGroup = {}, .alphaOfPair = {}};
        GroupMemory memory;
        const auto here = noiseAt(c, {{7, 0, 2}, 5}, 8, memory);
        for (const Asked& asked : {Asked{{8, 0, 2}, 5}, Asked{{7, 1, 2}, 5}, Asked{{7, 0, 1}, 5}, Asked{{7, 0, 2}, 9}})
            QVERIFY(noiseAt(c, asked, 8, memory) != here);
        QVERIFY(noiseAt(c, {{7, 0, 2}, 6}, 8, memory) == here);  // ρ = 1: one row for a group
        c.alpha = 0.1;
        QVERIFY(noiseAt(c, {{7, 0, 2}, 6}, 8, memory) != here);
    }

    void aChangeOfWindowLeavesWhatWas() {
        const Coupling before{.groups = windowsOf(4), .pairs = {}, .rhoOfGroup = {}, .alphaOfPair = {}};
        Coupling after = before;
        after.groups = withWindow(before.groups, 10, 3);
        GroupMemory memory;
        for (Position t = 0; t < 12; ++t)
            QVERIFY(noiseAt(before, {{7, 0, 0}, t}, 8, memory) == noiseAt(after, {{7, 0, 0}, t}, 8, memory));
        QVERIFY(noiseAt(before, {{7, 0, 0}, 15}, 8, memory) != noiseAt(after, {{7, 0, 0}, 15}, 8, memory));
    }

    /// z: ρ in a group, −α√(ρ_g ρ_g') across a pair, else 0; γ by rank (6/π) asin(r/2). 20,000 draws, 4 standard
    /// errors.
    void correlations() {
        const Coupling c{
            .groups = windowsOf(2), .pairs = {}, .alpha = 0.7, .rhoOfGroup = {0.6, 0.3, 0.5}, .alphaOfPair = {}};
        const Layout layout = layoutOf(c, 6);
        constexpr std::size_t n = 20'000, E = 3;
        std::vector<std::vector<double>> z(6 * E, std::vector<double>(n)), gamma = z;
        std::vector<double> zeta(E), scratch(E), row(E);
        GroupMemory memory;
        for (std::size_t d = 0; d < n; ++d)
            for (Position t = 0; t < 6; ++t) {
                const NoiseAddress address{11, static_cast<std::uint32_t>(d + 1), 1};
                const Placement& placed = layout.placements[static_cast<std::size_t>(t / 2)];
                groupNormals(address, placed, zeta, scratch);
                positionNormals(address, placed, t, zeta, row);
                for (std::size_t e = 0; e < E; ++e) z[static_cast<std::size_t>(t) * E + e][d] = row[e];
                routingNoise(address, placed, t, memory, row);
                for (std::size_t e = 0; e < E; ++e) gamma[static_cast<std::size_t>(t) * E + e][d] = row[e];
            }
        const double ownRho[] = {0.6, 0.3, 0.5};
        for (std::size_t a = 0; a < 6 * E; ++a)
            for (std::size_t b = 0; b < a; ++b) {
                const std::size_t ga = a / E / 2, gb = b / E / 2;
                double r = 0;
                if (a % E == b % E) r = ga == gb ? ownRho[ga] : ga == 1 && gb == 0 ? -0.7 * std::sqrt(0.6 * 0.3) : 0.0;
                QVERIFY2(std::abs(correlation(z[a], z[b]) - r) < 4.0 * (1 - r * r) / std::sqrt(double(n)),
                         qPrintable(
                             QStringLiteral("%1 %2: %3, wanted %4").arg(a).arg(b).arg(correlation(z[a], z[b])).arg(r)));
                if (a % E != b % E || ga > gb + 1) continue;
                const double spearman = correlation(ranksOf(gamma[a]), ranksOf(gamma[b]));
                QVERIFY(std::abs(spearman - 6 / std::acos(-1.0) * std::asin(r / 2)) < 4.0 / std::sqrt(double(n)));
            }
    }
};

QTEST_GUILESS_MAIN(TestRoutingNoise)
#include "tst_routingnoise.moc"
