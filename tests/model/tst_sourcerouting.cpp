// A source's routing settings in a session: what they mean, what is refused, and that they reach the source (R11, R12).

#include "compute/error.h"
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
        s.specialists[1].routing = {};
        s.specialists[0].routing = parsed(R"({"mode":"independent"})");  // math has no routers
        const Said refused = decode(engine, request(s));
        QVERIFY(refused.failures.at(0).sentence.find("no routed experts") != std::string::npos);
    }
};

QTEST_GUILESS_MAIN(TestSourceRouting)
#include "tst_sourcerouting.moc"
