// A recording of a run: it recomposes to the run's own distributions, scores its own text, and refuses in one sentence what
// it cannot answer for. Scripted sources, so that no network is needed; the real models stand in tst_realruns.

#include "compute/error.h"
#include "compute/files/atomicfile.h"
#include "compute/files/safetensors.h"
#include "model/document.h"
#include "model/opensession.h"
#include "model/runner.h"
#include "tests/model/scripted.h"
#include "tests/support/fixture.h"
#include "tests/support/scratch.h"
#include "tests/support/toyrecording.h"
#include "tests/support/patience.h"

#include <QSignalSpy>

#include <algorithm>

using namespace counterpoint;
using namespace counterpoint::model;
using namespace counterpoint::tests;

namespace {

namespace fs = std::filesystem;

/// Scripts by name; files as the program opens them.
SourceOpener scriptsAndFiles() {
    return [scripts = opener(three())](const fs::path& path, const compute::OpenOptions& options, std::stop_token stop) {
        return path.extension() == ".safetensors" ? compute::openSource(path, options, stop) : scripts(path, options, stop);
    };
}

std::vector<float> logProbs(const fs::path& run) {
    const auto file = compute::Safetensors::openFile(run / "log_prob.safetensors");
    const auto bytes = file.find("log_prob")->bytes;
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
}

}  // namespace

class TestRecordedRuns : public QObject {
    Q_OBJECT
    QTemporaryDir m_folder;
    fs::path folder(const std::string& name) const { return fs::path(m_folder.path().toStdString()) / name; }

    static Session sampled() {
        Session s = threeSession(16);
        s.promptIds = std::vector<compute::TokenId>{1, 100, 101};
        s.specialists[1].weight = -0.25;
        s.decoding.topP = 0.9;
        return s;
    }
    /// Runs `session` into a folder with both dumps.
    RunResult run(const Session& session, const std::string& name) const {
        RunOptions options;
        options.opener = scriptsAndFiles();
        options.dumps = {"log_prob", "sources"};
        RunResult result = runSession(session, options);
        writeRun(result, folder(name), options.dumps);
        return result;
    }
    /// The session's dials on the recording that a run left.
    Session recorded(const Session& session, const std::string& name) const {
        Session s = sessionForRecording(folder(name) / "sources.safetensors");
        s.decoding = session.decoding;
        for (SourceEntry& entry : s.specialists)
            for (const SourceEntry& then : session.specialists)
                if (then.name == entry.name) entry.weight = then.weight;
        return s;
    }

  private Q_SLOTS:
    void init() { failOnAnyWarning(); }

    void theSameDistributions() {
        const Session session = sampled();
        const RunResult run = this->run(session, "run");
        Session scored = recorded(session, "run");
        QCOMPARE(scored.mode, Mode::Score);
        QCOMPARE(scored.sourceNames(), session.sourceNames());
        const RunResult again = this->run(scored, "scored");
        QCOMPARE(again.trace.tokens, run.trace.tokens);
        QVERIFY(again.trace.tokenizer == nullptr);
        // One row more than the run: about the token after its last.
        const std::vector<float> then = logProbs(folder("run")), now = logProbs(folder("scored"));
        QCOMPARE(now.size(), then.size() + 300);
        QVERIFY(std::memcmp(now.data(), then.data(), then.size() * sizeof(float)) == 0);
        for (std::size_t i = 0; i < run.trace.steps.size(); ++i) {
            const compute::Step &a = *run.trace.steps[i], &b = *again.trace.steps[i];
            QCOMPARE(b.logProbs, a.logProbs);
            QCOMPARE(b.diagnostics.drift, a.diagnostics.drift);
            QCOMPARE(b.diagnostics.activity, a.diagnostics.activity);
            QCOMPARE(b.keptCount, a.keptCount);
            QCOMPARE(b.drawn, a.drawn);
        }
        QVERIFY(again.trace.steps.back()->token == compute::kNoToken);
        // A recording of the recording is the recording (but for the tokenizer, which only the run had).
        const auto first = compute::Safetensors::openFile(folder("run") / "sources.safetensors");
        const auto second = compute::Safetensors::openFile(folder("scored") / "sources.safetensors");
        QCOMPARE(second.tensors().size(), first.tensors().size());
        for (const auto& [name, tensor] : first.tensors())
            QVERIFY2(std::ranges::equal(second.find(name)->bytes, tensor.bytes), name.c_str());
        RunOptions options;
        options.opener = scriptsAndFiles();
        QCOMPARE(replay(folder("scored"), options).kind, ReplayVerdict::Kind::Identical);
    }

