// Runs that fail: midway, before a step, for want of a device, by an entry of the session; each in one sentence that
// names the session's file (tst_badfiles has the same of the program and of files that are broken).

#include <cmath>

#include "compute/error.h"
#include "compute/files/atomicfile.h"
#include "compute/files/safetensors.h"
#include "model/runner.h"
#include "tests/model/rundirectory.h"
#include "tests/model/scripted.h"
#include "tests/support/fixture.h"
#include "tests/support/scratch.h"

using namespace counterpoint;
using namespace counterpoint::model;
using namespace counterpoint::tests;
using compute::Json;

namespace {

namespace fs = std::filesystem;

RunOptions scripted() {
    RunOptions options;
    options.opener = opener(three());
    return options;
}

/// As if read from /folder/a.session.json; its models lie in that folder.
Session filed(Session s) {
    s.file = "/folder/a.session.json";
    return s;
}

}  // namespace

class TestRunFailures : public QObject {
    Q_OBJECT
    QTemporaryDir m_folder;
    fs::path folder(const std::string& name) const { return fs::path(m_folder.path().toStdString()) / name; }

  private Q_SLOTS:
    void init() { failOnAnyWarning(); }

    // A source whose 9th row holds a NaN: what was decoded before it is written, and says that it ended in an error.
    void failsMidway() {
        RunOptions options = scripted();
        Script good, broken;
        good.logits = mixing(1);
        broken.logits = [](std::span<const TokenId> read, std::span<float> out) {
            mixing(2)(read, out);
            if (read.size() >= 9) out[40] = std::nanf("");
        };
        options.opener = opener({{"model", good}, {"math", broken}});
        options.dumps = {"log_prob", "sources"};
        Session s = sessionOf({"model", "math"});
        s.decoding.maxNewTokens = 30;
        for (int n = 0; n < 20; ++n) QVERIFY(runSession(s, options).failure);  // however the lanes race
        const RunResult result = runSession(s, options);
        QVERIFY(result.failure);
        const QString says = QString::fromStdString(result.failure->sentence);
        QVERIFY2(says.startsWith("/scripted/s.session.json, source 'math', position 9: a logit is not a number") &&
                     says.count('\n') == 0,
                 qPrintable(says));
        QVERIFY_EXCEPTION_THROWN(raise(*result.failure, s), compute::Error);
        writeRun(result, folder("midway"), options.dumps);
        const std::vector<Json> rows = rowsOf(folder("midway"));
        QCOMPARE(rows.size(), std::size_t{8});
        QCOMPARE(rows.back()["position"].get<int>(), 8);
        const Json summary = Json::parse(compute::readFile(folder("midway") / "summary.json"));
        QCOMPARE(summary["stop"].get<std::string>(), std::string("error"));
        QVERIFY(summary["stop_id"].is_null());
        QCOMPARE(summary["steps"].get<int>(), 8);
        QCOMPARE(compute::Safetensors::openFile(folder("midway") / "log_prob.safetensors").find("log_prob")->shape[0],
                 std::int64_t{8});
        QCOMPARE(compute::Safetensors::openFile(folder("midway") / "sources.safetensors").find("tokens")->shape[0],
                 std::int64_t{8});
        // It ends there again: that is the same run. A run that did not end there is another.
        QCOMPARE(replay(folder("midway"), options).kind, ReplayVerdict::Kind::Identical);
        std::string text = compute::readFile(folder("midway") / "summary.json");
        text.replace(text.find("\"error\""), 7, "\"limit\"");
        compute::writeFile(folder("midway") / "summary.json", text);
        QVERIFY_EXCEPTION_THROWN(replay(folder("midway"), options), compute::Error);
    }

    // Nothing was decoded: there is no run to write, only the failure.
    void failsBeforeAStep() {
        RunOptions options = scripted();
        Script broken;
        broken.logits = mixing(1);
        broken.onForward = [](std::span<const TokenId>) {
            throw compute::Error({.where = "the model", .what = "it broke"});
        };
        options.opener = opener({{"model", broken}});
        for (int n = 0; n < 20; ++n) {  // however the lanes race
            std::string says;
            try {
                (void)runSession(sessionOf({"model"}), options);
            } catch (const compute::Error& e) {
                says = e.sentence();
            }
            QVERIFY2(says.find("it broke.") != std::string::npos, says.c_str());
        }
    }

    // A device that is not there ends the run: it is not decoded on another one.
    void deviceThatIsNotThere() {
        RunOptions options = scripted();
        options.device = "cuda";
        options.opener = [open = opener(three())](const fs::path& path, const compute::OpenOptions& how,
                                                  std::stop_token stop) {
            if (how.device != "cpu") throw compute::Error({.where = how.device, .what = "it is not here"});
            return open(path, how, stop);
        };
        for (int n = 0; n < 20; ++n) QVERIFY_EXCEPTION_THROWN(runSession(threeSession(4), options), compute::Error);
    }

    void failuresAreErrors() {
        Session s = threeSession(12);
        s.specialists[0].path = "missing";
        for (int n = 0; n < 20; ++n) QVERIFY_EXCEPTION_THROWN(runSession(s, scripted()), compute::Error);
        try {
            runSession(s, scripted());
        } catch (const compute::Error& e) {
            QVERIFY2(!QString::fromStdString(e.sentence()).contains(".."), e.what());
        }
        QCOMPARE(runSession(threeSession(2), scripted()).trace.steps.size(), std::size_t{4});
    }

