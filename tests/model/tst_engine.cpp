// The two lanes with scripted sources: what a decode publishes, how it ends, branches, what-if, failures, stops (HAZARDS A6, A8, A20, A24).

#include "tests/model/scripted.h"
#include "tests/support/fixture.h"

#include <QElapsedTimer>

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <random>
#include <thread>

using namespace counterpoint;
using namespace counterpoint::model;
using namespace counterpoint::tests;
using compute::kNoToken;

namespace {

/// Everything the engine said until both lanes were idle, sorted by kind.
struct Said {
    std::vector<TraceStarted> started;
    std::vector<StepPtr> steps;
    std::vector<TraceEnded> ended;
    std::vector<Failure> failures;
    std::vector<Loaded> loaded;
    std::vector<Recomposed> recomposed;
    void operator()(const SourceLoaded&) {}
    void operator()(const Progress&) {}
    void operator()(const Hashed&) {}
    void operator()(const Loaded& e) { loaded.push_back(e); }
    void operator()(const Failure& e) { failures.push_back(e); }
    void operator()(const TraceStarted& e) { started.push_back(e); }
    void operator()(const StepDone& e) { steps.push_back(e.step); }
    void operator()(const TraceEnded& e) { ended.push_back(e); }
    void operator()(const Recomposed& e) { recomposed.push_back(e); }
    void operator()(const Idle&) {}

    std::vector<TokenId> tokens() const {
        std::vector<TokenId> ids = started.at(0).tokens;
        for (const StepPtr& s : steps)
            if (s->position == static_cast<Position>(ids.size()) && s->token != kNoToken) ids.push_back(s->token);
        return ids;
    }
    std::string stop() const { return ended.empty() ? "" : ended.back().stop; }
};

Said wait(Engine& engine) {
    Said said;
    const auto read = [&] {
        for (const Event& e : engine.drain()) std::visit(said, e);
    };
    // While a lane is busy after the outbox was emptied, its Idle is still to come.
    do {
        engine.waitForEvents();
        read();
    } while (engine.decoding() || engine.analysing());
    read();
    return said;
}

DecodeRequest request(const Session& session) {
    DecodeRequest r;
    r.session = session;
    return r;
}

Said decode(Engine& engine, const DecodeRequest& r) {
    engine.decode(r);
    return wait(engine);
}

/// base and two specialists whose rows differ.
std::map<std::string, Script> three() {
    std::map<std::string, Script> scripts;
    int key = 1;
    for (const char* name : {"model", "math", "poetry"}) scripts[name].logits = mixing(key++);
    return scripts;
}

Session threeSession(std::int64_t newTokens = 24) {
    Session s = sessionOf({"model", "math", "poetry"});
    s.decoding.maxNewTokens = newTokens;
    return s;
}

/// Two threads meet: the source waits inside its forward until the test lets it go on.
class Gate {
  public:
    void arrive() {
        std::unique_lock lock(m_mutex);
        ++m_arrived;
        m_changed.notify_all();
        m_changed.wait(lock, [&] { return m_passes > 0; });
        --m_passes;
    }
    void awaitArrival(int n) {
        std::unique_lock lock(m_mutex);
        m_changed.wait(lock, [&] { return m_arrived >= n; });
    }
    void pass(int n = 1) {
        const std::scoped_lock lock(m_mutex);
        m_passes += n;
        m_changed.notify_all();
    }

