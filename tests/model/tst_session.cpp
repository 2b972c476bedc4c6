// Session files: SPEC.md 2's sample, round trips, bounds, names and locale (HAZARDS A1).

#include "compute/dial.h"
#include "compute/files/atomicfile.h"
#include "tests/model/sessions.h"
#include "tests/support/fixture.h"
#include "tests/support/germanlocale.h"

using namespace counterpoint;
using namespace counterpoint::model;
using namespace counterpoint::tests;

class TestSession : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void init() { failOnAnyWarning(); }

    void roundTrip_data() {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<int>("unknown");
        QTest::newRow("the sample of the file format") << QByteArray(kSample) << 0;
        QTest::newRow("everything set, unknown keys in every object") << QByteArray(kRich) << 6;
    }
    void roundTrip() {
        QFETCH(QByteArray, text);
        QFETCH(int, unknown);
        std::vector<std::string> warnings;
        const Session session = parse(text.constData(), &warnings);
        QCOMPARE(static_cast<int>(warnings.size()), unknown);
        // As unordered JSON: unknown keys come back in their object, after the known ones.
        const auto before = compute::Json::parse(text.toStdString());
        const auto after = compute::Json::parse(toJson(session).dump());
        QCOMPARE(QString::fromStdString(after.dump(1)), QString::fromStdString(before.dump(1)));
        std::vector<std::string> again;
        QVERIFY(sessionFromJson(toJson(session), {}, again) == session);
    }

    void defaults() {
        const Session s = parse(R"({"format":"counterpoint.session/1","base":{"path":"model"}})");
        Session expected;
        expected.base.path = "model";
        QVERIFY(s == expected);
        const auto sample = compute::Json::parse(kSample)["decoding"];
        QCOMPARE(compute::Json::parse(toJson(s)["decoding"].dump()).dump(), sample.dump());
    }

    // What a session does not say is what its dial stands at first.
    void defaultsAreTheDials_data() {
        QTest::addColumn<QByteArray>("decoding");
        QTest::newRow("no decoding") << QByteArray();
        QTest::newRow("nothing in it") << QByteArray(R"(,"decoding":{})");
        QTest::newRow("another key in it") << QByteArray(R"(,"decoding":{"score_prompt":true})");
    }
    void defaultsAreTheDials() {
        QFETCH(QByteArray, decoding);
        const Session s = parse(R"({"format":"counterpoint.session/1","base":{"path":"m"})" + decoding + "}");
        QCOMPARE(s.decoding.temperature, 0.7);
        QCOMPARE(s.decoding.maxNewTokens, std::int64_t{128});
        const OrderedJson json = toJson(s)["decoding"];
        int compared = 0;
        for (const compute::DialSpec& dial : compute::decodingDials()) {
            if (dial.optional || (dial.kind != compute::DialKind::Real && dial.kind != compute::DialKind::Integer))
                continue;
            QVERIFY2(json[std::string(dial.id)].get<double>() == dial.initial, dial.id.data());
            ++compared;
        }
        QCOMPARE(compared, 9);
    }

    // Without a name a specialist is called after its path, and what a terminal would obey is not in it.
    void namesOfTheirOwn() {
        Session s = parse(
            R"({"format":"counterpoint.session/1","base":{"path":"m"},"specialists":[{"path":"x/ma\u001bth"},{"name":null,"path":"poetry.gguf"}]})");
        QCOMPARE(s.sourceNames(), (std::vector<std::string>{"base", "ma\\x1bth", "poetry"}));
    }

    /// Names in Arabic or Hebrew have marks of direction, and were saved with them.
    void namesWithMarksOfDirection() {
        OrderedJson json = small();
        json["specialists"][0]["name"] = "a\u200Fb\u202E";
        std::vector<std::string> warnings;
        const Session s = sessionFromJson(json, {}, warnings);
        QCOMPARE(s.specialists[0].name, std::string("a\u200Fb\u202E"));
        QVERIFY(warnings.empty());
        QVERIFY(sessionFromJson(toJson(s), {}, warnings) == s);
    }

    void exactNumbers() {
        const Session s = parse(kRich);
        QCOMPARE(s.decoding.seed, 18446744073709551615ull);
        QCOMPARE(s.decoding.stream, 4294967295u);
        QCOMPARE(*s.decoding.klBudget, 5e-324);
        QCOMPARE(s.specialists[1].weight, -1e300);
        QVERIFY(toJson(s).dump().find("18446744073709551615") != std::string::npos);
    }

    void refused_data() {
        QTest::addColumn<QString>("pointer");
        QTest::addColumn<QString>("value");
        QTest::addColumn<QString>("says");
        const auto row = [](const char* pointer, const char* value, const char* says) {
            QTest::addRow("%s = %s", pointer, value) << QString(pointer) << QString(value) << QString(says);
        };
        row("/format", "\"counterpoint.session/2\"", "not a session");
        row("/base", "[]", "an object");
        row("/base/path", "\"\"", "\"path\" is missing");
        row("/base/temperature", "0", "above 0");
        row("/prompt", "5", "text");
        row("/prompt_ids", "[-1]", "whole number");
        row("/mode", "\"sing\"", "generate, score");
        row("/decoding/temperature", "-0.1", "0 to 5");
        row("/decoding/temperature", "\"inf\"", "0 to 5");
        row("/decoding/temperature", "\"0,7\"", "\"temperature\"");
        row("/decoding/top_k", "1.5", "whole number");
        row("/decoding/top_p", "1.01", "0 to 1");
        row("/decoding/seed", "18446744073709551616", "whole number");
        row("/decoding/seed", "-1", "whole number");
        row("/decoding/stream", "4294967296", "4294967295");
        row("/decoding/eos_policy", "\"all\"", "sum, mean, max, base, active");
        row("/decoding/plausibility", "{\"kind\":\"top_k\"}", "relative, top_p");
        row("/decoding/plausibility", "{\"kind\":\"top_p\",\"value\":2}", "0 to 1");
        row("/decoding/plausibility", "{\"kind\":\"top_p\"}", "\"value\" is missing");
        row("/decoding/plausibility", "{\"kind\":\"top_p\",\"value\":null}", "not a number");
        row("/decoding/plausibility", "{\"value\":0.5}", "\"kind\" is missing");
        row("/decoding/add_bos", "\"maybe\"", "true or false");
        row("/decoding/kl_budget", "-1", "0 to 100");
        row("/specialists/0/weight", "\"nan\"", "finite");
        row("/specialists/0/weight", "\"-inf\"", "finite");
        row("/specialists/0/weight", "null", "not a number");
        row("/specialists/0/weight", "\"1\"", "this is not a number (expected a finite number, found \"1\")");
        row("/specialists/0/temperature", "\"1\"", "this is not a number (expected a finite number, found \"1\")");
        row("/decoding/temperature", "\"1\"", "this is not a number (expected a number from 0 to 5, found \"1\")");
        row("/specialists/0/enabled", "1", "true or false");
        row("/specialists/0/mask", "{\"positions\":[[4,2]]}", "interval");
        row("/specialists/0/mask", "{\"tokens\":[2.5]}", "whole number");
        row("/specialists/0/name", "\"\"", "is empty");
        row("/base/name", "\"\"", "is empty");
        row("/specialists/0/name", "\"a\\nb\"", "control character");
        row("/specialists/0/name", "\"a\\u0000b\"", "control character");
        row("/specialists/0/name", "\"\\u001b[31m\"", "control character");
        row("/base/name", "\"a\\u0085\"", "control character");
        row("/specialists/0/name", "\"composed\"", "reserved");
        row("/specialists/0/name", "\"temperature\"", "reserved");
        row("/specialists/0/name", "\"base\"", "specialist");
        row("/specialists/0/reference", "\"b\"", "not in the rack");
        row("/specialists/0/reference", "\"a\"", "its own reference");
        row("/specialists/1", "{\"name\":\"a\",\"path\":\"x\"}", "used twice");
        row("/priors", "[{}]", "\"bank\" is missing");
        row("/base/path", "\"mo\\u0000del\"",
            "\"path\": there is a NUL character in the path, which no file's name can have");
        row("/specialists/0/tokenizer", "\"\\u0000\"", "a NUL character");
        row("/priors", "[{\"bank\":\"b\\u0000\"}]", "a NUL character");
        row("/priors", "[{\"bank\":\"b\",\"weight\":\"nan\"}]", "finite");
        row("/priors", "[{\"bank\":\"b\",\"overrides\":[]}]", "an object");
        row("/specialists", "{}", "a list");
        row("/specialists/0/mask", "{\"positions\":[[1,2,3]]}", "interval");
        row("/specialists/0/mask", "{\"positions\":5}", "a list of intervals");
        row("/specialists/0/mask", "{\"positions\":{\"a\":[1,2]}}", "a list of intervals");
        row("/specialists/0/routing", "[]", "an object");
        row("/base/sha256", "\"abc\"", "64 digits");
        row("/decoding/stop_ids", "5", "a list of token ids");
        row("/decoding/temperature", "6", "session, \"decoding\", \"temperature\": ");
    }
    void refused() {
        QFETCH(QString, pointer);
        QFETCH(QString, value);
        QFETCH(QString, says);
        OrderedJson json = small();
        json[OrderedJson::json_pointer(pointer.toStdString())] = OrderedJson::parse(value.toStdString());
        std::vector<std::string> warnings;
        const QString error = QString::fromStdString(errorOf([&] { (void)sessionFromJson(json, {}, warnings); }));
        QVERIFY2(error.contains(says), qPrintable(error));
        QVERIFY2(!error.contains(QLatin1Char('\n')), qPrintable(error));
        const std::string filed = errorOf([&] { (void)sessionFromJson(json, "/folder/a.session.json", warnings); });
        QVERIFY2(filed.starts_with("/folder/a.session.json"), filed.c_str());
        QVERIFY(errorOf([&] { (void)sessionFromJson(small(), {}, warnings); }).empty());
    }

    /// A number that no float holds is refused by its key, and kept as it stood where nobody asks for it.
    void numbersThatAreTooLarge() {
        const std::string begin = R"({"format":"counterpoint.session/1","base":{"path":"m"},)";
        for (const auto& [text, says] :
             {std::pair(R"("decoding":{"temperature":1e999}})", "\"decoding\", \"temperature\": this is not a number"),
              std::pair(R"("decoding":{"seed":1e999}})", "\"seed\": the value cannot be used"),
              std::pair(R"("priors":[{"bank":"b","overrides":{"p":{"eta":-1e999}}}]})",
                        "\"p\", \"eta\": the value cannot be used")}) {
            const std::string error = errorOf([&] { (void)parse(QByteArray::fromStdString(begin + text)); });
            QVERIFY2(error.find(says) != std::string::npos && error.find("1e999") != std::string::npos, error.c_str());
        }
        std::vector<std::string> warnings;
        const Session session =
            parse(QByteArray::fromStdString(begin + R"("more":[1e999],"view":{"at":2e999}})"), &warnings);
        QCOMPARE(warnings.size(), std::size_t{1});
        const QTemporaryDir folder;
        const std::filesystem::path file = folder.filePath("s.session.json").toStdString();
        writeSession(session, file);
        const std::string written = compute::readFile(file);
        QVERIFY2(written.find("1e999\n") != std::string::npos && written.find("\"at\": 2e999\n") != std::string::npos,
                 written.c_str());
        const Session again = readSession(file, warnings);
        QVERIFY(again.unknown == session.unknown && again.view == session.view);
    }

    /// An η that would make a sum of logits infinite is refused where it stands, not in the middle of a run.
    void overridesOfEta() {
        const auto error = [](const std::string& eta) {
            const std::string text =
                R"({"format":"counterpoint.session/1","base":{"path":"m"},"priors":[{"bank":"b","overrides":{"p":{"eta":)" +
                eta + "}}}]}";
            return errorOf([&] { (void)parse(QByteArray::fromStdString(text)); });
        };
        for (const char* eta : {"1000000", "-1e6", "null"}) QVERIFY2(error(eta).empty(), error(eta).c_str());
        for (const char* eta : {"1000001", "-1e300", "\"much\""}) {
            const std::string says = error(eta);
            QVERIFY2(says.find("\"p\", \"eta\": the value cannot be used (expected a number from -1000000 to 1000000, "
                               "or null, found ") != std::string::npos,
                     says.c_str());
        }
    }

    void weightsOfBanks() {
        const auto error = [](const std::string& weight) {
            const std::string text =
                R"({"format":"counterpoint.session/1","base":{"path":"m"},"priors":[{"bank":"b","weight":)" + weight +
                "}]}";
            return errorOf([&] { (void)parse(QByteArray::fromStdString(text)); });
        };
        for (const char* weight : {"1000000", "-1e6"}) QVERIFY2(error(weight).empty(), error(weight).c_str());
        for (const char* weight : {"1000001.0", "-1e308"})
            QVERIFY2(error(weight).find(
                         "\"weight\": the value cannot be used (expected a number from -1000000 to 1000000, found ") !=
                         std::string::npos,
                     error(weight).c_str());
    }

    void withoutABase() {
        std::vector<std::string> warnings;
        OrderedJson json = small();
        json.erase("base");
        QVERIFY(errorOf([&] { (void)sessionFromJson(json, {}, warnings); }).find("\"base\" is missing") !=
                std::string::npos);
    }

    /// No file holds one, but a value can.
    void infinityIsNoWeight() {
        std::vector<std::string> warnings;
        OrderedJson json = small();
        json["specialists"][0]["weight"] = std::numeric_limits<double>::infinity();
        const std::string found = errorOf([&] { (void)sessionFromJson(json, {}, warnings); });
        QVERIFY2(found.find("a finite number") != std::string::npos, found.c_str());
    }

    void uses() {
        Session s = parse(kSample);
        SourceEntry other = s.specialists[0];
        other.name = "expert";
        other.reference = "math";
        s.specialists.push_back(other);
        s.specialists[0].enabled = false;
        QVERIFY(s.uses(0));
        QVERIFY(s.uses(1));  // switched off, but a reference
        QVERIFY(s.uses(2));
        s.specialists[1].weight = 0;
        QVERIFY(!s.uses(1));
        QVERIFY(!s.uses(2));
    }

    void recipe() {
        Session s = parse(kRich);
        s.specialists[0].mask.tokens = {{9, 3, 9}};
        const compute::Recipe r = toRecipe(s, {50}, 4);
        QCOMPARE(r.revision, 4u);
        QCOMPARE(r.stopIds, std::vector<compute::TokenId>{2});
        QCOMPARE(r.specialists[0].reference, compute::kReferenceNone);
        QCOMPARE(r.specialists[1].reference, 1);
        QCOMPARE(r.specialists[1].source, 2);
        QCOMPARE(*r.specialists[0].mask.tokens, (std::vector<compute::TokenId>{3, 9}));
        QCOMPARE(r.seed, 18446744073709551615ull);
        QCOMPARE(r.floor, 0.1);
        QCOMPARE(r.klBudget, std::optional<double>(5e-324));
        s.decoding.stopIds.reset();
        QCOMPARE(toRecipe(s, {50, 2}, 0).stopIds, (std::vector<compute::TokenId>{2, 50}));
    }

    void aligned() {
        Session s = parse(kSample);
        SourceEntry poetry = s.specialists[0];
        poetry.name = "poetry";
        s.specialists.insert(s.specialists.begin(), poetry);
        const std::vector<std::string> trace{"base", "math"};
        QVERIFY(!alignedTo(s, trace));  // poetry has a say and no rows
        s.specialists[0].weight = 0;
        const auto a = alignedTo(s, trace);
        QVERIFY(a.has_value());
        QCOMPARE(a->sourceNames(), trace);
        s.specialists.clear();
        QCOMPARE(alignedTo(s, trace)->specialists[0].enabled, false);
    }

    void locale() {
        const std::string before = toJson(parse(kRich)).dump();
        const GermanLocale german;
        if (!german.on) QSKIP("no locale with a decimal comma can be had: this check did not run");
        const Session s = parse(kRich);
        QCOMPARE(s.specialists[0].weight, -0.25);
        QCOMPARE(s.decoding.plausibility->value, 0.75);
        QCOMPARE(toJson(s).dump(), before);
    }
};

QTEST_GUILESS_MAIN(TestSession)
#include "tst_session.moc"
