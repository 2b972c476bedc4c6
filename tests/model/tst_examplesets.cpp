// A prior from two sets of texts: reading them, the split, what is proposed and built, and the quality on held-out
// texts counted by hand on a base whose rows are known.
#include <QTest>
#include <cmath>
#include <set>

#include "compute/files/atomicfile.h"
#include "model/examplequality.h"
#include "tests/model/scripted.h"
#include "tests/support/fixture.h"
#include "tests/support/scratch.h"

using namespace counterpoint;
using namespace counterpoint::model;
using namespace counterpoint::tests;

namespace {

constexpr TokenId letter(char c) { return 3 + static_cast<TokenId>(c); }

ExampleText exampleText(const std::string& text, bool preferred, double weight = 1) {
    return {.text = text, .from = text, .before = {}, .example = {.ids = {}, .preferred = preferred, .weight = weight}};
}

/// "+text" is preferred, "-text" is not.
std::vector<ExampleText> texts(const std::vector<std::string>& signedTexts) {
    ExamplesRead read;
    for (const std::string& one : signedTexts) read.texts.push_back(exampleText(one.substr(1), one[0] == '+'));
    tokenise(read, sessionOf({"model"}), ByteTokenizer(300));
    return read.texts;
}

std::vector<std::size_t> all(const std::vector<ExampleText>& of) {
    std::vector<std::size_t> places(of.size());
    std::iota(places.begin(), places.end(), 0);
    return places;
}

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

/// Promotes "a" by log 2 after a "b".
compute::Prior afterB() {
    compute::Prior prior;
    prior.name = "a after b";
    prior.policy = compute::Policy::ExactId;
    prior.delta = {{letter('a'), std::log(2.0)}};
    prior.when.kind = compute::ContextKind::Regex;
    prior.when.pattern = "b$";
    return prior;
}

QualityEstimate estimated(const compute::Prior& prior, const std::vector<ExampleText>& of,
                          const RunOptions& options = uniform()) {
    return estimateQuality(prior, nullptr, of, all(of), sessionOf({"model"}), options);
}

}  // namespace

class TestExampleSets : public QObject, Scratch {
    Q_OBJECT
  private Q_SLOTS:
    void init() {
        failOnAnyWarning();
        renew();
    }

    void linesAreRead() {
        const auto file = folder() / "both.jsonl";
        compute::writeFile(file,
                           "\xEF\xBB\xBF{\"text\":\"gr\\u00fcn\",\"preferred\":true}\n\n"
                           "{\"preferred\":false,\"text\":\"two\\nlines\",\"weight\":2.5,\"note\":1}\r\n"
                           "{\"text\":\"three\",\"preferred\":true}");
        const ExamplesRead read = readExamples(file, std::nullopt);
        QVERIFY(read.problems.empty());
        QCOMPARE(read.texts.size(), std::size_t(3));
        QCOMPARE(read.texts[0].text, std::string("gr\xC3\xBCn"));
        QVERIFY(read.texts[0].example.preferred);
        QCOMPARE(read.texts[1].text, std::string("two\nlines"));
        QVERIFY(!read.texts[1].example.preferred);
        QCOMPARE(read.texts[1].example.weight, 2.5);
        QCOMPARE(read.texts[1].from, std::string("both.jsonl, line 3"));
        QCOMPARE(read.texts[2].example.weight, 1.0);
    }

    void aSetsFileLeavesTheSideOut() {
        const auto file = folder() / "good.ndjson";
        compute::writeFile(file, "{\"text\":\"one\"}\n{\"text\":\"two\",\"preferred\":false}\n");
        const ExamplesRead read = readExamples(file, true);
        QCOMPARE(read.texts.size(), std::size_t(2));
        QVERIFY(read.texts[0].example.preferred);
        QVERIFY(!read.texts[1].example.preferred);  // its own word
    }

