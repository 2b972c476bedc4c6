// A bank as JSON: what is read, what is wrong with one prior, what is kept; a file that is no bank.
#include <cmath>
#include <functional>

#include "compute/files/atomicfile.h"
#include "compute/priors/bank.h"
#include "tests/support/fixture.h"
#include "tests/support/scratch.h"

using namespace counterpoint::compute;
using namespace counterpoint::tests;

namespace {

OrderedJson parsed(const std::string& text) { return parseOrderedJson(text, "row"); }

OrderedJson bankOf(const std::string& priors, const std::string& more = {}) {
    return parsed(R"({"format":"counterpoint.bank/1")" + more + R"(,"priors":[)" + priors + "]}");
}

Bank read(const OrderedJson& json, std::vector<std::string>* warnings = nullptr) {
    std::vector<std::string> own;
    return bankFromJson(json, "b.bank.json", warnings != nullptr ? *warnings : own);
}

}  // namespace

class TestBank : public QObject, Scratch {
    Q_OBJECT

    /// What a bank's file holds.
    OrderedJson written(const Bank& bank) const {
        const std::filesystem::path file = folder() / "written.bank.json";
        writeBank(bank, file);
        return parsed(readFile(file));
    }

  private Q_SLOTS:
    void init() {
        failOnAnyWarning();
        renew();
    }

