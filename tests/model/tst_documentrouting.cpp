// The document's estimates of routing: made while somebody looks, of the dials of now, without a decode; replaced when
// something moves, never blank before the new ones are there, ended by Stop and with the document; and what they are
// of.

#include <QSignalSpy>
#include <QTemporaryDir>

#include "compute/error.h"
#include "compute/sources/recording.h"
#include "model/document.h"
#include "model/routingpicture.h"
#include "model/sentences.h"
#include "tests/model/scripted.h"
#include "tests/support/fixture.h"
#include "tests/support/patience.h"
#include "tests/support/toyrecording.h"

using namespace counterpoint;
using namespace counterpoint::model;
using namespace counterpoint::tests;

namespace {

/// Base, math and poetry, of which poetry has routers.
std::map<std::string, Script> routedScripts() {
    auto scripts = three();
    scripts["poetry"].routed = true;
    return scripts;
}

Session routedSession(OrderedJson routing = {{"mode", "coupled"}, {"rho", 0.5}, {"window", 4}, {"draws", 40}}) {
    Session session = threeSession(10);
    session.specialists[1].routing = std::move(routing);
    return session;
}

Session withRouting(Session session, const char* key, OrderedJson value) {
    session.specialists[1].routing[key] = std::move(value);
    return session;
}

/// A document that has decoded, with somebody looking at routing.
struct Opened {
    Document document{nullptr, opener(routedScripts())};
    explicit Opened(const Session& session = routedSession(), bool wanted = true) {
        document.setSession(session);
        decode();
        document.setRoutingWanted(wanted);
    }
    void decode() {
        document.generate();
        WAIT_UNTIL(!document.busy());
    }
    const Trace& trace() { return *document.trace(); }
    const RoutingPicture* picture() { return trace().routing.get(); }
    bool isWhole() { return !document.estimating() && picture() != nullptr && picture()->whole; }
    double rho() { return picture()->of.routing.noise.coupling.rho; }
};

constexpr int kForLong = 50'000;  // draws that take many seconds

}  // namespace

