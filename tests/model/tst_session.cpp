// Session files: SPEC.md 2's sample, round trips, bounds, names, locale (HAZARDS A1) and saving (A21).

#include "compute/dial.h"
#include "compute/error.h"
#include "compute/files/atomicfile.h"
#include "model/session.h"
#include "tests/support/fixture.h"
#include "tests/support/germanlocale.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <ctime>
#include <functional>
#include <random>

using namespace counterpoint;
using namespace counterpoint::model;

namespace {

const char* const kSample = R"({"format":"counterpoint.session/1","prompt":"Once upon a time","prompt_ids":null,"mode":"generate","rule":"product",
 "base":{"name":"base","path":"model","temperature":1.0,"prefix":"","routing":{"mode":"coupled","rho":0.5,"alpha":0.5,"window":8,"groups":null,"pairs":null,"temperature":1.0,"seed":7,"capacity":1.0}},
 "specialists":[{"name":"math","path":"math","enabled":true,"weight":1.0,"reference":"base","temperature":1.0,"prefix":"","mask":{"tokens":null,"positions":null}}],
 "priors":[{"bank":"demo.bank.json","enabled":true,"weight":1.0,"overrides":{"prefer get":{"eta":1.5,"enabled":true}}}],
 "decoding":{"temperature":0.7,"top_k":0,"top_p":1.0,"min_p":0.0,"seed":7,"stream":0,"max_new_tokens":128,"eos_policy":"sum","stop_ids":null,"add_bos":"auto","score_prompt":true,
             "plausibility":null,"floor":30.0,"common_shift":false,"kl_budget":null,"active_epsilon":0.1}})";

const char* const kRich = R"({"format":"counterpoint.session/1","prompt":"Es war","prompt_ids":[1,5,7],"mode":"score","rule":"mixture",
 "base":{"name":"big","path":"m","temperature":0.5,"prefix":"Say: ","sha256":"abababababababababababababababababababababababababababababababab","x-base":[1,{"y":null}]},
 "specialists":[{"name":"a","path":"/abs/a","enabled":false,"weight":-0.25,"reference":"none","temperature":2.0,"prefix":"","mask":{"tokens":[3,4],"positions":[[0,4],[9,9]],"note":"n"},"colour":"red"},
                {"name":"b","path":"b","enabled":true,"weight":-1e300,"reference":"a","temperature":1.0,"prefix":"","mask":{"tokens":null,"positions":null},"source":"b","tokenizer":"tok"}],
 "priors":[],
 "decoding":{"temperature":0.0,"top_k":40,"top_p":0.9,"min_p":0.05,"seed":18446744073709551615,"stream":4294967295,"max_new_tokens":3,"eos_policy":"active","stop_ids":[2],"add_bos":false,"score_prompt":false,
             "plausibility":{"kind":"top_p","value":0.75,"why":1},"floor":0.1,"common_shift":true,"kl_budget":5e-324,"active_epsilon":0.3,"z":-0.0},
 "view":{"perspective":"Paper"},"author":{"name":"Ö"}})";

Session parse(const QByteArray& text, std::vector<std::string>* warnings = nullptr) {
    std::vector<std::string> ignored;
    return sessionFromJson(compute::parseOrderedJson(text.toStdString(), "test"), {}, warnings ? *warnings : ignored);
}

std::string errorOf(const std::function<void()>& work) {
    try {
        work();
    } catch (const compute::Error& e) {
        return e.sentence();
    }
    return {};
}

OrderedJson small() {
    return compute::parseOrderedJson(
        R"({"format":"counterpoint.session/1","base":{"path":"m"},"specialists":[{"name":"a","path":"a"}],"decoding":{}})", "test");
}

}  // namespace