    void everyField() {
        const OrderedJson json = parsed(R"({"format":"counterpoint.bank/1","name":"demo","tokenizer":"abc","stake":2.5,
            "features":{"list":{"open":"^- ","close":"\\n\\n"}},
            "priors":[{"name":"p","kind":"style","task":"t","quality":0.75,"confidence":0.5,"promote":["cat",7],
            "demote":[8],"delta_plus":2,"delta_minus":3,"delta":{"9":-0.5,"1":"inf"},
            "policy":"first token with a leading space",
            "when":{"kind":"regex","pattern":"get$","chars":20},"eta":1.25,"enabled":false,"source":"here",
            "merged":["a","b"]}]})");
        std::vector<std::string> warnings;
        const Bank bank = read(json, &warnings);
        QCOMPARE(joined(warnings), QString());
        QCOMPARE(bank.name, std::string("demo"));
        QCOMPARE(bank.tokenizer, std::optional<std::string>("abc"));
        QCOMPARE(bank.stake, 2.5);
        QVERIFY(bank.features == (std::vector<Feature>{{"list", "^- ", "\\n\\n"}}));
        QCOMPARE(bank.priors.size(), std::size_t{1});
        const Prior& p = *bank.priors[0];
        QVERIFY(!p.unusable && p.problems.empty());
        QCOMPARE(p.name, std::string("p"));
        QCOMPARE(p.kind, std::string("style"));
        QCOMPARE(p.task, std::string("t"));
        QCOMPARE(p.quality, 0.75);
        QCOMPARE(p.confidence, 0.5);
        QVERIFY(p.promote == (std::vector<PriorEntry>{{.text = "cat"}, {.text = {}, .id = 7}}));
        QVERIFY(p.demote == (std::vector<PriorEntry>{{.text = {}, .id = 8}}));
        QCOMPARE(p.deltaPlus, 2.0);
        QCOMPARE(p.deltaMinus, 3.0);
        QVERIFY(p.delta[0] == std::pair(TokenId{9}, -0.5));  // in the order of the file
        QVERIFY(p.delta[1].first == 1 && std::isinf(p.delta[1].second));
        QCOMPARE(p.policy, Policy::FirstTokenSpace);
        QCOMPARE(p.when.kind, ContextKind::Regex);
        QCOMPARE(p.when.pattern, std::string("get$"));
        QCOMPARE(p.when.chars, std::int64_t{20});
        QCOMPARE(p.eta, std::optional(1.25));
        QVERIFY(!p.enabled);
        QCOMPARE(p.source, std::string("here"));
        QCOMPARE(p.merged, (std::vector<std::string>{"a", "b"}));
        QVERIFY(read(toJson(bank)) == bank);
        QCOMPARE(toJson(bank).dump(), toJson(read(toJson(bank))).dump());
    }

    void defaults() {
        const Bank bank = read(bankOf(R"({"name":"p","promote":[1]})"));
        Prior p;
        p.name = "p";
        p.promote = {{.text = {}, .id = 1}};
        QVERIFY(*bank.priors[0] == p);
        QVERIFY(bank.name.empty() && !bank.tokenizer && bank.stake == 1 && bank.level == 0);
        QVERIFY(read(parsed(R"({"format":"counterpoint.bank/1"})")).priors.empty());
    }

    void contexts_data() {
        QTest::addColumn<QString>("when");
        QTest::addColumn<QString>("says");
        QTest::newRow("always") << R"({"kind":"always"})"
                                << "always";
        QTest::newRow("regex") << R"({"kind":"regex","pattern":"x","chars":9223372036854775807})"
                               << "after /x/";
        QTest::newRow("tokens") << R"({"kind":"tokens","ids":[3,1]})"
                                << "after ids 3 1";
        QTest::newRow("code") << R"({"kind":"code_block"})"
                              << "inside code";
        QTest::newRow("python") << R"({"kind":"code_block","language":"python"})"
                                << "inside `python` code";
        QTest::newRow("feature") << R"({"kind":"feature","name":"list"})"
                                 << "inside 'list'";
        QTest::newRow("what another kind needs") << R"({"kind":"always","pattern":"x","chars":3})"
                                                 << "always";
        QTest::newRow("null") << "null"
                              << "always";
    }
    void contexts() {
        QFETCH(QString, when);
        const Bank bank = read(bankOf(R"({"name":"p","promote":[1],"when":)" + when.toStdString() + "}"));
        QVERIFY2(!bank.priors[0]->unusable, qPrintable(joined(bank.priors[0]->problems)));
        QTEST(QString::fromStdString(describe(bank.priors[0]->when)), "says");
        QVERIFY(read(toJson(bank)) == bank);
    }

    /// Unknown keys stay where they stood and are said once each.
    void unknownKeys() {
        const OrderedJson json =
            parsed(R"({"format":"counterpoint.bank/1","later":{"a":[18446744073709551615,-9223372036854775808]},
            "features":{"f":{"open":"a","close":"b","note":1}},
            "priors":[{"name":"p","promote":[1],"colour":"red","when":{"kind":"always","far":null}},
                      {"name":"q","promote":[1],"colour":1e-7}]})");
        std::vector<std::string> warnings;
        const Bank bank = read(json, &warnings);
        QCOMPARE(
            joined(warnings),
            QString(
                "b.bank.json, feature 'f': the key \"note\" is unknown; it is kept as it is.\n"
                "b.bank.json, prior 'p': the key \"colour\" is unknown (and in 1 more places); it is kept as it is.\n"
                "b.bank.json, prior 'p': the key \"when, far\" is unknown; it is kept as it is.\n"
                "b.bank.json: the key \"later\" is unknown; it is kept as it is."));
        const OrderedJson out = toJson(bank);
        QCOMPARE(out["later"].dump(), json["later"].dump());
        QCOMPARE(out["features"]["f"].dump(), json["features"]["f"].dump());
        QVERIFY(out["priors"][0]["colour"] == "red");
        QVERIFY(out["priors"][0]["when"].contains("far"));
        QCOMPARE(out["priors"][1]["colour"].dump(), std::string("1e-07"));
        QVERIFY(read(out) == bank);
    }

    void noName() {
        std::vector<std::string> warnings;
        const Bank bank = read(bankOf(R"({"promote":[1]},{"name":"","promote":[1]})"), &warnings);
        QCOMPARE(joined(warnings), QString("b.bank.json, prior 1: it has no name, so it is called by its place.\n"
                                           "b.bank.json, prior 2: it has no name, so it is called by its place."));
        QCOMPARE(bank.priors[0]->name, std::string("prior 1"));
        QCOMPARE(bank.priors[1]->name, std::string("prior 2"));
        QVERIFY(read(toJson(bank)) == bank);
    }

    /// What was not edited is written as it was: no key that the file did not have, none less, and no name given to it.
    void whatIsNotEditedIsWrittenAsItWas_data() {
        QTest::addColumn<QString>("text");
        const auto row = [](const char* name, const char* more, const char* priors) {
            QTest::newRow(name)
                << QStringLiteral(R"({"format":"counterpoint.bank/1"%1%2})").arg(QString(more), QString(priors));
        };
        row("nothing", "", "");
        row("no priors", R"(,"name":"","tokenizer":null,"stake":1.0)", R"(,"priors":[])");
        row("short", "", R"(,"priors":[{"name":"p","quality":0.75,"promote":["a"]}])");
        row("no name", "", R"(,"priors":[{"promote":[1]},{"name":"","promote":[1]},{"name":"prior 3","promote":[1]}])");
        row("contexts", "",
            R"(,"priors":[{"name":"p","promote":[1],"when":{"kind":"regex","pattern":"x"}},)"
            R"({"name":"q","promote":[1],"when":{"kind":"code_block"}},)"
            R"({"name":"r","promote":[1],"when":{"kind":"regex","pattern":"x","chars":200}},)"
            R"({"name":"s","promote":[1],"when":{"kind":"code_block","language":""}}])");
        row("every default", "",
            R"(,"priors":[{"name":"p","kind":"","task":"","quality":0.5,"confidence":1.0,"promote":[],"demote":[],)"
            R"("delta_plus":1.0,"delta_minus":1.0,"policy":"single token","when":{"kind":"always"},"eta":null,)"
            R"("enabled":true,"source":""}])");
    }
    void whatIsNotEditedIsWrittenAsItWas() {
        QFETCH(QString, text);
        Bank bank = read(parsed(text.toStdString()));
        QCOMPARE(QString::fromStdString(written(bank).dump()), text);
        if (bank.priors.empty()) return;
        // Edited, its value is written, and the rest stays as it was.
        Prior changed = *bank.priors[0];
        changed.confidence = 0.25;
        bank.priors[0] = std::make_shared<const Prior>(changed);
        OrderedJson expected = parsed(text.toStdString());
        expected["priors"][0]["confidence"] = 0.25;
        QVERIFY(Json::parse(written(bank).dump()) == Json::parse(expected.dump()));
        QVERIFY(read(written(bank)) == bank);
    }

    /// A name that is only a place is written where the place is another: what a session says of it goes with the name.
    void aPlaceThatMovedIsAName() {
        Bank bank = read(bankOf(R"({"promote":[1]},{"promote":[2]},{"promote":[3]})"));
        bank.priors.erase(bank.priors.begin());
        bank.priors.push_back(std::make_shared<const Prior>());
        const OrderedJson json = written(bank);
        QCOMPARE(json["priors"][0].dump(), std::string(R"({"name":"prior 2","promote":[2]})"));
        QCOMPARE(json["priors"][2].value("kind", "missing"), std::string());  // of no file: all keys stand there
    }

    /// A value that cannot be used stays in the file while nothing else stands there.
    void setAside() {
        Bank bank = read(parsed(R"({"format":"counterpoint.bank/1","stake":"much","features":[]})"));
        QCOMPARE(bank.stake, 1.0);
        QVERIFY(toJson(bank)["stake"] == "much");
        QVERIFY(toJson(bank)["features"].is_array());
        bank.stake = 2;
        bank.features = {{"f", "a", "b"}};
        QVERIFY(toJson(bank)["stake"] == 2.0);
        QVERIFY(toJson(bank)["features"]["f"]["open"] == "a");
    }

    void files() {
        const Bank bank = read(bankOf(R"({"name":"p","promote":["ein Wört",1],"delta":{"3":-0.0,"2":0.1}})"));
        writeBank(bank, folder() / "b.bank.json");
        std::vector<std::string> warnings;
        QVERIFY(readBank(folder() / "b.bank.json", warnings) == bank);
        QVERIFY(warnings.empty());
        // The content says what it is, whatever the name.
        writeBank(bank, folder() / "b.bank.safetensors");
        std::filesystem::rename(folder() / "b.bank.safetensors", folder() / "b.json");
        QVERIFY(readBank(folder() / "b.json", warnings) == bank);
    }

    void equality() {
        const Bank bank = read(bankOf(R"({"name":"p","promote":[1]})"));
        const std::function<void(Bank&)> changes[] = {[](Bank& b) { b.name = "x"; },
                                                      [](Bank& b) { b.tokenizer = "x"; },
                                                      [](Bank& b) { b.stake = 3; },
                                                      [](Bank& b) {
                                                          b.features = {{"a", "b", "c"}};
                                                      },
                                                      [](Bank& b) { b.priors.clear(); },
                                                      [](Bank& b) { b.level = 1; },
                                                      [](Bank& b) { b.unknown["x"] = 1; },
                                                      [](Bank& b) { b.priors.push_back(b.priors[0]); },
                                                      [](Bank& b) { b.priors[0] = std::make_shared<Prior>(); }};
        Bank same = bank;
        same.priors[0] = std::make_shared<Prior>(*bank.priors[0]);
        QVERIFY(same == bank);
        for (std::size_t i = 0; i < std::size(changes); ++i) {
            Bank other = bank;
            changes[i](other);
            QVERIFY2(!(other == bank), qPrintable(QString::number(i)));
        }
    }
};

QTEST_GUILESS_MAIN(TestBank)
#include "tst_bank.moc"
