// Routed layers (R12): the choices of the golden toy models, noise that does not depend on how a text is fed, what is
// read of the weights, and how the rows of routing leave. HAZARDS A5, A15, A25, A26.

#include <cmath>
#include <functional>
#include <set>

#include "compute/decode/ensemble.h"
#include "compute/network/decoder.h"
#include "compute/network/modelsource.h"
#include "compute/sources/notfinite.h"
#include "tests/compute/mixtures.h"

using namespace counterpoint;
using namespace counterpoint::tests;
using compute::Position;

class TestNetworkMixture : public QObject, tests::Mixtures {
    Q_OBJECT

  private Q_SLOTS:
    void init() {
        failOnAnyWarning();
        renew();
    }

    /// Logits of the routers, experts in order and weights as transformers has them at the stored positions.
    void goldenRouting_data() { addMixtures(); }
    void goldenRouting() {
        QFETCH(QString, name);
        const GoldenModel model(name.toStdString());
        const auto source = open(model);
        const compute::RouterInfo& routers = source->info().routers.value();
        const auto L = routers.layers.size(), E = static_cast<std::size_t>(routers.experts),
                   K = static_cast<std::size_t>(routers.chosen);
        QVERIFY(model["gap"].is_null() ? E == K : model["gap"].get<double>() >= 0.09);
        const Reading reading = read(*source, model.ids(), 2001);
        for (std::size_t i = 0; i < model["positions"].size(); ++i) {
            const RoutingRow& row = reading.routing[model["positions"].at(i).get<std::size_t>()];
            const compute::Json& layers = model["routing"].at(i);
            QCOMPARE(layers.size(), L);
            QCOMPARE(row.logits.size(), L * E);
            for (std::size_t l = 0; l < L; ++l) {
                const auto logits = layers.at(l).at("logits").get<std::vector<double>>();
                const auto weights = layers.at(l).at("weights").get<std::vector<double>>();
                QCOMPARE(expertsOf(row, l, K), layers.at(l).at("experts").get<std::vector<ExpertId>>());
                for (std::size_t e = 0; e < E; ++e) QVERIFY(std::abs(row.logits[l * E + e] - logits[e]) < 2e-4);
                for (std::size_t k = 0; k < K; ++k) QVERIFY(std::abs(row.weights[l * K + k] - weights[k]) < 5e-5);
            }
        }
    }

    void routersAreTold() {
        const auto layersOf = [&](const char* name) { return open(GoldenModel(name))->info().routers.value(); };
        QCOMPARE(layersOf("mixtral").layers, (std::vector<std::int64_t>{0, 1, 2}));
        QCOMPARE(layersOf("mixtral").experts, 6);
        QCOMPARE(layersOf("mixtral").chosen, 2);
        QVERIFY(layersOf("mixtral").normTopkProb);
        QVERIFY(!layersOf("olmoe").normTopkProb);
        QCOMPARE(layersOf("qwen2-moe-options").layers, (std::vector<std::int64_t>{3}));
        QCOMPARE(layersOf("qwen3-moe-options").layers, (std::vector<std::int64_t>{0, 2}));
        QVERIFY(layersOf("qwen3-moe").normTopkProb);
        const auto dense = open(GoldenModel("llama"));
        QVERIFY(!dense->info().routers);
        allRows(*dense, {1, 2}, 0);
        QVERIFY(dense->routing().empty());
    }

    /// R11, HAZARDS A25: a prompt at once, in pieces, one by one, after a rewind, without a cache, with other threads
    /// and in a fork: the same noise, so the same experts, weights and bits.
    void sameHoweverFed_data() { addMixtures(); }
    void sameHoweverFed() {
        QFETCH(QString, name);
        const GoldenModel model(name.toStdString());
        const std::vector<TokenId> ids = someOf(model, 150), other = someOf(GoldenModel("llama"), 190);
        OpenOptions options;
        options.threads = 1;
        const auto source = open(model, options);
        source->setRouting(coupled());
        const Reading once = read(*source, ids, ids.size());
        for (const std::size_t step : {1, 7, 64}) {
            source->rewind(0);
            QVERIFY(read(*source, ids, step) == once);
        }
        source->rewind(0);
        read(*source, std::span(other).last(140), 140);
        source->rewind(0);
        read(*source, std::span(ids).first(90), 90);
        source->rewind(33);  // within a group
        const Reading rest = read(*source, std::span(ids).subspan(33), 10);
        QVERIFY(
            std::equal(rest.routing.begin(), rest.routing.end(), once.routing.begin() + 33, once.routing.end(), same));
        const auto fork = source->fork();
        QVERIFY(read(*fork, ids, 50) == once);
        options.threads = 3;
        const auto threads = tests::open(folder(), options, model.vocabulary());
        threads->setRouting(coupled());
        QVERIFY(read(*threads, ids, 97) == once);
        options.cache = false;
        const auto recomputing = tests::open(folder(), options, model.vocabulary());
        recomputing->setRouting(coupled());
        QVERIFY(read(*recomputing, ids, 40) == once);
    }

