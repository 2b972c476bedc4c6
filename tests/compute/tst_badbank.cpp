// Bad input in a bank: a sentence on the prior it concerns, which is saved again as it stood; the rest acts.
#include <algorithm>

#include "compute/files/atomicfile.h"
#include "compute/priors/bank.h"
#include "tests/support/fixture.h"
#include "tests/support/scratch.h"

using namespace counterpoint::compute;
using namespace counterpoint::tests;

namespace {

/// JSON with ' for ": moc stumbles over some raw strings.
std::string json(std::string text) {
    std::replace(text.begin(), text.end(), '\'', '"');
    return text;
}
OrderedJson parsed(const QString& text) { return parseOrderedJson(json(text.toStdString()), "row"); }

struct Read {
    Bank bank;
    std::vector<std::string> warnings;
};

Read read(const std::string& text) {
    Read r;
    r.bank = bankFromJson(parseOrderedJson(json(text), "row"), "b", r.warnings);
    return r;
}

}  // namespace

class TestBadBank : public QObject, Scratch {
    Q_OBJECT

  private Q_SLOTS:
    void init() {
        failOnAnyWarning();
        renew();
    }

    void priors_data() {
        QTest::addColumn<QString>("prior");
        QTest::addColumn<bool>("acts");
        QTest::addColumn<QString>("problem");
        const auto bad = [](const char* name, const char* prior, const char* problem) {
            QTest::newRow(name) << prior << false << problem;
        };
        const auto usable = [](const char* name, const char* prior, const char* problem) {
            QTest::newRow(name) << prior << true << problem;
        };
        const auto p = [](const char* field) {
            static std::vector<QByteArray> kept;
            return kept.emplace_back(QByteArray("{'name':'p','promote':[1],") + field + "}").constData();
        };
        usable("q 0", p("'quality':0"),
               "prior 'p', \"quality\": a quality of 0 makes η = log(q/(1−q)) infinite below 0: the prior is off.");
        usable(
            "q 1", p("'quality':1"),
            "prior 'p', \"quality\": a quality of 1 makes η = log(q/(1−q)) infinite: it is capped at log(0.99/0.01) = "
            "4.59512.");
        usable("no support", "{'name':'p'}", "prior 'p': it neither promotes nor demotes a token, so it does nothing.");
        bad("q below", p("'quality':-0.1"),
            "prior 'p', \"quality\": the value cannot be used (expected a number from 0 to 1, found -0.1).");
        bad("q above", p("'quality':1.5"),
            "prior 'p', \"quality\": the value cannot be used (expected a number from 0 to 1, found 1.5).");
        bad("q a text", p("'quality':'high'"),
            "prior 'p', \"quality\": this is not a number (expected a number from 0 to 1, found \"high\").");
        bad("q nan", p("'quality':'nan'"),
            "prior 'p', \"quality\": this is not a number (expected a number from 0 to 1, found \"nan\").");
        bad("q null", p("'quality':null"),
            "prior 'p', \"quality\": this is not a number (expected a number from 0 to 1, found null).");
        bad("c above", p("'confidence':1.0000001"),
            "prior 'p', \"confidence\": the value cannot be used (expected a number from 0 to 1, found 1.0000001).");
        bad("δ₊ infinite", p("'delta_plus':'inf'"),
            "prior 'p', \"delta_plus\": this is not a number (expected a finite number, found \"inf\").");
        bad("δ₋ below 0", p("'delta_minus':-1"),
            "prior 'p', \"delta_minus\": the value cannot be used (expected a finite number from 0 (the list says "
            "which "
            "way), found -1.0).");
        bad("a list that is none", "{'name':'p','promote':'cat'}",
            "prior 'p', \"promote\": the value cannot be used (expected a list of texts and token ids, found "
            "\"cat\").");
        bad("an entry that is none", "{'name':'p','demote':[1,{}]}",
            "prior 'p', \"demote\": the value cannot be used (expected a list of texts and token ids, found {}).");
        bad("half an id", "{'name':'p','promote':[1.5]}",
            "prior 'p', \"promote\": the value cannot be used (expected a list of texts and token ids, found 1.5).");
        bad("an id below 0", "{'name':'p','promote':[-1]}",
            "prior 'p', \"promote\": the value cannot be used (expected a whole number from 0 to 2147483647, found "
            "-1).");
        bad("an id beyond 32 bits", "{'name':'p','promote':[2147483648]}",
            "prior 'p', \"promote\": the value cannot be used (expected a whole number from 0 to 2147483647, found "
            "2147483648).");
        bad("deltas in a list", "{'name':'p','delta':[1,2]}",
            "prior 'p', \"delta\": the value cannot be used (expected an object of token ids and numbers, found "
            "[1,2]).");
        bad("a delta of a text", "{'name':'p','delta':{'cat':1}}",
            "prior 'p', \"delta\": the value cannot be used (expected token ids as keys, found \"cat\").");
        bad("one id in two spellings", "{'name':'p','delta':{'5':1,'05':2}}",
            "prior 'p', \"delta\": the value cannot be used (expected token ids as keys, found \"05\").");
        bad("a delta below 0", "{'name':'p','delta':{'-5':1}}",
            "prior 'p', \"delta\": the value cannot be used (expected token ids as keys, found \"-5\").");
        bad("a delta that is no number", "{'name':'p','delta':{'5':'much'}}",
            "prior 'p', \"delta\", \"5\": this is not a number (expected a number, or \"inf\", \"-inf\", \"nan\", "
            "found "
            "\"much\").");
        bad("a policy that is none", p("'policy':'last token'"),
            "prior 'p', \"policy\": the value cannot be used (expected \"exact id\", \"single token\" or \"first "
            "token\", "
            "the last two also \"… with a leading space\", found \"last token\").");
        bad("an infinite η", p("'eta':'inf'"),
            "prior 'p', \"eta\": this is not a number (expected a number from -1000000 to 1000000, or null, found "
            "\"inf\").");
        for (const char* eta : {"1e+300", "-1000001.0"})
            bad(eta, p(("'eta':" + std::string(eta)).c_str()),
                ("prior 'p', \"eta\": the value cannot be used (expected a number from -1000000 to 1000000, or null, "
                 "found " +
                 std::string(eta) + ").")
                    .c_str());
        bad("enabled by a word", p("'enabled':'yes'"),
            "prior 'p', \"enabled\": the value cannot be used (expected true or false, found \"yes\").");
        bad("merged of numbers", p("'merged':[1]"),
            "prior 'p', \"merged\": the value cannot be used (expected a list of names, found [1]).");
        bad("when by a word", p("'when':'always'"),
            "prior 'p', \"when\": the value cannot be used (expected an object, found \"always\").");
        bad("when without a kind", p("'when':{}"),
            "prior 'p', \"when\": \"kind\" is missing (expected one of always, regex, tokens, code_block, feature).");
        bad("another kind of when", p("'when':{'kind':'never'}"),
            "prior 'p', \"when\", \"kind\": the value cannot be used (expected one of always, regex, tokens, "
            "code_block, "
            "feature, found \"never\").");
        bad("no pattern", p("'when':{'kind':'regex','pattern':''}"),
            "prior 'p', \"when\": \"pattern\" is missing (expected a regular expression).");
        bad("no characters", p("'when':{'kind':'regex','pattern':'x','chars':0}"),
            "prior 'p', \"when\", \"chars\": the value cannot be used (expected a whole number above 0, found 0).");
        bad("characters below 0", p("'when':{'kind':'regex','pattern':'x','chars':-3}"),
            "prior 'p', \"when\", \"chars\": the value cannot be used (expected a whole number above 0, found -3).");
        bad("too many characters", p("'when':{'kind':'regex','pattern':'x','chars':9223372036854775808}"),
            "prior 'p', \"when\", \"chars\": the value cannot be used (expected a whole number above 0, found "
            "9223372036854775808).");
        bad("half a character", p("'when':{'kind':'regex','pattern':'x','chars':0.5}"),
            "prior 'p', \"when\", \"chars\": the value cannot be used (expected a whole number above 0, found 0.5).");
        bad("no tokens", p("'when':{'kind':'tokens','ids':[]}"),
            "prior 'p', \"when\": \"ids\" is missing (expected at least one token id).");
        bad("tokens below 0", p("'when':{'kind':'tokens','ids':[-1]}"),
            "prior 'p', \"when\", \"ids\": the value cannot be used (expected a whole number from 0 to 2147483647, "
            "found "
            "-1).");
        bad("no feature", p("'when':{'kind':'feature'}"),
            "prior 'p', \"when\": \"name\" is missing (expected the name of a feature of the bank).");
        const std::string large = "found 1e999).";
        const auto tooLarge = [&](const char* name, const char* prior, const char* problem) {
            QTest::newRow(name) << prior << false << QString::fromStdString(problem + large);
        };
        tooLarge("q too large", p("'quality':1e999"),
                 "prior 'p', \"quality\": this is not a number (expected a number from 0 to 1, ");
        bad("q a bare NaN", p("'quality':NaN"),
            "prior 'p', \"quality\": this is not a number (expected a number from 0 to 1, found NaN).");
        tooLarge("an η too large", p("'eta':1e999"),
                 "prior 'p', \"eta\": this is not a number (expected a number from -1000000 to 1000000, or null, ");
        tooLarge("an entry too large", "{'name':'p','promote':[1,1e999]}",
                 "prior 'p', \"promote\": the value cannot be used (expected a list of texts and token ids, ");
        tooLarge("δ₊ too large", p("'delta_plus':1e999"),
                 "prior 'p', \"delta_plus\": this is not a number (expected a finite number, ");
        bad("no object", "5", "prior 1: the value cannot be used (expected an object, found 5).");
        bad("null", "null", "prior 1: the value cannot be used (expected an object, found null).");
        bad("a name that is no text", "{'name':5,'promote':[1]}",
            "prior 1, \"name\": the value cannot be used (expected text, found 5).");
        bad("damaged", p("'damaged':'so..'"), "prior 'p': it came damaged out of a file (so..).");
        bad("line ends in a name", "{'name':'a\\nb\\u0007','quality':2}",
            "prior 'a b\\x07', \"quality\": the value cannot be used (expected a number from 0 to 1, found 2).");
    }
    void priors() {
        QFETCH(QString, prior);
        QFETCH(bool, acts);
        const std::string good = "{'name':'good','promote':[3],'quality':0.9}";
        const auto [bank, warnings] =
            read("{'format':'counterpoint.bank/1','priors':[" + prior.toStdString() + "," + good + "]}");
        QCOMPARE(joined(warnings), QString());
        QCOMPARE(bank.priors.size(), std::size_t{2});
        QTEST(joined(bank.priors[0]->problems), "problem");
        QCOMPARE(bank.priors[0]->unusable, !acts);
        if (!acts) QVERIFY(resolve(*bank.priors[0], {}).tokens.empty());
        QVERIFY(bank.priors[1]->problems.empty() && resolve(*bank.priors[1], {}).tokens.size() == 1);
        // It is saved as it stood and is the same again, in both formats.
        const OrderedJson out = toJson(bank);
        if (!acts) QCOMPARE(out["priors"][0].dump(), parsed(prior).dump());
        std::vector<std::string> again;
        QVERIFY(bankFromJson(out, "b", again) == bank);
        writeBank(bank, folder() / "b.bank.safetensors");
        QVERIFY(readBank(folder() / "b.bank.safetensors", again) == bank);
        QCOMPARE(joined(again), QString());
    }

