// R16: what the three numbers set, from whose entropy, and the controller's JSON.
#include <cmath>

#include "compute/routing/controller.h"
#include "compute/routing/copula.h"
#include "tests/support/routing.h"
#include "tests/support/scratch.h"

using namespace counterpoint::compute;
using namespace counterpoint::tests;

namespace {

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

Controller some() { return {.a = 0.3, .b = -1.2, .c = 0.7, .meanEntropy = 1.1}; }

/// Entropy of a softmax as it is written.
double plainEntropy(std::span<const double> logits) {
    double mass = 0, h = 0;
    for (const double x : logits) mass += std::exp(x);
    for (const double x : logits)
        if (std::isfinite(x)) h -= std::exp(x) / mass * std::log(std::exp(x) / mass);
    return h;
}

}  // namespace

class TestController : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void init() { failOnAnyWarning(); }

    void formula() {
        for (const double h : {0.0, 1.1, 2.5}) {
            const double wanted = 1e-3 + 0.949 * logistic(0.3 - 1.2 * (h - 1.1));
            QVERIFY(std::abs(rhoOf(some(), h) - wanted) < 1e-15);
        }
        QVERIFY(std::abs(alphaOf(some()) - 0.95 * logistic(0.7)) < 1e-15);
        QCOMPARE(rhoOf({}, 7.0), 1e-3 + 0.949 / 2);
        QCOMPARE(alphaOf({}), 0.475);
    }

    /// However far the numbers go, ρ and α stay where the score is finite.
    void bounds() {
        for (const double far : {-1e6, -50.0, 50.0, 1e6}) {
            const Controller c{.a = far, .b = 0, .c = far};
            QVERIFY(rhoOf(c, 1) >= 1e-3 && rhoOf(c, 1) <= 0.95 + 1e-15);
            QVERIFY(alphaOf(c) >= 0 && alphaOf(c) <= 0.95);
            check(controlled(c, {}, std::vector<double>{1, 2}, EntropyOf::Group));
        }
    }

    void entropyOfAGate() {
        const std::vector<double> even(8, 3.0), uneven{2, 1, 0, -1}, off{1, -INFINITY, 0}, one{4}, sure{800, 0, -5};
        QVERIFY(std::abs(gateEntropy(even) - std::log(8)) < 1e-15);
        QVERIFY(std::abs(gateEntropy(uneven) - plainEntropy(uneven)) < 1e-14);
        QVERIFY(std::abs(gateEntropy(off) - plainEntropy(off)) < 1e-14);
        QCOMPARE(gateEntropy(one), 0.0);
        QCOMPARE(gateEntropy(sure), 0.0);
    }

    /// Mean over a group's positions and the layers; of ℓ' (biases count, the router's temperature does not).
    void entropiesOfGroups() {
        constexpr std::size_t T = 7, E = 4;
        const auto logits = someLogits(2 * T * E);
        EstimateQuestion q = questionOf(std::span(logits).first(T * E), E, 2, 3, 0.5, 0.5, 1);
        q.layers.push_back({.layer = 9,
                            .logits = std::span(logits).last(T * E),
                            .law = {.chosen = 1, .temperature = 3, .bias = {0, 0.5, -INFINITY, 0}}});
        const std::vector<double> h = groupEntropies(q);
        QCOMPARE(h.size(), std::size_t{3});
        std::vector<double> wanted(3);
        for (std::size_t l = 0; l < 2; ++l)
            for (std::size_t t = 0; t < T; ++t) {
                std::vector<double> row;
                for (std::size_t e = 0; e < E; ++e)
                    row.push_back(logits[(l * T + t) * E + e] + (l == 1 ? q.layers[1].law.bias[e] : 0.0));
                wanted[t / 3] += plainEntropy(row) / (t < 6 ? 3 : 1) / 2;
            }
        for (std::size_t g = 0; g < 3; ++g) QVERIFY(std::abs(h[g] - wanted[g]) < 1e-14);
        q.layers[1].law.chosen = 4;
        QVERIFY(errorOf([&] { (void)groupEntropies(q); }).find("too few experts are left") != std::string::npos);
    }

    /// Scoring: each group by its own h. Generation: by that of the group before; the first, and one further on than
    /// anything is known of, by h̄; the one to come by the last that is known.
    void whoseEntropy() {
        const std::vector<double> h{0.2, 1.9, 0.8};
        Coupling before{
            .groups = windowsOf(4), .pairs = {{{0, 2}}}, .rho = 0, .alpha = 0, .rhoOfGroup = {}, .alphaOfPair = {0.9}};
        const Coupling scoring = controlled(some(), before, h, EntropyOf::Group);
        const Coupling generation = controlled(some(), before, h, EntropyOf::PreviousGroup);
        for (const Coupling* each : {&scoring, &generation}) {
            QCOMPARE(each->alpha, alphaOf(some()));
            QVERIFY(each->alphaOfPair.empty());
            QVERIFY(each->pairs == before.pairs && each->groups.window == before.groups.window);
            QCOMPARE(placementAt(*each, 8).alpha, alphaOf(some()));
            QCOMPARE(placementAt(*each, 40).rho, rhoOf(some(), 1.1));
        }
        for (std::size_t g = 0; g < 3; ++g) QCOMPARE(placementAt(scoring, Position(4 * g)).rho, rhoOf(some(), h[g]));
        QCOMPARE(placementAt(scoring, 12).rho, rhoOf(some(), 1.1));
        QCOMPARE(placementAt(generation, 0).rho, rhoOf(some(), 1.1));
        for (std::size_t g = 0; g < 3; ++g)
            QCOMPARE(placementAt(generation, Position(4 * g + 4)).rho, rhoOf(some(), h[g]));
        // Nothing of a group's own: what is known when it begins gives the same ρ as the whole text does.
        for (std::size_t known = 0; known <= 3; ++known) {
            const Coupling then = controlled(some(), before, std::span(h).first(known), EntropyOf::PreviousGroup);
            QVERIFY(placementAt(then, Position(4 * known)) == placementAt(generation, Position(4 * known)));
        }
    }

    void json() {
        std::vector<std::string> warnings;
        const Controller controller{.a = 0.1, .b = 1.0 / 3, .c = -2e-7, .meanEntropy = 1.25};
        const Controller back = controllerFromJson(parseOrderedJson(toJson(controller).dump(), "x"), "x", warnings);
        QVERIFY(back == controller && warnings.empty());
        const OrderedJson more = OrderedJson::parse(R"({"a":1,"b":2,"c":3,"mean_entropy":0.5,"d":4})");
        const Controller kept = controllerFromJson(more, "s.json, \"controller\"", warnings);
        QCOMPARE(joined(warnings),
                 QStringLiteral("s.json, \"controller\": the key \"d\" is unknown; it is kept as it is."));
        QVERIFY(toJson(kept) == more);
    }
    void badJson_data() {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QByteArray>("says");
        QTest::newRow("missing") << QByteArray(R"({"a":1,"b":2,"c":3})")
                                 << QByteArray("s.json: \"mean_entropy\" is missing (expected a finite number).");
        QTest::newRow("text") << QByteArray(R"({"a":"1","b":2,"c":3,"mean_entropy":0})")
                              << QByteArray(
                                     "s.json, \"a\": this is not a number (expected a finite number, found "
                                     "\"1\").");
        QTest::newRow("inf") << QByteArray(R"({"a":1,"b":"inf","c":3,"mean_entropy":0})")
                             << QByteArray(
                                    "s.json, \"b\": this is not a number (expected a finite number, found "
                                    "\"inf\").");
        QTest::newRow("list") << QByteArray("[1,2,3]")
                              << QByteArray("s.json: the value cannot be used (expected an object, found [1,2,3]).");
    }
    void badJson() {
        QFETCH(QByteArray, text);
        QFETCH(QByteArray, says);
        std::vector<std::string> warnings;
        QCOMPARE(QByteArray::fromStdString(errorOf(
                     [&] { (void)controllerFromJson(OrderedJson::parse(text.toStdString()), "s.json", warnings); })),
                 says);
    }
};

QTEST_GUILESS_MAIN(TestController)
#include "tst_controller.moc"
