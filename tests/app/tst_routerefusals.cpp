// `counterpoint route`: pairs, sources, and what it makes of little or bad input, each refusal in one sentence.

#include "tests/app/routed.h"

using namespace counterpoint::tests;

class TestRouteRefusals : public QObject, RouteFolder {
    Q_OBJECT

  private Q_SLOTS:
    void init() { failOnAnyWarning(); }

    void pairsOfAFile() {
        const QString file = saved(routed(someLogits(2 * kT * kE))), pairs = path(QStringLiteral("p.json"));
        const auto with = [&](const QByteArray& text) {
            write(pairs, text);
            return route(file, QString(), {QStringLiteral("--pairs"), pairs});
        };
        const OrderedJson usual = reported(route(file)), listed = reported(with("[[0,1],[2,3],[4,5]]")),
                          none = reported(with("[]")), others = reported(with("[[0,2],[1,3]]"));
        QVERIFY(listed["dials"]["pairs"] == OrderedJson({{0, 1}, {2, 3}, {4, 5}}) && usual["dials"]["pairs"].is_null());
        QVERIFY(listed["layers"] == usual["layers"] && listed["pooled"] == usual["pooled"]);
        QVERIFY(none["pooled"]["boundary_paired"]["mean"] == OrderedJson("nan"));
        QVERIFY(none["pooled"]["load_variance"] == none["pooled"]["flat_load_variance"]);
        QVERIFY(others["pooled"]["boundary_paired"]["mean"] == OrderedJson("nan"));
        QVERIFY(others["pooled"]["load_variance"] != others["pooled"]["flat_load_variance"]);
        QVERIFY(others["pooled"]["coherence"] != none["pooled"]["coherence"]);  // ζ of a second group is another
    }

    void badPairs_data() {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QByteArray>("says");
        const QByteArray shape =
            "these are no pairs of groups (expected a list of pairs of groups such as "
            "[[0,1],[2,3]], found ";
        QTest::newRow("not disjoint") << QByteArray("[[0,1],[1,2]]")
                                      << QByteArray(
                                             "a group stands in two pairs (expected each group once at most, "
                                             "found group 1 again in [1, 2]).");
        QTest::newRow("the later first") << QByteArray("[[3,2]]") << QByteArray("the earlier one first");
        QTest::newRow("itself") << QByteArray("[[2,2]]") << QByteArray("the earlier one first");
        QTest::newRow("beyond the text")
            << QByteArray("[[0,6]]")
            << QByteArray(
                   "the pair [0,6] names a group that the text does not have (expected groups 0 to 5, found 6).");
        QTest::newRow("three") << QByteArray("[[0,1,2]]") << QByteArray(shape + "[0,1,2]).");
        QTest::newRow("a number") << QByteArray("[0,1]") << QByteArray(shape + "0).");
        QTest::newRow("negative") << QByteArray("[[-1,1]]") << QByteArray(shape + "[-1,1]).");
        QTest::newRow("half") << QByteArray("[[0.5,1]]") << QByteArray(shape + "[0.5,1]).");
        QTest::newRow("an object") << QByteArray(R"({"pairs":[]})") << QByteArray(shape + "{\"pairs\":[]}).");
        QTest::newRow("no JSON") << QByteArray("[[0,1]") << QByteArray("p.json");
    }
    void badPairs() {
        QFETCH(QByteArray, text);
        QFETCH(QByteArray, says);
        write(path(QStringLiteral("p.json")), text);
        const Finished finished = route(saved(routed(someLogits(2 * kT * kE))), QString(),
                                        {QStringLiteral("--pairs"), path(QStringLiteral("p.json"))});
        COMPARE_CODE(finished, 1);
        QCOMPARE(finished.errorLines(), 1);
        QVERIFY2(finished.err.contains(says) && finished.err.contains("p.json") && finished.out.isEmpty(),
                 finished.err.constData());
    }

    void sources() {
        const auto logits = someLogits(2 * kT * kE);
        const QString file = saved(routed(logits));
        const Finished math = route(file, QStringLiteral("--source math"));
        COMPARE_CODE(math, 0);
        QVERIFY(reported(math)["dials"]["source"] == OrderedJson("math"));
        QCOMPARE(route(file, QStringLiteral("--source base")).out, route(file).out);
        ToyRecording swapped = routed(logits);
        swapped.metadata["base"] = "math";
        QCOMPARE(route(saved(swapped, QStringLiteral("swapped.safetensors"))).out, math.out);
        const auto refused = [&](const QString& recording, const QString& more, const QByteArray& says) {
            const Finished finished = route(recording, more);
            COMPARE_CODE(finished, 1);
            QCOMPARE(finished.errorLines(), 1);
            QVERIFY2(finished.err.contains(says) && finished.out.isEmpty(), finished.err.constData());
        };
        refused(file, QStringLiteral("--source poetry"),
                "the recording has no source 'poetry' (expected 'base', 'math', 'dense'); name one of them with "
                "--source.");
        refused(file, QStringLiteral("--source dense"),
                "there are no router logits of source 'dense' in it (expected a tensor 'router_logits.dense', found "
                "those of 'base', 'math'); name one that has them with --source.");
        const QString dense =
            saved(ToyRecording(std::vector<std::int64_t>(kT, 1), 4, {"base"}), QStringLiteral("dense.safetensors"));
        refused(dense, QString(),
                "there are no router logits of source 'base' in it (expected a tensor 'router_logits.base', found none "
                "of any source); record a Mixture-of-Experts model with its router logits.");
        refused(path(QStringLiteral("none.safetensors")), QString(), "none.safetensors");
    }

