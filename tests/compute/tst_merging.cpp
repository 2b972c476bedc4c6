// R10 level 2: what is joined against average linkage by its definition, what it becomes, and why others stay apart.
#include <cmath>
#include <utility>

#include "tests/support/banks.h"
#include "tests/support/scratch.h"

using namespace counterpoint::compute;
using namespace counterpoint::tests;

namespace {

/// Average linkage by its definition: all pairs, the closest clusters first, the first of equals.
std::vector<std::vector<std::string>> plainLinkage(const Bank& bank, double threshold) {
    struct Cluster {
        std::vector<std::size_t> members;
    };
    std::vector<Cluster> clusters;
    for (std::size_t i = 0; i < bank.priors.size(); ++i) clusters.push_back({{i}});
    const auto cos = [&](std::size_t i, std::size_t j) {
        const Prior &a = *bank.priors[i], &b = *bank.priors[j];
        if (a.task != b.task || !(a.when == b.when)) return -2.0;
        const auto x = asMap(a), y = asMap(b);
        double sum = 0;
        for (const auto& [token, delta] : x)
            if (y.contains(token)) sum += (delta > 0) == (y.at(token) > 0) ? 1 : -1;
        return sum / std::sqrt(double(x.size() * y.size()));
    };
    const auto between = [&](const Cluster& a, const Cluster& b) {
        double sum = 0;
        for (std::size_t i : a.members)
            for (std::size_t j : b.members) sum += cos(i, j);
        return std::round(sum / double(a.members.size() * b.members.size()) * 1e11) / 1e11;
    };
    for (;;) {
        double best = threshold;
        std::size_t x = 0, y = 0;
        for (std::size_t i = 0; i < clusters.size(); ++i)
            for (std::size_t j = i + 1; j < clusters.size(); ++j)
                if (const double c = between(clusters[i], clusters[j]); c > best) best = c, x = i, y = j;
        if (best == threshold) break;
        auto& to = clusters[x].members;
        to.insert(to.end(), clusters[y].members.begin(), clusters[y].members.end());
        std::sort(to.begin(), to.end());
        clusters.erase(clusters.begin() + std::ptrdiff_t(y));
    }
    std::vector<std::vector<std::string>> names;
    for (const Cluster& cluster : clusters) {
        if (cluster.members.size() == 1) continue;
        names.emplace_back();
        for (std::size_t i : cluster.members) names.back().push_back(bank.priors[i]->name);
    }
    return names;
}

}  // namespace

