// R16: training step by step: it raises the objective, is the same for any threads, goes on from what was saved, stops.
#include <cmath>

#include "tests/support/scratch.h"
#include "tests/support/training.h"

using namespace counterpoint::compute;
using namespace counterpoint::tests;

class TestControllerTraining : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void init() { failOnAnyWarning(); }

    /// On a fixed recording: the objective rises, by more than its error, on draws that training has not seen.
    void raisesTheObjective() {
        const auto logits = someLogits(2 * 48 * 8);
        TrainingQuestion question;
        question.routing = questionOf(std::span(logits).first(48 * 8), 8, 2, 6, 0, 0, 48);
        question.routing.layers.push_back(
            {.layer = 4, .logits = std::span(logits).last(48 * 8), .law = {.chosen = 2, .bias = {}}});
        const TrainingPlan plan = trainingPlan(question);
        Training state = beginTraining(plan);
        const auto measuredAt = [&](const Controller& c) { return objectiveAt(plan, c, 1'000'000, 4000, {}).value(); };
        const ObjectiveEstimate before = measuredAt(state.controller);
        for (int i = 0; i < 120; ++i) {
            const auto step = trainStep(plan, state, {}).value();
            QCOMPARE(step.after.steps, std::uint32_t(i + 1));
            state = step.after;
        }
        const ObjectiveEstimate after = measuredAt(state.controller);
        const double error = std::hypot(before.objective.se, after.objective.se);
        QVERIFY2(after.objective.mean > before.objective.mean + 8 * error,
                 qPrintable(told("objective", after.objective.mean, before.objective.mean, error)));
        QVERIFY(alphaOf(state.controller) > alphaOf({}));  // spreading the load costs no coherence
        QCOMPARE(state.controller.meanEntropy, beginTraining(plan).controller.meanEntropy);
    }

    /// One step by hand: Adam's first step is the rate, towards the gradient; the second keeps its moments.
    void adam() {
        Small small({});
        small.question.rate = 0.1;
        const TrainingPlan plan = trainingPlan(small.question);
        const Training start = beginTraining(plan, small.controller);
        const TrainingStep one = trainStep(plan, start, {}).value();
        const TrainingStep two = trainStep(plan, one.after, {}).value();
        Controller before = start.controller, after = one.after.controller, last = two.after.controller;
        for (int i = 0; i < 3; ++i) {
            const double g = one.before.gradient[std::size_t(i)].mean, k = two.before.gradient[std::size_t(i)].mean;
            QVERIFY(std::abs(*parameter(after, i) - *parameter(before, i) - 0.1 * g / (std::abs(g) + 1e-8)) < 1e-12);
            const double m = (0.9 * 0.1 * g + 0.1 * k) / (1 - 0.81);
            const double v = (0.999 * 0.001 * g * g + 0.001 * k * k) / (1 - 0.999 * 0.999);
            QVERIFY(std::abs(*parameter(last, i) - *parameter(after, i) - 0.1 * m / (std::sqrt(v) + 1e-8)) < 1e-12);
        }
        // A step's draws are its own.
        const auto alone = objectiveAt(plan, one.after.controller, 65, 64, {}).value();
        QCOMPARE(alone.objective.mean, two.before.objective.mean);
        QVERIFY(one.before.objective.mean != two.before.objective.mean);
    }

    /// h̄ is fitted to the text; a controller that goes on keeps the ρ it gave.
    void beginning() {
        Small small({});
        const TrainingPlan plan = trainingPlan(small.question);
        const std::vector<double> h = groupEntropies(small.question.routing);
        const Training fresh = beginTraining(plan), on = beginTraining(plan, small.controller);
        QVERIFY(std::abs(fresh.controller.meanEntropy - (h[0] + h[1] + h[2] + h[3]) / 4) < 1e-15);
        QVERIFY(fresh.controller.a == 0 && fresh.controller.b == 0 && fresh.controller.c == 0);
        QCOMPARE(on.controller.meanEntropy, fresh.controller.meanEntropy);
        for (const double x : h) QVERIFY(std::abs(rhoOf(on.controller, x) - rhoOf(small.controller, x)) < 1e-15);
    }

    void theSameBitsForAnyThreads() {
        Small small({0.7, 1.3, 0.4, 0.9});
        small.question.crossEntropy = [](const NoiseDraw& d, const std::stop_token&) { return meetings(d); };
        std::vector<Training> ends;
        for (const int threads : {1, 2, 5}) {
            small.question.routing.threads = threads;
            const TrainingPlan plan = trainingPlan(small.question);
            Training state = beginTraining(plan, small.controller);
            for (int i = 0; i < 5; ++i) state = trainStep(plan, state, {}).value().after;
            ends.push_back(state);
        }
        QVERIFY(ends[1] == ends[0] && ends[2] == ends[0]);
        small.question.routing.seed = 22;
        const TrainingPlan other = trainingPlan(small.question);
        QVERIFY(trainStep(other, ends[0], {}).value().after !=
                trainStep(trainingPlan(Small({}).question), ends[0], {}).value().after);
    }

    /// What is saved goes on as what was not.
    void json() {
        Small small({});
        const TrainingPlan plan = trainingPlan(small.question);
        Training state = beginTraining(plan, small.controller);
        for (int i = 0; i < 3; ++i) state = trainStep(plan, state, {}).value().after;
        std::vector<std::string> warnings;
        const Training back = trainingFromJson(parseOrderedJson(toJson(state).dump(), "t"), "t", warnings);
        QVERIFY(back == state && warnings.empty());
        QVERIFY(trainStep(plan, back, {}).value().after == trainStep(plan, state, {}).value().after);
        OrderedJson odd = toJson(state);
        odd["colour"] = 1;
        odd["controller"]["d"] = 2;
        QVERIFY(toJson(trainingFromJson(odd, "t", warnings)) == odd);
        QCOMPARE(joined(warnings), QStringLiteral("t, \"controller\": the key \"d\" is unknown; it is kept as it is.\n"
                                                  "t: the key \"colour\" is unknown; it is kept as it is."));
        const auto refusal = [&](const char* key, const char* value) {
            OrderedJson json = toJson(state);
            json[key] = OrderedJson::parse(value);
            return QString::fromStdString(errorOf([&] { (void)trainingFromJson(json, "t", warnings); }));
        };
        QCOMPARE(
            refusal("first", "[1,2]"),
            QStringLiteral("t, \"first\": the value cannot be used (expected three finite numbers, found [1,2])."));
        QCOMPARE(refusal("second", "[1,2,-3]"),
                 QStringLiteral("t, \"second\": the value cannot be used (expected three finite numbers from 0, found "
                                "[1,2,-3])."));
        QCOMPARE(refusal("steps", "-1"),
                 QStringLiteral("t, \"steps\": the value cannot be used (expected a whole number "
                                "from 0 to 4294967295, found -1)."));
        odd.erase("controller");
        QCOMPARE(errorOf([&] { (void)trainingFromJson(odd, "t", warnings); }),
                 std::string("t: \"controller\" is missing (expected a controller)."));
    }

    void stops() {
        Small small({});
        std::stop_source stop;
        int asked = 0;
        small.question.crossEntropy = [&](const NoiseDraw&, const std::stop_token& token) -> std::optional<double> {
            if (++asked == 3) stop.request_stop();
            return token.stop_requested() ? std::nullopt : std::optional(1.0);
        };
        const TrainingPlan plan = trainingPlan(small.question);
        const Training state = beginTraining(plan);
        QVERIFY(!trainStep(plan, state, stop.get_token()));
        QCOMPARE(asked, 3);
        QVERIFY(!trainStep(plan, state, stop.get_token()));
        QCOMPARE(asked, 3);
        QVERIFY(!objectiveAt(plan, state.controller, 1, 8, stop.get_token()));
        QVERIFY(trainStep(plan, state, {}));
    }

    /// One position, one expert, windows of one, one group: no coherence, no boundary, and every number is one.
    void narrowTexts() {
        const std::vector<float> one{1}, row{0, 1, 2, 3}, ties(6 * 4);
        for (const auto& [logits, E, K, window] : {std::tuple{std::span(one), 1, 1, 8},
                                                   {std::span(row), 4, 2, 8},
                                                   {std::span(ties), 4, 4, 1},
                                                   {std::span(ties), 4, 2, 1},
                                                   {std::span(ties), 4, 2, 100}}) {
            TrainingQuestion question;
            question.routing = questionOf(logits, std::size_t(E), K, window, 0, 0, 16);
            const TrainingPlan plan = trainingPlan(question);
            Training state = beginTraining(plan);
            for (int i = 0; i < 3; ++i) {
                const TrainingStep step = trainStep(plan, state, {}).value();
                QVERIFY(std::isfinite(step.before.objective.mean) && std::isfinite(step.before.objective.se));
                QVERIFY(window == 1 || logits.size() < 5 || step.before.coherence.mean > 0);
                for (const Estimate& slope : step.before.gradient) QVERIFY(std::isfinite(slope.mean));
                state = step.after;
            }
        }
    }

    void refusals() {
        Small small({});
        const auto refusal = [&](auto change) {
            TrainingQuestion question = small.question;
            change(question);
            return QString::fromStdString(errorOf([&] {
                const TrainingPlan plan = trainingPlan(question);
                (void)trainStep(plan, beginTraining(plan), {});
            }));
        };
        QCOMPARE(
            refusal([](auto& q) { q.routing.draws = 1; }),
            QStringLiteral("routing, \"draws\": a gradient needs draws to compare (expected 2 or more, found 1)."));
        QCOMPARE(refusal([](auto& q) { q.rate = 0; }),
                 QStringLiteral("routing, \"rate\": the value is outside its bounds (expected above 0, found 0)."));
        QCOMPARE(
            refusal([](auto& q) { q.weights.load = -1; }),
            QStringLiteral("routing, \"weights\": the value is outside its bounds (expected 0 or more, found -1)."));
        QCOMPARE(
            refusal([](auto& q) { q.weights.coherence = INFINITY; }),
            QStringLiteral("routing, \"weights\": the value is outside its bounds (expected 0 or more, found inf)."));
        QCOMPARE(refusal([](auto& q) {
                     q.crossEntropy = [](const NoiseDraw& d, const std::stop_token&) {
                         return d.draw == 4 ? NAN : 1.0;
                     };
                 }),
                 QStringLiteral("routing, draw 4: the cross-entropy under this draw's noise is no number (expected a "
                                "finite number of nats, found nan)."));
        QVERIFY(refusal([](auto& q) { q.routing.layers[0].law.chosen = 5; }).contains("expected 1 to 4, found 5"));
        QVERIFY(refusal([](auto& q) { q.routing.coupling.pairs = {{{0, 1}, {1, 2}}}; }).contains("group 1 again"));
        QVERIFY(refusal([](auto& q) { q.routing.coupling.groups.window = 0; }).contains("a window holds at least one"));
        Training late;
        late.steps = 67'108'863;  // times 64 draws, and 64 more: 2^32
        QVERIFY(errorOf([&] {
                    (void)trainStep(trainingPlan(small.question), late, {});
                }).find("the draws of this seed are used up") != std::string::npos);
    }
};

QTEST_GUILESS_MAIN(TestControllerTraining)
#include "tst_controllertraining.moc"
