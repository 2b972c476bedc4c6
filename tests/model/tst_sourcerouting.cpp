// A source's routing settings in a session: what they mean, what is refused, and that they reach the source (R11, R12).

#include <cmath>

#include "compute/error.h"
#include "model/sentences.h"
#include "model/sourcerouting.h"
#include "tests/model/engineevents.h"
#include "tests/support/fixture.h"

using namespace counterpoint;
using namespace counterpoint::model;
using namespace counterpoint::tests;
using compute::RoutingMode;

namespace {

OrderedJson parsed(const QByteArray& text) { return compute::parseOrderedJson(text.toStdString(), "row"); }

}  // namespace

class TestSourceRouting : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void init() { failOnAnyWarning(); }

    void whatItMeans() {
        QVERIFY(sourceRouting({}, "w") == compute::SourceRouting());
        QVERIFY(asPublished(sourceRouting(OrderedJson::object(), "w")));
        const auto routing = sourceRouting(
            parsed(R"({"mode":"coupled","rho":0.25,"alpha":0.75,"window":3,"groups":null,"pairs":[[0,1],[2,5]],)"
                   R"("temperature":2,"seed":18446744073709551615,"capacity":1.5})"),
            "w");
        QVERIFY(routing.noise.mode == RoutingMode::Coupled);
        QCOMPARE(routing.noise.coupling.rho, 0.25);
        QCOMPARE(routing.noise.coupling.alpha, 0.75);
        QVERIFY(routing.noise.coupling.groups == compute::windowsOf(3));
        QVERIFY(routing.noise.coupling.pairs == (std::vector<compute::GroupPair>{{0, 1}, {2, 5}}));
        QCOMPARE(routing.temperature, 2.0);
        QCOMPARE(routing.noise.seed, std::numeric_limits<std::uint64_t>::max());
        const auto plain = sourceRouting(parsed(R"({"mode":"independent"})"), "w");
        QVERIFY(plain.noise.mode == RoutingMode::Independent && !plain.noise.coupling.pairs);
        QVERIFY(plain.noise.coupling.groups == compute::windowsOf(8) && plain.noise.seed == 7);
        const auto listed = sourceRouting(parsed(R"({"mode":"coupled","groups":[0,4,9]})"), "w");
        QVERIFY(listed.noise.coupling.groups == compute::groupsFrom({0, 4, 9}));
        std::vector<std::string> warnings;
        (void)sourceRouting(parsed(R"({"mode":"coupled","rhoo":1})"), "w", &warnings);
        QCOMPARE(warnings.size(), 1u);
        QVERIFY(warnings[0].find("\"rhoo\" is unknown") != std::string::npos);
    }

    /// Experts that are switched off or biased, by layer of the model; they reach as far as experts are named until
    /// they are fitted to a source's routers.
    void experts() {
        const compute::RouterInfo routers{.layers = {2, 5}, .experts = 6, .chosen = 2, .normTopkProb = true};
        const auto routing = sourceRouting(
            parsed(R"({"experts":{"2":{"off":[3,0],"bias":{"1":-1.5}},"5":{"bias":{"4":2}},"7":{}}})"), "w");
        constexpr double off = -std::numeric_limits<double>::infinity();
        QCOMPARE(routing.bias.size(), std::size_t{2});
        QCOMPARE(routing.bias.at(2), (std::vector<double>{off, -1.5, 0, off}));
        QVERIFY(!asPublished(routing));
        const auto fit = fitted(routing, routers, "w");
        QCOMPARE(fit.bias.at(2), (std::vector<double>{off, -1.5, 0, off, 0, 0}));
        QCOMPARE(fit.bias.at(5), (std::vector<double>{0, 0, 0, 0, 2, 0}));
        std::vector<std::string> warnings;
        (void)sourceRouting(parsed(R"({"experts":{"2":{"of":[3]}},"draws":64})"), "w", &warnings);
        QCOMPARE(warnings,
                 (std::vector<std::string>{R"(w, "experts", "2": the key "of" is unknown; it is kept as it is.)"}));
        QCOMPARE(routingDraws(parsed(R"({"draws":64})")), 64);
        QCOMPARE(routingCapacity(parsed(R"({"capacity":1.5})")), 1.5);
        QVERIFY(routingDraws({}) == 256 && routingCapacity({}) == 1);
    }

    void expertsThatAreNotThere_data() {
        QTest::addColumn<QByteArray>("experts");
        QTest::addColumn<QByteArray>("says");
        const auto row = [](const char* experts, const char* says) {
            QTest::newRow(experts) << QByteArray(experts) << QByteArray(says);
        };
        row(R"({"3":{"off":[1]}})",
            "w, \"experts\", layer 3: there are no routed experts in this layer to switch off or "
            "bias (expected a routed layer).");
        row(R"({"2":{"off":[4]}})", "w, \"experts\", layer 2: there is no expert 4 (expected 0 to 3).");
        row(R"({"2":{"off":[0,1,3]}})",
            "w, \"experts\", layer 2: too few experts are left to choose from (expected 2 or "
            "more, found 1).");
        row(R"({"2":{"off":[0,1],"bias":{"3":-9}}})", "");
    }
    void expertsThatAreNotThere() {
        QFETCH(QByteArray, experts);
        QFETCH(QByteArray, says);
        const compute::RouterInfo routers{.layers = {2}, .experts = 4, .chosen = 2, .normTopkProb = true};
        QByteArray said;
        try {
            (void)fitted(sourceRouting(parsed("{\"experts\":" + experts + "}"), "w"), routers, "w");
        } catch (const compute::Error& error) {
            said = error.what();
        }
        QCOMPARE(said, says);
    }

    void refusals_data() {
        QTest::addColumn<QByteArray>("routing");
        QTest::addColumn<QByteArray>("says");
        const auto row = [](const char* routing, const char* says) {
            QTest::newRow(routing) << QByteArray(routing) << QByteArray(says);
        };
        row(R"({"mode":"flat"})", "\"mode\": the value cannot be used (expected one of deterministic, independent");
        row(R"({"rho":1.01})", "\"rho\": the value cannot be used (expected a number from 0 to 1");
        row(R"({"rho":"half"})", "\"rho\"");
        row(R"({"alpha":-0.1})", "\"alpha\"");
        row(R"({"window":0})", "\"window\": the value cannot be used (expected a whole number from 1");
        row(R"({"window":2.5})", "\"window\"");
        row(R"({"groups":[0,9,4]})", "ascending order");
        row(R"({"groups":[0,4,4]})", "ascending order");
        row(R"({"groups":8})", "\"groups\"");
        row(R"({"pairs":[[0,1],[1,2]]})", "pair");
        row(R"({"pairs":[[1,0]]})", "pair");
        row(R"({"pairs":[[0,1,2]]})", "\"pairs\"");
        row(R"({"temperature":0})", "\"temperature\"");
        row(R"({"capacity":-1})", "\"capacity\"");
        row(R"({"seed":-1})", "\"seed\"");
        row(R"({"groups":"words"})", "expected null, \"sentences\", or the first positions");
        row(R"({"draws":1})", "\"draws\": the value cannot be used (expected a whole number from 2");
        row(R"({"experts":[2]})", "\"experts\": the value cannot be used (expected an object");
        row(R"({"experts":{"two":{}}})",
            "\"experts\": the value cannot be used (expected the number of a layer, found \"two\")");
        row(R"({"experts":{"2":{"off":3}}})", "\"2\", \"off\": the value cannot be used (expected a list of experts");
        row(R"({"experts":{"2":{"off":[-1]}}})", "\"off\"");
        row(R"({"experts":{"2":{"off":[3,3]}}})", "each expert once");
        row(R"({"experts":{"2":{"off":[3],"bias":{"3":1}}}})", "each expert once");
        row(R"({"experts":{"2":{"off":[1000000]}}})", "0 to 65535");
        row(R"({"experts":{"2":{"bias":{"x":1}}}})", "expected the number of an expert");
        row(R"({"experts":{"2":{"bias":{"1":"inf"}}}})", "\"bias\", \"1\": this is not a number");
        row(R"({"experts":{"2":{"bias":[1]}}})", "\"bias\": the value cannot be used (expected an object");
    }
    void refusals() {
        QFETCH(QByteArray, routing);
        QFETCH(QByteArray, says);
        const QByteArray session =
            "{\"format\":\"counterpoint.session/1\",\"base\":{\"path\":\"m\",\"routing\":" + routing + "}}";
        std::vector<std::string> warnings;
        try {
            sessionFromJson(parsed(session), "/s.session.json", warnings);
            QFAIL("it was accepted");
        } catch (const compute::Error& error) {
            QVERIFY2(error.sentence().find(says.toStdString()) != std::string::npos, error.what());
            QVERIFY2(error.sentence().find("\"routing\"") != std::string::npos, error.what());
        }
    }

    void theLaw() {
        Session s = threeSession(3);
        QCOMPARE(lawOf(s), std::string("exact"));
        const auto law = [&](const char* routing) {
            s.specialists[0].routing = parsed(routing);
            return lawOf(s);
        };
        QCOMPARE(law(R"({"mode":"coupled"})"), std::string("scored only"));
        QCOMPARE(law(R"({"mode":"coupled","rho":0})"), std::string("exact"));
        QCOMPARE(law(R"({"mode":"coupled","window":1,"alpha":0})"), std::string("exact"));
        QCOMPARE(law(R"({"mode":"coupled","window":1,"pairs":[]})"), std::string("exact"));
        QCOMPARE(law(R"({"mode":"coupled","window":1})"), std::string("scored only"));  // pairs of groups share noise
        QCOMPARE(law(R"({"mode":"independent"})"), std::string("exact"));
        QCOMPARE(law(R"({"mode":"independent","temperature":2})"), std::string("changed"));
        QCOMPARE(law(R"({"mode":"deterministic","temperature":2})"), std::string("exact"));
        QCOMPARE(law(R"({"experts":{"2":{"off":[1]}}})"), std::string("changed"));
        QCOMPARE(law(R"({"mode":"coupled","experts":{"2":{"bias":{"1":0.5}}}})"), std::string("changed"));
        QCOMPARE(law(R"({"experts":{"2":{}}})"), std::string("exact"));
        QCOMPARE(law(R"({"mode":"coupled","groups":"sentences"})"), std::string("scored only"));
        QCOMPARE(law(R"({"mode":"coupled","groups":"sentences","rho":0})"), std::string("exact"));
        (void)law(R"({"mode":"coupled"})");
        s.specialists[0].enabled = false;
        QCOMPARE(lawOf(s), std::string("exact"));
        s.specialists[0].enabled = true;
        s.mode = Mode::Score;
        QCOMPARE(lawOf(s), std::string("exact"));
    }

    /// Settings reach the source that has routers, and the store keeps where every position went, in a branch too.
    void theyReachTheSource() {
        auto scripts = three();
        scripts["poetry"].routed = true;
        auto taken = std::make_shared<std::vector<compute::SourceRouting>>();
        scripts["poetry"].onRouting = [taken](const compute::SourceRouting& routing) { taken->push_back(routing); };
        Engine engine(opener(scripts));
        Session s = threeSession(5);
        s.specialists[1].routing = parsed(R"({"mode":"coupled","rho":0.5,"window":4})");
        const Said said = decode(engine, request(s));
        QVERIFY2(said.failures.empty(), said.failures.empty() ? "" : said.failures[0].sentence.c_str());
        QVERIFY(!taken->empty() && taken->back().noise.coupling.rho == 0.5 &&
                taken->back().noise.mode == RoutingMode::Coupled);
        const TraceStarted& trace = said.started[0];
        QVERIFY(!trace.routers[0] && trace.routers[2] && trace.routers[2]->chosen == 1);
        const auto branch = trace.store->branch(trace.store->end() - 1);
        for (Position p = trace.store->first(); p < trace.store->end() - 1; ++p) {
            QVERIFY(trace.store->routing(p, 0) == nullptr);
            const auto row = trace.store->routing(p, 2);
            QVERIFY(row != nullptr && row->experts.size() == 1 && branch->routing(p, 2) == row);
        }
        s.specialists[1].routing = parsed(R"({"experts":{"0":{"off":[3,299],"bias":{"5":1}}}})");
        QVERIFY(decode(engine, request(s)).failures.empty());
        QCOMPARE(taken->back().bias.at(0).size(), std::size_t{300});  // [E]
        QVERIFY(taken->back().bias.at(0)[5] == 1 && std::isinf(taken->back().bias.at(0)[299]));
        s.specialists[1].routing = parsed(R"({"experts":{"1":{"off":[3]}}})");
        const Said unrouted = decode(engine, request(s));
        QVERIFY2(
            unrouted.failures.at(0).sentence.find(
                "source 'poetry', \"routing\", \"experts\", layer 1: there are no routed experts") != std::string::npos,
            unrouted.failures[0].sentence.c_str());
        s.specialists[1].routing = {};
        s.specialists[0].routing = parsed(R"({"mode":"independent"})");  // math has no routers
        const Said refused = decode(engine, request(s));
        QVERIFY(refused.failures.at(0).sentence.find("no routed experts") != std::string::npos);
    }

    /// Groups by sentences grow with the text, and what was read is not read again for it; another text has its own.
    void sentencesGrowWithTheText() {
        auto scripts = three();
        for (auto& [name, script] : scripts)
            script.logits = [](std::span<const TokenId> read, std::span<float> out) {
                certain(out, 3 + (read.size() % 4 == 0 ? '.' : 'a' + static_cast<TokenId>(read.size() % 7)));
            };
        scripts["poetry"].routed = true;
        auto taken = std::make_shared<std::vector<compute::SourceRouting>>();
        auto fed = std::make_shared<std::size_t>(0);
        scripts["poetry"].onRouting = [taken](const compute::SourceRouting& routing) { taken->push_back(routing); };
        scripts["poetry"].onForward = [fed](std::span<const TokenId> ids) { *fed += ids.size(); };
        Engine engine(opener(scripts));
        Session s = threeSession(20);
        s.prompt = "a. b";
        s.decoding.temperature = 0;
        s.specialists[1].routing = parsed(R"({"mode":"coupled","rho":0.5,"groups":"sentences"})");
        const Said said = decode(engine, request(s));
        QVERIFY2(said.failures.empty(), said.failures.empty() ? "" : said.failures[0].sentence.c_str());
        std::vector<std::string> bytes;
        for (const TokenId id : said.tokens()) bytes.emplace_back(said.started[0].tokenizer->bytes(id));
        bytes.pop_back();  // nobody has read the last one
        QCOMPARE(*fed, bytes.size());
        const auto starts = sentenceStarts(bytes);
        QVERIFY(starts.size() > 5);
        QVERIFY(taken->back().noise.coupling.groups == compute::groupsFrom(starts));
        // At no time was a token routed by other groups than the whole text's.
        for (const compute::SourceRouting& routing : *taken) {
            const std::vector<Position>& known = routing.noise.coupling.groups.starts;
            QVERIFY(routing.noise.mode == RoutingMode::Deterministic ||
                    (known.size() <= starts.size() && std::equal(known.begin(), known.end(), starts.begin())));
        }
        *fed = 0;
        s.decoding.scorePrompt = false;  // nothing asks for rows of the prompt
        s.prompt = "a. c. d";            // shares "a. "
        QVERIFY(decode(engine, request(s)).failures.empty());
        QCOMPARE(*fed, std::size_t{8 + 20 - 1 - 4});  // <s>, "a. " stay read
        s.specialists[1].routing["groups"] = {0, 2};
        *fed = 0;
        QVERIFY(decode(engine, request(s)).failures.empty());
        QCOMPARE(*fed, std::size_t{8 + 20 - 1 - 2});  // from the first group that differs
    }
};

QTEST_GUILESS_MAIN(TestSourceRouting)
#include "tst_sourcerouting.moc"