    /// What a source does is R12 on its own logits: the law, the noise of its layer and position, the order.
    void followsTheLaw_data() { addMixtures(); }
    void followsTheLaw() {
        QFETCH(QString, name);
        const GoldenModel model(name.toStdString());
        const auto source = open(model);
        const compute::RouterInfo routers = source->info().routers.value();
        const auto E = static_cast<std::size_t>(routers.experts), K = static_cast<std::size_t>(routers.chosen);
        const std::vector<TokenId> ids = someOf(model, 40);
        for (const RoutingMode mode : {RoutingMode::Deterministic, RoutingMode::Independent, RoutingMode::Coupled}) {
            SourceRouting routing = coupled();
            routing.noise.mode = mode;
            routing.temperature = 1.5;
            source->rewind(0);
            source->setRouting(routing);
            const Reading reading = read(*source, ids, 13);
            compute::RouterLaw law{.chosen = static_cast<int>(K), .normTopkProb = routers.normTopkProb, .bias = {}};
            law.temperature = 1.5;
            compute::RouteMemory memory;
            compute::Routed routed;
            for (std::size_t t = 0; t < ids.size(); ++t)
                for (std::size_t l = 0; l < routers.layers.size(); ++l) {
                    const RoutingRow& row = reading.routing[t];
                    compute::routePosition(routing.noise, law, std::span(row.logits).subspan(l * E, E),
                                           {static_cast<std::uint32_t>(routers.layers[l]), static_cast<Position>(t)},
                                           memory, routed);
                    QCOMPARE(expertsOf(row, l, K), routed.experts);
                    for (std::size_t k = 0; k < K; ++k)
                        QCOMPARE(row.weights[l * K + k], static_cast<float>(routed.weights[k]));
                }
        }
    }

    /// By the counter and by the weights themselves: a step reads the router and its K experts, a chunk each expert
    /// that any of its positions chose once.
    void onlyChosenExpertsAreRead() {
        const GoldenModel model("mixtral");
        model.write(folder());
        const network::Config config = network::readConfig(folder());
        const auto files = compute::Safetensors::openDirectory(folder());
        auto checkpoint = network::loadCheckpoint({folder()}, files.tensors(), config, {}, {}, {});
        const auto weights = std::make_shared<const network::Weights>(std::move(checkpoint->weights));
        network::Decoder decoder(weights, 1);
        const std::vector<TokenId> ids = someOf(model, 60);
        std::vector<float> row(96);
        const std::int64_t expert = 3 * 80 * 48 * 4, router = 6 * 48 * 4, layers = 3;
        for (Position p = 0; p < 60; ++p) {
            const std::int64_t before = decoder.mixtureBytesRead();
            decoder.forward(p, std::span(ids).subspan(static_cast<std::size_t>(p), 1), 1, row, {});
            const std::int64_t read = decoder.mixtureBytesRead() - before;
            QCOMPARE(read, layers * (2 * expert + router));
            QVERIFY(static_cast<double>(read) <= 1.1 * static_cast<double>(layers * 2 * expert));
        }
        const std::int64_t before = decoder.mixtureBytesRead();
        decoder.forward(0, ids, 1, row, {});
        std::set<std::pair<std::size_t, ExpertId>> chosen;
        for (const RoutingRow& r : decoder.router()->rows())
            for (std::size_t i = 0; i < r.experts.size(); ++i) chosen.insert({i / 2, r.experts[i]});
        QCOMPARE(decoder.mixtureBytesRead() - before,
                 static_cast<std::int64_t>(chosen.size()) * expert + layers * router);
    }
    void expertsThatAreOffAreNotRead() {
        const GoldenModel model("qwen2-moe");
        std::vector<tests::ToyTensor> tensors = model.tensors();
        const std::vector<TokenId> ids = someOf(model, 30);
        SourceRouting routing;
        for (std::int64_t layer = 0; layer < 3; ++layer) routing.bias[layer] = {0, 0, 0, kOff, 0, 0, 0, 0};
        const auto source = open(model);
        source->setRouting(routing);
        const Reading expected = read(*source, ids, 30);
        for (tests::ToyTensor& t : tensors)
            if (t.name.find(".experts.3.") != std::string::npos)
                t = tests::floatTensor(t.name, t.shape, std::vector<float>(t.bytes.size() / 4, std::nanf("")));
        tests::writeToyModel(folder() / "off", model.config(), tensors, 96);
        const auto poisoned = tests::open(folder() / "off", {}, 96);
        poisoned->setRouting(routing);
        QVERIFY(read(*poisoned, ids, 30) == expected);
        poisoned->rewind(0);
        QVERIFY(read(*poisoned, ids, 1) == expected);
    }