    void badLinesAreTold_data() {
        QTest::addColumn<QByteArray>("line");
        QTest::addColumn<QStringList>("said");
        const auto row = [](const char* name, const QByteArray& line, const QStringList& said) {
            QTest::newRow(name) << line << said;
        };
        row("no JSON", "{text}", {"the line is no JSON object", "found {text}"});
        row("an array", "[1]", {"an object", "[1]"});
        row("no text", "{\"preferred\":true}", {"\"text\" is missing"});
        row("text is a number", "{\"text\":7,\"preferred\":true}", {"\"text\"", "expected text", "7"});
        row("no side", "{\"text\":\"x\"}", {"\"preferred\" is missing", "true or false"});
        row("side is a word", "{\"text\":\"x\",\"preferred\":\"yes\"}", {"\"preferred\"", "true or false", "yes"});
        row("weight 0", "{\"text\":\"x\",\"preferred\":true,\"weight\":0}", {"\"weight\"", "above 0"});
        row("weight below 0", "{\"text\":\"x\",\"preferred\":true,\"weight\":-1}", {"\"weight\"", "above 0", "-1"});
        row("weight is a word", "{\"text\":\"x\",\"preferred\":true,\"weight\":\"inf\"}", {"\"weight\"", "inf"});
        row("empty", "{\"text\":\" \\n\",\"preferred\":true}", {"the text is empty"});
        row("no UTF-8", "{\"text\":\"\xFF\",\"preferred\":true}", {"not UTF-8"});
        row("deep", QByteArray(5000, '['), {"no JSON object"});
    }
    void badLinesAreTold() {
        QFETCH(const QByteArray, line);
        QFETCH(const QStringList, said);
        const auto file = folder() / "both.jsonl";
        const std::string good = "{\"text\":\"good\",\"preferred\":true}\n";
        compute::writeFile(file, good + line.toStdString() + "\n" + good);
        const ExamplesRead read = readExamples(file, std::nullopt);
        QCOMPARE(read.texts.size(), std::size_t(2));  // the others are used
        QCOMPARE(read.problems.size(), std::size_t(1));
        const QString sentence = QString::fromStdString(read.problems[0]);
        QVERIFY2(sentence.startsWith("both.jsonl, line 2"), qPrintable(sentence));
        QVERIFY2(sentence.size() < 300, qPrintable(sentence));
        for (const QString& part : said) QVERIFY2(sentence.contains(part), qPrintable(sentence));
    }

    void manyProblemsAreCounted() {
        std::string lines;
        for (int i = 0; i < 50; ++i) lines += "{}\n";
        compute::writeFile(folder() / "bad.jsonl", lines);
        const ExamplesRead read = readExamples(folder() / "bad.jsonl", true);
        QCOMPARE(read.problems.size(), std::size_t(21));
        QCOMPARE(read.problems.back(), std::string("30 more texts could not be used."));
    }

    void aFolderIsRead() {
        compute::writeFile(folder() / "b.txt", "second\n");
        compute::writeFile(folder() / "a.txt", "first\r\n\n");
        compute::writeFile(folder() / "c.jsonl", "{\"text\":\"third\"}\n");
        compute::writeFile(folder() / "picture.png", "\x89PNG");
        compute::writeFile(folder() / "d.md", "\n");
        const ExamplesRead read = readExamples(folder(), false);
        std::vector<std::string> found;
        for (const ExampleText& text : read.texts) found.push_back(text.from + ":" + text.text);
        QCOMPARE(found, (std::vector<std::string>{"a.txt:first", "b.txt:second", "c.jsonl, line 1:third"}));
        QCOMPARE(read.problems.size(), std::size_t(1));
        QCOMPARE(read.problems[0], std::string("d.md: the text is empty."));
    }

