// Routing settings of a model with routed layers (R12): modes, experts that are off or biased, ties, and what is
// refused.

#include <cmath>
#include <functional>
#include <set>

#include "tests/compute/mixtures.h"

using namespace counterpoint;
using namespace counterpoint::tests;
using compute::Position;

class TestNetworkRouting : public QObject, tests::Mixtures {
    Q_OBJECT

  private Q_SLOTS:
    void init() {
        failOnAnyWarning();
        renew();
    }

    /// Deterministic routing is the model as published whatever the other dials say; noise and its seed move it; ρ = 0
    /// is the independent mode.
    void modes() {
        const GoldenModel model("olmoe");
        const std::vector<TokenId> ids = someOf(model, 60);
        const auto source = open(model);
        const auto readAs = [&](const SourceRouting& routing) {
            source->rewind(0);
            source->setRouting(routing);
            return read(*source, ids, 60);
        };
        const Reading published = read(*source, ids, 60);
        SourceRouting still = coupled();
        still.noise.mode = RoutingMode::Deterministic;
        QVERIFY(readAs(still) == published);
        const Reading noisy = readAs(coupled());
        QVERIFY(!(noisy == published));
        QVERIFY(!(readAs(coupled(0.7, 0.6, 12)) == noisy));
        QVERIFY(!(readAs(coupled(0.2)) == noisy));
        QVERIFY(!(readAs(coupled(0.7, 0.0)) == noisy));
        SourceRouting independent = coupled();
        independent.noise.mode = RoutingMode::Independent;
        QVERIFY(readAs(independent) == readAs(coupled(0.0)));
        QVERIFY(readAs({}) == published);
    }

    /// R12, HAZARDS A15: an expert that is off is never chosen and never read, whatever its weights hold; biased ones
    /// come and go; the logits that are told stay the router's.
    void switchedOffAndBiased() {
        GoldenModel model("mixtral");
        const std::vector<TokenId> ids = someOf(model, 40);
        const auto source = open(model);
        const Reading published = read(*source, ids, 40);
        SourceRouting routing = coupled();
        routing.bias[1] = {0, 0, kOff, 0, 0, kOff};
        routing.bias[2] = {0, 60, 0, 0, 0, 0};
        source->rewind(0);
        source->setRouting(routing);
        const Reading changed = read(*source, ids, 40);
        std::set<ExpertId> before, after;
        for (const RoutingRow& row : published.routing)
            for (const ExpertId e : expertsOf(row, 1, 2)) before.insert(e);
        for (const RoutingRow& row : changed.routing) {
            for (const ExpertId e : expertsOf(row, 1, 2)) after.insert(e);
            QCOMPARE(expertsOf(row, 2, 2).front(), 1);
            QVERIFY(row.weights[4] > 0.999F);
            QVERIFY(std::abs(row.weights[2] + row.weights[3] - 1.0F) < 1e-6F);
        }
        QVERIFY(before.contains(2) && before.contains(5));
        QVERIFY(!after.contains(2) && !after.contains(5));
        for (std::size_t e = 0; e < 6; ++e) QCOMPARE(changed.routing[0].logits[e], published.routing[0].logits[e]);
    }

    /// HAZARDS A5, A26: equal logits go to the lower indices; one expert alone has all the weight.
    void equalLogits() {
        const GoldenModel model("mixtral");
        std::vector<tests::ToyTensor> tensors = model.tensors();
        for (tests::ToyTensor& t : tensors)
            if (t.name.ends_with(".gate.weight"))
                t = tests::floatTensor(t.name, t.shape, std::vector<float>(t.bytes.size() / 4, 0.0F));
        tests::writeToyModel(folder(), model.config(), tensors, 96);
        const Reading reading = read(*tests::open(folder(), {}, 96), someOf(model, 20), 7);
        for (const RoutingRow& row : reading.routing) {
            QCOMPARE(row.experts, (std::vector<ExpertId>{0, 1, 0, 1, 0, 1}));
            QCOMPARE(row.weights, std::vector<float>(6, 0.5F));
        }
        const GoldenModel alone("mixtral-window");
        for (const RoutingRow& row : read(*open(alone), someOf(alone, 20), 20).routing)
            QCOMPARE(row.weights, std::vector<float>(3, 1.0F));
    }

    void refusedSettings_data() {
        QTest::addColumn<std::function<void(SourceRouting&)>>("change");
        QTest::addColumn<QStringList>("said");
        const auto row = [](const char* name, std::function<void(SourceRouting&)> change, QStringList said) {
            QTest::newRow(name) << change << said;
        };
        row("fewer than K left", [](auto& r) { r.bias[3] = {0, kOff, kOff, kOff, kOff, kOff, kOff, 0}; },
            {"layer 3", "too few experts", "3 or more", "2"});
        row("a layer without experts", [](auto& r) { r.bias[1] = std::vector<double>(8, 0.0); },
            {"layer 1", "no routed experts"});
        row("a layer that is not there", [](auto& r) { r.bias[7] = std::vector<double>(8, 0.0); }, {"layer 7"});
        row("a bias too many", [](auto& r) { r.bias[3] = std::vector<double>(9, 0.0); }, {"bias", "8", "9"});
        row("a bias that is no number", [](auto& r) { r.bias[3] = std::vector<double>(8, std::nan("")); }, {"bias"});
        row("no temperature", [](auto& r) { r.temperature = 0; }, {"temperature", "above 0"});
        row("rho", [](auto& r) { r.noise.coupling.rho = 1.5; }, {"rho", "0 to 1", "1.5"});
        row("a window of nothing", [](auto& r) { r.noise.coupling.groups.window = 0; }, {"window", "1 or more"});
    }
    void refusedSettings() {
        QFETCH(std::function<void(SourceRouting&)>, change);
        QFETCH(QStringList, said);
        const GoldenModel model("qwen2-moe-options");
        const auto source = open(model);
        source->setRouting(coupled());
        const std::vector<TokenId> ids = someOf(model, 20);
        const Reading before = read(*source, ids, 20);
        SourceRouting wrong = coupled(0.1);
        change(wrong);
        const std::string text = errorOf([&] { source->setRouting(wrong); });
        for (const QString& word : said)
            QVERIFY2(text.find(word.toStdString()) != std::string::npos,
                     (text + " lacks " + word.toStdString()).c_str());
        QVERIFY2(text.starts_with(folder().string()), text.c_str());
        source->rewind(0);
        QVERIFY(read(*source, ids, 20) == before);  // nothing changed
    }

    void denseModelsCannotBeRouted() {
        const auto source = open(GoldenModel("llama"));
        source->setRouting({});
        const std::string text = errorOf([&] { source->setRouting(coupled()); });
        QVERIFY2(text.find("no routed experts") != std::string::npos, text.c_str());
    }
};

QTEST_GUILESS_MAIN(TestNetworkRouting)
#include "tst_network_routing.moc"
