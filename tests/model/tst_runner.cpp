// Run directories with scripted sources: rows and keys, streamed text (HAZARDS A28), locale (A1), replay, foreign
// folders, dumps.

#include <cstring>
#include <thread>

#include "compute/error.h"
#include "compute/files/atomicfile.h"
#include "compute/files/safetensors.h"
#include "compute/files/sha256.h"
#include "model/runner.h"
#include "tests/model/rundirectory.h"
#include "tests/model/scripted.h"
#include "tests/support/fixture.h"
#include "tests/support/germanlocale.h"

using namespace counterpoint;
using namespace counterpoint::model;
using namespace counterpoint::tests;
using compute::Json;

namespace {

namespace fs = std::filesystem;

RunOptions scripted() {
    std::map<std::string, Script> scripts = three();
    // Writes "ä€" and half of a third character, byte by byte.
    scripts["utf8"].logits = [](std::span<const TokenId> read, std::span<float> out) {
        static const std::string text = "\xC3\xA4\xE2\x82\xAC\xF0\x9F";
        certain(out, 3 + static_cast<unsigned char>(text[(read.size() - 3) % text.size()]));
    };
    RunOptions options;
    options.opener = opener(scripts);
    return options;
}

/// As SentencePiece: the space before a text's first piece is the tokenizer's own.
struct SpacedTokenizer : ByteTokenizer {
    using ByteTokenizer::ByteTokenizer;
    bool dropsLeadingSpace() const override { return true; }
};

}  // namespace

class TestRunner : public QObject {
    Q_OBJECT
    QTemporaryDir m_folder;
    fs::path folder(const std::string& name) const { return fs::path(m_folder.path().toStdString()) / name; }

  private Q_SLOTS:
    void init() { failOnAnyWarning(); }

