// The quality of a prior on held-out texts, counted by hand on a base whose rows are known.
#include <QTest>
#include <cmath>

#include "model/examplequality.h"
#include "tests/model/exampletexts.h"
#include "tests/support/fixture.h"
#include "tests/support/scratch.h"

using namespace counterpoint;
using namespace counterpoint::model;
using namespace counterpoint::tests;

namespace {

/// Every token as likely as every other, but for what `change` says.
RunOptions uniform(std::function<void(std::span<float>)> change = {}, Position maxPositions = 0) {
    Script script;
    script.maxPositions = maxPositions;
    script.logits = [change = std::move(change)](std::span<const TokenId>, std::span<float> out) {
        if (change) change(out);
    };
    RunOptions options;
    options.opener = opener({{"model", script}});
    return options;
}

QualityEstimate estimated(const compute::Prior& prior, const std::vector<ExampleText>& of,
                          const RunOptions& options = uniform()) {
    return estimateQuality(prior, nullptr, of, all(of), sessionOf({"model"}), options);
}

}  // namespace

class TestExampleQuality : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void init() { failOnAnyWarning(); }

    /// "a" after "b" goes up by log 2 − log(1 + 1/300), everything else there down by log(1 + 1/300).
    void qualityByHand() {
        const auto of = texts({"+ba", "+xbay", "+bc", "-bc", "-bcbz", "-ba"});
        //                      right  right    wrong  right  right×2  wrong
        const QualityEstimate e = estimated(afterB(), of);
        QCOMPARE(e.everywhere.right, 5);
        QCOMPARE(e.everywhere.seen, 7);
        QCOMPARE(e.support().right, 2);  // of the three whose own token is "a"
        QCOMPARE(e.support().seen, 3);
        QCOMPARE(e.preferred.positions, 8);
        QCOMPARE(e.other.positions, 8);
        QCOMPARE(e.texts, of.size());
        QCOMPARE(e.q, 3.0 / 5.0);
        QCOMPARE(e.counted.mean, 3.0 / 5.0);
        QVERIFY(e.counted.low < e.q && e.q < e.counted.high);
        QVERIFY(!e.stopped);
    }

    /// Three times as much preferred text: a token that is as frequent in both sets says nothing of either.
    void aLongerSetWeighsNoMore() {
        const QualityEstimate even = estimated(afterB(), texts({"+ba", "+ba", "+ba", "-ba"}));
        QCOMPARE(even.support().right, 3);
        QCOMPARE(even.support().seen, 4);
        QCOMPARE(even.preferred.weight, 1.0 / 3.0);
        QCOMPARE(even.other.weight, 1.0);
        QVERIFY(std::abs(even.counted.right - 1) < 1e-12 && std::abs(even.counted.seen - 2) < 1e-12);
        QVERIFY(std::abs(even.q - 0.5) < 1e-12);
        const QualityEstimate rare = estimated(afterB(), texts({"+ba", "-xxxxba"}));  // of 2 and 6 positions
        QVERIFY(std::abs(rare.q - 2.0 / (2 + 4.0 / 3.0)) < 1e-12);
    }

    /// A text's weight says how much it teaches, not how often its positions were seen.
    void weightsOfTextsAreNotUsed() {
        auto of = texts({"+ba", "+xbay", "-bcbz", "-ba"});
        const QualityEstimate plain = estimated(afterB(), of);
        of[0].example.weight = 10;
        of[3].example.weight = 0;
        const QualityEstimate weighted = estimated(afterB(), of);
        QVERIFY(plain.support().seen == 3 && plain.support().right == 2);
        QCOMPARE(weighted.support().seen, plain.support().seen);
        QCOMPARE(weighted.q, plain.q);
        QCOMPARE(weighted.counted.low, plain.counted.low);
        QCOMPARE(weighted.counted.high, plain.counted.high);
    }

    void whatStandsBeforeDoesNotCount() {
        auto of = texts({"+ba"});
        of[0].before = {1, letter('b'), letter('a'), letter('b')};
        of[0].example.ids = {letter('a')};
        const QualityEstimate e = estimated(afterB(), of);
        QCOMPARE(e.positions(), 1);
        QCOMPARE(e.support().right, 1);  // its context is what stands before
        QCOMPARE(e.support().seen, 1);
    }

    /// At η = 1 the strong promotion of "z" outweighs that of "a"; at a small η it does not.
    void qualityIsOfEtaOne() {
        compute::Prior prior = afterB();
        prior.delta = {{letter('a'), 1.0}, {letter('z'), 3.0}};
        prior.eta = 0.1;
        prior.enabled = false;
        const float fifth = std::log(299.0f / 4.0f);  // p(z) = 1/5
        const RunOptions options = uniform([&](std::span<float> out) { out[letter('z')] = fifth; });
        const double down = 1 - std::log1p(0.2 * std::expm1(3.0) + 0.8 / 299 * std::expm1(1.0));
        const double up = 0.1 - std::log1p(0.2 * std::expm1(0.3) + 0.8 / 299 * std::expm1(0.1));
        QVERIFY(down < -0.1 && up > 0.01);
        const QualityEstimate e = estimated(prior, texts({"+ba", "-ba", "-ba"}), options);
        QCOMPARE(e.support().seen, 3);
        QCOMPARE(e.support().right, 2);
        QCOMPARE(e.counted.right, 1.0);  // 4 positions to 2
        QCOMPARE(e.counted.seen, 2.0);
    }

    void whatHardlyMovesDoesNotCount() {
        // p(a) = e^-20/299: what is taken from the others is far below 1e-6.
        const RunOptions options = uniform([](std::span<float> out) { out[letter('a')] = -20; });
        const QualityEstimate e = estimated(afterB(), texts({"+ba", "+bc", "-bc"}), options);
        QCOMPARE(e.everywhere.seen, 1);
        QCOMPARE(e.everywhere.right, 1);
        QCOMPARE(e.support().seen, 1);
        QCOMPARE(e.positions(), 6);
    }

    void qualityIsClipped() {
        std::string text;
        for (int i = 0; i < 60; ++i) text += "ba";
        const QualityEstimate best = estimated(afterB(), texts({"+" + text})),
                              worst = estimated(afterB(), texts({"-" + text}));
        QCOMPARE(best.support().right, 60);
        QCOMPARE(best.counted.mean, 61.0 / 62.0);
        QCOMPARE(best.q, 0.95);
        QCOMPARE(worst.support().right, 0);
        QCOMPARE(worst.support().seen, 60);
        QCOMPARE(worst.q, 0.05);
    }

    void nothingMatches() {
        const QualityEstimate e = estimated(afterB(), texts({"+xyz", "-zyx"}));
        QCOMPARE(e.support().seen, 0);
        QCOMPARE(e.q, 0.5);
    }

    void theBaseScoresAlone() {
        Session session = sessionOf({"model", "not there"});
        session.priors.resize(1);
        session.priors[0].bank = "not there either.bank.json";
        const auto of = texts({"+ba"});
        const QualityEstimate e = estimateQuality(afterB(), nullptr, of, all(of), session, uniform());
        QCOMPARE(e.support().right, 1);
    }

    void aFeatureOfTheBankIsKnown() {
        compute::Bank bank;
        bank.features = {{.name = "list", .open = "b", .close = "c"}};
        compute::Prior prior = afterB();
        prior.when = {};
        prior.when.kind = compute::ContextKind::Feature;
        prior.when.name = "list";
        const auto of = texts({"+bxaca"});
        const QualityEstimate e = estimateQuality(prior, &bank, of, all(of), sessionOf({"model"}), uniform());
        QCOMPARE(e.everywhere.seen, 3);  // x, a and c stand inside
        QCOMPARE(e.everywhere.right, 1);
        QCOMPARE(e.support().seen, 1);
    }

    void longTextsEndWithTheContext() {
        const QualityEstimate e = estimated(afterB(), texts({"+babababa"}), uniform({}, 5));
        QCOMPARE(e.positions(), 4);
        QCOMPARE(e.support().right, 2);
    }

    void itStops() {
        std::stop_source stop;
        Script script;
        script.logits = [](std::span<const TokenId>, std::span<float>) {};
        script.onForward = [&](std::span<const TokenId> ids) {
            if (std::find(ids.begin(), ids.end(), letter('!')) != ids.end()) stop.request_stop();
        };
        RunOptions options;
        options.opener = opener({{"model", script}});
        options.stop = stop.get_token();
        std::vector<std::string> said;
        options.progress = [&](const Progress& progress) { said.push_back(progress.what + " " + progress.rate); };
        const QualityEstimate e = estimated(afterB(), texts({"+ba", "+b!ba", "-bc"}), options);
        QVERIFY(e.stopped);
        QCOMPARE(e.texts, std::size_t(1));
        QCOMPARE(e.support().right, 1);
        QCOMPARE(e.support().seen, 1);
        QVERIFY(std::find(said.begin(), said.end(), "Scoring held-out texts 1 of 3") != said.end());
        QVERIFY(estimated(afterB(), texts({"+ba"}), options).stopped);  // asked before it began
    }

    void whatFailsIsSaid() {
        RunOptions options;
        options.opener = opener({});
        const auto of = texts({"+ba"});
        QVERIFY(errorOf([&] { (void)estimated(afterB(), of, options); }).find("there is no such model") !=
                std::string::npos);
        const auto of2 = texts({"+ba", "+b!"});
        Script script;
        script.logits = [](std::span<const TokenId> read, std::span<float> out) {
            if (read.back() == letter('b') && read.size() > 1) out[5] = std::nanf("");
        };
        options.opener = opener({{"model", script}});
        const QString said = QString::fromStdString(errorOf([&] { (void)estimated(afterB(), of2, options); }));
        QVERIFY2(said.contains("a logit is not a number"), qPrintable(said));
    }
};

QTEST_GUILESS_MAIN(TestExampleQuality)
#include "tst_examplequality.moc"