  private:
    std::mutex m_mutex;
    std::condition_variable m_changed;
    int m_arrived = 0, m_passes = 0;
};

bool sameNumbers(const compute::Step& a, const compute::Step& b) {
    const auto same = [](double x, double y) { return std::memcmp(&x, &y, sizeof x) == 0; };
    bool top = a.top.size() == b.top.size();
    for (std::size_t i = 0; top && i < a.top.size(); ++i)
        top = a.top[i].token == b.top[i].token && a.top[i].temperature == b.top[i].temperature && a.top[i].source == b.top[i].source;
    return top && a.position == b.position && a.token == b.token && a.drawn == b.drawn && a.prompt == b.prompt && a.forced == b.forced &&
           a.bytes == b.bytes && a.logProbs == b.logProbs && same(a.logProb, b.logProb) && same(a.composedLogProb, b.composedLogProb) &&
           same(a.diagnostics.drift, b.diagnostics.drift) && same(a.diagnostics.entropy, b.diagnostics.entropy);
}

}  // namespace

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
        QVERIFY(said.failures[0].sentence.starts_with("prompt: it is empty"));
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
        Engine engine(opener(scripts));
        Session s = threeSession(100);
        s.specialists[1].enabled = false;
        const Said said = decode(engine, request(s));
        QVERIFY(said.failures.empty());
        QCOMPARE(said.stop(), std::string("context"));
        QCOMPARE(said.tokens().size(), std::size_t{9});
        QVERIFY(!said.started[0].store->row(5, 2).empty());
        QVERIFY(said.started[0].store->row(6, 2).empty());
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

    void dialsDuringADecode() {
        auto scripts = three();
        auto gate = std::make_shared<Gate>();
        scripts["math"].onForward = [gate](std::span<const TokenId>) { gate->arrive(); };
        Engine engine(opener(scripts));
        Session s = threeSession(6);
        gate->pass(3);  // prompt and two tokens
        engine.decode(request(s));
        gate->awaitArrival(4);
        s.decoding.temperature = 0;
        s.specialists[0].weight = 5;
        engine.setRecipeSession(s);
        gate->pass(100);
        const Said said = wait(engine);
        QCOMPARE(said.steps.size(), std::size_t{8});
        // The step under way has its dials; the one after it has the new ones.
        for (std::size_t i = 0; i < said.steps.size(); ++i) QCOMPARE(said.steps[i]->greedy, i >= 6);
        QVERIFY(said.steps[6]->revision > said.steps[5]->revision);
    }

    void recomposeIsTheDecode() {
        Engine engine(opener(three()));
        const Session s = threeSession(40);
        const Said then = decode(engine, request(s));
        for (const double weight : {1.0, 0.4, -0.5, 0.0}) {
            Session other = s;
            other.specialists[0].weight = weight;
            const Said fresh = decode(engine, request(other));
            RecomposeRequest r;
            r.generation = 7;
            r.session = other;
            r.stopIds = then.started[0].stopIds;
            r.sources = then.started[0].sources;
            r.tokens = then.tokens();
            for (const StepPtr& step : then.steps) r.tokenBytes.resize(static_cast<std::size_t>(step->position) + 1);
            for (const StepPtr& step : then.steps) r.tokenBytes[static_cast<std::size_t>(step->position)] = step->bytes;
            r.promptLength = 3;
            r.store = then.started[0].store;
            r.visible = 11;
            engine.recompose(r);
            const Said said = wait(engine);
            QVERIFY(said.failures.empty());
            QCOMPARE(said.recomposed.front().steps.front()->position, Position{11});
            QVERIFY(said.recomposed.back().last);
            std::vector<StepPtr> steps;
            for (std::size_t i = 1; i < said.recomposed.size(); ++i)
                steps.insert(steps.end(), said.recomposed[i].steps.begin(), said.recomposed[i].steps.end());
            QCOMPARE(steps.size(), then.steps.size());
            // The flip is where a decode under the new dials leaves the trace; left of it both are the same to the bit.
            Position flip = -1;
            for (std::size_t i = 0; i < steps.size() && flip < 0; ++i) {
                if (fresh.steps[i]->token != then.steps[i]->token)
                    flip = fresh.steps[i]->position;
                else
                    QVERIFY(sameNumbers(*steps[i], *fresh.steps[i]));
            }
            QCOMPARE(said.recomposed.back().flip, flip);
            QCOMPARE(flip < 0, weight == 1.0);
        }
    }

    void newestRecomposeWins() {
        Engine engine(opener(three()));
        Session s = threeSession(60);
        const Said then = decode(engine, request(s));
        RecomposeRequest r;
        r.stopIds = then.started[0].stopIds;
        r.sources = then.started[0].sources;
        r.tokens = then.tokens();
        r.store = then.started[0].store;
        for (std::uint64_t g = 1; g <= 50; ++g) {
            r.generation = g;
            s.specialists[0].weight = static_cast<double>(g) / 50;
            r.session = s;
            engine.recompose(r);
        }
        const Said said = wait(engine);
        QCOMPARE(said.recomposed.back().generation, std::uint64_t{50});
        QVERIFY(said.recomposed.back().last);
    }

    void sourceWithoutRows() {
        Engine engine(opener(three()));
        Session s = threeSession(4);
        s.specialists[1].enabled = false;
        DecodeRequest r = request(s);
        const Said all = decode(engine, r);
        QVERIFY(!all.started[0].store->row(4, 2).empty());  // switched off, fed all the same: it can be tried
        r.feedAll = false;
        const Said used = decode(engine, r);
        QVERIFY(used.started[0].store->row(4, 2).empty());
        QCOMPARE(used.tokens(), all.tokens());
    }

    void failedLoadChangesNothing() {
        auto scripts = three();
        scripts["odd"] = scripts["math"];
        scripts["odd"].vocabulary = 301;
        auto opened = std::make_shared<std::atomic<int>>(0);
        Engine engine([open = opener(scripts), opened](const auto& path, const auto& options, const auto& stop) {
            ++*opened;
            return open(path, options, stop);
        });
        const Session good = threeSession(5);
        const Said before = decode(engine, request(good));
        QCOMPARE(opened->load(), 3);
        for (int n = 0; n < 20; ++n) {
            Session bad = good;
            bad.specialists[0].path = n % 2 == 0 ? "missing" : "odd";
            engine.load({bad, {}, false});
            const Said said = wait(engine);
            QCOMPARE(said.failures.size(), std::size_t{1});
            QVERIFY(said.loaded.empty());
        }
        *opened = 0;
        const Said after = decode(engine, request(good));
        QCOMPARE(opened->load(), 0);
        QCOMPARE(after.tokens(), before.tokens());
    }

    void switchedOffAndMissing() {
        Engine engine(opener(three()));
        Session s = threeSession(3);
        s.specialists[1].path = "missing";
        s.specialists[1].enabled = false;
        Said said = decode(engine, request(s));
        QVERIFY(said.failures.empty());
        QCOMPARE(said.loaded[0].notices.size(), std::size_t{1});
        QVERIFY(said.started[0].store->row(3, 2).empty());
        s.specialists[1].enabled = true;
        said = decode(engine, request(s));
        QCOMPARE(said.failures.size(), std::size_t{1});
    }

    void sameModelTwice() {
        Engine engine(opener(three()));
        Session s = sessionOf({"model", "math"});
        s.specialists.push_back(s.specialists[0]);
        s.specialists[1].name = "math with a prefix";
        s.specialists[1].prefix = "xyz";
        s.decoding.maxNewTokens = 4;
        const Said said = decode(engine, request(s));
        QVERIFY(said.failures.empty());
        QVERIFY(said.started[0].store->row(3, 1)[50] != said.started[0].store->row(3, 2)[50]);
    }

    void notBuiltIsRefusedByName() {
        Engine engine(opener(three()));
        Session s = threeSession(3);
        s.priors.push_back({.bank = "demo.bank.json", .overrides = OrderedJson::object(), .unknown = OrderedJson::object()});
        QVERIFY(decode(engine, request(s)).failures.at(0).sentence.starts_with("demo.bank.json"));
        s.priors[0].enabled = false;
        QVERIFY(decode(engine, request(s)).failures.empty());
        s.base.routing = {{"mode", "coupled"}};
        QVERIFY(decode(engine, request(s)).failures.at(0).sentence.find("coupled") != std::string::npos);
        s.base.routing = {{"mode", "deterministic"}};
        QVERIFY(decode(engine, request(s)).failures.empty());
    }

    void everyThrowIsAFailure() {
        auto scripts = three();
        auto what = std::make_shared<std::atomic<int>>(0);
        scripts["math"].onForward = [what](std::span<const TokenId> ids) {
            if (ids.size() != 1) return;
            switch (what->load()) {
                case 1: throw compute::Error({.where = "math", .what = "broken", .expected = {}, .found = {}, .advice = {}, .details = "trace"});
                case 2: throw std::runtime_error("native text");
                case 3: throw 42;
                case 4: throw std::bad_alloc();
                default: break;
            }
        };
        Engine engine(opener(scripts));
        const Said good = decode(engine, request(threeSession(5)));
        for (int n = 0; n < 20; ++n) {
            *what = 1 + n % 4;
            const Said bad = decode(engine, request(threeSession(5)));
            QCOMPARE(bad.failures.size(), std::size_t{1});
            QCOMPARE(bad.stop(), std::string("error"));
            QCOMPARE(bad.steps.size(), std::size_t{3});  // what was published before stays
            QVERIFY(bad.failures[0].sentence.find("native text") == std::string::npos);
        }
        *what = 0;
        QCOMPARE(decode(engine, request(threeSession(5))).tokens(), good.tokens());
    }

    void cancelledPublishesNothing() {
        auto scripts = three();
        auto gate = std::make_shared<Gate>();
        scripts["math"].onForward = [gate](std::span<const TokenId>) { gate->arrive(); };
        Engine engine(opener(scripts));
        gate->pass(2);
        engine.decode(request(threeSession(10)));
        gate->awaitArrival(3);  // base has answered, math is asked
        engine.stop();
        gate->pass(1000);
        const Said said = wait(engine);
        QCOMPARE(said.stop(), std::string("user"));
        QCOMPARE(said.steps.size(), std::size_t{2 + 2});
        QCOMPARE(said.started[0].store->end(), Position{5});
        const Said again = decode(engine, request(threeSession(10)));
        QCOMPARE(again.steps.size(), std::size_t{12});
        QCOMPARE(again.steps[3]->token, said.steps[3]->token);
    }

    void pausing() {
        auto scripts = three();
        auto calls = std::make_shared<std::atomic<int>>(0);
        scripts["model"].onForward = [calls](std::span<const TokenId>) { ++*calls; };
        Engine engine(opener(scripts));
        engine.pause(true);
        engine.decode(request(threeSession(10)));
        engine.waitForEvents();
        QCOMPARE(calls->load(), 0);
        engine.pause(false);
        QCOMPARE(wait(engine).stop(), std::string("limit"));
        engine.pause(true);
        engine.decode(request(threeSession(10)));
        engine.stop();
        QCOMPARE(wait(engine).stop(), std::string("user"));
    }

    void stopsAtRandomTimes() {
        std::mt19937 random(5);
        QElapsedTimer clock;
        Engine engine(opener(three()));
        for (int n = 0; n < 150; ++n) {
            engine.decode(request(threeSession(100000)));
            std::this_thread::sleep_for(std::chrono::microseconds(random() % 4000));
            clock.start();
            engine.stop();
            const Said said = wait(engine);
            QVERIFY(clock.elapsed() < 2000);
            QCOMPARE(said.stop(), std::string("user"));
            QVERIFY(said.failures.empty());
        }
        // A start stops what runs and waits for it.
        for (int n = 0; n < 50; ++n) engine.decode(request(threeSession(n == 49 ? 5 : 100000)));
        const Said said = wait(engine);
        QCOMPARE(said.ended.size(), std::size_t{50});
        QCOMPARE(said.stop(), std::string("limit"));
    }

    void closesAtRandomTimes() {
        std::mt19937 random(6);
        QElapsedTimer clock;
        for (int n = 0; n < 100; ++n) {
            auto engine = std::make_unique<Engine>(opener(three()));
            if (n % 3 == 0) engine->pause(true);
            engine->decode(request(threeSession(100000)));
            engine->run([](const std::stop_token& stop) { while (!stop.stop_requested()) std::this_thread::yield(); }, "Waiting");
            std::this_thread::sleep_for(std::chrono::microseconds(random() % 3000));
            clock.start();
            engine.reset();
            QVERIFY(clock.elapsed() < 2000);
        }
    }
};

QTEST_GUILESS_MAIN(TestEngine)
#include "tst_engine.moc"
