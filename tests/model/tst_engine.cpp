// One decode with scripted sources: what it publishes, how it ends, scoring, branches (HAZARDS A8, A20, A24).

#include <atomic>

#include "tests/model/engineevents.h"
#include "tests/support/fixture.h"

using namespace counterpoint;
using namespace counterpoint::model;
using namespace counterpoint::tests;

class TestEngine : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void init() { failOnAnyWarning(); }

    void publishesEveryRowInOrder() {
        Engine engine(opener(three()));
        const Said said = decode(engine, request(threeSession()));
        QVERIFY(said.failures.empty());
        QCOMPARE(said.loaded.size(), std::size_t{1});
        QCOMPARE(said.started[0].tokens, (std::vector<TokenId>{1, 3 + 'a', 3 + 'b'}));
        QCOMPARE(said.started[0].tokenBytes, (std::vector<std::string>{"", "a", "b"}));
        QCOMPARE(said.steps.size(), std::size_t{2 + 24});
        for (std::size_t i = 0; i < said.steps.size(); ++i) {
            const compute::Step& s = *said.steps[i];
            QCOMPARE(s.position, static_cast<Position>(i + 1));
            QCOMPARE(s.prompt, i < 2);
            if (!s.prompt) QCOMPARE(s.token, s.drawn);
            QCOMPARE(s.logProbs.size(), std::size_t{3});
            QVERIFY(std::isfinite(s.logProb) && s.logProb < 0);
        }
        QCOMPARE(said.steps[1]->token, 3 + 'b');
        QCOMPARE(said.stop(), std::string("limit"));
        QVERIFY(said.ended[0].tokensPerSecond > 0);
        // The numbers of a prompt token are its own, not the drawn token's.
        const auto row = said.started[0].store->row(2, 1);
        QCOMPARE(said.steps[1]->logProbs[1], row[3 + 'b']);
    }

    /// R12: a step tells where the input position before it went, in every source that has routers; of the prompt too.
    void stepsCarryTheirRouting() {
        auto scripts = three();
        scripts["poetry"].routed = true;
        Engine engine(opener(scripts));
        const Said said = decode(engine, request(threeSession()));
        QCOMPARE(said.steps.size(), std::size_t{2 + 24});
        TokenId before = 1;
        for (const auto& step : said.steps) {
            QCOMPARE(step->routing.size(), std::size_t{3});
            QCOMPARE(step->routing[2]->experts, (std::vector<compute::ExpertId>{before}));
            QVERIFY(step->routing[1] == nullptr);
            before = step->token;
        }
    }

    void startToken_data() {
        QTest::addColumn<bool>("wanted");
        QTest::addColumn<int>("rule");
        QTest::addColumn<int>("starts");
        QTest::newRow("auto, the tokenizer wants one") << true << 0 << 1;
        QTest::newRow("auto, the tokenizer wants none") << false << 0 << 0;
        QTest::newRow("true, though the tokenizer wants none") << false << 1 << 1;
        QTest::newRow("true, and the tokenizer wants one") << true << 1 << 1;
        QTest::newRow("false, though the tokenizer wants one") << true << 2 << 0;
    }
    void startToken() {
        QFETCH(bool, wanted);
        QFETCH(int, rule);
        QFETCH(int, starts);
        auto scripts = three();
        scripts["model"].addsBos = wanted;
        Engine engine(opener(scripts));
        Session s = sessionOf({"model"});
        s.prompt = "<s></s>x";  // looks like control tokens; is text
        s.decoding.addBos = rule == 0 ? AddBos::Auto : rule == 1 ? AddBos::True : AddBos::False;
        s.decoding.maxNewTokens = 0;
        const Said said = decode(engine, request(s));
        QCOMPARE(static_cast<int>(std::count(said.started[0].tokens.begin(), said.started[0].tokens.end(), 1)), starts);
        QCOMPARE(static_cast<int>(said.started[0].tokens.size()), 8 + starts);
        QCOMPARE(std::count(said.started[0].tokens.begin(), said.started[0].tokens.end(), 2), 0);
    }

    void emptyPrompt() {
        auto scripts = three();
        scripts["model"].addsBos = false;
        Engine engine(opener(scripts));
        Session s = sessionOf({"model"});
        s.prompt.clear();
        const Said said = decode(engine, request(s));
        QCOMPARE(said.failures.size(), std::size_t{1});
        QCOMPARE(said.stop(), std::string("error"));
        QVERIFY(said.failures[0].sentence.find(", prompt: it is empty") != std::string::npos);
    }

    void stopIdsOfAllPlaces_data() {
        QTest::addColumn<QList<int>>("stated");
        QTest::addColumn<QList<int>>("chosen");
        QTest::addColumn<QString>("stop");
        QTest::addColumn<int>("steps");
        QTest::newRow("one of three stated ids") << QList<int>{2, 5, 7} << QList<int>{} << "eos" << 3;
        QTest::newRow("not stated") << QList<int>{2, 5} << QList<int>{} << "limit" << 8;
        QTest::newRow("the session's own set replaces it") << QList<int>{2, 5, 7} << QList<int>{9} << "limit" << 8;
        QTest::newRow("the session's own set holds it") << QList<int>{} << QList<int>{7} << "eos" << 3;
    }
    void stopIdsOfAllPlaces() {
        QFETCH(QList<int>, stated);
        QFETCH(QList<int>, chosen);
        QFETCH(QString, stop);
        QFETCH(int, steps);
        Script script;
        script.stopIds.assign(stated.begin(), stated.end());
        script.logits = [](std::span<const TokenId> read, std::span<float> out) { certain(out, read.size() == 5 ? 7 : 100); };
        Engine engine(opener({{"model", script}}));
        Session s = sessionOf({"model"});
        s.decoding.temperature = 0;
        s.decoding.maxNewTokens = 8;
        if (!chosen.isEmpty()) s.decoding.stopIds = std::vector<TokenId>(chosen.begin(), chosen.end());
        const Said said = decode(engine, request(s));
        QCOMPARE(QString::fromStdString(said.stop()), stop);
        QCOMPARE(static_cast<int>(said.steps.size()) - 2, steps);
        QCOMPARE(said.ended[0].stopId, stop == "eos" ? 7 : kNoToken);
    }

    void positionLimit() {
        auto scripts = three();
        scripts["math"].maxPositions = 9;
        scripts["poetry"].maxPositions = 5;  // switched off: must not end the text of the others
        for (TokenId id = 0; id < 259; ++id) scripts["poetry"].stopIds.push_back(id);
        Engine engine(opener(scripts));
        Session s = threeSession(100);
        s.specialists[1].enabled = false;
        const Said said = decode(engine, request(s));
        QVERIFY(said.failures.empty());
        QCOMPARE(said.stop(), std::string("context"));
        QCOMPARE(said.tokens().size(), std::size_t{9});
        QVERIFY(!said.started[0].store->row(5, 2).empty());
        QVERIFY(said.started[0].store->row(6, 2).empty());
        s.specialists[0].prefix = "ab";  // takes two of the nine
        QCOMPARE(decode(engine, request(s)).tokens().size(), std::size_t{7});
        s.specialists[0].prefix.clear();
        s.prompt = "longer than nine";
        const Said tooLong = decode(engine, request(s));
        QCOMPARE(tooLong.failures.size(), std::size_t{1});
        QVERIFY(tooLong.failures[0].sentence.find("at most 9 tokens") != std::string::npos);
    }

    void scoring() {
        Engine engine(opener(three()));
        Session s = threeSession();
        s.mode = Mode::Score;
        s.decoding.scorePrompt = false;
        const Said said = decode(engine, request(s));
        QCOMPARE(said.steps.size(), std::size_t{3});
        QVERIFY(said.steps[0]->prompt && said.steps[1]->prompt && !said.steps[2]->prompt);
        QCOMPARE(said.steps[2]->token, kNoToken);
        QVERIFY(said.steps[2]->drawn != kNoToken);
        QCOMPARE(said.tokens().size(), std::size_t{3});
    }

    void promptNotScored() {
        Engine engine(opener(three()));
        Session s = threeSession(6);
        const Said all = decode(engine, request(s));
        s.decoding.scorePrompt = false;
        DecodeRequest r = request(s);
        const Said few = decode(engine, r);
        QCOMPARE(few.steps.front()->position, Position{3});
        QCOMPARE(few.tokens(), all.tokens());
        QCOMPARE(few.started[0].store->first(), Position{3});
        r.everyRow = true;
        const Said recorded = decode(engine, r);
        QCOMPARE(recorded.steps.front()->position, Position{3});
        QCOMPARE(recorded.started[0].store->first(), Position{1});
        QCOMPARE(recorded.started[0].store->end(), Position{10});
        QCOMPARE(recorded.tokens(), all.tokens());
    }

    void goingOn() {
        Engine engine(opener(three()));
        const Said whole = decode(engine, request(threeSession(20)));
        DecodeRequest r = request(threeSession(7));
        const Said first = decode(engine, r);
        r.ids = first.tokens();
        r.promptLength = 3;
        r.store = first.started[0].store;
        r.maxNewTokens = 13;
        const Said rest = decode(engine, r);
        QCOMPARE(rest.steps.size(), std::size_t{13});
        QCOMPARE(rest.tokens(), whole.tokens());
    }

    void branching() {
        auto scripts = three();
        auto fed = std::make_shared<std::atomic<int>>(0);
        scripts["math"].onForward = [fed](std::span<const TokenId> ids) { *fed += static_cast<int>(ids.size()); };
        Engine engine(opener(scripts));
        const Session s = threeSession(20);
        const Said trunk = decode(engine, request(s));
        DecodeRequest r = request(s);
        const std::vector<TokenId> tokens = trunk.tokens();
        r.ids.assign(tokens.begin(), tokens.begin() + 10);
        r.ids.push_back(200);
        r.promptLength = 3;
        r.forced = {10};
        r.store = trunk.started[0].store->branch(11);
        r.maxNewTokens = 5;
        *fed = 0;
        const Said branch = decode(engine, r);
        QCOMPARE(fed->load(), 5);  // the forced token and four drawn ones; the prefix is in the cache and in the store
        QCOMPARE(branch.steps.size(), std::size_t{6});
        QVERIFY(branch.steps[0]->forced);
        QCOMPARE(branch.steps[0]->token, 200);
        QCOMPARE(branch.steps[0]->position, Position{10});
        QVERIFY(!branch.steps[1]->forced);
        // The same as reading those ids afresh.
        r.store.reset();
        const Said fresh = decode(engine, r);
        QCOMPARE(fresh.steps.size(), std::size_t{2 + 8 + 5});
        for (std::size_t i = 0; i < 6; ++i) QVERIFY(sameNumbers(*fresh.steps[9 + i], *branch.steps[i]));
        QCOMPARE(trunk.started[0].store->end(), Position{23});
    }

    void forcedStopTokenEnds() {
        Engine engine(opener(three()));
        DecodeRequest r = request(threeSession(5));
        r.ids = {1, 100, 2};
        r.promptLength = 2;
        r.forced = {2};
        const Said said = decode(engine, r);
        QCOMPARE(said.stop(), std::string("eos"));
        QCOMPARE(said.steps.size(), std::size_t{2});
    }
};

QTEST_GUILESS_MAIN(TestEngine)
#include "tst_engine.moc"