    void rows() {
        Session s = threeSession(12);
        s.specialists[1].enabled = false;
        const RunResult result = runSession(s, scripted());
        writeRun(result, folder("rows"), {});
        const std::vector<Json> rows = rowsOf(folder("rows"));
        QCOMPARE(rows.size(), std::size_t{14});
        double sum = 0;
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const Json& r = rows[i];
            for (const char* key :
                 {"position",     "prompt",    "token",    "text",      "bytes",          "forced",
                  "log_prob",     "log_probs", "drift",    "drift_sum", "drift_composed", "drift_drawn",
                  "kl_from_base", "js",        "tv",       "entropy",   "interference",   "log_normaliser",
                  "winner",       "eos",       "activity", "scale",     "no_say",         "priors",
                  "top",          "routing"})
                QVERIFY2(r.contains(key), key);
            const compute::Step& step = *result.trace.steps[i];
            QCOMPARE(r["position"].get<std::size_t>(), i + 1);
            QCOMPARE(r["prompt"].get<bool>(), i < 2);
            QCOMPARE(r["token"].get<int>(), step.token);
            QCOMPARE(r["log_prob"].get<float>(), step.logProb);
            QCOMPARE(r["log_probs"]["math"].get<float>(), step.logProbs[1]);
            QCOMPARE(r["log_probs"]["composed"].get<float>(), step.composedLogProb);
            QVERIFY(!r["log_probs"].contains("poetry"));  // has no say: neither fed nor written
            QVERIFY(r["activity"].contains("math") && !r["activity"].contains("base"));
            QCOMPARE(r["eos"]["composed"].get<double>(), step.diagnostics.eosComposed);
            QCOMPARE(r["top"].size(), std::size_t{20});
            QCOMPARE(r["top"][0]["log_probs"]["temperature"].get<float>(), step.top[0].temperature);
            QVERIFY(r["top"][0]["log_probs"].contains("base"));
            sum += r["drift"].get<double>();
            QCOMPARE(r["drift_sum"].get<double>(), sum);
        }
        const Json summary = Json::parse(compute::readFile(folder("rows") / "summary.json"));
        QCOMPARE(summary["steps"].get<int>(), 14);
        QCOMPARE(summary["stop"].get<std::string>(), std::string("limit"));
        QVERIFY(summary["stop_id"].is_null());
        QCOMPARE(summary["prompt_ids"].get<std::vector<int>>(), (std::vector<int>{1, 3 + 'a', 3 + 'b'}));
        QCOMPARE(summary["sum"]["drift"].get<double>(), sum);
        QCOMPARE(summary["mean"]["drift"].get<double>(), sum / 14);
        QVERIFY(summary["versions"].contains("counterpoint"));
        QVERIFY(!summary["versions"].contains("torch"));  // had no part in it
        QCOMPARE(Json::parse(compute::readFile(folder("rows") / "session.json"))["base"]["path"].get<std::string>(),
                 fs::path("/scripted/model").lexically_relative(folder("rows")).string());
    }

    // What no row of a plain run has.
    void greedyAndSilentRows() {
        RunResult result = runSession(threeSession(2), scripted());
        const auto step = std::make_shared<compute::Step>(*result.trace.steps.back());
        step->greedy = true;
        step->diagnostics.noSay = 3;
        result.trace.steps.back() = step;
        const std::string lines = traceJsonl(result.trace);
        const Json first = Json::parse(lines.substr(0, lines.find('\n')));
        const Json last = Json::parse(lines.substr(lines.rfind('\n', lines.size() - 2) + 1));
        QVERIFY(!first.contains("greedy") && last["greedy"].get<bool>());
        QCOMPARE(last["no_say"].get<int>(), 3);
    }

    // w = 0: R1 skips it, the run keeps its rows all the same.
    void sourceWithoutWeight() {
        Session without = threeSession(6), with = without;
        without.specialists.pop_back();
        with.specialists[1].weight = 0;
        RunOptions options = scripted();
        options.dumps = {"sources"};
        const RunResult result = runSession(with, options);
        QCOMPARE(result.trace.tokens, runSession(without, scripted()).trace.tokens);
        writeRun(result, folder("zero"), options.dumps);
        for (const Json& r : rowsOf(folder("zero"))) {
            QVERIFY(r["log_probs"]["poetry"].is_number() && r["eos"]["poetry"].is_number());
            QVERIFY(r["activity"]["poetry"].get<double>() > 0);
        }
        const auto recording = compute::Safetensors::openFile(folder("zero") / "sources.safetensors");
        QVERIFY(recording.find("logits.poetry") != nullptr);
        // Where its positions end, the text of the others goes on.
        std::map<std::string, Script> scripts = three();
        scripts["poetry"].maxPositions = 5;
        options.opener = opener(scripts);
        const RunResult shorter = runSession(with, options);
        QCOMPARE(shorter.trace.stop, std::string("limit"));
        const std::vector<std::string> leftOut = writeRun(shorter, folder("zero"), options.dumps);
        QVERIFY(leftOut.size() == 1 && leftOut[0].find("poetry") != std::string::npos);
        QVERIFY(rowsOf(folder("zero")).back()["log_probs"]["poetry"].is_null());
    }

    void mixtureHasNoInterference() {
        Session s = threeSession(3);
        s.rule = compute::Rule::Mixture;
        writeRun(runSession(s, scripted()), folder("mixture"), {});
        for (const Json& r : rowsOf(folder("mixture"))) QVERIFY(r["interference"].is_null());
        QVERIFY(Json::parse(compute::readFile(folder("mixture") / "summary.json"))["mean"]["interference"].is_null());
        QCOMPARE(replay(folder("mixture"), scripted()).kind, ReplayVerdict::Kind::Identical);
    }

    void textIsStreamed() {
        Session s = sessionOf({"utf8"});
        s.decoding.temperature = 0;
        s.decoding.maxNewTokens = 7;
        const RunResult result = runSession(s, scripted());
        writeRun(result, folder("utf8"), {});
        std::string streamed, bytes;
        for (const Json& r : rowsOf(folder("utf8"))) {
            streamed += r["text"].get<std::string>();
            bytes += compute::fromBase64(r["bytes"].get<std::string>());
        }
        QCOMPARE(bytes, std::string("ab\xC3\xA4\xE2\x82\xAC\xF0\x9F"));
        QCOMPARE(streamed, std::string("ab\xC3\xA4\xE2\x82\xAC\xEF\xBF\xBD"));  // stopped in the middle of a character
        QCOMPARE(result.trace.text(), streamed);
    }

    void theTokenizersOwnSpaceIsNotInTheText_data() {
        QTest::addColumn<std::vector<TokenId>>("tokens");
        QTest::addColumn<int>("index");
        QTest::addColumn<QString>("stands");
        const TokenId bos = 1, space = 3 + ' ', a = 3 + 'a';
        QTest::newRow("first of all") << std::vector{space, a} << 0 << "";
        QTest::newRow("first after control tokens") << std::vector{bos, bos, space} << 2 << "";
        QTest::newRow("after a text token") << std::vector{bos, a, space} << 2 << " ";
        QTest::newRow("the second space") << std::vector{bos, space, space} << 2 << " ";
        QTest::newRow("a control token") << std::vector{bos, a} << 0 << "";
    }
    void theTokenizersOwnSpaceIsNotInTheText() {
        QFETCH(std::vector<TokenId>, tokens);
        QFETCH(int, index);
        QFETCH(QString, stands);
        const SpacedTokenizer tokenizer(300);
        QCOMPARE(QString::fromStdString(standingBytes(&tokenizer, tokens, static_cast<std::size_t>(index))), stands);
        QCOMPARE(standingBytes(nullptr, tokens, 0), std::string());
    }

    void sameBytesInEveryLocale() {
        const std::set<std::string> dumps{"log_prob", "sources"};
        RunOptions options = scripted();
        options.dumps = dumps;
        const Session s = threeSession(12);
        writeRun(runSession(s, options), folder("c"), dumps);
        {
            const GermanLocale german;
            if (!german.on) QSKIP("no locale with a decimal comma can be had: this check did not run");
            options.threads = 2;
            writeRun(runSession(s, options), folder("de"), dumps);
        }
        QVERIFY(allBytes(folder("c")) == allBytes(folder("de")));
    }

    void dumps() {
        const std::set<std::string> dumps{"log_prob", "sources"};
        RunOptions options = scripted();
        options.dumps = dumps;
        Session s = threeSession(12);
        s.specialists[0].temperature = 2;
        s.decoding.scorePrompt = false;
        const RunResult result = runSession(s, options);
        writeRun(result, folder("dumps"), dumps);
        const auto log = compute::Safetensors::openFile(folder("dumps") / "log_prob.safetensors");
        const compute::TensorView* p = log.find("log_prob");
        QCOMPARE(p->shape, (std::vector<std::int64_t>{12, 300}));
        const auto* values = reinterpret_cast<const float*>(p->bytes.data());
        for (std::size_t i = 0; i < 12; ++i)
            QCOMPARE(values[i * 300 + static_cast<std::size_t>(result.trace.steps[i]->token)],
                     result.trace.steps[i]->logProb);
        const auto recording = compute::Safetensors::openFile(folder("dumps") / "sources.safetensors");
        QCOMPARE(recording.metadata().at("format"), std::string("counterpoint.recording/1"));
        QCOMPARE(recording.metadata().at("base"), std::string("base"));
        QCOMPARE(recording.find("tokens")->shape, (std::vector<std::int64_t>{15}));
        const auto* ids = reinterpret_cast<const std::int64_t*>(recording.find("tokens")->bytes.data());
        for (std::size_t i = 0; i < 15; ++i) QCOMPARE(ids[i], static_cast<std::int64_t>(result.trace.tokens[i]));
        const compute::TensorView* math = recording.find("logits.math");
        QCOMPARE(math->shape, (std::vector<std::int64_t>{15, 300}));
        // The source as it spoke, before the session's temperature for it: differences of logits are the script's.
        std::vector<float> raw(300);
        mixing(2)(std::span(result.trace.tokens).first(15), raw);
        const auto* last = reinterpret_cast<const float*>(math->bytes.data()) + 14 * 300;
        QVERIFY(std::abs((last[100] - last[50]) - (raw[100] - raw[50])) < 1e-4);
        // A later run without dumps leaves none behind that belong to another trace.
        writeRun(result, folder("dumps"), {});
        QVERIFY(!fs::exists(folder("dumps") / "log_prob.safetensors"));
    }

    void replays() {
        const RunOptions options = scripted();
        writeRun(runSession(threeSession(12), options), folder("replay"), {});
        QCOMPARE(replay(folder("replay"), options).kind, ReplayVerdict::Kind::Identical);
        const fs::path file = folder("replay") / "trace.jsonl";
        const std::string good = compute::readFile(file);
        const auto tamper = [&](std::size_t line, const std::function<void(OrderedJson&)>& change) {
            std::string text;
            std::size_t n = 0;
            for (std::size_t at = 0; at < good.size(); at = good.find('\n', at) + 1, ++n) {
                OrderedJson row = OrderedJson::parse(good.substr(at, good.find('\n', at) - at));
                if (n == line) change(row);
                text += row.dump() + "\n";
            }
            compute::writeFile(file, text);
            return replay(folder("replay"), options);
        };
        ReplayVerdict v = tamper(9, [](OrderedJson& r) { r["token"] = 299; });
        QCOMPARE(v.kind, ReplayVerdict::Kind::Diverged);
        QCOMPARE(v.position, Position{10});
        v = tamper(
            4, [](OrderedJson& r) { r["log_probs"]["composed"] = r["log_probs"]["composed"].get<double>() + 3e-5; });
        QCOMPARE(v.kind, ReplayVerdict::Kind::WithinTolerance);
        QVERIFY(std::abs(v.gap - 3e-5) < 1e-6);
        v = tamper(
            4, [](OrderedJson& r) { r["log_probs"]["composed"] = r["log_probs"]["composed"].get<double>() + 2e-4; });
        QCOMPARE(v.kind, ReplayVerdict::Kind::Diverged);
        QCOMPARE(v.position, Position{5});
        compute::writeFile(file, good.substr(0, good.rfind("{\"position\"")));
        QCOMPARE(replay(folder("replay"), options).position, Position{14});
        compute::writeFile(file, "nonsense\n");
        QVERIFY_EXCEPTION_THROWN(replay(folder("replay"), options), compute::Error);
    }

    void foreignFolder() {
        const RunResult result = runSession(threeSession(2), scripted());
        fs::create_directories(folder("mine"));
        compute::writeFile(folder("mine") / "thesis.txt", "x");
        QVERIFY_EXCEPTION_THROWN(writeRun(result, folder("mine"), {}), compute::Error);
        QVERIFY(!fs::exists(folder("mine") / "trace.jsonl"));
        compute::writeFile(folder("file"), "x");
        QVERIFY_EXCEPTION_THROWN(requireRunDirectory(folder("file")), compute::Error);
        fs::create_directories(folder("empty"));
        writeRun(result, folder("empty"), {});
        compute::writeFile(folder("empty") / "notes.txt", "kept");
        writeRun(result, folder("empty"), {});
        QCOMPARE(compute::readFile(folder("empty") / "notes.txt"), std::string("kept"));
        // A run that was ended at once while it wrote: what it left is its own, and goes.
        const fs::path left = folder("cut") / ".counterpoint-77-3.part";
        fs::create_directories(folder("cut"));
        compute::writeFile(left, "half a dump");
        compute::writeFile(folder("cut") / "trace.jsonl", "");
        writeRun(result, folder("cut"), {});
        QVERIFY(!fs::exists(left) && fs::exists(folder("cut") / "summary.json"));
    }

    void scoreModeAndInfinities() {
        Session s = sessionOf({"model", "math"});
        s.mode = Mode::Score;
        s.prompt = "hello";
        RunOptions options = scripted();
        const RunResult result = runSession(s, options);
        writeRun(result, folder("score"), {});
        const std::vector<Json> rows = rowsOf(folder("score"));
        QCOMPARE(rows.size(), std::size_t{6});
        QVERIFY(rows.back()["token"].is_null() && rows.back()["log_prob"].is_null());
        QCOMPARE(rows.back()["prompt"].get<bool>(), false);
        QVERIFY(result.trace.tokensPerSecond > 0);  // positions scored
        QCOMPARE(replay(folder("score"), options).kind, ReplayVerdict::Kind::Identical);
    }

    void stoppedByAPerson() {
        RunOptions options = scripted();
        std::stop_source stop;
        options.stop = stop.get_token();
        std::jthread later([&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
            stop.request_stop();
        });
        const RunResult result = runSession(threeSession(1000000), options);
        QCOMPARE(result.trace.stop, std::string("user"));
        QVERIFY(!result.trace.steps.empty());
    }
};

QTEST_GUILESS_MAIN(TestRunner)
#include "tst_runner.moc"