    /// A number that no float holds, in priors and around them: the rest is used, and saved it stands as it stood.
    void tooLargeNumbersStayInTheFile() {
        const std::string text = json(
            "{'format':'counterpoint.bank/1','stake':1e999,'more':[-1e400],\n'priors':[{'name':'p','quality':1e999},"
            "{'name':'good','promote':[3]}]}");
        writeFile(folder() / "a.bank.json", text);
        std::vector<std::string> warnings;
        const Bank bank = readBank(folder() / "a.bank.json", warnings);
        QVERIFY(bank.priors[0]->unusable && !bank.priors[1]->unusable);
        QCOMPARE(warnings.size(), std::size_t{2});
        QVERIFY2(warnings[0].find("\"stake\": the value cannot be used and is kept as it is") != std::string::npos,
                 warnings[0].c_str());
        for (const char* name : {"b.bank.json", "b.bank.safetensors"}) {
            std::vector<std::string> again;
            writeBank(bank, folder() / name);
            QVERIFY2(readBank(folder() / name, again) == bank, name);
        }
        const std::string saved = readFile(folder() / "b.bank.json");
        for (const char* part : {"\"stake\": 1e999", "-1e400\n", "\"quality\": 1e999"})
            QVERIFY2(saved.find(part) != std::string::npos, saved.c_str());
    }