    /// What is wrong with an entry is said with the session's file, whoever finds it out.
    void entriesNameTheFile_data() {
        QTest::addColumn<std::function<void(Session&)>>("spoil");
        QTest::addColumn<QString>("says");
        const auto row = [](const char* name, const char* says, std::function<void(Session&)> spoil) {
            QTest::newRow(name) << std::move(spoil) << QString(says);
        };
        row("mask token",
            ", source 'math', \"mask\": its mask names a token outside the vocabulary (expected 0 to 299, found 300).",
            [](Session& s) {
                s.specialists[0].mask.tokens = std::vector<TokenId>{4, 300};
            });
        row("stop id", ", decoding, \"stop_ids\": there is no token of that id (expected 0 to 299, found 300).",
            [](Session& s) { s.decoding.stopIds = std::vector<TokenId>{300}; });
        row("reference", ", source 'math': its reference 'law' is not in the rack",
            [](Session& s) { s.specialists[0].reference = "law"; });
        row("prompt id", ", prompt: prompt_ids holds 300, but the tokenizer has 300 ids.", [](Session& s) {
            s.promptIds = std::vector<TokenId>{1, 300};
        });
        row("no prompt id", ", prompt: prompt_ids is an empty list",
            [](Session& s) { s.promptIds = std::vector<TokenId>{}; });
        row("prompt that is too long",
            ", prompt: it is longer than source 'short' can read (expected at most 5 tokens, found 6); shorten it.",
            [](Session& s) {
                s.prompt = "abcde";
                s.specialists[0].name = s.specialists[0].path = "short";
            });
        row("prefix that is too long", ", source 'short', \"prefix\": prefix and prompt together are longer",
            [](Session& s) {
                s.specialists[0].name = s.specialists[0].path = "short";
                s.specialists[0].prefix = "abcde";
            });
        row("bank", ", bank 'b.bank.json': /folder/b.bank.json: ", [](Session& s) {
            s.priors.push_back(
                {.bank = "b.bank.json", .overrides = OrderedJson::object(), .unknown = OrderedJson::object()});
        });
        row("routing", ", source 'base', \"routing\": it has no routed experts", [](Session& s) {
            s.base.routing = {{"mode", "coupled"}};
        });
        row("vocabularies", ", sources 'base' and 'odd': they cannot be composed",
            [](Session& s) { s.specialists[0].name = s.specialists[0].path = "odd"; });
        row("arithmetic", ", source 'math', position 1: with its weight the scores are no finite numbers",
            [](Session& s) { s.specialists[0].weight = 1e308; });
        row("a model's own file", ": /folder/missing: there is no such model.",
            [](Session& s) { s.specialists[0].path = "missing"; });
    }
    void entriesNameTheFile() {
        QFETCH(std::function<void(Session&)>, spoil);
        QFETCH(QString, says);
        auto scripts = three();
        scripts["short"] = scripts["odd"] = scripts["math"];
        scripts["short"].maxPositions = 5;
        scripts["odd"].vocabulary = 301;
        RunOptions options;
        options.opener = opener(scripts);
        Session s = filed(threeSession(2));
        spoil(s);
        const QString found = QString::fromStdString(errorOf([&] { (void)runSession(s, options); }));
        QVERIFY2(found.startsWith(QStringLiteral("/folder/a.session.json") + says), qPrintable(found));
        QCOMPARE(found.count(QStringLiteral("a.session.json")), 1);
    }

    /// A model that is opened without a session has no file to name.
    void withoutAFile() {
        Session s = threeSession(2);
        s.file.clear();
        s.promptIds = std::vector<TokenId>{1, 300};
        QCOMPARE(errorOf([&] { (void)runSession(s, scripted()); }),
                 std::string("prompt: prompt_ids holds 300, but the tokenizer has 300 ids."));
    }

    /// Keys that have no meaning for what an entry turned out to be: kept, told of, without effect.
    void keysWithoutMeaning_data() {
        QTest::addColumn<QString>("kind");
        QTest::addColumn<int>("notices");
        QTest::newRow("folder") << "model" << 2;
        QTest::newRow("GGUF") << "gguf" << 2;
        QTest::newRow("TorchScript takes a tokenizer") << "torchscript" << 1;
        QTest::newRow("a recording takes both") << "recording" << 0;
    }
    void keysWithoutMeaning() {
        QFETCH(QString, kind);
        QFETCH(int, notices);
        auto scripts = three();
        scripts["math"].kind = kind.toStdString();
        RunOptions options;
        options.opener = opener(scripts);
        Session s = filed(threeSession(2));
        const std::vector<StepPtr> plain = runSession(s, options).trace.steps;
        s.specialists[0].sourceInFile = "x";
        s.specialists[0].tokenizer = "tok";
        const RunResult result = runSession(s, options);
        QCOMPARE(static_cast<int>(result.notices.size()), notices);
        for (const std::string& notice : result.notices)
            QVERIFY2(notice.starts_with("/folder/a.session.json, source 'math': \"") &&
                         notice.ends_with("it is kept and has no effect."),
                     notice.c_str());
        QCOMPARE(result.trace.steps.back()->token, plain.back()->token);
        QCOMPARE(toJson(result.trace.session)["specialists"][0]["source"].get<std::string>(), std::string("x"));
    }
};

QTEST_GUILESS_MAIN(TestRunFailures)
#include "tst_runfailures.moc"
