// Ensemble over scripted sources: the same rows however the ids are fed, prefixes, padding (HAZARDS A7), rewinding, and
// what stands after Cancelled and Error.
#include "compute/composition/compose.h"
#include "compute/decode/ensemble.h"
#include "tests/support/fakesource.h"
#include "tests/support/fixture.h"

using namespace counterpoint::compute;
using namespace counterpoint::tests;

namespace {

constexpr TokenId kBos = 1, kEos = 2;
auto tokenizerOf(std::int64_t size) { return std::make_shared<FakeTokenizer>(size, kBos, kEos); }

/// Id 11 has no token.
struct HoledTokenizer : FakeTokenizer {
    using FakeTokenizer::FakeTokenizer;
    bool isToken(TokenId id) const override { return id != 11 && FakeTokenizer::isToken(id); }
};

EnsembleMember memberOf(std::string name, FakeScript script, std::vector<TokenId> prefix = {}, std::int64_t size = 30) {
    EnsembleMember m;
    m.name = std::move(name);
    m.source = std::make_unique<FakeSource>(tokenizerOf(size), std::move(script));
    m.prefix = std::move(prefix);
    return m;
}
FakeSource& fake(const Ensemble& e, std::size_t i) { return static_cast<FakeSource&>(*e.member(i).source); }

Ensemble two(FakeScript base, FakeScript other, std::vector<TokenId> prefix = {}) {
    std::vector<EnsembleMember> m;
    m.push_back(memberOf("base", std::move(base)));
    m.push_back(memberOf("math", std::move(other), std::move(prefix)));
    return Ensemble(std::move(m));
}

/// The row of a fresh source after exactly these ids.
std::vector<float> rowAfter(FakeScript script, std::vector<TokenId> ids, std::int64_t size = 30,
                            double temperature = 1) {
    FakeSource source(tokenizerOf(size), script);
    std::vector<float> raw(static_cast<std::size_t>(source.info().logitWidth)), row(static_cast<std::size_t>(size));
    source.forward(ids, 1, raw, {});
    logSoftmax(raw, temperature, row, "fresh", 0);
    return row;
}

std::vector<TokenId> someIds(std::size_t n) {
    std::vector<TokenId> ids{kBos};
    while (ids.size() < n) ids.push_back(static_cast<TokenId>(3 + (ids.size() * 7) % 27));
    return ids;
}

}  // namespace