    void badLogits_data() {
        QTest::addColumn<float>("value");
        QTest::addColumn<QByteArray>("says");
        const QByteArray where = " at layer 5, position 3, expert 2); record it again.";
        QTest::newRow("NaN") << NAN << QByteArray("found NaN" + where);
        QTest::newRow("+infinity") << INFINITY << QByteArray("found +infinity" + where);
    }
    void badLogits() {
        QFETCH(float, value);
        QFETCH(QByteArray, says);
        auto logits = someLogits(2 * kT * kE);
        logits[(kT + 3) * kE + 2] = value;
        const Finished finished = route(saved(routed(logits)));
        COMPARE_CODE(finished, 1);
        QCOMPARE(finished.errorLines(), 1);
        QVERIFY2(finished.err.contains(says) && finished.out.isEmpty(), finished.err.constData());
    }

    /// An expert that the recording has switched off is never chosen; more experts a token than there are is refused.
    void expertsThatAreOff() {
        auto logits = someLogits(2 * kT * kE);
        for (std::size_t t = 0; t < kT; ++t) logits[t * kE + 4] = -INFINITY;
        const OrderedJson json = reported(route(saved(routed(logits))));
        QVERIFY(json["layers"][0]["load"][4] == OrderedJson(0.0) &&
                json["layers"][0]["independent_load"][4] == OrderedJson(0.0));
        QVERIFY(json["layers"][1]["load"][4].get<double>() > 1);
        for (std::size_t e = 0; e < kE - 1; ++e) logits[7 * kE + e] = -INFINITY;
        const Finished few = route(saved(routed(logits)));
        COMPARE_CODE(few, 1);
        QVERIFY2(few.err.contains("leaves too few experts to choose from (expected 2 or more above -infinity, found 1 "
                                  "at layer 0, position 7)"),
                 few.err.constData());
        const Finished many = route(saved(routed(logits, kT, kE, 7)));
        COMPARE_CODE(many, 1);
        QCOMPARE(many.errorLines(), 1);
        QVERIFY2(many.err.contains("'experts_per_token' does not fit tensor 'router_logits.base' (expected 1 to 6, "
                                   "found 7)"),
                 many.err.constData());
    }

    /// A window longer than the text is one group, and that is said; a mean over nothing is no number.
    void narrowTexts() {
        const QString file = saved(routed(someLogits(2 * kT * kE)));
        const Finished wide = route(file, QStringLiteral("--window 23"));
        COMPARE_CODE(wide, 0);
        QCOMPARE(wide.errorLines(), 1);
        QVERIFY2(wide.err.contains("notice: --window 23 is longer than the text of 22 positions, which is one group"),
                 wide.err.constData());
        const Finished whole = route(file, QStringLiteral("--window 22"));
        QVERIFY(whole.err.isEmpty() && reported(whole)["layers"] == reported(wide)["layers"]);
        QVERIFY(reported(whole)["pooled"]["boundary"]["mean"] == OrderedJson("nan"));
        const OrderedJson single = reported(route(file, QStringLiteral("--window 1")))["pooled"];
        QVERIFY(single["coherence"]["mean"] == OrderedJson("nan") && same(single["distinct"], {2, 0}));
        const OrderedJson two = reported(route(file, QStringLiteral("--draws 2")))["pooled"];
        QVERIFY(two["cv"]["se"].get<double>() > 0 && two["load_variance"]["se"] == OrderedJson("nan"));
        const OrderedJson token =
            reported(route(saved(routed(someLogits(2 * kE), 1)), QStringLiteral("--window 1")))["pooled"];
        QVERIFY(token["coherence"]["mean"] == OrderedJson("nan") && token["boundary"]["se"] == OrderedJson("nan"));
        QVERIFY(token["load_variance"]["mean"].get<double>() > 0);
        const OrderedJson expert = reported(route(saved(routed(std::vector<float>(2 * kT), kT, 1, 1))))["layers"][0];
        QVERIFY(same(expert["coherence"], {1, 0}) && expert["load_variance"]["mean"].get<double>() < 1e-20);
        QVERIFY(expert["load"] == OrderedJson({22.0}) && expert["independent_load"] == OrderedJson({22.0}));
    }
};

QTEST_GUILESS_MAIN(TestRouteRefusals)
#include "tst_routerefusals.moc"
