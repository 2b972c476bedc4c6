// R8: what the entries of a prior become with a tokenizer, by their policy, and what they cannot become.
#include <map>

#include "compute/files/json.h"
#include "compute/priors/prior.h"
#include "tests/support/tokenizerfolder.h"

using namespace counterpoint::compute;
using namespace counterpoint::tests;

namespace {

PriorEntry text(std::string text) { return {.text = std::move(text)}; }
PriorEntry id(TokenId id) { return {.text = {}, .id = id}; }

Prior prior(std::vector<PriorEntry> promote, std::vector<PriorEntry> demote = {}, Policy policy = Policy::SingleToken) {
    Prior p;
    p.promote = std::move(promote);
    p.demote = std::move(demote);
    p.policy = policy;
    return p;
}

IdSpace space(const std::shared_ptr<const Tokenizer>& tokenizer) {
    return {.tokenizer = tokenizer.get(), .size = tokenizer->size(), .foreignIds = false};
}

/// "260:+1 281:-1"
QString shown(const Factor& factor) {
    QStringList list;
    for (std::size_t i = 0; i < factor.tokens.size(); ++i)
        list << QStringLiteral("%1:%2").arg(factor.tokens[i]).arg(factor.delta[i]);
    return list.join(' ');
}

}  // namespace

class TestFactor : public QObject, TokenizerFolder {
    Q_OBJECT

  private Q_SLOTS:
    void init() { begin(); }

    /// Δ = c·δ₊, −c·δ₋; explicit values are final.
    void delta() {
        Prior p = prior({id(5), id(2)}, {id(9)});
        p.confidence = 0.5;
        p.deltaPlus = 3;
        p.deltaMinus = 8;
        p.delta = {{7, -0.25}};
        const Factor f = resolve(p, {});
        QCOMPARE(shown(f), QString("2:1.5 5:1.5 7:-0.25 9:-4"));
        QCOMPARE(joined(f.problems), QString());
        QCOMPARE(f.entries.size(), std::size_t{4});
        QCOMPARE(f.entries[0].entry, std::string("5"));
        QCOMPARE(f.entries[0].token, TokenId{5});
        QCOMPARE(f.entries[2].delta, -4.0);
        QCOMPARE(f.entries[3].delta, -0.25);
    }

