// The routing of a source for eyes: each part against compute's estimates on the same stored logits, the order in which
// parts come, what a question that knows some of it makes, Stop, and what is refused.

#include <algorithm>
#include <array>
#include <cmath>

#include "compute/error.h"
#include "model/sourcerouting.h"
#include "tests/model/routedtraces.h"
#include "tests/support/fixture.h"
#include "tests/support/scratch.h"

using namespace counterpoint;
using namespace counterpoint::model;
using namespace counterpoint::tests;

namespace {

bool equal(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }
bool equal(const Estimate& a, const Estimate& b) { return equal(a.mean, b.mean) && equal(a.se, b.se); }
bool equal(const MetricEstimates& a, const MetricEstimates& b) {
    for (const auto field : {&MetricEstimates::coherence, &MetricEstimates::boundary, &MetricEstimates::boundaryPaired,
                             &MetricEstimates::boundaryUnpaired, &MetricEstimates::distinct, &MetricEstimates::cv,
                             &MetricEstimates::overflow, &MetricEstimates::loadVariance})
        if (!equal(a.*field, b.*field)) return false;
    return true;
}
bool equal(const Estimates& a, const Estimates& b) {
    if (a.draws != b.draws || a.layers.size() != b.layers.size() || !equal(a.pooled, b.pooled)) return false;
    for (std::size_t l = 0; l < a.layers.size(); ++l)
        if (!equal(a.layers[l].metrics, b.layers[l].metrics) || a.layers[l].inclusion != b.layers[l].inclusion)
            return false;
    return true;
}

/// The question as compute is asked it, gathered here by hand.
struct Plain {
    std::vector<float> logits;
    EstimateQuestion question;

    explicit Plain(const RoutingQuestion& of) {
        const std::size_t T = kRoutedPositions, E = kRoutedExperts;
        for (std::size_t l = 0; l < kRoutedLayers; ++l)
            for (std::size_t t = 0; t < T; ++t) {
                const auto row = of.store->routing(static_cast<Position>(t) + 1, of.of.index);
                logits.insert(logits.end(), row->logits.begin() + std::ptrdiff_t(l * E),
                              row->logits.begin() + std::ptrdiff_t((l + 1) * E));
            }
        for (std::size_t l = 0; l < kRoutedLayers; ++l)
            question.layers.push_back({.layer = l == 0 ? 1U : 3U,
                                       .logits = std::span(logits).subspan(l * T * E, T * E),
                                       .law = {.chosen = int(kRoutedChosen), .bias = {}}});
        question.experts = E;
        question.coupling = of.of.routing.noise.coupling;
        question.seed = 11;
        question.capacityFactor = 1.25;
    }
    Estimates under(const Coupling& coupling, int draws) const {
        EstimateQuestion q = question;
        q.coupling = coupling;
        q.draws = draws;
        return lastOf(q);
    }
};

}  // namespace