    void filesThatCannotBeRead() {
        const auto said = [&](const std::filesystem::path& path, std::optional<bool> side) {
            return QString::fromStdString(errorOf([&] { (void)readExamples(path, side); }));
        };
        QVERIFY(said(folder() / "none.txt", true).contains("none.txt"));
        QVERIFY(said(folder(), true).contains("there is no text in the folder"));
        QVERIFY(said("/dev/zero", true).contains("not a regular file"));
        compute::writeFile(folder() / "one.txt", "x");
        QVERIFY(said(folder() / "one.txt", std::nullopt).contains("does not say whether it is preferred"));
        compute::writeFile(folder() / "large.txt", std::string(kMostTextBytes + 1, 'x'));
        QVERIFY(!said(folder() / "large.txt", true).isEmpty());
    }

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
        Session session = sessionOf({"model"});
        session.priors.resize(1);
        session.priors[0].bank = "b.bank.json";
        QVERIFY(errorOf([&] { (void)withExamplePrior(session, 0, afterB(), "f"); }).find("was not read") !=
                std::string::npos);
        const auto bank = std::make_shared<const compute::Bank>();
        session.priors[0].content = bank;
        const Session once = withExamplePrior(session, 0, afterB(), "f"),
                      twice = withExamplePrior(once, 0, afterB(), "f");
        QVERIFY(bank->priors.empty() && !bank->tokenizer);  // another value
        QCOMPARE(once.priors[0].content->tokenizer, std::optional<std::string>("f"));
        QCOMPARE(twice.priors[0].content->priors.size(), std::size_t(2));
        QCOMPARE(twice.priors[0].content->priors[1]->name, std::string("a after b 2"));
        QCOMPARE(twice.priors[0].content->priors[0].get(), once.priors[0].content->priors[0].get());
        const std::string other = errorOf([&] { (void)withExamplePrior(once, 0, afterB(), "g"); });
        QVERIFY(other.find("another tokenizer") != std::string::npos);
    }

    /// "a" after "b" goes up by log 2 − log(1 + 1/300), everything else there down by log(1 + 1/300).
    void qualityByHand() {
        const auto of = texts({"+ba", "+xbay", "+bc", "-bc", "-bcbz", "-ba"});
        //                      right  right    wrong  right  right×2  wrong
        const QualityEstimate e = estimated(afterB(), of);
        QCOMPARE(e.right, 5);
        QCOMPARE(e.seen, 7);
        QCOMPARE(e.ownRight, 2);
        QCOMPARE(e.ownSeen, 3);
        QCOMPARE(e.positions, 16);
        QCOMPARE(e.texts, of.size());
        QCOMPARE(e.q, 6.0 / 9.0);
        QCOMPARE(e.counted.mean, 6.0 / 9.0);
        QVERIFY(e.counted.low < e.q && e.q < e.counted.high);
        QVERIFY(!e.stopped);
    }

    void whatStandsBeforeDoesNotCount() {
        auto of = texts({"+ba"});
        of[0].before = {1, letter('b'), letter('a'), letter('b')};
        of[0].example.ids = {letter('a')};
        const QualityEstimate e = estimated(afterB(), of);
        QCOMPARE(e.positions, 1);
        QCOMPARE(e.right, 1);  // its context is what stands before
        QCOMPARE(e.seen, 1);
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
        QCOMPARE(e.seen, 3);
        QCOMPARE(e.right, 2);
    }

    void whatHardlyMovesDoesNotCount() {
        // p(a) = e^-20/299: what is taken from the others is far below 1e-6.
        const RunOptions options = uniform([](std::span<float> out) { out[letter('a')] = -20; });
        const QualityEstimate e = estimated(afterB(), texts({"+ba", "+bc", "-bc"}), options);
        QCOMPARE(e.seen, 1);
        QCOMPARE(e.right, 1);
        QCOMPARE(e.positions, 6);
    }

    void qualityIsClipped() {
        std::string text;
        for (int i = 0; i < 60; ++i) text += "ba";
        const QualityEstimate best = estimated(afterB(), texts({"+" + text})),
                              worst = estimated(afterB(), texts({"-" + text}));
        QCOMPARE(best.right, 60);
        QCOMPARE(best.counted.mean, 61.0 / 62.0);
        QCOMPARE(best.q, 0.95);
        QCOMPARE(worst.right, 0);
        QCOMPARE(worst.seen, 60);
        QCOMPARE(worst.q, 0.05);
    }

    void nothingMatches() {
        const QualityEstimate e = estimated(afterB(), texts({"+xyz", "-zyx"}));
        QCOMPARE(e.seen, 0);
        QCOMPARE(e.q, 0.5);
    }

    void theBaseScoresAlone() {
        Session session = sessionOf({"model", "not there"});
        session.priors.resize(1);
        session.priors[0].bank = "not there either.bank.json";
        const auto of = texts({"+ba"});
        const QualityEstimate e = estimateQuality(afterB(), nullptr, of, all(of), session, uniform());
        QCOMPARE(e.right, 1);
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
        QCOMPARE(e.seen, 3);  // x, a and c stand inside
        QCOMPARE(e.right, 1);
    }

    void longTextsEndWithTheContext() {
        const QualityEstimate e = estimated(afterB(), texts({"+babababa"}), uniform({}, 5));
        QCOMPARE(e.positions, 4);
        QCOMPARE(e.right, 2);
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
        QCOMPARE(e.right, 1);
        QCOMPARE(e.seen, 1);
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

QTEST_GUILESS_MAIN(TestExampleSets)
#include "tst_examplesets.moc"
