// Routed layers (R12): the choices of the golden toy models, noise that does not depend on how a text is fed, settings
// that change the law, what is read of the weights, and how the rows of routing leave. HAZARDS A5, A15, A25, A26.

#include <cmath>
#include <functional>
#include <limits>
#include <set>

#include "compute/decode/ensemble.h"
#include "compute/network/decoder.h"
#include "compute/network/modelsource.h"
#include "compute/sources/notfinite.h"
#include "tests/support/fixture.h"
#include "tests/support/goldenmodel.h"
#include "tests/support/scratch.h"
#include "tests/support/toysource.h"

using namespace counterpoint;
using compute::ExpertId;
using compute::OpenOptions;
using compute::Outcome;
using compute::Position;
using compute::RoutingMode;
using compute::RoutingRow;
using compute::SourceRouting;
using compute::TokenId;
using tests::allRows;
using tests::errorOf;
using tests::GoldenModel;

namespace {

constexpr double kOff = -std::numeric_limits<double>::infinity();

SourceRouting coupled(double rho = 0.7, double alpha = 0.6, std::uint64_t seed = 11) {
    SourceRouting routing;
    routing.noise.mode = RoutingMode::Coupled;
    routing.noise.coupling.groups = compute::windowsOf(5);
    routing.noise.coupling.rho = rho;
    routing.noise.coupling.alpha = alpha;
    routing.noise.seed = seed;
    return routing;
}

bool same(const RoutingRow& a, const RoutingRow& b) {
    return a.logits == b.logits && a.experts == b.experts && a.weights == b.weights;
}

/// A text read by one source: logits and routing of every position.
struct Reading {
    std::vector<float> logits;
    std::vector<RoutingRow> routing;
    bool operator==(const Reading& o) const {
        return logits == o.logits &&
               std::equal(routing.begin(), routing.end(), o.routing.begin(), o.routing.end(), same);
    }
};

Reading read(compute::Source& source, std::span<const TokenId> ids, std::size_t step) {
    const auto V = static_cast<std::size_t>(source.info().logitWidth);
    Reading reading;
    for (std::size_t from = 0; from < ids.size(); from += step) {
        const std::size_t n = std::min(step, ids.size() - from);
        std::vector<float> rows(n * V);
        if (source.forward(ids.subspan(from, n), static_cast<std::int64_t>(n), rows, {}) != Outcome::Done)
            throw std::runtime_error("cancelled");
        reading.logits.insert(reading.logits.end(), rows.begin(), rows.end());
        if (source.routing().size() != n) throw std::runtime_error("not a row for each id");
        reading.routing.insert(reading.routing.end(), source.routing().begin(), source.routing().end());
    }
    return reading;
}

/// The models with routed layers.
std::vector<std::string> mixtures() {
    std::vector<std::string> names;
    for (const std::string& name : tests::goldenNames())
        if (GoldenModel(name).config().contains("num_experts_per_tok")) names.push_back(name);
    return names;
}

std::vector<ExpertId> expertsOf(const RoutingRow& row, std::size_t layer, std::size_t K) {
    return {row.experts.begin() + static_cast<std::ptrdiff_t>(layer * K),
            row.experts.begin() + static_cast<std::ptrdiff_t>((layer + 1) * K)};
}

}  // namespace

class TestNetworkMixture : public QObject, tests::Scratch {
    Q_OBJECT

    std::unique_ptr<compute::Source> open(const GoldenModel& model, const OpenOptions& options = {}) const {
        model.write(folder());
        return tests::open(folder(), options, model.vocabulary());
    }
    static std::vector<TokenId> someOf(const GoldenModel& model, std::size_t n) {
        std::vector<TokenId> ids = model.ids();
        ids.resize(n);
        return ids;
    }
    static void addMixtures() {
        QTest::addColumn<QString>("name");
        for (const std::string& name : mixtures()) QTest::addRow("%s", name.c_str()) << QString::fromStdString(name);
    }

  private Q_SLOTS:
    void init() {
        tests::failOnAnyWarning();
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
