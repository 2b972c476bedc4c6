// R10: cosines and medians against golden/priors.json, levels 1 and 3 against their rules written plainly, and that
// what stands in memory stands in the file.
#include <cmath>
#include <fstream>

#include "compute/error.h"
#include "compute/files/json.h"
#include "compute/priors/hierarchy.h"
#include "compute/priors/onebit.h"
#include "tests/support/banks.h"

using namespace counterpoint::compute;
using namespace counterpoint::tests;

class TestHierarchy : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void init() { failOnAnyWarning(); }

    void goldenCosines() {
        REQUIRE_SHARED("golden/priors.json");
        std::ifstream in(shared("golden/priors.json"));
        const Json golden = Json::parse(in);
        const auto factor = [](const Json& json) {
            std::map<TokenId, double> sorted;
            for (const auto& [id, delta] : json.items()) sorted[std::stoi(id)] = delta;
            Factor out;
            for (const auto& [id, delta] : sorted) out.tokens.push_back(id), out.delta.push_back(delta);
            return out;
        };
        for (const Json& row : golden["cosine"])
            QVERIFY(std::abs(cosine(factor(row["a"]), factor(row["b"])) - row["cosine"].get<double>()) <=
                    golden["tolerance"].get<double>());
        QCOMPARE(cosine({}, factor(golden["cosine"][0]["a"])), 0.0);
    }

    void goldenMedians() {
        REQUIRE_SHARED("golden/priors.json");
        std::ifstream in(shared("golden/priors.json"));
        const Json golden = Json::parse(in);
        QVERIFY(!golden["weighted_median"].empty());
        for (const Json& row : golden["weighted_median"]) {
            const std::vector<double> values = row["values"], weights = row["weights"];
            QCOMPARE(lowerWeightedMedian(values, weights), row["lower_weighted_median"].get<double>());
        }
    }

    void medians_data() {
        QTest::addColumn<QList<double>>("values");
        QTest::addColumn<QList<double>>("weights");
        QTest::addColumn<double>("lower");
        QTest::addColumn<double>("towardsZero");
        QTest::newRow("lower of two") << QList<double>{2, 1} << QList<double>{1, 1} << 1.0 << 1.0;
        QTest::newRow("0 between") << QList<double>{-1, 1} << QList<double>{1, 1} << -1.0 << 0.0;
        QTest::newRow("0 at the upper end") << QList<double>{-1, 0} << QList<double>{1, 1} << -1.0 << 0.0;
        QTest::newRow("0 at the lower end") << QList<double>{1, 0} << QList<double>{1, 1} << 0.0 << 0.0;
        QTest::newRow("both below") << QList<double>{-1, -2} << QList<double>{1, 1} << -2.0 << -2.0;
        QTest::newRow("the heavier one") << QList<double>{-1, 1} << QList<double>{1, 1.5} << 1.0 << 1.0;
        QTest::newRow("no weight left of it") << QList<double>{-5, 3} << QList<double>{0, 1} << 3.0 << 3.0;
        QTest::newRow("no weight") << QList<double>{3, 4} << QList<double>{0, 0} << 0.0 << 0.0;
        QTest::newRow("none") << QList<double>{} << QList<double>{} << 0.0 << 0.0;
        // 0.1 three times is 0.30000000000000004: more than half of 0.6 or less, by the order of the sum.
        QTest::newRow("a half by rounding, from below")
            << QList<double>{1, 2, 3, 4, 5, 6} << QList<double>{.1, .1, .1, .1, .1, .1} << 3.0 << 3.0;
        QTest::newRow("a half by rounding, across 0")
            << QList<double>{-1, -1, -1, 1} << QList<double>{.1, .1, .1, .3} << -1.0 << 0.0;
        QTest::newRow("a half by rounding, across 0, the other way")
            << QList<double>{-1, 1, 1, 1} << QList<double>{.3, .1, .1, .1} << -1.0 << 0.0;
    }
    void medians() {
        QFETCH(QList<double>, values);
        QFETCH(QList<double>, weights);
        QFETCH(double, lower);
        QFETCH(double, towardsZero);
        QCOMPARE(lowerWeightedMedian(values, weights), lower);
        QCOMPARE(medianTowardsZero(values, weights), towardsZero);
    }

    void levelOne() {
        std::mt19937_64 random(3);
        Bank bank = randomBank(random, 40, 50);
        Prior off = prior("off", signs({1, 2, -4}, 0.3), 0.4), disabled = prior("disabled", {{1, 0.5}, {2, 0.25}});
        disabled.enabled = false;
        Prior unusable = prior("unusable", {{1, 0.5}, {2, 0.25}});
        unusable.unusable = true;
        unusable.written = {{"name", "unusable"}, {"quality", "good"}};
        unusable.problems = {"a sentence"};
        Prior broken = prior("broken", {{1, 0.5}, {2, 0.25}}), never = prior("never", {{1, 0.5}, {2, 0.25}});
        broken.when = {ContextKind::Regex, "(", 200, {}, {}, {}, OrderedJson::object()};
        never.when = {ContextKind::Tokens, {}, 200, {-1}, {}, {}, OrderedJson::object()};
        const std::size_t acting = bank.priors.size();
        for (const Prior& p : {off, disabled, unusable, broken, never}) bank.priors.push_back(std::make_shared<const Prior>(p));

        const Compressed got = compressed(bank, 1);
        QCOMPARE(got.levels.size(), std::size_t(2));
        QCOMPARE(got.bank.level, 1);
        double error = 0, exact = 0, bits = 0;
        for (std::size_t i = 0; i < bank.priors.size(); ++i) {
            const Prior &before = *bank.priors[i], &now = *got.bank.priors[i];
            const auto n = double(before.unusable ? 0 : before.delta.size());
            exact += 32 * n;
            bits += i < acting ? n + 32 : 32 * n;
            if (i >= acting) {
                QVERIFY(now == before);
                continue;
            }
            std::vector<double> delta;
            for (const auto& entry : before.delta) delta.push_back(entry.second);
            const OneBit one = oneBit(delta);
            const double alpha = one.alpha;
            QCOMPARE(now.delta.size(), delta.size());
            for (std::size_t j = 0; j < delta.size(); ++j) {
                QCOMPARE(now.delta[j], std::pair(before.delta[j].first, one.sign[j] * alpha));
                error += (delta[j] - one.sign[j] * alpha) * (delta[j] - one.sign[j] * alpha);
            }
            QCOMPARE(now.name, before.name);
            QCOMPARE(now.quality, before.quality);
            QVERIFY(!now.eta.has_value());
        }
        QVERIFY(std::abs(got.levels[1].squaredError - error) < 1e-9 * error);
        QVERIFY(std::abs(got.levels[1].paperRatio - exact / bits) < 1e-12);
        QCOMPARE(got.levels[0].bytes, bytesOf(bank, {}, true).file);
        QCOMPARE(got.levels[1].trueRatio, double(got.levels[0].bytes) / double(got.levels[1].bytes));
        QVERIFY(got.levels[0].paperRatio == 1 && got.levels[0].trueRatio == 1 && got.levels[0].squaredError == 0);
        QCOMPARE(compressed(got.bank, 1).bank, got.bank);  // once more changes nothing
    }

    void equalMagnitudesStayThemselves() {
        const Compressed got = compressed(bankOf({prior("a", signs({1, -3, 7}, 0.5)), prior("b", signs({2}))}), 1);
        QCOMPARE(got.levels[1].squaredError, 0.0);
        QCOMPARE(got.bank.priors[0]->delta, signs({1, -3, 7}, 0.5));
    }

    void filesHoldWhatMemoryHolds_data() {
        QTest::addColumn<int>("level");
        for (int level = 0; level <= 3; ++level) QTest::newRow(qPrintable(QString::number(level))) << level;
    }
    void filesHoldWhatMemoryHolds() {
        QFETCH(int, level);
        std::mt19937_64 random(17);
        for (int n = 0; n < 8; ++n) sameInFiles(compressed(randomBank(random, 30, 6, n % 2 == 0), level));
    }

    // By hand: three priors of weights 0.6, 0.7, 0.8 (half: 1.05), token by token.
    void levelThree() {
        Prior a = prior("a", {{1, 1}, {2, 1}, {3, 1}, {4, -1}}, 0.6), b = prior("b", {{1, 2}, {2, -2}, {4, -2}}, 0.7),
              c = prior("c", {{1, 3}, {2, 3}, {5, 3}}, 0.8);
        a.eta = b.eta = c.eta = 2;
        const Prior lone = prior("lone", {{9, 0.5}}, 0.9, "other");
        const Compressed got = compressed(bankOf({a, lone, b, c}), 3);
        QCOMPARE(got.levels.size(), std::size_t(4));
        QCOMPARE(got.levels[3].merged, (std::vector<std::vector<std::string>>{{"a", "b", "c"}}));
        QCOMPARE(got.bank.priors.size(), std::size_t(2));
        const Prior& one = *got.bank.priors[0];
        QCOMPARE(one.name, std::string("always"));
        QCOMPARE(*one.eta, 1.0);
        // α: a 1, b 2, c 3. Token 1: 2, 4, 6 → 4. 2: −4 (.7), 2 (.6), 6 (.8) → 2. 3 and 5: less than half. 4: −2 (.6),
        // −4 (.7), 0 (.8) → −2.
        QCOMPARE(one.delta, (Delta{{1, 4}, {2, 2}, {4, -2}}));
        QCOMPARE(*got.bank.priors[1], *compressed(bankOf({lone}), 1).bank.priors[0]);
        QCOMPARE(got.levels[3].priors, std::size_t(2));
        sameInFiles(got);
    }

    // Against the rule over every token and voter, with stakes.
    void levelThreeAgainstItsDefinition() {
        std::mt19937_64 random(8);
        for (int n = 0; n < 60; ++n) {
            std::vector<Bank> banks;
            for (std::size_t k = 1 + random() % 3; k > 0; --k) {
                banks.push_back(randomBank(random, 1 + random() % 12, 5));
                banks.back().stake = 0.5 * double(1 + random() % 4);
            }
            CompressOptions options;
            options.level = 3;
            options.threshold = 1;  // nothing is joined at level 2
            const Compressed got = compress(banks, {}, options);
            std::map<std::string, std::vector<std::pair<const Prior*, double>>> groups;
            for (const Bank& bank : banks)
                for (const PriorPtr& p : bank.priors)
                    groups[p->task + '/' + p->when.pattern].emplace_back(p.get(), bank.stake);
            for (const PriorPtr& p : got.bank.priors) {
                const auto& voters = groups.at(p->task + '/' + p->when.pattern);
                const auto delta = asMap(*p);
                for (TokenId v = 0; v < 5; ++v) {
                    std::vector<double> values, weights;
                    for (const auto& [voter, stake] : voters) {
                        double alpha = 0, sign = 0;
                        for (const auto& [token, x] : voter->delta) {
                            alpha += std::abs(x) / double(voter->delta.size());
                            if (token == v) sign = x < 0 ? -1 : 1;
                        }
                        values.push_back(etaOf(*voter).eta * alpha * sign);
                        weights.push_back(voter->quality * stake);
                    }
                    const double wanted = medianTowardsZero(values, weights);
                    const double now = delta.contains(v) ? etaOf(*p).eta * delta.at(v) : 0;
                    QVERIFY2(std::abs(now - wanted) <= 1e-12 * std::abs(wanted),
                             qPrintable(QStringLiteral("%1: token %2: %3, %4").arg(n).arg(v).arg(now).arg(wanted)));
                }
            }
        }
    }

    void nothingAgreedOn() {
        const Compressed got =
            compressed(bankOf({prior("a", signs({1}), 0.75, "t"), prior("b", signs({2}), 0.75, "t")}), 3);
        QVERIFY(got.bank.priors.empty());
        QVERIFY(says(got.levels[3], {"2 priors of 't, always'", "nothing of them is left"}));
    }

    // Names and features of several banks are kept apart, and so are the contexts that name them.
    void severalBanks() {
        Bank first = bankOf({prior("a", signs({1}))}, "first"), second = bankOf({prior("a", signs({2}))}, "second");
        first.features = {{"code", "<", ">"}, {"same", "x", "y"}};
        second.features = {{"same", "x", "y"}, {"code", "[", "]"}};
        Prior inside = prior("inside", signs({3}));
        inside.when.kind = ContextKind::Feature;
        inside.when.name = "code";
        for (Bank* bank : {&first, &second}) bank->priors.push_back(std::make_shared<const Prior>(inside));
        CompressOptions options;
        options.level = 1;
        const Compressed got = compress(std::vector{first, second}, {}, options);
        QCOMPARE(got.bank.name, std::string("first + second"));
        QCOMPARE(got.bank.features,
                 (std::vector<Feature>{{"code", "<", ">"}, {"same", "x", "y"}, {"code (second)", "[", "]"}}));
        std::vector<std::string> names;
        for (const PriorPtr& p : got.bank.priors) names.push_back(p->name);
        QCOMPARE(names, (std::vector<std::string>{"a", "inside", "a (second)", "inside (second)"}));
        QCOMPARE(got.bank.priors[1]->when.name, std::string("code"));
        QCOMPARE(got.bank.priors[3]->when.name, std::string("code (second)"));
        first.tokenizer = "x";
        second.tokenizer = "y";
        QVERIFY_EXCEPTION_THROWN(compress(std::vector{first, second}, {}, options), Error);
    }

    /// What nobody knows of two banks stays, and so does a stake that both have; another's is told.
    void severalBanksKeepWhatTheyHold() {
        const auto json = [](std::string text) {  // ' for "
            std::replace(text.begin(), text.end(), '\'', '"');
            return text;
        };
        const auto parsed = [&](const char* text) { return OrderedJson::parse(json(text)); };
        Bank first = bankOf({prior("a", signs({1}))}, "first"), second = bankOf({prior("b", signs({2}))}, "second");
        first.features = {{"code", "<", ">"}};
        second.features = {{"code", "[", "]"}};
        first.unknown = parsed("{'author':'x','licence':'free','features':{'code':{'note':1},'odd':7}}");
        second.unknown = parsed("{'licence':'free','author':'y','features':{'code':{'note':2},'odd':8},'more':[1]}");
        first.stake = second.stake = 2;
        CompressOptions options;
        options.level = 1;
        const auto united = [&] { return compress(std::vector{first, second}, {}, options).bank; };
        const Bank both = united();
        QCOMPARE(both.stake, 2.0);
        QCOMPARE(both.unknown.dump(),
                 json("{'author':'x','licence':'free','features':{'code':{'note':1},'odd':7,'code (second)':{'note':2},"
                      "'odd (second)':8},'author (second)':'y','more':[1]}"));
        std::vector<std::string> warnings;
        const OrderedJson written = toJson(both);
        QCOMPARE(written["features"].dump(),
                 json("{'code':{'open':'<','close':'>','note':1},'code (second)':{'open':'[','close':']','note':2},"
                      "'odd':7,'odd (second)':8}"));
        QCOMPARE(toJson(bankFromJson(written, "b", warnings)).dump(), written.dump());
        second.features = first.features;
        second.unknown = parsed("{'features':{'code':{'note':2,'by':'me'}}}");
        QCOMPARE(united().unknown["features"].dump(), json("{'code':{'note':1,'by':'me'},'odd':7}"));
        second.stake = 0.5;
        second.name = "first";
        QCOMPARE(united().stake, 1.0);
        QCOMPARE(united().unknown["stakes"].dump(), json("{'first':2.0,'first (another)':0.5}"));
        first.unknown["stakes"] = "mine";
        QCOMPARE(united().unknown["stakes"].dump(), json("'mine'"));
        QCOMPARE(united().unknown["stakes (of these banks)"].size(), std::size_t(2));
        first.unknown = second.unknown = parsed("{'features':[1]}");
        second.unknown["features"] = 2;
        first.features = second.features = {};
        QCOMPARE(united().unknown.dump(), json("{'features (first)':[1],'features (first 2)':2,'stakes':{'first':2.0,"
                                               "'first (another)':0.5}}"));
    }

    /// Priors that are joined keep the unknown keys that they share.
    void sharedUnknownKeysStay() {
        Prior a = prior("a", signs(range(0, 20))), b = prior("b", signs(range(0, 20)));
        a.unknown = OrderedJson::parse("{\"by\":\"me\",\"day\":1,\"own\":2}");
        b.unknown = OrderedJson::parse("{\"day\":2,\"by\":\"me\"}");
        for (const int level : {2, 3}) {
            CompressOptions options;
            options.level = level;
            options.threshold = level == 3 ? 1 : 0.9;  // left for level 3
            const Bank bank = bankOf({a, b});
            const Compressed got = compress(std::span(&bank, 1), {}, options);
            QCOMPARE(got.bank.priors.size(), std::size_t(1));
            QCOMPARE(got.bank.priors[0]->unknown.dump(), std::string("{\"by\":\"me\"}"));
        }
    }

    void refusals() {
        const Bank bank = bankOf({prior("a", signs({1}))});
        CompressOptions options;
        for (int level : {-1, 4}) {
            options.level = level;
            QVERIFY_EXCEPTION_THROWN(compress(std::span(&bank, 1), {}, options), Error);
        }
        IdSpace foreign;
        foreign.foreignIds = true;
        QVERIFY_EXCEPTION_THROWN(compress(std::span(&bank, 1), foreign, {}), Error);
    }
};

QTEST_GUILESS_MAIN(TestHierarchy)
#include "tst_hierarchy.moc"