    /// What summary.json says of a recording's dtype and weights is compared as it is for models.
    void replayNamesWhatChanged_data() {
        QTest::addColumn<QString>("file");
        QTest::addColumn<QString>("key");
        QTest::addColumn<QString>("says");
        const QString weights = "The weights of source '%1' in %2 are not those of the run (SHA-256 ";
        QTest::newRow("dtype")
            << "summary.json"
            << "dtype"
            << "The run was decoded in dtype 'bogus' as summary.json says, and its sources are in float32. ";
        QTest::newRow("hash of the base") << "summary.json"
                                          << "sha256/base" << weights.arg("base");
        QTest::newRow("hash of a specialist") << "summary.json"
                                              << "sha256/math" << weights.arg("math");
        QTest::newRow("hash in the session") << "session.json"
                                             << "base/sha256" << weights.arg("base");
    }
    void replayNamesWhatChanged() {
        QFETCH(QString, file);
        QFETCH(QString, key);
        QFETCH(QString, says);
        run(sampled(), "named");
        const RunResult again = run(recorded(sampled(), "named"), "namedScored");
        QCOMPARE(again.sha256.size(), std::size_t{3});
        RunOptions options;
        options.opener = scriptsAndFiles();
        QVERIFY(replay(folder("namedScored"), options).sentence.starts_with("Identical"));
        const fs::path changed = folder("namedScored") / file.toStdString();
        OrderedJson json = compute::readOrderedJson(changed);
        const bool session = file == "session.json";
        json[OrderedJson::json_pointer("/" + key.toStdString())] = session ? std::string(64, 'b') : "bogus";
        compute::writeFile(changed, json.dump());
        const ReplayVerdict verdict = replay(folder("namedScored"), options);
        says.replace("%2", QString::fromStdString((folder("named") / "sources.safetensors").string()));
        if (key != "dtype")
            says += QString::fromStdString(again.sha256.at("base").substr(0, 12)) + " instead of " +
                    (session ? "bbbbbbbbbbbb" : "bogus") + "). ";
        QCOMPARE(QString::fromStdString(verdict.sentence).section("Identical", 0, 0), says);
        QCOMPARE(verdict.kind, ReplayVerdict::Kind::Identical);
    }

    /// Decoded instead of scored: the same dials draw the same tokens, up to the recording's end.
    void decodesItsOwnText() {
        const Session session = sampled();
        const RunResult run = this->run(session, "decoded");
        Session s = recorded(session, "decoded");
        s.mode = Mode::Generate;
        s.promptIds = session.promptIds;
        s.decoding.stopIds = run.trace.stopIds;
        const RunResult again = this->run(s, "again");
        QCOMPARE(again.trace.tokens, run.trace.tokens);
        QCOMPARE(again.trace.stop, std::string("limit"));
        s.decoding.maxNewTokens = 100;
        QCOMPARE(this->run(s, "longer").trace.stop, std::string("context"));
        // Dials that draw another token need a forward pass: the run ends there and says so.
        s.decoding.seed = 8;
        const RunResult other = this->run(s, "other");
        QVERIFY(other.failure);
        QVERIFY2(other.failure->sentence.find("a recording answers for its own text only") != std::string::npos, other.failure->sentence.c_str());
        QCOMPARE(other.trace.stop, std::string("error"));
        s.promptIds.reset();
        const std::string text = errorOf([&] { this->run(s, "text"); });
        QVERIFY2(text.find("the base has no tokenizer, so text cannot be read") != std::string::npos, text.c_str());
    }