    /// A Δ that is not finite, as a string, as other programs write it or too large: the entry alone does not act.
    void deltasThatAreNotFinite() {
        const auto [bank, warnings] = read(
            "{'format':'counterpoint.bank/1','priors':[{'name':'p','delta':{'5':1,'6':1e999,'7':NaN,'8':-Infinity,"
            "'9':'nan'}}]}");
        QVERIFY(warnings.empty() && bank.priors[0]->problems.empty());
        const Factor factor = resolve(*bank.priors[0], {});
        QCOMPARE(factor.tokens, std::vector<TokenId>{5});
        QCOMPARE(factor.problems.size(), std::size_t{4});
        for (const std::string& problem : factor.problems)
            QVERIFY2(problem.ends_with("has a delta that is not finite, so it does not act."), problem.c_str());
        std::vector<std::string> again;
        QVERIFY(bankFromJson(toJson(bank), "b", again) == bank);
    }

    void sameName() {
        const auto [bank, warnings] = read(
            "{'format':'counterpoint.bank/1','priors':[{'name':'p','promote':[1]},{'name':'p','promote':[2],'x':1}]}");
        QCOMPARE(joined(bank.priors[0]->problems), QString());
        QVERIFY(!bank.priors[0]->unusable && bank.priors[1]->unusable);
        const QString what =
            "prior 2: the name 'p' stands before it already, so it does not act; give it another name.";
        QCOMPARE(joined(bank.priors[1]->problems), what);
        QVERIFY(warnings.front() == "b, " + what.toStdString());
        QCOMPARE(bank.priors[1]->written.dump(), json("{'name':'p','promote':[2],'x':1}"));
        QVERIFY(resolve(*bank.priors[1], {}).tokens.empty());
        std::vector<std::string> again;
        QVERIFY(bankFromJson(toJson(bank), "b", again) == bank);
    }