    void entries_data() {
        QTest::addColumn<QString>("json");  // promote, demote, delta
        QTest::addColumn<QString>("support");
        QTest::addColumn<QString>("problems");
        const auto row = [](const char* name, const char* json, const char* support, const char* problems) {
            QTest::newRow(name) << json << support << problems;
        };
        row("an id twice", "[[5, 5], []]", "5:1", "id 5 stands twice and counts once.");
        row("an id twice demoted", "[[], [5, 5]]", "5:-1", "id 5 stands twice and counts once.");
        row("promoted and demoted", "[[5, 6], [5]]", "6:1",
            "id 5 is promoted and demoted at once, so it does neither.\n"
            "id 5 is promoted and demoted at once, so it does neither.");
        row("promoted, with a delta", "[[5], [], {\"5\": -2}]", "5:-2",
            "id 5 has an explicit delta, which is final: the list adds nothing to it.");
        row("both, with a delta", "[[5], [5], {\"5\": 3}]", "5:3",
            "id 5 has an explicit delta, which is final: the list adds nothing to it.\n"
            "id 5 has an explicit delta, which is final: the list adds nothing to it.");
        row("a delta of 0", "[[6], [], {\"5\": 0}]", "6:1", "id 5 has a delta of 0, so it is not in the support.");
        row("a delta of -0", "[[6], [], {\"5\": -0.0}]", "6:1", "id 5 has a delta of 0, so it is not in the support.");
        row("promoted, with a delta of 0", "[[5, 6], [], {\"5\": 0}]", "6:1",
            "id 5 has an explicit delta, which is final: the list adds nothing to it.\n"
            "id 5 has a delta of 0, so it is not in the support.");
        row("NaN", "[[6], [], {\"5\": \"nan\"}]", "6:1", "id 5 has a delta that is not finite, so it does not act.");
        row("infinite", "[[6], [], {\"5\": \"-inf\"}]", "6:1",
            "id 5 has a delta that is not finite, so it does not act.");
        row("too large", "[[6], [], {\"5\": 2e30, \"7\": -1e30}]", "6:1 7:-1e+30",
            "id 5 has a delta beyond 1e30, so it does not act.");
        row("outside", "[[50, 49], []]", "49:1", "id 50 is outside the vocabulary of 50 ids.");
        row("outside of a delta", "[[1], [], {\"2147483647\": 1}]", "1:1",
            "id 2147483647 is outside the vocabulary of 50 ids.");
        row("text without a tokenizer", "[[\"cat\", 6], []]", "6:1",
            "\"cat\" cannot become a token without a tokenizer: give its id.");
        row("nothing acts", "[[\"cat\"], []]", "",
            "\"cat\" cannot become a token without a tokenizer: give its id.\n"
            "None of its entries acts, so the support is empty.");
    }
    void entries() {
        QFETCH(QString, json);
        const OrderedJson lists = parseOrderedJson(json.toStdString(), "row");
        const auto list = [](const OrderedJson& entries) {
            std::vector<PriorEntry> all;
            for (const OrderedJson& e : entries)
                all.push_back(e.is_string() ? text(e.get<std::string>()) : id(e.get<TokenId>()));
            return all;
        };
        Prior p = prior(list(lists[0]), list(lists[1]));
        if (lists.size() > 2)
            for (const auto& [key, value] : lists[2].items()) p.delta.emplace_back(std::stoi(key), toNumber(value, ""));
        const Factor f = resolve(p, {.tokenizer = nullptr, .size = 50, .foreignIds = false});
        QTEST(shown(f), "support");
        QTEST(joined(f.problems), "problems");
        for (const Became& became : f.entries) QCOMPARE(became.delta == 0, !became.problem.empty());
    }

    void exactIds() {
        const Factor f = resolve(prior({text("7"), text("007"), text("cat"), text(""), text("-1"), text("1.5"),
                                        text(" 8"), text("99999999999")},
                                       {}, Policy::ExactId),
                                 {.tokenizer = nullptr, .size = 50, .foreignIds = false});
        QCOMPARE(shown(f), QString("7:1"));
        QCOMPARE(joined(f.problems), QString("\"007\" (id 7) stands twice and counts once.\n"
                                             "\"cat\" is no id, which the policy \"exact id\" asks for.\n"
                                             "\"\" is no id, which the policy \"exact id\" asks for.\n"
                                             "\"-1\" is no id, which the policy \"exact id\" asks for.\n"
                                             "\"1.5\" is no id, which the policy \"exact id\" asks for.\n"
                                             "\" 8\" is no id, which the policy \"exact id\" asks for.\n"
                                             "\"99999999999\" is larger than any token's id."));
    }

    void otherTokenizersIds() {
        const auto toy = open(tokenizerOf(toyPieces(262)));
        IdSpace foreign = space(toy);
        foreign.foreignIds = true;
        Prior p = prior({id(70), text("w260")});
        p.delta = {{71, 2}};
        QCOMPARE(joined(resolve(p, foreign).problems).count("is an id of another tokenizer"), 2);
        QCOMPARE(joined(resolve(p, space(toy)).problems),
                 QString("\"w260\" is 4 tokens by the policy \"single token\", "
                         "\"w\" (id 122) \"2\" (id 53) \"6\" (id 57) \"0\" (id 51); choose a "
                         "policy that takes the first, or give an id."));
    }

    void unusable() {
        Prior p = prior({id(1)});
        p.unusable = true;
        const Factor f = resolve(p, {});
        QVERIFY(f.tokens.empty() && f.entries.empty() && f.problems.empty());
    }

