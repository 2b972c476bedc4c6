// The two lanes beside each other: dials during a decode, what-if, failures, pausing and stopping (HAZARDS A6, A20).

#include <QElapsedTimer>
#include <atomic>
#include <random>
#include <thread>

#include "tests/model/engineevents.h"
#include "tests/support/fixture.h"
#include "tests/support/patience.h"

using namespace counterpoint;
using namespace counterpoint::model;
using namespace counterpoint::tests;

class TestLanes : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void init() { failOnAnyWarning(); }

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

    void whatWasChosenByHandStaysSo() {
        Engine engine(opener(three()));
        const Session s = threeSession(8);
        const Said then = decode(engine, request(s));
        RecomposeRequest r = again(s, then);
        r.forced = {6};
        engine.recompose(r);
        const Said said = wait(engine);
        for (const StepPtr& step : said.recomposed.back().steps) QCOMPARE(step->forced, step->position == 6);
    }

    void recomposeIsTheDecode() {
        Engine engine(opener(three()));
        const Session s = threeSession(40);
        const Said then = decode(engine, request(s));
        for (const double weight : {1.0, 0.4, -0.5, 0.0}) {
            Session other = s;
            other.specialists[0].weight = weight;
            const Said fresh = decode(engine, request(other));
            RecomposeRequest r = again(other, then);
            r.generation = 7;
            for (const StepPtr& step : then.steps) r.tokenBytes.resize(static_cast<std::size_t>(step->position) + 1);
            for (const StepPtr& step : then.steps) r.tokenBytes[static_cast<std::size_t>(step->position)] = step->bytes;
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

    /// A what-if does not wait for a long job that lets it pass, and the newest one stops the one before.
    void aJobLetsWhatIfsPass() {
        std::atomic<bool> began = false, enough = false;
        Engine engine(opener(three()));
        const Session s = threeSession(20);
        const Said then = decode(engine, request(s));
        RecomposeRequest r = again(s, then);
        engine.run(
            [&](const std::stop_token& stop) {
                began = true;
                while (!enough && !stop.stop_requested()) engine.letPass();
            },
            "Waiting");
        WAIT_UNTIL(began);
        for (std::uint64_t g = 1; g <= 3; ++g) {
            r.generation = g;
            engine.recompose(r);
        }
        std::vector<Recomposed> all;
        const auto newest = [&] {
            for (Event& event : engine.drain())
                if (auto* one = std::get_if<Recomposed>(&event)) all.push_back(std::move(*one));
            return !all.empty() && all.back().generation == 3 && all.back().last;
        };
        WAIT_UNTIL(newest());
        QVERIFY(engine.analysing());  // the job is still there
        enough = true;
        WAIT_UNTIL(!engine.analysing());
    }

    void newestRecomposeWins() {
        Engine engine(opener(three()));
        Session s = threeSession(60);
        const Said then = decode(engine, request(s));
        QCOMPARE(then.started[0].promptLength, Position{3});
        RecomposeRequest r = again(s, then);
        r.tokenizer.reset();  // as of a recording without one
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

    void whatCannotActIsRefusedByName() {
        Engine engine(opener(three()));
        Session s = threeSession(3);
        s.priors.push_back({.bank = "demo.bank.json", .overrides = OrderedJson::object(), .unknown = OrderedJson::object()});
        QVERIFY(decode(engine, request(s)).failures.at(0).sentence.find(", bank 'demo.bank.json': ") != std::string::npos);
        s.priors[0].enabled = false;
        QVERIFY(decode(engine, request(s)).failures.empty());
        s.base.routing = {{"mode", "coupled"}};
        QVERIFY(decode(engine, request(s)).failures.at(0).sentence.find("no routed experts") != std::string::npos);
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

QTEST_GUILESS_MAIN(TestLanes)
#include "tst_lanes.moc"