    void around_data() {
        QTest::addColumn<QString>("more");
        QTest::addColumn<QString>("warning");
        const auto row = [](const char* name, const char* more, const char* warning) {
            QTest::newRow(name) << more << warning;
        };
        const char* kept = "the value cannot be used and is kept as it is";
        const auto value = [&](const char* name, const char* text, const char* expected) {
            const std::string more = json(text);
            const std::string key = more.substr(0, more.find(':')), found = more.substr(key.size() + 1);
            QTest::newRow(name) << text
                                << QString::fromStdString("b, " + key + ": " + kept + " (expected " + expected +
                                                          ", found " + found + ").");
        };
        value("a stake below 0", "'stake':-1", "a finite number from 0");
        value("a stake of a word", "'stake':'inf'", "a finite number from 0");
        value("a level above", "'level':4", "0, 1, 2 or 3");
        value("a level below", "'level':-1", "0, 1, 2 or 3");
        value("a level that is no whole number", "'level':0.0", "0, 1, 2 or 3");
        value("a name of a number", "'name':5", "text");
        value("a tokenizer of a list", "'tokenizer':[]", "a fingerprint or null");
        value("features in a list", "'features':[1]", "an object");
        value("features of nothing", "'features':[]", "an object");
        row("a feature without an end", "'features':{'f':{'open':'a'}}",
            "b, feature 'f': the feature cannot be used and is kept as it is (expected \"open\" and \"close\", regular "
            "expressions, found {\"open\":\"a\"}).");
        row("a feature that cannot be read", "'features':{'f':{'open':'[','close':'b'}}",
            "b, feature 'f', \"open\": the pattern cannot be read: missing terminating ] for character class, at "
            "character 1.");
        row("bad and good features", "'features':{'f':7,'g':{'open':'a','close':'b','more':1}}",
            "b, feature 'f': the feature cannot be used and is kept as it is (expected \"open\" and \"close\", regular "
            "expressions, found 7).\n"
            "b, feature 'g': the key \"more\" is unknown; it is kept as it is.");
    }
    void around() {
        QFETCH(QString, more);
        const std::string text =
            "{'format':'counterpoint.bank/1'," + more.toStdString() + ",'priors':[{'name':'p','promote':[1]}]}";
        const auto [bank, warnings] = read(text);
        QTEST(joined(warnings), "warning");
        QCOMPARE(bank.stake, 1.0);
        QCOMPARE(bank.level, 0);
        QVERIFY(!bank.priors[0]->unusable);
        const OrderedJson in = parseOrderedJson(json(text), "row"), out = toJson(bank);
        for (const auto& [key, value] : in.items())
            if (key != "priors" && key != "features") QCOMPARE(out[key].dump(), value.dump());
        if (in.contains("features")) QCOMPARE(Json(out["features"]).dump(), Json(in["features"]).dump());
        std::vector<std::string> again;
        QVERIFY(bankFromJson(out, "b", again) == bank);
        QCOMPARE(joined(again), joined(warnings));
    }