class TestSession : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void init() { tests::failOnAnyWarning(); }

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
            if (dial.optional || (dial.kind != compute::DialKind::Real && dial.kind != compute::DialKind::Integer)) continue;
            QVERIFY2(json[std::string(dial.id)].get<double>() == dial.initial, dial.id.data());
            ++compared;
        }
        QCOMPARE(compared, 9);
    }

    // Without a name a specialist is called after its path, and what a terminal would obey is not in it.
    void namesOfTheirOwn() {
        Session s = parse(R"({"format":"counterpoint.session/1","base":{"path":"m"},"specialists":[{"path":"x/ma\u001bth"},{"name":null,"path":"poetry.gguf"}]})");
        QCOMPARE(s.sourceNames(), (std::vector<std::string>{"base", "ma\\x1bth", "poetry"}));
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
        row("/base/path", "\"mo\\u0000del\"", "\"path\": there is a NUL character in the path, which no file's name can have");
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
        const Session session = parse(QByteArray::fromStdString(begin + R"("more":[1e999],"view":{"at":2e999}})"), &warnings);
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

    /// A file made of nothing but keys that nobody knows: read, said shortly, written again, in linear time.
    void veryManyUnknownKeys() {
        // Processor time of reading, writing and reading again: linear is four times as much, quadratic sixteen times.
        const auto seconds = [](int keys) {
            std::string text = R"({"format":"counterpoint.session/1","base":{"path":"m"},"decoding":{)";
            for (int i = 0; i < 1'000; ++i)
                text += (i == 0 ? "" : ",") + ("\"d" + std::to_string(i)) + "\":" + std::to_string(i);
            text += "}";
            for (int i = 0; i < keys; ++i) text += ",\"k" + std::to_string(i) + "\":{\"a\":1}";
            text += "}";
            const std::clock_t begun = std::clock();
            std::vector<std::string> warnings, again;
            const Session session = sessionFromJson(compute::parseOrderedJson(text, "many"), {}, warnings);
            const std::string written = toJson(session).dump();
            const bool same = sessionFromJson(compute::parseOrderedJson(written, "again"), {}, again) == session;
            const std::clock_t ended = std::clock();
            const std::string last = "\"k" + std::to_string(keys - 1) + "\":{\"a\":1}";
            const std::string rest = std::to_string(keys - 20) + " more keys are unknown";
            const bool told = warnings.size() == 42 && warnings.back().find(rest) != std::string::npos;
            const bool kept = written.find("\"d999\":999") != std::string::npos && written.find(last) != std::string::npos;
            return same && told && kept ? double(ended - begun) / CLOCKS_PER_SEC : 1e9;
        };
        const double few = seconds(20'000), many = seconds(80'000);
        QVERIFY2(few < 1e9 && many < 9 * few, qPrintable(QString("%1 s, %2 s").arg(few).arg(many)));
    }

    void withoutABase() {
        std::vector<std::string> warnings;
        OrderedJson json = small();
        json.erase("base");
        QVERIFY(errorOf([&] { (void)sessionFromJson(json, {}, warnings); }).find("\"base\" is missing") != std::string::npos);
    }

    // A warning is a line of a terminal.
    void unknownKeysWithControlCharacters() {
        std::vector<std::string> warnings;
        OrderedJson json = small();
        json["a\x1b[31m\n"] = 1;
        (void)sessionFromJson(json, {}, warnings);
        QCOMPARE(warnings.size(), std::size_t{1});
        QVERIFY(warnings[0].find_first_of("\x1b\n") == std::string::npos);
    }

    /// The first 20 by name, then how many more.
    void manyUnknownKeys() {
        for (const std::size_t n : {20u, 25u}) {
            std::vector<std::string> warnings;
            OrderedJson json = small();
            for (std::size_t i = 0; i < n; ++i) json["key" + std::to_string(i)] = 1;
            (void)sessionFromJson(json, {}, warnings);
            QCOMPARE(warnings.size(), n == 20 ? n : std::size_t{21});
            QVERIFY(warnings[19].find("\"key19\" is unknown") != std::string::npos);
            QCOMPARE(warnings.back().find("5 more keys are unknown") != std::string::npos, n == 25);
        }
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

    void relativePaths() {
        QTemporaryDir folder;
        const std::filesystem::path root = folder.path().toStdString();
        std::filesystem::create_directories(root / "a/b");
        std::vector<std::string> warnings;
        compute::writeFile(root / "s.session.json", kRich);
        const Session s = readSession(root / "s.session.json", warnings);
        writeSession(s, root / "a/b/t.session.json");
        const Session moved = readSession(root / "a/b/t.session.json", warnings);
        QCOMPARE(moved.base.path, std::string("../../m"));
        QCOMPARE(moved.specialists[0].path, std::string("/abs/a"));
        QCOMPARE(moved.resolve(moved.base.path).string(), (root / "m").string());
    }

    void locale() {
        const std::string before = toJson(parse(kRich)).dump();
        const tests::GermanLocale german;
        if (!german.on) QSKIP("no locale with a decimal comma can be had: this check did not run");
        const Session s = parse(kRich);
        QCOMPARE(s.specialists[0].weight, -0.25);
        QCOMPARE(s.decoding.plausibility->value, 0.75);
        QCOMPARE(toJson(s).dump(), before);
    }

    void killedWhileSaving() {
        QTemporaryDir folder;
        const std::filesystem::path file = std::filesystem::path(folder.path().toStdString()) / "s.session.json";
        std::array<Session, 2> sessions{parse(kSample), parse(kSample)};
        std::array<std::string, 2> texts;
        for (std::size_t i = 0; i < 2; ++i) {
            sessions[i].prompt.assign(1u << 20, i == 0 ? 'a' : 'b');
            writeSession(sessions[i], file);
            texts[i] = compute::readFile(file);
        }
        std::mt19937 random(1);
        for (int n = 0; n < 50; ++n) {
            const pid_t child = ::fork();
            if (child == 0)
                for (std::size_t i = 0;; ++i) writeSession(sessions[i % 2], file);
            ::usleep(random() % 15000);
            ::kill(child, SIGKILL);
            ::waitpid(child, nullptr, 0);
            const std::string now = compute::readFile(file);
            QVERIFY2(now == texts[0] || now == texts[1], "a half-written session");
        }
    }

    void fullDisk() {
        QTemporaryDir folder;
        const std::filesystem::path file = std::filesystem::path(folder.path().toStdString()) / "s.session.json";
        Session s = parse(kSample);
        writeSession(s, file);
        const std::string before = compute::readFile(file);
        const pid_t child = ::fork();
        if (child == 0) {
            std::signal(SIGXFSZ, SIG_IGN);
            const rlimit small{1000, 1000};
            ::setrlimit(RLIMIT_FSIZE, &small);
            s.prompt.assign(100000, 'x');
            ::_exit(errorOf([&] { writeSession(s, file); }).empty() ? 1 : 0);
        }
        int status = -1;
        ::waitpid(child, &status, 0);
        QVERIFY(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        QCOMPARE(compute::readFile(file), before);
        QCOMPARE(std::distance(std::filesystem::directory_iterator(folder.path().toStdString()), {}), 1);
    }
};

QTEST_GUILESS_MAIN(TestSession)
#include "tst_session.moc"