    /// HAZARDS A26: a router or an expert that overflows is named by its layer.
    void layerThatOverflowsIsNamed_data() {
        QTest::addColumn<QString>("tensor");
        QTest::addColumn<QString>("says");
        QTest::newRow("a router") << "model.layers.1.block_sparse_moe.gate.weight"
                                  << "layer 2 of 3 gives a number";
        QTest::newRow("an expert") << "model.layers.0.block_sparse_moe.experts.4.w2.weight"
                                   << "layer 1 of 3 gives a number";
    }
    void layerThatOverflowsIsNamed() {
        QFETCH(QString, tensor);
        QFETCH(QString, says);
        const GoldenModel model("mixtral");
        std::vector<tests::ToyTensor> tensors = model.tensors();
        for (tests::ToyTensor& t : tensors)
            if (t.name == tensor.toStdString())
                t = tests::floatTensor(t.name, t.shape,
                                       std::vector<float>(t.bytes.size() / 4, std::numeric_limits<float>::max()));
        tests::writeToyModel(folder(), model.config(), tensors, 96);
        const auto source = tests::open(folder(), {}, 96);
        for (const std::size_t step : {40, 1}) {
            source->rewind(0);
            try {
                (void)read(*source, someOf(model, 40), step);
                QFAIL("the overflow was not seen");
            } catch (const compute::NotFinite& e) {
                QVERIFY2(QString::fromStdString(e.parts().what).startsWith(says), e.what());
            }
        }
    }

    /// A base and the same model under coupled noise in one rack: each with its own rows, each of its own settings, at
    /// the shared sequence's positions although one has a prefix.
    void inAnEnsemble() {
        const GoldenModel model("olmoe");
        const auto base = open(model);
        const std::vector<TokenId> ids = someOf(model, 30);
        std::vector<compute::EnsembleMember> members;
        members.push_back({.name = "base", .source = base->fork(), .prefix = {}});
        members.push_back({.name = "coupled", .source = base->fork(), .prefix = {5, 6, 7}});
        members.push_back({.name = "dense", .source = nullptr, .prefix = {}});
        GoldenModel("llama").write(folder() / "dense");
        members[2].source = tests::open(folder() / "dense", {}, 96);
        compute::Ensemble ensemble(std::move(members));
        std::vector<compute::RawRows> rows;
        QCOMPARE(ensemble.forward(ids, 1, rows, {}), Outcome::Done);
        const std::vector<RoutingRow> quiet = rows[20].routing;
        QCOMPARE(quiet.size(), std::size_t{3});
        QCOMPARE(quiet[0].experts.size(), std::size_t{9});
        QVERIFY(quiet[2].logits.empty());

        ensemble.setRouting(1, coupled());
        QCOMPARE(ensemble.forward(ids, 30, rows, {}), Outcome::Done);  // the text is read again from its beginning
        const RoutingRow last = rows[0].routing[1];
        QCOMPARE(ensemble.forward(ids, 1, rows, {}), Outcome::Done);
        QVERIFY(same(rows[29].routing[1], last));
        QVERIFY(same(rows[20].routing[0], quiet[0]));
        bool moved = false;
        compute::RouteMemory memory;
        compute::Routed routed;
        for (std::size_t t = 0; t < ids.size(); ++t) {  // the row about position t + 1 has the routing of position t
            const RoutingRow& row = rows[t].routing[1];
            compute::routePosition(coupled().noise, {.chosen = 3, .normTopkProb = false, .bias = {}},
                                   std::span(row.logits).first(8), {0, static_cast<Position>(t)}, memory, routed);
            QCOMPARE(expertsOf(row, 0, 3), routed.experts);
            moved = moved || !same(row, rows[t].routing[0]);
        }
        QVERIFY(moved);
        const std::vector<RoutingRow> all = rows[28].routing;
        QCOMPARE(ensemble.forward(std::span(ids).first(10), 10, rows, {}), Outcome::Done);  // goes back
        QCOMPARE(ensemble.forward(ids, 29, rows, {}), Outcome::Done);
        QVERIFY(same(rows[0].routing[1], all[1]));

        // The same ids with a shorter prefix: what was prefix has noise now, and the rest that of other positions.
        const std::vector<TokenId> longer = [&] {
            std::vector<TokenId> all{7};
            all.insert(all.end(), ids.begin(), ids.end());
            return all;
        }();
        ensemble.setMember(1, 1.0, {5, 6}, true);
        QCOMPARE(ensemble.forward(longer, 1, rows, {}), Outcome::Done);
        for (std::size_t t = 0; t < longer.size(); ++t) {
            compute::routePosition(coupled().noise, {.chosen = 3, .normTopkProb = false, .bias = {}},
                                   std::span(rows[t].routing[1].logits).first(8), {0, static_cast<Position>(t)}, memory,
                                   routed);
            QCOMPARE(expertsOf(rows[t].routing[1], 0, 3), routed.experts);
        }
        ensemble.setMember(1, 1.0, {5, 6, 7}, true);

        ensemble.setRouting(1, {});
        QCOMPARE(ensemble.forward(ids, 1, rows, {}), Outcome::Done);
        QVERIFY(same(rows[20].routing[1], quiet[1]));
        const std::string text = errorOf([&] { ensemble.setRouting(2, coupled()); });
        QVERIFY2(
            text.find("source 'dense'") != std::string::npos && text.find("no routed experts") != std::string::npos,
            text.c_str());
    }
};

QTEST_GUILESS_MAIN(TestNetworkMixture)
#include "tst_network_mixture.moc"