class TestMerging : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void init() { failOnAnyWarning(); }

    // Small vocabularies of equal supports: clusters of many sizes, and ties everywhere.
    void linkageAgainstItsDefinition() {
        std::mt19937_64 random(21);
        std::size_t joined = 0, large = 0;
        for (int n = 0; n < 300; ++n) {
            const Bank bank = randomBank(random, 2 + random() % 14, 3 + n % 5, true);
            CompressOptions options;
            options.threshold = n % 3 == 0 ? 0.9 : n % 3 == 1 ? 0.6 : 0.3;
            const Compressed got = compress(std::span(&bank, 1), {}, options);
            auto names = got.levels[2].merged, wanted = plainLinkage(bank, options.threshold);
            std::sort(names.begin(), names.end());
            std::sort(wanted.begin(), wanted.end());
            QVERIFY2(names == wanted, qPrintable(QStringLiteral("bank %1").arg(n)));
            joined += names.size();
            for (const auto& cluster : names) large += cluster.size() > 3;
        }
        QVERIFY2(joined > 300 && large > 30, qPrintable(QStringLiteral("%1 %2").arg(joined).arg(large)));
    }

    // Tokens that many have stand beside tokens that few have, and many priors are equal.
    void linkageOfCommonAndRareTokens() {
        std::mt19937_64 random(8);
        std::size_t joined = 0, equal = 0;
        for (int n = 0; n < 60; ++n) {
            std::vector<Prior> priors;
            for (std::size_t m = 0; m < 30 + random() % 20; ++m) {
                std::map<TokenId, double> delta;
                for (TokenId common = 0; common < 6; ++common)
                    if (random() % 8) delta[common] = random() % 12 ? 1 : -1;
                for (std::size_t k = random() % 3; k > 0; --k) delta[TokenId(10 + random() % 60)] = 1;
                if (delta.empty()) delta[0] = 1;
                for (const Prior& before : priors) equal += before.delta == Delta(delta.begin(), delta.end());
                priors.push_back(prior("p" + std::to_string(m), Delta(delta.begin(), delta.end())));
            }
            const Bank bank = bankOf(priors);
            CompressOptions options;
            options.threshold = n % 2 == 0 ? 0.8 : 0.5;
            const Compressed got = compress(std::span(&bank, 1), {}, options);
            auto names = got.levels[2].merged, wanted = plainLinkage(bank, options.threshold);
            std::sort(names.begin(), names.end());
            std::sort(wanted.begin(), wanted.end());
            QVERIFY2(names == wanted, qPrintable(QStringLiteral("bank %1").arg(n)));
            joined += names.size();
        }
        QVERIFY2(joined > 200 && equal > 200, qPrintable(QStringLiteral("%1 %2").arg(joined).arg(equal)));
    }

    // Equal priors are counted as the one they are: every pair that stays apart is told, however many share a support.
    void equalPriorsOfDifferentTasks() {
        std::vector<Prior> priors;
        for (const char* task : {"one", "two"})
            for (int m = 0; m < 20; ++m)
                priors.push_back(prior(task + std::to_string(m), signs(range(0, 20)), 0.75, task));
        const Compressed got = compressed(bankOf(priors), 2);
        QCOMPARE(got.levels[2].merged.size(), std::size_t(2));
        QCOMPARE(got.levels[2].priors, std::size_t(2));
        QCOMPARE(got.levels[2].apart.size(), std::size_t(101));
        QVERIFY(says(got.levels[2], {"'one0' and 'two0'", "cosine 1)", "different tasks, 'one' and 'two'"}));
        QVERIFY(says(got.levels[2], {"'one4' and 'two19'"}) && !says(got.levels[2], {"'one5' and"}));
        QCOMPARE(got.levels[2].apart.back(), std::string("300 more pairs are alike and stay apart."));
    }

    // 9 of 10 in common is 0.9, which does not exceed it; 10 of 10 and 11 does.
    void thresholdIsExceeded() {
        const Bank equal = bankOf({prior("ten", signs(range(0, 10))), prior("other ten", signs(range(1, 11)))});
        const Compressed apart = compressed(equal, 2);
        QVERIFY(apart.levels[2].merged.empty());
        QVERIFY(says(apart.levels[2], {"'ten' and 'other ten'", "cosine 0.9)", "not above 0.9"}));
        const Bank above = bankOf({prior("ten", signs(range(0, 10))), prior("eleven", signs(range(0, 11)))});
        QCOMPARE(compressed(above, 2).levels[2].merged, (std::vector<std::vector<std::string>>{{"ten", "eleven"}}));
        QVERIFY(compressed(above, 2).levels[2].apart.empty());  // nothing is said of those that are joined
    }

    void thresholdIsACosine() {
        const Bank two = bankOf({prior("a", signs({1, 2})), prior("b", signs({3, 4}))});
        for (const double threshold : {-1.0, -1e-12, 1.5, std::nan("")}) {
            CompressOptions options;
            options.threshold = threshold;
            const std::string said = errorOf([&] { (void)compress(std::span(&two, 1), {}, options); });
            QVERIFY2(said.find("threshold") != std::string::npos && said.find("from 0 to 1") != std::string::npos,
                     said.c_str());
        }
        for (const double threshold : {0.0, 1.0}) {
            CompressOptions options;
            options.threshold = threshold;
            QCOMPARE(compress(std::span(&two, 1), {}, options).levels[2].priors, std::size_t(2));
        }
    }

    void itStopsWhileItJoins() {
        std::mt19937_64 random(3);
        const Bank bank = randomBank(random, 200, 12);
        int asked = 0;
        CompressOptions options;
        options.goOn = [&](int level, double done) { return level < 2 || done == 0 || ++asked < 50; };
        const Compressed made = compress(std::span(&bank, 1), {}, options);
        QVERIFY2(made.levels.empty() && asked >= 50 && asked < 65, qPrintable(QString::number(asked)));
    }

    void progressGoesForward() {
        std::mt19937_64 random(4);
        const Bank bank = randomBank(random, 300, 12);
        CompressOptions options;
        double last = 0;
        int asked = 0;
        options.goOn = [&](int level, double done) {
            if (level != 2) return true;
            ++asked;
            return done <= 1 && done >= std::exchange(last, done);
        };
        QVERIFY(!compress(std::span(&bank, 1), {}, options).levels.empty());
        QVERIFY2(asked > 300 && last == 1, qPrintable(QString::number(asked)));
    }

    void merged_data() {
        QTest::addColumn<bool>("product");
        QTest::newRow("keep product") << true;
        QTest::newRow("keep size") << false;
    }
    void merged() {
        QFETCH(bool, product);
        // Supports 0..39; b lacks 39, c has 40 too and says the contrary of 0.
        auto contrary = range(1, 41);
        contrary.push_back(-1);
        Prior a = prior("a", signs(range(0, 40), 1)), b = prior("b", signs(range(0, 39), 0.5)),
              c = prior("c", signs(contrary, 2));
        a.eta = 1;
        b.eta = 2;
        c.eta = 0.5;
        a.quality = 0.6;
        b.quality = 0.7;
        c.quality = 0.8;
        a.kind = b.kind = c.kind = "style";
        a.source = "one";
        const Prior lone = prior("lone", signs({60}));
        const Compressed got = compressed(bankOf({lone, a, b, c}), 2, product ? Keep::Product : Keep::Size);
        QCOMPARE(got.levels[2].merged, (std::vector<std::vector<std::string>>{{"a", "b", "c"}}));
        QCOMPARE(got.levels[2].priors, std::size_t(2));
        QCOMPARE(got.levels[2].paperRatio, 32.0 * (40 + 39 + 41 + 1) / (41 + 32 + 1 + 32));
        QVERIFY(std::isnan(got.levels[2].squaredError));
        const Prior& one = *got.bank.priors[1];
        QCOMPARE(one.name, std::string("a (+2)"));
        QCOMPARE(one.merged, (std::vector<std::string>{"a", "b", "c"}));
        QCOMPARE(one.kind, std::string("style"));
        QVERIFY(one.source.empty());
        QVERIFY(std::abs(one.quality - 0.7) < 1e-12);
        QVERIFY(std::abs(*one.eta - (product ? 3.5 : 3.5 / 3)) < 1e-12);
        const double alpha = product ? (1 * 1 + 2 * 0.5 + 0.5 * 2) / 3.5 : 3.5 / 3;
        const auto delta = asMap(one);
        QCOMPARE(delta.size(), std::size_t(41));
        for (const auto& [token, value] : delta) QCOMPARE(value, alpha);  // 0 too: a and b outweigh c
        sameInFiles(got);
    }

    // "keep product": where all of a cluster agree, the joined prior pushes as they did together, Σ η_i Δ̂_i.
    void productIsKept() {
        std::mt19937_64 random(5);
        for (int n = 0; n < 50; ++n) {
            std::vector<Prior> priors;
            for (int m = 0; m < 3; ++m) {
                Prior p = prior("p" + std::to_string(m), signs(range(0, 40 + int(random() % 3)), 1 + m / 4.0));
                p.eta = double(1 + random() % 40) / 8;
                priors.push_back(p);
            }
            const Compressed got = compressed(bankOf(priors), 2);
            QCOMPARE(got.bank.priors.size(), std::size_t(1));
            const Prior& one = *got.bank.priors[0];
            double sum = 0;
            for (const Prior& p : priors) sum += *p.eta * p.delta[0].second;
            const auto delta = asMap(one);
            for (int v = 0; v < 40; ++v) QVERIFY(std::abs(*one.eta * delta.at(v) - sum) <= 1e-14 * sum);
        }
    }

    void tiesAreDropped() {
        auto contrary = range(1, 40);
        contrary.push_back(-1);
        const Bank bank = bankOf({prior("a", signs(range(0, 40))), prior("b", signs(contrary))});
        const Compressed got = compressed(bank, 2);
        QCOMPARE(got.bank.priors.size(), std::size_t(1));
        QVERIFY(!asMap(*got.bank.priors[0]).contains(0));
        QVERIFY(says(got.levels[2], {"'a (+1)'", "without 1 token", "conflict"}));
        // η α of 0.1 + 0.2 against 0.3 is no tie in float64 and one in what was written.
        Prior x = prior("x", signs(range(0, 40))), y = x, z = prior("z", signs(contrary));
        y.name = "y";
        x.eta = 0.1;
        y.eta = 0.2;
        z.eta = 0.3;
        QVERIFY(!asMap(*compressed(bankOf({x, y, z}), 2).bank.priors[0]).contains(0));
    }

    // Of negative η: the same push, whatever is written where.
    void negativeEta() {
        Prior a = prior("a", signs({1, 2, -4})), b = prior("b", signs({-2, -3, 3})), c = prior("c", signs({1, 2, -4}));
        a.eta = 1;
        b.eta = -2;  // pushes as a does
        c.eta = -1;  // the contrary
        const Compressed got = compressed(bankOf({a, b, c}), 2);
        QCOMPARE(got.levels[2].merged, (std::vector<std::vector<std::string>>{{"a", "b"}}));
        QCOMPARE(*got.bank.priors[0]->eta, 3.0);
        QCOMPARE(got.bank.priors[0]->delta, signs({1, 2, -4}));
        QVERIFY(says(got.levels[2], {"'a' and 'c'", "signs conflict", "cosine -1"}));
        QCOMPARE(*got.bank.priors[1], *compressed(bankOf({c}), 1).bank.priors[0]);
    }

    void whyAlikeStaysApart() {
        const Delta same = signs(range(0, 20));
        auto few = range(3, 20);
        for (int i : {-1, -2, -3}) few.push_back(i);
        Prior inside = prior("inside", same);
        inside.when.kind = ContextKind::CodeBlock;
        inside.when.language = "python";
        const Compressed got = compressed(
            bankOf({prior("plain", same), prior("of a task", same, 0.75, "math"), inside, prior("contrary", signs(few)),
                    prior("unlike", signs({50})), prior("less", signs(range(0, 16)))}),
            2);
        const LevelReport& level = got.levels[2];
        QVERIFY(level.merged.empty());
        QVERIFY(says(level, {"'plain' and 'of a task'", "cosine 1)", "different tasks", "'math'"}));
        QVERIFY(says(level, {"'plain' and 'inside'", "different contexts", "always", "python"}));
        QVERIFY(says(level, {"'plain' and 'contrary'", "signs conflict", "cosine 0.7)"}));
        QVERIFY(says(level, {"'plain' and 'less'", "cosine 0.894)", "not above 0.9"}));
        QVERIFY(!says(level, {"unlike"}));
        QCOMPARE(got.bank.priors.size(), std::size_t(6));
    }

    // a–b and b–c exceed it, a–c does not: the second pair stays apart by its average.
    void averageAndNotTheNearest() {
        const Bank bank =
            bankOf({prior("a", signs(range(0, 20))), prior("b", signs(range(1, 21))), prior("c", signs(range(2, 22)))});
        CompressOptions options;
        options.threshold = 0.93;
        const Compressed got = compress(std::span(&bank, 1), {}, options);
        QCOMPARE(got.levels[2].merged, (std::vector<std::vector<std::string>>{{"a", "b"}}));  // ties by order
        QVERIFY(says(got.levels[2], {"'b' and 'c'", "cosine 0.95)", "on average", "0.93"}));
    }

    void manyReasonsAreBounded() {
        std::vector<Prior> priors;
        for (int m = 0; m < 30; ++m)
            priors.push_back(prior(std::to_string(m), signs(range(0, 10)), 0.75, "task " + std::to_string(m)));
        const Compressed got = compressed(bankOf(priors), 2);
        QCOMPARE(got.levels[2].apart.size(), std::size_t(101));
        QCOMPARE(got.levels[2].apart.back(), std::string("335 more pairs are alike and stay apart."));
    }

    void joinedAgain() {
        const Bank bank =
            bankOf({prior("a", signs(range(0, 10))), prior("b", signs(range(0, 10))), prior("a (+1)", signs({70}))});
        Compressed first = compressed(bank, 2);
        QCOMPARE(first.bank.priors[0]->name, std::string("a (+1) 2"));  // names stay apart
        first.bank.priors.push_back(std::make_shared<const Prior>(prior("c", signs(range(0, 10)))));
        const Compressed second = compressed(first.bank, 2);
        QCOMPARE(second.bank.priors[0]->merged, (std::vector<std::string>{"a", "b", "c"}));
    }

    // Three near copies of each prior: a third is left, whatever lies between them.
    void redundantBank() {
        std::mt19937_64 random(30);
        std::vector<Prior> priors(900);
        for (int m = 0; m < 300; ++m) {
            for (int copy = 0; copy < 3; ++copy) {
                std::mt19937_64 own(static_cast<std::uint64_t>(m));
                std::map<TokenId, double> delta;
                while (delta.size() < 60) delta[TokenId(own() % 5000)] = own() % 2 ? 1 : -1;
                delta[TokenId(random() % 5000)] = 0.5;  // one more or another sign
                priors[std::size_t(300 * copy + m)] =
                    after(prior(std::to_string(m) + "/" + std::to_string(copy), Delta(delta.begin(), delta.end())),
                          std::to_string(m % 7));
            }
        }
        const Compressed got = compressed(bankOf(priors), 2);
        QCOMPARE(got.levels[2].priors, std::size_t(300));
        for (std::size_t m = 0; m < 300; ++m) {
            const std::string name = std::to_string(m);
            QCOMPARE(got.bank.priors[m]->merged, (std::vector<std::string>{name + "/0", name + "/1", name + "/2"}));
        }
    }
};

QTEST_GUILESS_MAIN(TestMerging)
#include "tst_merging.moc"
