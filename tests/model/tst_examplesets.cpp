// A prior from two sets of texts: what stands before them, the split, what is proposed and built, and the bank it goes
// into.
#include <QTest>
#include <set>

#include "model/runner.h"
#include "tests/model/exampletexts.h"
#include "tests/support/fixture.h"
#include "tests/support/scratch.h"

using namespace counterpoint;
using namespace counterpoint::model;
using namespace counterpoint::tests;

class TestExampleSets : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void init() { failOnAnyWarning(); }

    void whatStandsBeforeIsContext() {
        const auto one = texts({"+ab"});
        QCOMPARE(one[0].before, std::vector<TokenId>{1});  // BOS
        QCOMPARE(one[0].example.ids, (std::vector<TokenId>{letter('a'), letter('b')}));

        Session session = threeSession(5);
        RunOptions options;
        options.opener = opener(three());
        const RunResult run = runSession(session, options);
        const ExampleText branch = exampleOf(run.trace, false);
        QCOMPARE(branch.before, (std::vector<TokenId>{1, letter('a'), letter('b')}));
        QCOMPARE(branch.example.ids, std::vector<TokenId>(run.trace.tokens.begin() + 3, run.trace.tokens.end()));
        QVERIFY(!branch.example.preferred);
        QCOMPARE(branch.example.ids.size(), run.trace.tokens.size() - 3);
    }

    void aTextWithoutTokensIsLeftOut() {
        ExamplesRead read;
        read.texts = {exampleText("", true), exampleText("x", true)};
        tokenise(read, sessionOf({"model"}), ByteTokenizer(300));
        QCOMPARE(read.texts.size(), std::size_t(1));
        QCOMPARE(read.problems, std::vector<std::string>{"1 text has no token."});
    }

    void theSplit_data() {
        QTest::addColumn<int>("preferred");
        QTest::addColumn<int>("other");
        QTest::addColumn<int>("every");
        QTest::addColumn<int>("seed");
        for (const auto& [p, o, every, seed] :
             {std::array{8, 12, 4, 0}, std::array{8, 12, 4, 3}, std::array{9, 5, 3, 7}, std::array{2, 2, 4, 0},
              std::array{2, 2, 4, 5}, std::array{3, 100, 4, 11}, std::array{2, 7, 1, 2}})
            QTest::addRow("%d and %d, every %d, seed %d", p, o, every, seed) << p << o << every << seed;
    }
    void theSplit() {
        QFETCH(const int, preferred);
        QFETCH(const int, other);
        QFETCH(const int, every);
        QFETCH(const int, seed);
        std::vector<std::string> given;
        for (int i = 0; i < preferred; ++i) given.push_back("+p" + std::to_string(i));
        for (int i = 0; i < other; ++i) given.push_back("-o" + std::to_string(i));
        given.push_back("+p0");  // a text twice
        given.push_back("-o1");
        const auto of = texts(given);
        const auto split = splitExamples(of, static_cast<std::size_t>(every), static_cast<std::uint64_t>(seed));
        QVERIFY2(split.problem.empty(), split.problem.c_str());
        QCOMPARE(split.training.size() + split.heldOut.size(), of.size());
        std::set<std::vector<TokenId>> training;
        std::array<std::array<int, 2>, 2> n{};
        for (const std::size_t i : split.training) {
            training.insert(of[i].example.ids);
            ++n[0][of[i].example.preferred];
        }
        for (const std::size_t i : split.heldOut) {
            QVERIFY2(!training.contains(of[i].example.ids), of[i].from.c_str());  // nothing leaks
            ++n[1][of[i].example.preferred];
        }
        for (const auto& part : n) QVERIFY(part[0] > 0 && part[1] > 0);
        const auto again = splitExamples(of, static_cast<std::size_t>(every), static_cast<std::uint64_t>(seed));
        QCOMPARE(again.heldOut, split.heldOut);
        if (every == 4 && preferred == 8) {  // 8 and 12 of which every 4th
            std::vector<std::size_t> expected;
            for (std::size_t i = std::size_t(seed); i < 20; i += 4) expected.push_back(i);
            if (seed == 0) expected.push_back(20);  // "p0" again
            QCOMPARE(split.heldOut, expected);
        }
    }

    void smallSetsHaveNoQuality() {
        for (const std::vector<std::string>& given :
             {std::vector<std::string>{"+a", "-b", "-c"}, {"+a", "+a", "-b", "-c"}, {"+a", "+b"}}) {
            const auto of = texts(given);
            const auto split = splitExamples(of, 4, 0);
            QVERIFY2(QString::fromStdString(split.problem).startsWith("Quality cannot be estimated"),
                     split.problem.c_str());
            QVERIFY(split.heldOut.empty());
            QCOMPARE(split.training, all(of));
        }
        const auto of = texts({"+a", "-b"});
        QCOMPARE(buildPrior(proposeFrom(of, all(of)), of, all(of), {.name = "x"}).quality, 0.5);
    }

    void candidatesComeFromTrainingAlone() {
        const auto of = texts({"+az", "+ab", "-cb", "-cb", "+aq"});
        const std::vector<std::size_t> training{0, 1, 2, 3};
        const auto found = proposeFrom(of, training);
        QCOMPARE(found.size(), std::size_t(4));  // a b c z, no q
        for (const auto& one : found) QVERIFY(one.token != letter('q'));
    }

    void thePriorThatComesOfIt() {
        const auto of = texts({"+aab", "+ab", "+ac", "-cb", "-cc"});
        const auto training = all(of);
        auto chosen = proposeFrom(of, training);
        std::erase_if(chosen, [](const auto& one) { return one.token == letter('b'); });
        QCOMPARE(chosen.size(), std::size_t(2));
        compute::Context when;
        when.kind = compute::ContextKind::Regex;
        when.pattern = "x$";
        const auto byDelta =
            buildPrior(chosen, of, training, {.name = "n", .kind = "k", .task = "t", .when = when, .source = "s"});
        QCOMPARE(byDelta.policy, compute::Policy::ExactId);
        QCOMPARE(byDelta.delta.size(), std::size_t(2));
        for (std::size_t i = 0; i < 2; ++i) QCOMPARE(byDelta.delta[i], std::pair(chosen[i].token, chosen[i].logOdds));
        QVERIFY(byDelta.promote.empty() && byDelta.demote.empty());
        QCOMPARE(byDelta.confidence, 1.0);  // a in all three, c in both
        QVERIFY(byDelta.when == when);
        QCOMPARE(byDelta.name + byDelta.kind + byDelta.task + byDelta.source, std::string("nkts"));

        const auto bySide = buildPrior(chosen, of, training,
                                       {.name = "n", .explicitDelta = false, .deltaPlus = 1.5, .deltaMinus = 0.5});
        QVERIFY(bySide.delta.empty());
        QCOMPARE(bySide.promote, (std::vector<compute::PriorEntry>{{.text = {}, .id = letter('a')}}));
        QCOMPARE(bySide.demote, (std::vector<compute::PriorEntry>{{.text = {}, .id = letter('c')}}));
        QCOMPARE(bySide.deltaPlus, 1.5);
        QCOMPARE(bySide.deltaMinus, 0.5);

        QVERIFY(errorOf([&] { (void)buildPrior({}, of, training, {.name = "n"}); }).find("no token is chosen") !=
                std::string::npos);
        QVERIFY(errorOf([&] { (void)buildPrior(chosen, of, training, {}); }).find("no name") != std::string::npos);
    }

    void itGoesIntoABank() {
        const ByteTokenizer ours(300), theirs(299);
        Session session = sessionOf({"model"});
        session.priors.resize(1);
        session.priors[0].bank = "b.bank.json";
        QVERIFY(errorOf([&] { (void)withExamplePrior(session, 0, afterB(), ours); }).find("was not read") !=
                std::string::npos);
        const auto bank = std::make_shared<const compute::Bank>();
        session.priors[0].content = bank;
        const Session once = withExamplePrior(session, 0, afterB(), ours),
                      twice = withExamplePrior(once, 0, afterB(), ours);
        QVERIFY(bank->priors.empty() && !bank->tokenizer);  // another value
        QCOMPARE(once.priors[0].content->tokenizer, std::optional<std::string>(ours.fingerprint()));
        QCOMPARE(twice.priors[0].content->priors.size(), std::size_t(2));
        QCOMPARE(twice.priors[0].content->priors[1]->name, std::string("a after b 2"));
        QCOMPARE(twice.priors[0].content->priors[0].get(), once.priors[0].content->priors[0].get());
        const std::string other = errorOf([&] { (void)withExamplePrior(once, 0, afterB(), theirs); });
        QVERIFY(other.find("another tokenizer") != std::string::npos);
    }
};

QTEST_GUILESS_MAIN(TestExampleSets)
#include "tst_examplesets.moc"