    void noBanks_data() {
        QTest::addColumn<QString>("bank");
        QTest::addColumn<QString>("error");
        QTest::newRow("a list") << "[]"
                                << "b: this is no bank (expected an object with \"format\": \"counterpoint.bank/1\").";
        QTest::newRow("nothing in it")
            << "{}"
            << "b: this is no bank (expected an object with \"format\": \"counterpoint.bank/1\").";
        QTest::newRow("a session")
            << "{'format':'counterpoint.session/1'}"
            << "b, \"format\": this is no bank that can be read here (expected \"counterpoint.bank/1\", found "
               "\"counterpoint.session/1\").";
        QTest::newRow("of a later version")
            << "{'format':'counterpoint.bank/2'}"
            << "b, \"format\": this is no bank that can be read here (expected \"counterpoint.bank/1\", found "
               "\"counterpoint.bank/2\").";
        QTest::newRow("no list of priors")
            << "{'format':'counterpoint.bank/1','priors':{}}"
            << "b, \"priors\": the bank has no list of priors (expected a list, found {}).";
    }
    void noBanks() {
        QFETCH(QString, bank);
        QTEST(QString::fromStdString(errorOf([&] { read(bank.toStdString()); })), "error");
    }

    void noFiles() {
        std::vector<std::string> warnings;
        const auto error = [&](const char* name, const std::string& bytes) {
            writeFile(folder() / name, bytes);
            const QString text = QString::fromStdString(errorOf([&] { readBank(folder() / name, warnings); }));
            return text.mid(text.indexOf(name));
        };
        QCOMPARE(error("empty", ""), QString("empty, line 1: the file is empty, not JSON; copy or write it again."));
        QCOMPARE(
            error("cut", "{\"format\":1,"),
            QString("cut, line 1: the JSON ends too early, near '1,'; it may be cut short: copy or write it again."));
        QCOMPARE(error("twice", "{\"format\":1,\"format\":1}"),
                 QString("twice, line 1: the key 'format' stands twice in one object; keep one of the two."));
        QVERIFY(!errorOf([&] { readBank(folder() / "nowhere", warnings); }).empty());
        QVERIFY(!errorOf([&] { readBank(folder(), warnings); }).empty());
    }

    /// Nothing of a sentence grows with the file.
    void longTexts() {
        const std::string longText(100000, 'x');
        OrderedJson whole = {{"format", "counterpoint.bank/1"}, {longText, 1}, {"stake", longText}};
        whole["features"][longText] = 1;
        whole["priors"] = OrderedJson::array();
        whole["priors"].push_back({{"name", longText}, {"policy", longText}});
        whole["priors"].push_back({{"name", longText}, {"kind", "x"}});
        const auto [bank, warnings] = read(whole.dump());
        QCOMPARE(bank.priors.size(), std::size_t{2});
        std::vector<std::string> all = warnings;
        for (const PriorPtr& prior : bank.priors) all.insert(all.end(), prior->problems.begin(), prior->problems.end());
        QCOMPARE(all.size(), std::size_t{7});
        for (const std::string& sentence : all)
            QVERIFY2(sentence.size() < 400, qPrintable(QString::number(sentence.size())));
    }
};

QTEST_GUILESS_MAIN(TestBadBank)
#include "tst_badbank.moc"
