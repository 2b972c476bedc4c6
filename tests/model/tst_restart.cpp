// A call into a source that does not return (SPEC.md 2): when it is spoken of, the engine that goes on without it, and that
// nothing of it comes back.

#include <set>
#include <thread>

#include "compute/files/atomicfile.h"
#include "model/document.h"
#include "model/lane.h"
#include "model/runner.h"
#include "tests/model/engineevents.h"
#include "tests/model/holding.h"
#include "tests/support/fixture.h"

using namespace counterpoint;
using namespace counterpoint::model;
using namespace counterpoint::tests;

namespace {

constexpr std::chrono::milliseconds kSoon{0};
constexpr std::chrono::hours kNever{1};

/// Notices with the button.
int offers(const Document& doc) {
    return static_cast<int>(std::count_if(doc.notices().begin(), doc.notices().end(), [](const Notice& n) { return n.restarts; }));
}

}  // namespace

class TestRestart : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void init() { failOnAnyWarning(); }

    /// What the engine relies on where a call returns in the very moment in which it is to be left behind.
    void aLaneIsLeftBehindInACallOnly() {
        Outbox outbox;
        Lane lane(outbox);
        QVERIFY(!lane.leaveBehind());
        lane.push(Idle{true, true});
        QCOMPARE(outbox.drain().size(), std::size_t{1});
        QCOMPARE(lane.inSource("a", true, [&] { return lane.call()->path + (lane.call()->opening ? " is opened" : ""); }),
                 std::string("a is opened"));
        QVERIFY(!lane.call());
        QVERIFY_EXCEPTION_THROWN(lane.inSource("a", false, []() -> int { throw std::runtime_error("its own"); }), std::runtime_error);
        QVERIFY(!lane.call() && !lane.leaveBehind() && !lane.leftBehind());
        const auto leave = [&](bool throws) {
            QVERIFY(lane.leaveBehind());
            lane.push(Idle{true, true});
            if (throws) throw std::runtime_error("its own");
        };
        for (const bool throws : {false, true})
            QVERIFY_EXCEPTION_THROWN(lane.inSource("a", false, [&] { return leave(throws), 0; }), LeftBehind);
        QVERIFY(outbox.drain().empty() && lane.leftBehind());
    }

    void onlyAfterStopAndThePatience() {
        Held held;
        Engine engine(held.opener(), kNever);
        held.hold->after(2);
        engine.decode(request(threeSession(5)));
        held.hold->awaitCall();
        QVERIFY(!engine.stuck());
        engine.stop();
        QVERIFY(!engine.stuck() && !engine.restart());  // it was asked just now
        held.hold->release();
        QCOMPARE(wait(engine).stop(), std::string("user"));
    }

    void itIsAskedFor() {
        Held held;
        Engine engine(held.opener(), kSoon);
        held.hold->after(2);
        engine.decode(request(threeSession(5)));
        held.hold->awaitCall();
        QVERIFY(!engine.stuck());  // it runs, and nobody asked it to stop
        engine.stop();
        QTRY_VERIFY(engine.stuck());
        QCOMPARE(engine.stuck()->path, std::string("/scripted/poetry"));
        QVERIFY(!engine.stuck()->opening);
        QCOMPARE(overdue({"/scripted/poetry", false, std::chrono::steady_clock::now() - std::chrono::milliseconds(7300)}),
                 std::string("/scripted/poetry has not come back from a call after 7 s"));
        held.hold->release();
        QTRY_VERIFY(!engine.stuck());
        QVERIFY(!engine.restart());  // it came back by itself: nothing is left behind
        QCOMPARE(wait(engine).stop(), std::string("user"));
        QCOMPARE(decode(engine, request(threeSession(5))).stop(), std::string("limit"));
    }

    void nothingComesBack_data() {
        QTest::addColumn<int>("late");
        QTest::newRow("an answer") << static_cast<int>(Late::Answers);
        QTest::newRow("an exception") << static_cast<int>(Late::Throws);
        QTest::newRow("stopped after all") << static_cast<int>(Late::Stops);
    }
    /// The decode goes on where it was, on the same rows; then the old call returns.
    void nothingComesBack() {
        QFETCH(int, late);
        Held held;
        const Said whole = [&] {
            Engine engine(held.opener());
            return decode(engine, request(threeSession(20)));
        }();
        held.late = static_cast<Late>(late);
        auto engine = std::make_unique<Engine>(held.opener(), kSoon);
        held.hold->after(5);
        DecodeRequest first = request(threeSession(20));
        first.trace = 7;
        engine->decode(first);
        held.hold->awaitCall();
        DecodeRequest waiting = request(threeSession(20));
        waiting.trace = 8;
        engine->decode(waiting);  // asks the one before it to stop
        QTRY_VERIFY(engine->stuck());
        held.hold->after(1000);
        QVERIFY(engine->restart());
        Said said = wait(*engine);
        QCOMPARE(said.ended.size(), std::size_t{2});
        QCOMPARE(said.ended[0].trace, 7);
        QCOMPARE(said.ended[1].trace, 8);
        QCOMPARE(said.ended[1].stop, std::string("user"));
        const std::shared_ptr<LogitStore> store = said.started.at(0).store;
        const Position rows = store->end();
        QCOMPARE(rows, static_cast<Position>(said.steps.size()) + 1);
        const long lanes = held.lanes();

        held.hold->release();
        QTRY_VERIFY(held.lanes() < lanes);  // the old lane is at its end
        QCOMPARE(store->end(), rows);
        said = Said();
        for (const Event& e : engine->drain()) std::visit(said, e);
        QVERIFY(said.steps.empty() && said.ended.empty() && said.failures.empty());
        const std::vector<TokenId> tokens = whole.tokens();
        DecodeRequest rest = request(threeSession(20));
        rest.ids.assign(tokens.begin(), tokens.begin() + rows);
        rest.promptLength = 3;
        rest.store = store;
        rest.maxNewTokens = static_cast<std::int64_t>(tokens.size()) - rows;
        said = decode(*engine, rest);
        QVERIFY(said.failures.empty());
        QCOMPARE(said.tokens(), tokens);
        for (const StepPtr& step : said.steps) QVERIFY(sameNumbers(*step, *whole.steps[static_cast<std::size_t>(step->position) - 1]));
    }

    void aLoadThatWaitsIsNotLost() {
        Held held;
        Engine engine(held.opener(), kSoon);
        held.hold->after(0);
        engine.load({sessionOf({"slow to open"}), {}, false});
        held.hold->awaitCall();
        engine.stop();
        engine.load({threeSession(), {}, false});
        QTRY_VERIFY(engine.stuck());
        QVERIFY(engine.stuck()->opening);
        QVERIFY(engine.restart());
        const Said said = wait(engine);
        QCOMPARE(said.loaded.size(), std::size_t{1});
        QCOMPARE(said.loaded[0].sources.size(), std::size_t{3});
        held.hold->release();
    }

    void aStoppedLoadOpensNoMore() {
        Held held;
        Engine engine(held.opener());
        held.hold->after(0);
        engine.load({sessionOf({"slow to open", "math", "poetry"}), {}, false});
        held.hold->awaitCall();
        engine.stop();
        held.hold->release();
        QVERIFY(wait(engine).loaded.empty());
        QCOMPARE(held.opened->load(), 1);
    }

    /// Leaving does not wait for a call that does not return, and waits for one that does.
    void leaving() {
        Held held;
        auto engine = std::make_unique<Engine>(held.opener(), kSoon);
        held.hold->after(2);
        engine->decode(request(threeSession(5)));
        held.hold->awaitCall();
        engine.reset();
        QVERIFY(held.lanes() > 0);
        held.hold->release();
        QTRY_COMPARE(held.lanes(), 0L);

        engine = std::make_unique<Engine>(held.opener(), kNever);
        held.hold->after(2);
        engine->decode(request(threeSession(5)));
        held.hold->awaitCall();
        const std::jthread other([&] { held.hold->release(); });
        engine.reset();
        QCOMPARE(held.lanes(), 0L);
    }

    void theNoticeGoesWhereTheCallReturns() {
        Held held;
        Document doc(nullptr, held.opener(), kSoon);
        doc.setSession(threeSession(50));
        held.hold->after(4);
        doc.generate();
        held.hold->awaitCall();
        QCOMPARE(offers(doc), 0);
        doc.stop();
        QTRY_COMPARE(offers(doc), 1);
        QVERIFY(doc.stuck());
        const Notice notice = doc.notices().back();
        QVERIFY2(notice.sentence.starts_with("/scripted/poetry has not come back from a call after ") &&
                     notice.sentence.find("loads the rack again") != std::string::npos,
                 notice.sentence.c_str());
        doc.dismiss(notice.id);
        held.hold->release();
        QTRY_VERIFY(!doc.busy());
        QVERIFY(!doc.stuck());
        held.hold->after(4);
        doc.continueDecode();
        held.hold->awaitCall();
        doc.stop();
        QTRY_COMPARE(offers(doc), 1);
        held.hold->release();
        QTRY_COMPARE(offers(doc), 0);
        QVERIFY(!doc.stuck());
        doc.restartEngine();  // nothing is stuck: nothing happens
        QVERIFY(doc.ready());
    }

    void whatThePersonMadeStays() {
        Held held;
        Document doc(nullptr, held.opener(), kSoon);
        doc.setSession(threeSession(50));
        Session other = doc.session();
        other.specialists[1].weight = 0.25;
        doc.setSession(other);
        held.hold->after(6);
        doc.generate();
        held.hold->awaitCall();
        doc.stop();
        QTRY_COMPARE(offers(doc), 1);
        const auto trace = doc.traces().front();
        const std::vector<StepPtr> steps = trace->steps;
        QVERIFY(!steps.empty());
        held.hold->after(1000);
        doc.restartEngine();
        QVERIFY(!doc.running());
        QTRY_VERIFY(doc.ready() && !doc.busy());
        QCOMPARE(offers(doc), 0);
        QCOMPARE(doc.session(), other);
        QVERIFY(doc.canUndo());
        QCOMPARE(doc.traces(), (std::vector<std::shared_ptr<Trace>>{trace}));
        QCOMPARE(trace->stop, std::string("user"));
        QCOMPARE(trace->steps, steps);
        held.hold->release();
        doc.continueDecode();
        QTRY_VERIFY(!doc.busy());
        QCOMPARE(trace->steps.size(), steps.size() + 50);
        QCOMPARE(offers(doc), 0);
        QTRY_COMPARE(held.lanes(), 2L);  // the engine that is there and its lane
    }

    void openingThatHangs_data() {
        QTest::addColumn<bool>("before");
        QTest::newRow("a file opened over another") << true;
        QTest::newRow("a source added to the rack") << false;
    }
    void openingThatHangs() {
        QFETCH(bool, before);
        QTemporaryDir folder;
        const std::filesystem::path file = std::filesystem::path(folder.path().toStdString()) / "slow.session.json";
        Held held;
        Document doc(nullptr, held.opener(), kSoon);
        doc.setSession(threeSession(5));
        doc.generate();
        QTRY_VERIFY(!doc.busy());
        const Session good = doc.session();
        const auto trace = doc.traces().front();
        Session slow = good;
        slow.specialists[1].path = "slow to open";
        writeSession(slow, file);
        held.hold->after(0);
        if (before)
            doc.open(file);
        else
            doc.setSession(slow);
        held.hold->awaitCall();
        doc.stop();
        QTRY_COMPARE(offers(doc), 1);
        QVERIFY(doc.notices().back().sentence.find("slow to open has not finished opening after ") != std::string::npos);
        held.hold->after(1000);
        doc.restartEngine();
        QTRY_VERIFY(!doc.busy());
        QCOMPARE(offers(doc), 0);
        QCOMPARE(doc.traces().size(), std::size_t{1});
        QCOMPARE(doc.ready(), before);  // what hung is not tried again by itself
        QCOMPARE(doc.session(), before ? good : slow);
        if (!before) doc.loadSources();
        QTRY_VERIFY(doc.ready());
        doc.generate();
        QTRY_VERIFY(!doc.busy());
        QCOMPARE(doc.traces().size(), std::size_t{2});
        held.hold->release();
    }

    void aFileOpenedMeanwhileIsOpened() {
        QTemporaryDir folder;
        const std::filesystem::path file = std::filesystem::path(folder.path().toStdString()) / "other.session.json";
        const Session other = sessionOf({"model", "poetry"});
        writeSession(other, file);
        Held held;
        Document doc(nullptr, held.opener(), kSoon);
        doc.setSession(threeSession(50));
        QTRY_VERIFY(doc.ready());
        held.hold->after(3);
        doc.generate();
        held.hold->awaitCall();
        doc.open(file);
        QTRY_COMPARE(offers(doc), 1);
        doc.restartEngine();
        QTRY_VERIFY(doc.ready() && !doc.busy());
        QCOMPARE(doc.session().sourceCount(), std::size_t{2});
        QCOMPARE(held.opened->load(), 3 + 2);
        held.hold->release();
    }

    void aRunKeepsWhatWasDecoded() {
        Held held;
        std::stop_source stop;
        RunOptions options;
        options.opener = held.opener();
        options.patience = kSoon;
        options.stop = stop.get_token();
        held.hold->after(6);
        const std::jthread other([&] {
            held.hold->awaitCall();
            stop.request_stop();
        });
        const RunResult result = runSession(threeSession(50), options);
        QCOMPARE(result.trace.stop, std::string("user"));
        QCOMPARE(result.trace.steps.size(), std::size_t{2 + 6});
        QVERIFY(!result.failure);
        QCOMPARE(result.notices.size(), std::size_t{1});
        QVERIFY(result.notices[0].ends_with(" s and does not stop; it is left behind."));
        held.hold->release();
        options.opener = {};
        QTRY_COMPARE(held.lanes(), 0L);
    }
};

QTEST_GUILESS_MAIN(TestRestart)
#include "tst_restart.moc"
