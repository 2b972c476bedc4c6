// The document as a window sees it: undo, decode, what-if, branches, cursor, notices; and that a fast
// source never holds the window's thread up (HAZARDS A19).

#include <QElapsedTimer>
#include <QSignalSpy>
#include <QTimer>
#include <semaphore>
#include <thread>

#include "model/document.h"
#include "model/shownnumber.h"
#include "tests/model/scripted.h"
#include "tests/support/fixture.h"
#include "tests/support/patience.h"

using namespace counterpoint;
using namespace counterpoint::model;
using namespace counterpoint::tests;

class TestDocument : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void init() { failOnAnyWarning(); }

    void undoOneStepPerDrag() {
        Document doc(nullptr, opener(three()));
        doc.setSession(threeSession());
        const Session start = doc.session();
        for (int i = 1; i <= 50; ++i) doc.setSession(weighted(start, i * 0.01), "weight of math");
        doc.endMerge();
        for (int i = 51; i <= 60; ++i) doc.setSession(weighted(start, i * 0.01), "weight of math");
        doc.endMerge();
        doc.setSession(weighted(start, 2));
        doc.setSession(weighted(start, 2));  // no change, no step
        doc.undo();
        QCOMPARE(doc.session().specialists[0].weight, 0.6);
        doc.undo();
        QCOMPARE(doc.session().specialists[0].weight, 0.5);
        doc.undo();
        QVERIFY(doc.session() == start);
        doc.redo();
        doc.redo();
        doc.redo();
        QVERIFY(!doc.canRedo());
        QCOMPARE(doc.session().specialists[0].weight, 2.0);
        doc.undo();
        doc.setSession(weighted(start, 3));
        QVERIFY(!doc.canRedo());
        for (int i = 0; i < 500; ++i) doc.setSession(weighted(start, i));
        int steps = 0;
        for (; doc.canUndo(); ++steps) doc.undo();
        QVERIFY(steps > 500);
    }

    // On a busy machine nothing else moves while libtorch is loaded.
    void aLongLoadTellsItsSeconds() {
        std::counting_semaphore<3> opened(0);
        Document doc(nullptr, [&opened, open = opener(three())](const auto& path, const auto& options, std::stop_token stop) {
            opened.acquire();
            return open(path, options, stop);
        });
        doc.setSession(threeSession());
        WAIT_UNTIL_EQUAL(doc.activity(), std::string("Loading base"));
        QVERIFY(doc.progress() < 0);  // nothing is known yet: not "0 %"
        WAIT_UNTIL_EQUAL(doc.activity(), std::string("Loading base, 1 s"));
        opened.release(3);
        WAIT_UNTIL(doc.ready());
        QCOMPARE(doc.activity(), std::string());
    }

    void decodesAndFollows() {
        Document doc(nullptr, opener(three()));
        doc.setSession(threeSession());
        WAIT_UNTIL(doc.ready());
        QCOMPARE(doc.status(1).state, SourceStatus::State::Ready);
        QVERIFY(!doc.busy());
        doc.generate();
        QVERIFY(doc.running());
        WAIT_UNTIL(!doc.running());
        const Trace* trace = doc.trace();
        QVERIFY(trace != nullptr);
        QCOMPARE(trace->steps.size(), std::size_t{26});
        QCOMPARE(trace->tokens.size(), std::size_t{27});
        QCOMPARE(trace->tokenBytes.size(), std::size_t{27});
        QCOMPARE(trace->stop, std::string("limit"));
        QCOMPARE(trace->name, std::string("1"));
        QVERIFY(trace->text().starts_with("ab"));
        QCOMPARE(doc.view().cursor, Position{26});
        QVERIFY(doc.followsEnd());
        doc.setCursor(5);
        QVERIFY(!doc.followsEnd());
        doc.stepOnce();
        WAIT_UNTIL(!doc.running());
        QCOMPARE(doc.trace()->steps.size(), std::size_t{27});
        QCOMPARE(doc.traces().size(), std::size_t{1});
        QCOMPARE(doc.view().cursor, Position{5});
        doc.setCursor(1000);
        QCOMPARE(doc.view().cursor, Position{27});
        QVERIFY(doc.followsEnd());
        doc.continueDecode();
        WAIT_UNTIL(!doc.running());
        QCOMPARE(doc.trace()->steps.size(), std::size_t{27 + 24});
        QCOMPARE(doc.view().cursor, Position{51});
    }

    /// Rows of one trace are of one rack: what was decoded under another prefix, temperature, file or routing does not
    /// go on, and a branch of it does not begin.
    void whatReadsOtherwiseDoesNotGoOn_data() {
        QTest::addColumn<QString>("says");
        QTest::newRow("prefix") << "another prefix";
        QTest::newRow("temperature") << "another temperature";
        QTest::newRow("routing") << "another routing";
        QTest::newRow("file") << "another file";
    }
    void whatReadsOtherwiseDoesNotGoOn() {
        QFETCH(QString, says);
        auto scripts = three();
        scripts["poetry"].routed = true;
        scripts["verse"] = scripts["poetry"];
        Document doc(nullptr, opener(scripts));
        doc.setSession(threeSession());
        doc.generate();
        WAIT_UNTIL(!doc.busy());
        const std::size_t steps = doc.trace()->steps.size();
        Session changed = doc.session();
        SourceEntry& poetry = changed.specialists[1];
        if (says.endsWith("prefix")) poetry.prefix = "a";
        if (says.endsWith("temperature")) poetry.temperature = 2;
        if (says.endsWith("routing")) poetry.routing = {{"mode", "coupled"}, {"rho", 0.5}};
        if (says.endsWith("file")) poetry.path = "verse";
        doc.setSession(changed);
        WAIT_UNTIL(!doc.busy());
        const auto refused = [&] {
            const bool told = !doc.notices().empty() &&
                              doc.notices().back().sentence.find(says.toStdString()) != std::string::npos;
            return told && !doc.running() && doc.traces().size() == 1 && doc.trace()->steps.size() == steps;
        };
        doc.continueDecode();
        QVERIFY(refused());
        const std::vector<Notice> told = doc.notices();
        for (const Notice& notice : told) doc.dismiss(notice.id);
        doc.branch(10, 3);
        QVERIFY(refused());
        doc.undo();
        WAIT_UNTIL(!doc.busy());
        doc.stepOnce();
        WAIT_UNTIL(!doc.busy());
        QCOMPARE(doc.trace()->steps.size(), steps + 1);
        if (!says.endsWith("routing")) return;
        for (const StepPtr& step : doc.trace()->steps) QVERIFY(step->routing.at(2) != nullptr);
        doc.setSession(weighted(doc.session(), 0.25));  // what a moved dial composes again still has its routing
        WAIT_UNTIL(!doc.busy());
        for (const StepPtr& step : doc.trace()->steps) QVERIFY(step->routing.at(2) != nullptr);
    }

    void whatIf() {
        Document doc(nullptr, opener(three()));
        doc.setSession(threeSession());
        doc.generate();
        WAIT_UNTIL(!doc.busy());
        const std::vector<StepPtr> before = doc.trace()->steps;
        const Session dials = doc.session();
        QSignalSpy done(&doc, &Document::recomposed);
        for (int i = 1; i <= 100; ++i) doc.setSession(weighted(dials, 1.0 - i * 0.02), "drag");
        WAIT_UNTIL(!doc.busy());
        QVERIFY(done.count() >= 1);
        QVERIFY(doc.trace()->flip.has_value());
        QCOMPARE(doc.trace()->session.specialists[0].weight, -1.0);
        QCOMPARE(doc.trace()->decodedWith.specialists[0].weight, 1.0);
        QVERIFY(doc.trace()->steps[10]->logProb != before[10]->logProb);
        QCOMPARE(doc.trace()->steps[10]->token, before[10]->token);
        // A branch right of the flip: its prefix was drawn under the dials of before, and the branch says so.
        const Trace* const parent = doc.trace();
        const Position flip = *parent->flip;
        QVERIFY(flip + 5 < parent->steps.back()->position);
        doc.branch(flip + 5, parent->tokens[static_cast<std::size_t>(flip) + 4]);
        WAIT_UNTIL(!doc.busy() && doc.trace() != parent);
        QCOMPARE(doc.trace()->flip, std::optional(flip));
        doc.selectTrace(parent->id);
        WAIT_UNTIL(!doc.busy());
        if (flip > parent->promptLength) {  // left of it the branch is exact
            doc.branch(flip, parent->tokens[static_cast<std::size_t>(flip)]);
            WAIT_UNTIL(!doc.busy() && doc.trace() != parent);
            QVERIFY(!doc.trace()->flip.has_value());
            doc.selectTrace(parent->id);
            WAIT_UNTIL(!doc.busy());
        }
        doc.undo();
        WAIT_UNTIL(!doc.busy());
        Session longer = doc.session();
        longer.decoding.maxNewTokens = 99;  // acts on no stored row
        doc.setSession(longer);
        QVERIFY(!doc.busy());
        QVERIFY(!doc.trace()->flip.has_value());
        QCOMPARE(doc.trace()->steps[10]->logProb, before[10]->logProb);
    }

    void dialsDuringADecode() {
        auto scripts = three();
        scripts["model"].onForward = [](std::span<const TokenId>) { std::this_thread::sleep_for(std::chrono::milliseconds(2)); };
        Document doc(nullptr, opener(scripts));
        doc.setSession(threeSession(150));
        doc.generate();
        WAIT_UNTIL(doc.trace() != nullptr && doc.trace()->steps.size() > 20);
        Session s = doc.session();
        s.decoding.temperature = 0;
        doc.setSession(s);
        WAIT_UNTIL(!doc.busy());
        QVERIFY(doc.trace()->steps.back()->greedy);
        QVERIFY(doc.trace()->steps.front()->greedy);  // what was there is shown under the dials of now
        QVERIFY(doc.trace()->flip.has_value());
    }

    void branches() {
        Document doc(nullptr, opener(three()));
        doc.setSession(threeSession(10));
        doc.generate();
        WAIT_UNTIL(!doc.busy());
        const auto trunk = doc.traces().front();
        doc.setSession(weighted(doc.session(), 0.5));
        doc.branch(8, 120);
        WAIT_UNTIL(!doc.busy());
        QCOMPARE(doc.traces().size(), std::size_t{2});
        const Trace& branch = *doc.trace();
        QCOMPARE(branch.name, std::string("1.1"));
        QCOMPARE(branch.parent, trunk->id);
        QCOMPARE(branch.branchedAt, Position{8});
        QCOMPARE(branch.tokens[8], 120);
        QVERIFY(branch.at(8)->forced);
        QVERIFY(!branch.at(7)->forced);
        QCOMPARE(branch.steps.size(), std::size_t{8 + 10});
        QVERIFY(std::equal(branch.tokens.begin(), branch.tokens.begin() + 8, trunk->tokens.begin()));
        doc.branch(5, 121);
        WAIT_UNTIL(!doc.busy());
        QCOMPARE(doc.trace()->name, std::string("1.1.1"));
        // The trunk remembers the dials it was shown with.
        doc.setSession(weighted(doc.session(), 3));
        WAIT_UNTIL(!doc.busy());
        doc.selectTrace(trunk->id);
        WAIT_UNTIL(!doc.busy());
        QCOMPARE(doc.session().specialists[0].weight, trunk->session.specialists[0].weight);
        doc.undo();
        QCOMPARE(doc.session().specialists[0].weight, 3.0);
    }

    void failuresAreNotices() {
        auto scripts = three();
        scripts["bad"].logits = [](std::span<const TokenId>, std::span<float>) { throw std::runtime_error("native"); };
        Document doc(nullptr, opener(scripts));
        doc.setSession(threeSession(4));
        doc.generate();
        WAIT_UNTIL(!doc.busy());
        const Trace* before = doc.trace();
        const std::size_t steps = before->steps.size();
        Session s = doc.session();
        s.specialists[1].path = "missing";
        doc.setSession(s);
        WAIT_UNTIL(!doc.busy());
        QCOMPARE(doc.notices().size(), std::size_t{1});
        QCOMPARE(doc.status(2).state, SourceStatus::State::Failed);
        QVERIFY(!doc.ready());
        s.specialists[1].path = "bad";
        doc.setSession(s);
        WAIT_UNTIL(!doc.busy());
        doc.generate();
        WAIT_UNTIL(!doc.busy());
        QCOMPARE(doc.notices().size(), std::size_t{1});  // loading went well by now
        QCOMPARE(doc.notices()[0].level, Notice::Level::Failure);
        QCOMPARE(doc.notices()[0].details, std::string("native"));
        QCOMPARE(doc.notices()[0].about, std::string("Decoding"));
        QCOMPARE(doc.pastNotices().size(), std::size_t{1});
        doc.dismiss(doc.notices()[0].id);
        QCOMPARE(doc.notices().size(), std::size_t{0});
        QCOMPARE(doc.pastNotices().back().about, std::string("Decoding"));
        doc.selectTrace(before->id);
        QCOMPARE(doc.trace()->steps.size(), steps);
        s.specialists[1].path = "poetry";
        doc.setSession(s);
        WAIT_UNTIL(doc.ready());
        doc.generate();
        WAIT_UNTIL(!doc.busy());
        QCOMPARE(doc.trace()->steps.size(), std::size_t{6});
    }

    /// What starts up and the prompt are no part of the rate; of too few tokens none is told.
    void theRateIsOfDecodedSteps_data() {
        QTest::addColumn<int>("tokens");
        QTest::addColumn<bool>("told");
        QTest::newRow("one token") << 1 << false;
        QTest::newRow("three") << 3 << false;
        QTest::newRow("thirty") << 30 << true;
    }
    void theRateIsOfDecodedSteps() {
        QFETCH(int, tokens);
        QFETCH(bool, told);
        auto scripts = three();
        bool first = true;
        for (auto& [name, script] : scripts)
            script.onForward = [&first](std::span<const TokenId>) {
                if (std::exchange(first, false)) std::this_thread::sleep_for(std::chrono::milliseconds(700));
            };
        Document doc(nullptr, opener(scripts));
        Session s = threeSession();
        s.decoding.scorePrompt = false;
        s.decoding.maxNewTokens = tokens;
        s.decoding.stopIds.emplace();
        doc.setSession(s);
        WAIT_UNTIL(doc.ready());
        QStringList said;
        connect(&doc, &Document::statusChanged, &doc, [&] { said << QString::fromStdString(doc.activity()); });
        doc.generate();
        WAIT_UNTIL(!doc.busy() && doc.trace() != nullptr && doc.trace()->stop == "limit");
        for (const QString& activity : said)
            if (activity.contains("token"))
                QVERIFY2(activity.split(' ').front().toDouble() > 43, qPrintable(activity));  // 30 tokens in 700 ms
        QCOMPARE(doc.activity().ends_with(" tokens/s"), told);
        QCOMPARE(doc.trace()->tokensPerSecond > 43, tokens > 1);
    }

    void ratesForEyes() {
        QCOMPARE(shownRate(1), std::string("1 token/s"));
        QCOMPARE(shownRate(0.98), std::string("1 token/s"));
        QCOMPARE(shownRate(1.44), std::string("1.4 tokens/s"));
        QCOMPARE(shownRate(812.4), std::string("812 tokens/s"));
        QCOMPARE(shownRate(0.3), std::string("0.3 tokens/s"));
    }

    void whatIsEmptySaysWhatToDo() {
        Document doc(nullptr, opener(three()));
        QVERIFY(doc.plot("drift").empty.find("Open a session or a model") != std::string::npos);
        doc.setSession(threeSession());
        WAIT_UNTIL(doc.ready());
        QVERIFY(doc.plot("drift").empty.find("Press Generate") != std::string::npos);
    }

    void aNoticeThatReplacesAnotherAndStandsAlready() {
        Document doc(nullptr, opener(three()));
        doc.notify(Notice::Level::Info, "the file was written");
        doc.notify(Notice::Level::Failure, "the disk is full", {}, "Exporting");
        QSignalSpy changed(&doc, &Document::noticesChanged);
        doc.notify(Notice::Level::Info, "the file was written", {}, "Exporting");
        QCOMPARE(doc.notices().size(), std::size_t{1});
        QCOMPARE(changed.count(), 1);  // the failure went: whoever shows it has to hear of that
    }

    void fastSourceLeavesTheWindowAlone() {
        auto scripts = std::map<std::string, Script>{};
        Script fast;
        fast.vocabulary = 300;
        fast.logits = [](std::span<const TokenId> read, std::span<float> out) {
            for (std::size_t v = 3; v < out.size(); ++v) out[v] = static_cast<float>((v * 7 + read.size() * 13) % 11);
        };
        scripts["model"] = fast;
        Document doc(nullptr, opener(scripts));
        Session s = sessionOf({"model"});
        s.decoding.maxNewTokens = 12000;
        doc.setSession(s);
        WAIT_UNTIL(doc.ready());
        QSignalSpy changed(&doc, &Document::traceChanged);
        qint64 worst = 0;
        QElapsedTimer beat, whole;
        QTimer heart;
        heart.setInterval(5);
        connect(&heart, &QTimer::timeout, &doc, [&] {
            worst = std::max(worst, beat.restart());
        });
        doc.generate();
        beat.start();
        whole.start();
        heart.start();
        WAIT_UNTIL(!doc.running());
        const auto elapsed = whole.elapsed();
        heart.stop();
        qInfo("%zu tokens in %lld ms, slowest beat %lld ms, %lld redraws", doc.trace()->tokens.size(), static_cast<long long>(elapsed),
              static_cast<long long>(worst), static_cast<long long>(changed.count()));
        QCOMPARE(doc.trace()->tokens.size(), std::size_t{3 + 12000});
        for (std::size_t i = 0; i < doc.trace()->steps.size(); ++i) QCOMPARE(doc.trace()->steps[i]->position, static_cast<Position>(i + 1));
        QVERIFY2(worst < 100, qPrintable(QString::number(worst)));
        QVERIFY(changed.count() <= elapsed / 30 + 5);
        // Stop: nothing is left to come within a second.
        s.decoding.maxNewTokens = 1000000;
        doc.setSession(s);
        doc.generate();
        WAIT_UNTIL(doc.trace()->stop.empty() && doc.trace()->steps.size() > 500);
        whole.restart();
        doc.stop();
        WAIT_UNTIL(!doc.running());
        QVERIFY(whole.elapsed() < 1000);
        for (const Event& late : doc.engine().drain()) QVERIFY(std::holds_alternative<Idle>(late));
        QCOMPARE(doc.trace()->stop, std::string("user"));
        QCOMPARE(doc.trace()->steps.size(), doc.trace()->tokens.size() - 1);
    }
};

QTEST_GUILESS_MAIN(TestDocument)
#include "tst_document.moc"