class TestRoutingPicture : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void init() { failOnAnyWarning(); }

    void itsParts() {
        const Trace trace = routedTrace();
        const RoutingQuestion question = questionOf(trace);
        QCOMPARE(question.of.positions, Position(kRoutedPositions));
        const RoutingPicturePtr picture = picturesOf(question).back();
        const Plain plain(question);
        const Coupling coupled = question.of.routing.noise.coupling;
        QVERIFY(picture->whole && picture->problem.empty() && picture->of == question.of);
        QVERIFY(equal(*picture->coupled, plain.under(coupled, 100)));
        QVERIFY(equal(*picture->flat, plain.under(flatOf(coupled), 100)));
        QVERIFY(equal(*picture->independent, plain.under(independentOf(coupled), 100)));
        QVERIFY(!equal(*picture->coupled, *picture->flat) && !equal(*picture->coupled, *picture->independent));
        const auto published = deterministicRouting(plain.question);
        for (std::size_t l = 0; l < kRoutedLayers; ++l) {
            QCOMPARE((*picture->deterministic)[l].load, published[l].load);
            QCOMPARE((*picture->deterministic)[l].chosen, published[l].chosen);
            const RouterLayer& layer = plain.question.layers[l];
            const IndependentForm form = independentForm(layer.law, layer.logits, kRoutedExperts, layer.layer, 1);
            QCOMPARE((*picture->closed)[l].load, form.load);
            QCOMPARE((*picture->closed)[l].loadVariance, form.loadVariance);
        }
        QCOMPARE(picture->capacityFactors.size(), picture->coupled->layers[0].overflowAt.size());
        for (std::size_t i = 0; i < picture->capacityFactors.size(); ++i) {
            EstimateQuestion q = plain.question;
            q.capacityFactor = picture->capacityFactors[i];
            q.draws = 100;
            QVERIFY(equal(picture->coupled->layers[1].overflowAt[i], lastOf(q).layers[1].metrics.overflow));
        }
    }

    /// Each point of a curve is an estimate of its own with that dial alone moved.
    void itsCurves() {
        const Trace trace = routedTrace();
        const RoutingQuestion question = questionOf(trace);
        const RoutingPicturePtr picture = picturesOf(question).back();
        const Plain plain(question);
        const Coupling coupled = question.of.routing.noise.coupling;
        QVERIFY(picture->againstRho.size() >= 9 && picture->againstAlpha.size() >= 9);
        QCOMPARE(picture->againstRho.front().at, 0.0);
        QCOMPARE(picture->againstRho.back().at, 1.0);
        for (const RoutingCurvePoint& point : picture->againstRho) {
            Coupling moved = coupled;
            moved.rho = point.at;
            for (std::size_t l = 0; l < kRoutedLayers; ++l)
                QVERIFY(equal(point.layers[l], plain.under(moved, 40).layers[l].metrics));
        }
        for (const RoutingCurvePoint& point : picture->againstAlpha) {
            Coupling moved = coupled;
            moved.alpha = point.at;
            for (std::size_t l = 0; l < kRoutedLayers; ++l)
                QVERIFY(equal(point.layers[l], plain.under(moved, 40).layers[l].metrics));
        }
        QVERIFY(picture->againstRho.back().layers[0].coherence.mean >
                picture->againstRho.front().layers[0].coherence.mean + 0.2);
        QVERIFY(picture->againstAlpha.back().layers[0].boundaryPaired.mean <
                picture->againstAlpha.front().layers[0].boundaryPaired.mean);
    }

    /// A first answer to everything, then more draws, then curves, then the invariance; nothing that was known goes.
    void itComesPartByPart() {
        const Trace trace = routedTrace();
        const auto told = picturesOf(questionOf(trace));
        const RoutingPicture& first = *told.front();
        QVERIFY(first.deterministic && first.coupled && first.coupled->draws == 32 && !first.flat && !first.closed);
        bool refined = false;
        for (std::size_t i = 1; i < told.size(); ++i) {
            const RoutingPicture &before = *told[i - 1], &now = *told[i];
            const auto draws = [](const RoutingPicture& p) {
                return std::array{p.coupled ? p.coupled->draws : 0, p.flat ? p.flat->draws : 0,
                                  p.independent ? p.independent->draws : 0};
            };
            for (std::size_t k = 0; k < 3; ++k) QVERIFY(draws(now)[k] >= draws(before)[k]);
            refined = refined || draws(now)[0] > 32;
            QVERIFY(!refined || (now.closed && now.flat && now.independent));
            QVERIFY(now.againstRho.empty() || draws(now) == (std::array{100, 100, 100}));
            QVERIFY(now.againstAlpha.empty() || now.againstRho.size() == 9);
            QVERIFY(!now.invariance || now.againstAlpha.size() == 9);
            QCOMPARE(now.whole, i + 1 == told.size());
        }
        QVERIFY(refined);
    }

    void theInvariance() {
        const Trace trace = routedTrace();
        RoutingQuestion question = questionOf(trace);
        question.testedLayer = 1;
        const RoutingPicturePtr picture = picturesOf(question).back();
        const InvariancePanel& panel = *picture->invariance;
        QCOMPARE(panel.layer, std::size_t{1});
        QCOMPARE(panel.positions, (std::vector<Position>{3, 7, 10}));
        QCOMPARE(panel.rows.size(), std::size_t{4});
        const Plain plain(question);
        InvarianceQuestion asked;
        asked.logits = plain.question.layers[1].logits;
        asked.experts = kRoutedExperts;
        asked.law = plain.question.layers[1].law;
        asked.coupling = plain.question.coupling;
        asked.layer = 3;
        asked.seed = 11;
        asked.draws = 400;
        asked.positions = panel.positions;
        Invariance found;
        QVERIFY(testInvariance(asked, {}, found) == Outcome::Done);
        for (std::size_t i = 0; i < 4; ++i) {
            QCOMPARE(panel.rows[i].pValue, found.rows[i].pValue);
            QCOMPARE(panel.rows[i].statistic, found.rows[i].statistic);
            QVERIFY(panel.rows[i].kind == found.rows[i].kind && *titleOf(panel.rows[i].kind) != '\0');
        }
        QCOMPARE(panel.holds, holds(found));
        QVERIFY2(panel.verdict.find(panel.holds ? "No token's own law moved: in layer 3"
                                                : "seems to have moved: in layer 3") != std::string::npos,
                 panel.verdict.c_str());
        // R12's scope: under dials that share noise a decode of them is not covered, nor is one that was drawn so.
        QVERIFY(panel.scope.starts_with(kOneLayer));
        QVERIFY2(panel.scope.find("A decode under these dials") != std::string::npos, panel.scope.c_str());
        question.path = TokenPath::SharedNoise;
        question.testDraws = 50;
        QVERIFY(picturesOf(question).back()->invariance->scope.find("the path they took is not covered") !=
                std::string::npos);
        question.path = TokenPath::Scored;
        QVERIFY(picturesOf(question).back()->invariance->scope.find("covered.") != std::string::npos);
        question.of.routing.temperature = 2;
        QVERIFY(picturesOf(question).back()->invariance->scope.find("The law tested is the one that the router "
                                                                    "temperature made, not the published one.") !=
                std::string::npos);
    }

    /// Another layer's invariance is all that is made where the rest is known; a moved dial knows nothing.
    void itGoesOn() {
        const Trace trace = routedTrace();
        RoutingQuestion question = questionOf(trace);
        question.before = picturesOf(question).back();
        QVERIFY(answers(question.before.get(), question.of, 0) && !answers(question.before.get(), question.of, 1));
        question.testedLayer = 1;
        const auto told = picturesOf(question);
        QCOMPARE(told.size(), std::size_t{1});
        QVERIFY(told[0]->coupled == question.before->coupled && told[0]->invariance->layer == 1);
        QVERIFY(answers(told[0].get(), question.of, 1) && answers(told[0].get(), question.of, 7));
        RoutingSubject moved = question.of;
        moved.routing.noise.coupling.rho = 0.6;
        QVERIFY(!answers(told[0].get(), moved, 1));
        QVERIFY(!answers(nullptr, moved, 1));
    }

    void stops() {
        const Trace trace = routedTrace();
        RoutingQuestion question = questionOf(trace);
        const std::size_t all = picturesOf(question).size();
        for (const std::size_t after : {std::size_t{1}, std::size_t{2}, std::size_t{6}, std::size_t{12}, all - 1}) {
            std::stop_source stop;
            std::size_t told = 0;
            const RoutingWatch watch{.tell =
                                         [&](const RoutingPicturePtr&) {
                                             if (++told == after) stop.request_stop();
                                         },
                                     .progress = {},
                                     .between = {}};
            QVERIFY(routingPicture(question, watch, stop.get_token()) == Outcome::Cancelled);
            QCOMPARE(told, after);
        }
    }

    void itSaysHowFarItIs() {
        const Trace trace = routedTrace();
        std::vector<double> shares;
        int between = 0;
        const RoutingWatch watch{.tell = [](const RoutingPicturePtr&) {},
                                 .progress =
                                     [&](double share, double rate) {
                                         QVERIFY(rate > 0);
                                         shares.push_back(share);
                                     },
                                 .between = [&] { ++between; }};
        QVERIFY(routingPicture(questionOf(trace), watch, {}) == Outcome::Done);
        QVERIFY(std::is_sorted(shares.begin(), shares.end()) && shares.front() > 0 && between > 20);
        QCOMPARE(shares.back(), 1.0);
    }

    void refusals() {
        Trace trace = routedTrace();
        RoutingQuestion question = questionOf(trace);
        question.of.routing.bias[3] = {0, -INFINITY, -INFINITY, -INFINITY, -INFINITY};
        QVERIFY2(errorOf([&] { (void)picturesOf(question); }).find("too few experts are left") != std::string::npos,
                 errorOf([&] { (void)picturesOf(question); }).c_str());
        question = questionOf(trace);
        question.of.positions = Position(kRoutedPositions) + 1;
        QVERIFY(errorOf([&] {
                    (void)picturesOf(question);
                }).find("position 14: the router logits of this position are not stored") != std::string::npos);
        question.of.positions = 0;
        QVERIFY(errorOf([&] { (void)picturesOf(question); }).find("are not stored") != std::string::npos);
        question = questionOf(trace);
        question.of.capacity = 0;
        QVERIFY(errorOf([&] { (void)picturesOf(question); }).find("\"capacity\"") != std::string::npos);
        question = questionOf(trace);
        question.routers.chosen = 6;
        QVERIFY(errorOf([&] { (void)picturesOf(question); }).find("1 to 5") != std::string::npos);
        auto store = std::make_shared<LogitStore>(6, 2);
        compute::RoutingRow row = *trace.store->routing(1, 1);
        row.logits[7] = NAN;
        store->append({1, {std::vector<float>(6), std::vector<float>(6)}, {row, row}});
        question = questionOf(trace);
        question.store = store;
        question.of.positions = routedPositions(*store, 1);
        QVERIFY(errorOf([&] { (void)picturesOf(question); }).find("layer 3, position 0, expert 2") !=
                std::string::npos);
    }

    /// The first row of a prompt that is not scored is about a later position; one that was not fed ends it.
    void whichPositionsAreKnown() {
        const Trace trace = routedTrace();
        const compute::RoutingRow row = *trace.store->routing(1, 1);
        const std::vector<float> flat(6);
        LogitStore late(6, 2), gap(6, 2);
        late.append({3, {flat, flat}, {row, row}});
        QCOMPARE(routedPositions(late, 0), Position{0});
        gap.append({1, {flat, flat}, {row, row}});
        gap.append({2, {flat, {}}, {row, {}}});
        gap.append({3, {flat, flat}, {row, row}});
        QCOMPARE(routedPositions(gap, 0), Position{3});
        QCOMPARE(routedPositions(gap, 1), Position{1});
    }
};

QTEST_GUILESS_MAIN(TestRoutingPicture)
#include "tst_routingpicture.moc"