    void manyProblems() {
        std::vector<PriorEntry> entries;
        for (int i = 0; i < 30; ++i) entries.push_back(text("t"));
        const Factor f = resolve(prior(entries), {});
        QCOMPARE(f.problems.size(), std::size_t{22});
        QCOMPARE(f.problems[20], std::string("10 more entries do not act as they are written."));
    }

    /// The bare piece and the one with the blank, whether the tokenizer puts a blank before a text or not.
    void texts_data() {
        QTest::addColumn<QString>("tokenizer");
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("policy");
        QTest::addColumn<int>("token");  // -1: none
        const char* single = "single token";
        const char* spaced = "single token with a leading space";
        const char* first = "first token";
        const char* firstSpaced = "first token with a leading space";
        const char* stories = "models/stories260K/hf";
        const char* gpt2 = "tokenizers/gpt2-tokenizer";
        const char* neox = "tokenizers/gpt-neox-20b-tokenizer";
        const auto row = [](const char* tokenizer, const char* text, const char* policy, int token) {
            QTest::addRow("%s: '%s' %s", tokenizer, text, policy) << tokenizer << text << policy << token;
        };
        row(stories, "he", single, 260);
        row(stories, "he", spaced, 281);
        row(stories, "it", single, 275);
        row(stories, "it", spaced, 312);
        row(stories, " it", single, 312);
        row(stories, "the", spaced, 265);
        row(stories, "the", single, -1);  // "t" "he"
        row(stories, "the", first, 413);
        row(stories, "cat", spaced, -1);
        row(stories, "cat", firstSpaced, 280);
        row(stories, "\n", single, 13);  // <0x0A>
        row(stories, "Once", spaced, 403);
        row(stories, "é", single, 485);
        row(stories, "<s>", single, -1);
        row(stories, "", single, -1);
        row(stories, "", spaced, -1);
        row(gpt2, "cat", single, 9246);
        row(gpt2, "cat", spaced, 3797);
        row(gpt2, " cat", single, 3797);
        row(gpt2, "return", spaced, 1441);
        row(gpt2, "Once upon", single, -1);
        row(gpt2, "Once upon", first, 7454);
        row(gpt2, "Once upon", firstSpaced, 4874);
        row(gpt2, "<|endoftext|>", single, -1);
        row(gpt2, "\U0001F467", first, 41840);  // bytes of a character
        row(neox, "get", single, 788);
        row(neox, "get", spaced, 755);
    }
    void texts() {
        QFETCH(QString, tokenizer);
        QFETCH(QString, text);
        QFETCH(QString, policy);
        QFETCH(int, token);
        REQUIRE_SHARED(tokenizer.toStdString());
        static std::map<QString, std::shared_ptr<const Tokenizer>> opened;
        auto& one = opened[tokenizer];
        if (!one) one = openTokenizer(shared(tokenizer.toStdString()));
        const Prior p = prior({::text(text.toStdString())}, {}, *policyOf(policy.toStdString()));
        const Factor f = resolve(p, space(one));
        const QString problems = joined(f.problems);
        QVERIFY2(f.entries.front().token == token,
                 qPrintable(QString::number(f.entries.front().token) + ' ' + problems));
        QCOMPARE(f.tokens.size(), std::size_t(token >= 0));
        QCOMPARE(problems.isEmpty(), token >= 0);
    }