    void neverWrittenOver() {
        this->run(sampled(), "own");
        const Session s = recorded(sampled(), "own");
        const std::string before = compute::readFile(folder("own") / "sources.safetensors");
        const std::string found = errorOf([&] { this->run(s, "own"); });
        QVERIFY2(found.find("source 'base' is read from there, and the run would replace it") != std::string::npos, found.c_str());
        QVERIFY(compute::readFile(folder("own") / "sources.safetensors") == before);
    }

    void whatCanBeOpened() {
        ToyRecording toy({1, 2}, 5, {"base", "none"});
        toy.write(folder("reserved.safetensors"));
        std::vector<std::string> warnings;
        QVERIFY(errorOf([&] { openSession(folder("reserved.safetensors"), warnings); }).find("the source name 'none' is reserved") !=
                std::string::npos);
        writeTensors(folder("weights.safetensors"), {randomTensor("a", {2}, 1)});
        QVERIFY(errorOf([&] { openSession(folder("weights.safetensors"), warnings); }).find("holds weights only") != std::string::npos);
        ToyRecording good({1, 2}, 5, {"big", "base", "math"});
        good.metadata["base"] = "big";
        good.write(folder("good.safetensors"));
        Session s = openSession(folder("good.safetensors"), warnings);
        QCOMPARE(s.sourceNames(), (std::vector<std::string>{"big", "base model", "math"}));
        QCOMPARE(s.specialists[0].sourceInFile, std::string("base"));
        s.specialists.pop_back();
        const auto more = specialistsFrom(folder("good.safetensors"), s);
        QCOMPARE(more.size(), std::size_t{1});
        QCOMPARE(more[0].name, std::string("math"));
        s.specialists.push_back(more[0]);
        QVERIFY(errorOf([&] { specialistsFrom(folder("good.safetensors"), s); }).find("in the rack already") != std::string::npos);
        writeSession(s, folder("s.session.json"));
        QCOMPARE(openSession(folder("s.session.json"), warnings).specialists[1].sourceInFile, std::string("math"));
    }

    /// In the window: opened, scored, recomposed by a weight; a branch and going on are refused in one sentence.
    void inTheDocument() {
        const RunResult run = this->run(sampled(), "window");
        Document document(nullptr, scriptsAndFiles());
        document.open(folder("window") / "sources.safetensors");
        WAIT_UNTIL(document.ready());
        QCOMPARE(document.status(2).info.architecture, std::string("recording of 'poetry'"));
        document.generate();
        WAIT_UNTIL(document.trace() != nullptr && !document.busy());
        QCOMPARE(document.trace()->tokens, run.trace.tokens);
        QCOMPARE(document.trace()->steps.size(), run.trace.tokens.size());
        const double drift = document.trace()->steps[5]->diagnostics.drift;
        Session s = document.session();
        s.specialists[0].weight = 0.1;
        QSignalSpy recomposed(&document, &Document::recomposed);
        document.setSession(s);
        WAIT_UNTIL_EQUAL(recomposed.size(), 1);
        QVERIFY(document.trace()->steps[5]->diagnostics.drift != drift);
        const auto refused = [&](const char* words) {
            const bool said = !document.notices().empty() && document.notices().back().level == Notice::Level::Failure &&
                              document.notices().back().sentence.find(words) != std::string::npos;
            if (!said && !document.notices().empty()) qInfo("%s", document.notices().back().sentence.c_str());
            return said;
        };
        document.continueDecode();
        WAIT_UNTIL(!document.busy() && refused("a recording cannot go on"));
        document.branch(5, run.trace.tokens[5] == 40 ? 41 : 40);
        WAIT_UNTIL(!document.busy() && refused("a recording answers for its own text only"));
    }
};

QTEST_GUILESS_MAIN(TestRecordedRuns)
#include "tst_recordedruns.moc"