class TestEnsemble : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void init() { failOnAnyWarning(); }

    // Rows are those of fresh sources, from one call over several chunks and step by step.
    void rowsDoNotDependOnFeeding() {
        const std::vector<TokenId> ids = someIds(150);
        Ensemble whole = two({.voice = 1}, {.voice = 2}), steps = two({.voice = 1}, {.voice = 2});
        std::vector<RawRows> all, one;
        QCOMPARE(whole.forward(ids, 1, all, {}), Outcome::Done);
        QCOMPARE(all.size(), ids.size());
        for (std::size_t n = 1; n <= ids.size(); ++n) {
            QCOMPARE(steps.forward({ids.data(), n}, Position(n), one, {}), Outcome::Done);
            QCOMPARE(one.size(), 1u);
            QCOMPARE(one[0].position, Position(n));
            QCOMPARE(all[n - 1].position, Position(n));
            QVERIFY(one[0].rows == all[n - 1].rows);
        }
        QVERIFY(all[99].rows[1] == rowAfter({.voice = 2}, {ids.begin(), ids.begin() + 100}));
        QCOMPARE(fake(steps, 0).fed, 150);  // nothing was fed twice
    }

    void temperatureOfOneSource() {
        Ensemble e = two({.voice = 1}, {.voice = 2});
        e.setMember(1, 2.5, {}, true);
        std::vector<RawRows> rows;
        e.forward(someIds(4), 4, rows, {});
        QVERIFY(rows[0].rows[1] == rowAfter({.voice = 2}, someIds(4), 30, 2.5));
        QVERIFY(rows[0].rows[0] == rowAfter({.voice = 1}, someIds(4)));
    }

    // [BOS] + prefix + the rest, positions those of the shared sequence.
    void prefixComesAfterBos_data() {
        QTest::addColumn<QList<int>>("shared");
        QTest::addColumn<QList<int>>("fed");
        QTest::newRow("with BOS") << QList<int>{1, 5, 6} << QList<int>{1, 20, 21, 5, 6};
        QTest::newRow("without BOS") << QList<int>{5, 6} << QList<int>{20, 21, 5, 6};
        QTest::newRow("BOS alone") << QList<int>{1} << QList<int>{1, 20, 21};
    }
    void prefixComesAfterBos() {
        QFETCH(QList<int>, shared);
        QFETCH(QList<int>, fed);
        Ensemble e = two({.voice = 1}, {.voice = 2}, {20, 21});
        std::vector<RawRows> rows;
        const std::vector<TokenId> ids(shared.begin(), shared.end()), wanted(fed.begin(), fed.end());
        QCOMPARE(e.forward(ids, 1, rows, {}), Outcome::Done);
        QVERIFY(fake(e, 1).ids() == wanted);
        QVERIFY(fake(e, 0).ids() == ids);
        for (std::size_t p = 1; p <= ids.size(); ++p) {
            const auto end = wanted.end() - std::ptrdiff_t(ids.size() - p);
            QVERIFY(rows[p - 1].rows[1] == rowAfter({.voice = 2}, {wanted.begin(), end}));
        }
    }

    // A branch keeps the common prefix and feeds only the rest.
    void branchRewindsToCommonPrefix() {
        Ensemble e = two({.voice = 1}, {.voice = 2});
        std::vector<TokenId> ids = someIds(20);
        std::vector<RawRows> rows;
        e.forward(ids, 20, rows, {});
        ids[12] = 29;
        e.forward(ids, 20, rows, {});
        QVERIFY(fake(e, 0).ids() == ids);
        QCOMPARE(fake(e, 0).fed, 20 + 8);
        QVERIFY(rows[0].rows[0] == rowAfter({.voice = 1}, ids));
        // Asked again for a row it has passed: one token back.
        e.forward(ids, 20, rows, {});
        QCOMPARE(fake(e, 0).fed, 20 + 8 + 1);
    }

    // HAZARDS A7: 320 columns, 300 tokens, the padding biased highest: it changes no row, and greedy gives a real id.
    void paddedColumnsDoNotCount() {
        std::vector<EnsembleMember> m;
        m.push_back(memberOf("base", {.voice = 1, .paddedColumns = 20}, {}, 300));
        m.push_back(memberOf("math", {.voice = 2}, {}, 300));
        Ensemble e(std::move(m));
        QCOMPARE(e.vocabulary(), 300);
        QVERIFY(e.notices() ==
                std::vector<std::string>{"'base': 20 rows of logits beyond the tokenizer's 300 tokens are "
                                         "padding and left out"});
        std::vector<RawRows> rows;
        e.forward(someIds(5), 5, rows, {});
        QCOMPARE(rows[0].rows[0].size(), 300u);
        QVERIFY(rows[0].rows[0] == rowAfter({.voice = 1}, someIds(5), 300));
        double mass = 0;
        for (float x : rows[0].rows[0]) mass += std::exp(double(x));
        QVERIFY(std::abs(mass - 1) < 1e-5);
    }

    // HAZARDS A7: an id below the vocabulary's size without a token, biased highest, is excluded before the
    // log-softmax.
    void idsWithoutATokenDoNotCount() {
        std::vector<float> bias(30, 0.0f), excluded = bias;
        bias[11] = 50;
        excluded[11] = kExcluded;
        EnsembleMember holed;
        holed.name = "base";
        holed.source = std::make_unique<FakeSource>(std::make_shared<HoledTokenizer>(30, kBos, kEos),
                                                    FakeScript{.voice = 1, .bias = bias});
        std::vector<EnsembleMember> m;
        m.push_back(std::move(holed));
        Ensemble e(std::move(m));
        std::vector<RawRows> rows;
        e.forward(someIds(5), 5, rows, {});
        QVERIFY(rows[0].rows[0] == rowAfter({.voice = 1, .bias = excluded}, someIds(5)));
    }

    void limitsAndStopIds() {
        std::vector<EnsembleMember> m;
        m.push_back(memberOf("base", {.maxPositions = 40, .stopIds = {2, 7}}));
        m.push_back(memberOf("math", {.voice = 2, .maxPositions = 30, .stopIds = {2, 5, 99}}, {20, 21}));
        Ensemble e(std::move(m));
        QCOMPARE(e.maxPositions(), 28);
        QVERIFY(e.stopIds() == (std::vector<TokenId>{2, 5, 7}));
        std::vector<RawRows> rows;
        QCOMPARE(e.forward(someIds(28), 28, rows, {}), Outcome::Done);
        try {
            e.forward(someIds(29), 29, rows, {});
            QFAIL("29 shared positions fit nowhere");
        } catch (const Error& error) {
            QVERIFY(QString::fromStdString(error.sentence()).contains("source 'math', position 29"));
        }
        e.setMember(1, 1, {20, 21}, false);
        QCOMPARE(e.maxPositions(), 40);
    }

    // A source that is not used is not fed; used again, it catches up.
    void unusedCatchesUp() {
        Ensemble e = two({.voice = 1}, {.voice = 2});
        e.setMember(1, 1, {}, false);
        std::vector<RawRows> rows;
        e.forward(someIds(9), 9, rows, {});
        QVERIFY(rows[0].rows[1].empty());
        QCOMPARE(fake(e, 1).fed, 0);
        e.setMember(1, 1, {}, true);
        e.forward(someIds(10), 10, rows, {});
        QVERIFY(rows[0].rows[1] == rowAfter({.voice = 2}, someIds(10)));
    }

    // Stop between sources: nothing published, every source at what it held.
    void cancelRestores() {
        Ensemble e = two({.voice = 1}, {.voice = 2});
        std::vector<RawRows> rows;
        e.forward(someIds(10), 10, rows, {});
        const std::vector<RawRows> published = rows;
        std::stop_source stop;
        fake(e, 0).onForward = [&](FakeSource& s) {
            if (s.length() >= 10 + 64) stop.request_stop();  // in the second chunk of the base
        };
        QCOMPARE(e.forward(someIds(150), 150, rows, stop.get_token()), Outcome::Cancelled);
        QCOMPARE(rows.size(), published.size());
        QVERIFY(rows[0].rows == published[0].rows);
        for (std::size_t i : {0, 1}) QVERIFY(fake(e, i).ids() == someIds(10));
        fake(e, 0).onForward = {};
        QCOMPARE(e.forward(someIds(11), 11, rows, {}), Outcome::Done);
        QVERIFY(rows[0].rows[1] == rowAfter({.voice = 2}, someIds(11)));
    }

    void cancelBeforeTheSecondSource() {
        Ensemble e = two({.voice = 1}, {.voice = 2});
        std::vector<RawRows> rows;
        e.forward(someIds(10), 10, rows, {});
        std::stop_source stop;
        std::int64_t total = 0;
        const auto stopAfterBase = [&](std::int64_t done, std::int64_t all) {
            total = all;
            if (done == 1) stop.request_stop();
        };
        QCOMPARE(e.forward(someIds(11), 11, rows, stop.get_token(), stopAfterBase), Outcome::Cancelled);
        QCOMPARE(total, 2);
        QCOMPARE(fake(e, 0).length(), 10);
        QCOMPARE(fake(e, 1).length(), 10);
    }

    void errorRestoresAndNames_data() {
        QTest::addColumn<bool>("throws");
        QTest::addColumn<QString>("says");
        QTest::newRow("the source throws") << true << "source 'math', position 11 (fake/2): the script fails here.";
        QTest::newRow("a logit is NaN") << false << "source 'math', position 11: a logit is not a number or +infinity";
    }
    void errorRestoresAndNames() {
        QFETCH(bool, throws);
        QFETCH(QString, says);
        FakeScript bad{.voice = 2};
        (throws ? bad.throwAtId : bad.nanAtId) = 11;
        Ensemble e = two({.voice = 1}, bad);
        std::vector<RawRows> rows;
        e.forward(someIds(10), 10, rows, {});
        try {
            e.forward(someIds(11), 11, rows, {});
            QFAIL("the fault was not seen");
        } catch (const Error& error) {
            QVERIFY2(QString::fromStdString(error.sentence()).startsWith(says), error.what());
        }
        QVERIFY(fake(e, 0).ids() == someIds(10));
        QVERIFY(fake(e, 1).ids() == someIds(10));
        QCOMPARE(e.forward(someIds(11), 11, rows, {}), Outcome::Done);  // and goes on
    }

    void refusesNothingBeforeTheRow() {
        Ensemble e = two({.voice = 1}, {.voice = 2});
        std::vector<RawRows> rows;
        QVERIFY_THROWS_EXCEPTION(Error, e.forward({}, 1, rows, {}));
        QVERIFY_THROWS_EXCEPTION(Error, e.forward(someIds(3), 0, rows, {}));
    }

    void gateIsAsked() {
        std::vector<EnsembleMember> m;
        m.push_back(memberOf("base", {.voice = 1}));
        m.push_back(memberOf("math", {.voice = 2}, {}, 31));
        QVERIFY_THROWS_EXCEPTION(Error, Ensemble(std::move(m)));
    }
};

QTEST_GUILESS_MAIN(TestEnsemble)
#include "tst_ensemble.moc"