class TestDocumentRouting : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void init() { failOnAnyWarning(); }

    void theyAreMadeWhileSomebodyLooks() {
        Opened o(routedSession(), false);
        QVERIFY(o.picture() == nullptr && !o.document.estimating());
        QSignalSpy changed(&o.document, &Document::traceChanged);
        const std::string activity = o.document.activity();
        o.document.setRoutingWanted(true);
        QVERIFY(o.document.estimating() && !o.document.busy());
        WAIT_UNTIL(o.isWhole());
        QVERIFY(changed.count() >= 1);
        QCOMPARE(o.document.activity(), activity);
        const RoutingPicture& picture = *o.picture();
        QVERIFY2(picture.problem.empty(), picture.problem.c_str());
        QCOMPARE(picture.of.source, std::string("poetry"));
        QCOMPARE(picture.of.index, std::size_t{2});
        QCOMPARE(picture.of.positions, o.trace().store->end() - 1);
        QCOMPARE(picture.of.draws, 40);
        QVERIFY(picture.invariance && picture.invariance->scope.find("not covered") != std::string::npos);
        QVERIFY(o.document.plot("routing_load").empty.empty() && !o.trace().routingStale);
        // The same question asked here.
        RoutingQuestion question;
        question.of = picture.of;
        question.routers = *o.trace().routers[2];
        question.store = o.trace().store;
        RoutingPicturePtr wanted;
        const RoutingWatch watch{
            .tell = [&](RoutingPicturePtr told) { wanted = std::move(told); }, .progress = {}, .between = {}};
        QVERIFY(routingPicture(question, watch, {}) == compute::Outcome::Done);
        QCOMPARE(picture.coupled->layers[0].inclusion, wanted->coupled->layers[0].inclusion);
        QCOMPARE(picture.coupled->pooled.coherence.mean, wanted->coupled->pooled.coherence.mean);
        const RoutingPicture* known = o.picture();
        o.document.setRoutingWanted(false);
        o.document.setSession(withRouting(o.document.session(), "rho", 0.9));
        QVERIFY(!o.document.estimating() && o.picture() == known);
    }

    /// A moved dial acts at once and without a decode; until its first answer the old picture stays and says so.
    void aMovedDialReplacesThem() {
        Opened o;
        WAIT_UNTIL(o.isWhole());
        const auto before = o.trace().routing;
        const auto steps = o.trace().steps;
        o.document.setSession(withRouting(o.document.session(), "rho", 0.875));
        QVERIFY(!o.document.busy() && o.document.estimating());
        QVERIFY(o.trace().routing == before && o.trace().routingStale);
        QVERIFY(o.document.plot("routing_load").note.find("earlier dials") != std::string::npos);
        WAIT_UNTIL(o.isWhole());
        QCOMPARE(o.rho(), 0.875);
        QVERIFY(!o.trace().routingStale && o.trace().steps == steps);
        QVERIFY(o.picture()->coupled->pooled.coherence.mean > before->coupled->pooled.coherence.mean);
        o.document.undo();
        WAIT_UNTIL(o.isWhole() && o.rho() == 0.5);
        QCOMPARE(o.picture()->coupled->pooled.coherence.mean, before->coupled->pooled.coherence.mean);
        // A dial that is no dial of routing leaves them.
        const auto same = o.trace().routing;
        o.document.setSession(weighted(o.document.session(), 0.25));
        QVERIFY(!o.document.estimating());
        WAIT_UNTIL(!o.document.busy());
        QVERIFY(o.trace().routing == same && !o.trace().routingStale);
    }

    /// A dial that is dragged: only the last of its values has to be whole, and something is seen on the way.
    void aDragEndsAtItsLastValue() {
        Opened o;
        WAIT_UNTIL(o.isWhole());
        const Session session = o.document.session();
        for (int i = 1; i <= 50; ++i) {
            o.document.setSession(withRouting(session, "rho", 0.5 + i * 0.005), "drag");
            QCoreApplication::processEvents();
        }
        WAIT_UNTIL(o.isWhole() && o.rho() == 0.75);
    }

    void aTextThatGrowsIsEstimatedAnew() {
        Opened o;
        WAIT_UNTIL(o.isWhole());
        const compute::Position positions = o.picture()->of.positions;
        o.document.stepOnce();
        WAIT_UNTIL(!o.document.busy() && o.isWhole() && o.picture()->of.positions == positions + 1);
        const int first = o.trace().id;
        const auto known = o.trace().routing;
        o.document.branch(5, 120);
        WAIT_UNTIL(!o.document.busy() && o.trace().id != first && o.isWhole());
        QVERIFY(o.picture()->of.positions > 5);
        o.document.selectTrace(first);
        WAIT_UNTIL(!o.document.busy());
        QVERIFY(o.trace().routing == known && !o.document.estimating());
    }

    void stopEndsThem() {
        Opened o;
        WAIT_UNTIL(o.isWhole());
        o.document.setSession(withRouting(o.document.session(), "draws", kForLong));
        WAIT_UNTIL(o.picture()->of.draws == kForLong && o.document.estimating());
        WAIT_UNTIL(QString::fromStdString(o.document.activity()).startsWith("Estimating routing, "));
        QVERIFY(o.document.progress() >= 0 && o.document.progress() < 1);
        o.document.stop();
        QVERIFY(!o.document.estimating() && !o.document.activity().starts_with("Estimating"));
        WAIT_UNTIL(!o.document.engine().analysing());
        QVERIFY(!o.picture()->whole && o.picture()->coupled);  // what came stays
        o.document.setCursor(3);
        QVERIFY(!o.document.estimating());  // and is not asked for again by itself
        o.document.setSession(withRouting(o.document.session(), "draws", 40));
        WAIT_UNTIL(o.isWhole());
        QVERIFY(o.document.notices().empty());
    }

    void nobodyLooksAnyMore() {
        Opened o;
        o.document.setSession(withRouting(o.document.session(), "draws", kForLong));
        WAIT_UNTIL(o.picture() != nullptr && o.picture()->of.draws == kForLong);
        o.document.setRoutingWanted(false);
        QVERIFY(!o.document.estimating());
        WAIT_UNTIL(!o.document.engine().analysing());
        o.document.setRoutingWanted(true);  // it goes on from what it has
        QVERIFY(o.document.estimating() && o.picture()->coupled && !o.trace().routingStale);
    }  // and the document goes while it works

    /// A weight that is moved does not wait for estimates.
    void aWhatIfPassesThem() {
        Opened o;
        o.document.setSession(withRouting(o.document.session(), "draws", kForLong));
        WAIT_UNTIL(o.picture() != nullptr && o.picture()->of.draws == kForLong);
        QSignalSpy done(&o.document, &Document::recomposed);
        o.document.setSession(weighted(o.document.session(), 0.5));
        WAIT_UNTIL(done.count() >= 1 && !o.document.busy());
        QVERIFY(o.document.estimating());
        QCOMPARE(o.trace().session.specialists[0].weight, 0.5);
    }

    /// What cannot be routed is one sentence in every plot; no notice, and the next good value goes on.
    void whatCannotBeRoutedSaysSo() {
        Opened o;
        WAIT_UNTIL(o.isWhole());
        o.document.setSession(withRouting(o.document.session(), "experts", {{"4", {{"off", {1}}}}}));
        WAIT_UNTIL(!o.document.estimating());
        for (const char* id : {"routing_load", "routing_coherence", "routing_overflow"})
            QCOMPARE(
                o.document.plot(id).empty,
                std::string("source 'poetry', \"routing\", \"experts\", layer 4: there are no routed experts in this "
                            "layer to switch off or bias (expected a routed layer)."));
        QVERIFY(o.document.notices().empty());
        o.document.undo();
        WAIT_UNTIL(o.isWhole() && o.picture()->problem.empty());
        QVERIFY(o.document.plot("routing_load").empty.empty());
    }

    void switchedExpertsAreNeverChosen() {
        Opened o(withRouting(routedSession(), "experts", {{"0", {{"off", {7, 9}}, {"bias", {{"11", 3}}}}}}));
        WAIT_UNTIL(o.isWhole());
        const auto& load = o.picture()->coupled->layers[0].load;
        QVERIFY(load[7].mean == 0 && load[9].mean == 0 && load[11].mean > 4 * load[12].mean);
        QVERIFY(o.document.plot("routing_load").note.find("experts switched or biased (changes the law)") !=
                std::string::npos);
        QVERIFY(o.picture()->invariance->scope.find("switched or biased experts") != std::string::npos);
    }

    void sentencesAreGroups() {
        Opened o(withRouting(routedSession(), "groups", "sentences"));
        WAIT_UNTIL(o.isWhole());
        const auto& groups = o.picture()->of.routing.noise.coupling.groups;
        QVERIFY(groups == compute::groupsFrom(sentenceStarts(o.trace().tokenBytes)) && !groups.window);
    }

    /// A recording with router logits is looked at as a model is.
    void aRecording() {
        constexpr std::size_t T = 12, E = 5;
        const QTemporaryDir folder;
        const std::filesystem::path file = folder.filePath("r.safetensors").toStdString();
        ToyRecording toy(std::vector<std::int64_t>(T, 1), 4, {"base"});
        toy.tensors.push_back(randomTensor("router_logits.base", {2, T, E}, 9, 1));
        toy.metadata.insert({{"router_layers", "1,4"}, {"experts_per_token", "2"}, {"norm_topk_prob", "true"}});
        toy.write(file);
        Document document;
        document.open(file);
        WAIT_UNTIL(document.ready());
        Session session = document.session();
        session.base.routing = {{"rho", 0.75}, {"window", 3}, {"draws", 50}};
        document.setSession(session);
        document.setRoutingWanted(true);
        document.generate();
        WAIT_UNTIL(document.trace() != nullptr && !document.busy() && !document.estimating());
        const RoutingPicture* picture = document.trace()->routing.get();
        QVERIFY(picture != nullptr && picture->whole);
        QVERIFY2(picture->problem.empty(), picture->problem.c_str());
        QCOMPARE(picture->of.positions, compute::Position(T));
        const compute::Recording recording = compute::readRecording(file);
        RoutedText text{*document.trace()->routers[0], compute::Position(T),
                        readRouterLogits(recording, recording.sources[0])};
        compute::EstimateQuestion question = estimateQuestion(text, picture->of.routing, 1);
        question.draws = 50;
        std::vector<float> wanted;
        QVERIFY(estimate(question, {}, [&](const compute::Estimates& e) { wanted = e.layers[1].inclusion; }) ==
                compute::Outcome::Done);
        QCOMPARE(picture->coupled->layers[1].inclusion, wanted);
        QVERIFY(document.plot("routing_heat").heat && document.plot("routing_heat").heat->columns == T);
        session.base.routing["mode"] = "coupled";
        document.setSession(session);
        document.generate();
        WAIT_UNTIL(!document.busy() && !document.notices().empty());
        QVERIFY2(document.notices().back().sentence.find("was routed when it was made") != std::string::npos,
                 document.notices().back().sentence.c_str());
    }

    /// Only the prompt's last row is known where a prompt is not scored, and without routers there is nothing.
    void whatIsNotKnownIsSaid() {
        Session unscored = routedSession();
        unscored.decoding.scorePrompt = false;
        Opened o(unscored);
        WAIT_UNTIL(!o.document.estimating() && o.picture() != nullptr);
        QVERIFY2(o.document.plot("routing_load").empty.find("the router logits of this position are not stored") !=
                     std::string::npos,
                 o.document.plot("routing_load").empty.c_str());
        Document dense(nullptr, opener(three()));
        dense.setSession(threeSession(4));
        dense.setRoutingWanted(true);
        dense.generate();
        WAIT_UNTIL(!dense.busy());
        QVERIFY(!dense.estimating() && dense.trace()->routing == nullptr);
        QVERIFY(dense.plot("routing_load").empty.starts_with("No source of this trace has routed experts."));
    }
};

QTEST_GUILESS_MAIN(TestDocumentRouting)
#include "tst_documentrouting.moc"