    /// What a text cannot become names the pieces.
    void sentences() {
        REQUIRE_SHARED("models/stories260K/hf");
        const auto stories = openTokenizer(shared("models/stories260K/hf"));
        const auto problem = [&](const char* text, Policy policy) {
            return resolve(prior({::text(text)}, {}, policy), space(stories)).entries.front().problem;
        };
        QCOMPARE(problem("cat", Policy::SingleTokenSpace),
                 std::string("\"cat\" is 2 tokens by the policy \"single token with a leading space\", \"␣c\" \"at\"; "
                             "choose a policy that takes the first, or give an id."));
        QCOMPARE(
            problem("<s>", Policy::SingleToken),
            std::string("\"<s>\" is 3 tokens by the policy \"single token\", \"<\" \"s\" \">\"; it is the name of id "
                        "1, which can be given; choose a policy that takes the first, or give an id."));
        QCOMPARE(problem("", Policy::SingleToken), std::string("\"\" is empty, and so is no token."));
        QCOMPARE(problem("\xFF", Policy::SingleToken), std::string("\"\\xff\" is not valid UTF-8."));
        QVERIFY(
            QString::fromStdString(problem("a long text of very many tokens", Policy::SingleToken)).contains(" more"));
    }

    /// A vocabulary's own spelling of its tokens is no word for eyes; an id where the bytes are no text.
    void sentencesOfByteLevelTokens() {
        REQUIRE_SHARED("tokenizers/gpt2-tokenizer");
        const auto gpt2 = openTokenizer(shared("tokenizers/gpt2-tokenizer"));
        const auto problem = [&](const char* text) {
            return QString::fromStdString(
                resolve(prior({::text(text)}, {}, Policy::SingleToken), space(gpt2)).entries.front().problem);
        };
        QVERIFY2(problem("Once upon").contains("\"single token\", \"Once\" \"␣upon\"; choose"),
                 qPrintable(problem("Once upon")));
        QVERIFY2(problem("\U0001F467").contains("\"<0xF0><0x9F><0x91>\" (id 41840) \"<0xA7>\" (id "),
                 qPrintable(problem("\U0001F467")));
    }

    void idsWithTokenizer() {
        const auto toy = open(tokenizerOf(toyPieces(262)));
        // A source may have fewer rows than the tokenizer has ids.
        const IdSpace narrow{.tokenizer = toy.get(), .size = 261, .foreignIds = false};
        const Factor f = resolve(prior({id(260), id(261), id(2)}), narrow);
        QCOMPARE(shown(f), QString("2:1 260:1"));  // a control token can be promoted
        QCOMPARE(joined(f.problems), QString("id 261 is outside the vocabulary of 261 ids."));
        const IdSpace any{.tokenizer = toy.get(), .size = -1};
        QCOMPARE(joined(resolve(prior({id(262), id(-5), id(1)}), any).problems),
                 QString("id 262 is no token of this tokenizer.\nid -5 is outside the vocabulary."));
    }

    /// Ids of a context that no text can have: it says so, and the prior does not act.
    void contextIds_data() {
        QTest::addColumn<TokenId>("last");
        QTest::addColumn<bool>("foreign");
        QTest::addColumn<QString>("problem");
        QTest::newRow("inside") << TokenId{49} << false << QString();
        QTest::newRow("outside") << TokenId{50} << false
                                 << "Its context never matches: id 50 is outside the vocabulary of 50 ids.";
        QTest::newRow("of another tokenizer") << TokenId{49} << true
                                              << "Its context never matches: id 7 is an id of another tokenizer, which "
                                                 "the bank was made for.";
    }
    void contextIds() {
        QFETCH(TokenId, last);
        QFETCH(bool, foreign);
        Prior p = prior({id(3)});
        p.when.kind = ContextKind::Tokens;
        p.when.ids = {7, last};
        if (foreign) p.promote.clear();
        const Factor f = resolve(p, {.tokenizer = nullptr, .size = 50, .foreignIds = foreign});
        QTEST(joined(f.problems), "problem");
        QCOMPARE(f.neverMatches, last == 50 || foreign);
        p.when.kind = ContextKind::Always;
        QVERIFY(!resolve(p, {.tokenizer = nullptr, .size = 50, .foreignIds = foreign}).neverMatches);
    }
};

QTEST_GUILESS_MAIN(TestFactor)
#include "tst_factor.moc"
