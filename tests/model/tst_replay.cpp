// What replay says: of runs that were cut, of weights and stored values that are not what they were, of a device and a dtype.

#include "compute/error.h"
#include "compute/files/atomicfile.h"
#include "compute/files/safetensors.h"
#include "model/runner.h"
#include "tests/model/scripted.h"
#include "tests/support/fixture.h"
#include "tests/support/scratch.h"

using namespace counterpoint;
using namespace counterpoint::model;
using namespace counterpoint::tests;
using compute::Json;

namespace {

namespace fs = std::filesystem;
using Kind = ReplayVerdict::Kind;

/// Three scripted sources; `asked` collects what they were opened with.
RunOptions scripted(std::vector<compute::OpenOptions>* asked = nullptr) {
    RunOptions options;
    options.opener = [open = opener(three()), asked](const fs::path& path, const compute::OpenOptions& how, std::stop_token stop) {
        if (asked != nullptr) asked->push_back(how);
        return open(path, how, stop);
    };
    return options;
}

void edit(const fs::path& file, const std::function<void(OrderedJson&)>& change) {
    OrderedJson json = compute::readOrderedJson(file);
    change(json);
    compute::writeFile(file, json.dump(2));
}

/// Changes row `line` (from 1) of a run's trace.
void editRow(const fs::path& run, std::size_t line, const std::function<void(OrderedJson&)>& change) {
    const std::string text = compute::readFile(run / "trace.jsonl");
    std::string changed;
    std::size_t n = 0;
    for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
        OrderedJson row = OrderedJson::parse(text.substr(at, text.find('\n', at) - at));
        if (++n == line) change(row);
        changed += row.dump() + "\n";
    }
    compute::writeFile(run / "trace.jsonl", changed);
}

/// As if it had been stopped after `rows` rows.
void cutAfter(const fs::path& run, std::size_t rows, const char* stop) {
    const std::string text = compute::readFile(run / "trace.jsonl");
    std::size_t end = 0;
    for (std::size_t i = 0; i < rows; ++i) end = text.find('\n', end) + 1;
    compute::writeFile(run / "trace.jsonl", text.substr(0, end));
    edit(run / "summary.json", [stop](OrderedJson& s) { s["stop"] = stop; });
}

}  // namespace

class TestReplay : public QObject, Scratch {
    Q_OBJECT
    fs::path run() const { return folder() / "run"; }
    void decode(std::int64_t newTokens = 12) const { writeRun(runSession(threeSession(newTokens), scripted()), run(), {}); }
    std::string sentence(const RunOptions& options) const { return replay(run(), options).sentence; }

  private Q_SLOTS:
    void init() {
        failOnAnyWarning();
        renew();
    }

    void cutRuns_data() {
        QTest::addColumn<int>("rows");
        QTest::addColumn<QByteArray>("stop");
        QTest::addColumn<QByteArray>("says");
        QTest::newRow("stopped") << 9 << QByteArray("user") << QByteArray("Identical up to where the run was stopped: the same tokens and the same bits in 9 rows.");
        QTest::newRow("failed") << 5 << QByteArray("error") << QByteArray("Identical up to where the run failed: the same tokens and the same bits in 5 rows.");
        QTest::newRow("in the prompt") << 1 << QByteArray("user") << QByteArray("Identical up to where the run was stopped: the same tokens and the same bits in 1 rows.");
    }
    void cutRuns() {
        QFETCH(int, rows);
        QFETCH(QByteArray, stop);
        QFETCH(QByteArray, says);
        decode();
        cutAfter(run(), static_cast<std::size_t>(rows), stop.constData());
        const ReplayVerdict verdict = replay(run(), scripted());
        QCOMPARE(verdict.kind, Kind::Identical);
        QCOMPARE(QByteArray::fromStdString(verdict.sentence), says);
        // A run that was not stopped must be whole.
        edit(run() / "summary.json", [](OrderedJson& s) { s["stop"] = "limit"; });
        QCOMPARE(replay(run(), scripted()).kind, Kind::Diverged);
    }

    /// What a run that was stopped would have gone on to is not decoded: 7 of the 9 rows were drawn, from 3 tokens.
    void onlyWhatIsStored() {
        decode();
        cutAfter(run(), 9, "user");
        std::size_t read = 0;
        auto scripts = three();
        scripts.at("model").onForward = [&read](std::span<const TokenId> ids) { read += ids.size(); };
        RunOptions options;
        options.opener = opener(scripts);
        QCOMPARE(replay(run(), options).kind, Kind::Identical);
        QCOMPARE(read, std::size_t{9});
    }

    void nothingToCompare() {
        decode();
        cutAfter(run(), 0, "user");
        const std::string says = errorOf([this] { (void)replay(run(), scripted()); });
        QVERIFY2(says.find("nothing to compare") != std::string::npos && says.find("..") == std::string::npos, says.c_str());
    }

    /// Stopped before any source was open: nothing to write but what says so.
    void stoppedBeforeTheFirstRow() {
        RunOptions options = scripted();
        std::stop_source stop;
        stop.request_stop();
        options.stop = stop.get_token();
        options.dumps = {"log_prob", "sources"};
        const RunResult result = runSession(threeSession(), options);
        const std::vector<std::string> leftOut = writeRun(result, run(), options.dumps);
        QCOMPARE(leftOut.size(), std::size_t{2});
        QCOMPARE(fs::file_size(run() / "trace.jsonl"), std::uintmax_t{0});
        const Json summary = compute::readJson(run() / "summary.json");
        QCOMPARE(summary["stop"].get<std::string>(), std::string("user"));
        QCOMPARE(summary["steps"].get<int>(), 0);
        QVERIFY(!fs::exists(run() / "log_prob.safetensors") && !fs::exists(run() / "sources.safetensors"));
        QVERIFY_EXCEPTION_THROWN((void)replay(run(), scripted()), compute::Error);
    }

    void firstStoredValueThatDiffers_data() {
        QTest::addColumn<QByteArray>("key");
        const auto row = [](const char* key) { QTest::newRow(key) << QByteArray(key); };
        row("drift");
        row("log_probs.math");
        row("top 2.text");
        row("top");
        row("entropy");
        row("extra");
        row("winner");
    }
    void firstStoredValueThatDiffers() {
        QFETCH(QByteArray, key);
        decode();
        editRow(run(), 4, [&](OrderedJson& r) {
            if (key == "drift") r["drift"] = 7.5;
            if (key == "log_probs.math") r["log_probs"]["math"] = -7.5;
            if (key == "top 2.text") r["top"][1]["text"] = "other";
            if (key == "winner") r["winner"] = "math ";
            if (key == "top") r["top"].erase(r["top"].size() - 1);
            if (key == "entropy") r.erase("entropy");
            if (key == "extra") r["extra"] = 1;
        });
        const ReplayVerdict verdict = replay(run(), scripted());
        QCOMPARE(verdict.kind, Kind::WithinTolerance);
        QCOMPARE(verdict.gap, 0.0);
        const std::string wanted = "the first stored value that differs is '" + key.toStdString() + "' at position 4";
        QVERIFY2(verdict.sentence.find(wanted) != std::string::npos, verdict.sentence.c_str());
        QVERIFY2(verdict.sentence.starts_with("Within tolerance: the same tokens with the same log p, and"), verdict.sentence.c_str());
    }

    /// Where and how a replay is another text.
    void diverged_data() {
        QTest::addColumn<std::function<void(const fs::path&)>>("change");
        QTest::addColumn<QByteArray>("says");
        const auto row = [](const char* name, const char* says, std::function<void(const fs::path&)> change) {
            QTest::newRow(name) << change << QByteArray(says);
        };
        row("token", "Diverged at position 4: another token stands there.", [](const fs::path& run) {
            editRow(run, 4, [](OrderedJson& r) { r["token"] = r["token"].get<int>() + 1; });
        });
        row("position", "Diverged at position 4: another token stands there.",
            [](const fs::path& run) { editRow(run, 4, [](OrderedJson& r) { r["position"] = 40; }); });
        row("prompt", "Diverged at position 1: the prompt's tokens differ.",
            [](const fs::path& run) { edit(run / "summary.json", [](OrderedJson& s) { s["prompt_ids"][1] = 9; }); });
        row("fewer rows", "Diverged at position 10: the stored text ends before it.",
            [](const fs::path& run) { cutAfter(run, 9, "limit"); });
        row("more rows", "Diverged at position 14: the text now ends before it.", [](const fs::path& run) {
            compute::writeFile(run / "trace.jsonl", compute::readFile(run / "trace.jsonl") + "{\"position\":14,\"token\":null}\n");
        });
        row("log p", "Diverged at position 4: log p of the token differs by 0.0005 nats, more than 0.0001.", [](const fs::path& run) {
            editRow(run, 4, [](OrderedJson& r) { r["log_probs"]["composed"] = r["log_probs"]["composed"].get<double>() + 5e-4; });
        });
        row("log p that is no number", "Diverged at position 4: log p of the token differs by inf nats, more than 0.0001.", [](const fs::path& run) {
            editRow(run, 4, [](OrderedJson& r) { r["log_probs"]["composed"] = "nan"; });
        });
    }
    void diverged() {
        QFETCH(std::function<void(const fs::path&)>, change);
        QFETCH(QByteArray, says);
        decode();
        change(run());
        RunOptions options = scripted();
        options.device = "cpu";
        const ReplayVerdict verdict = replay(run(), options);
        QCOMPARE(verdict.kind, Kind::Diverged);
        QCOMPARE(QByteArray::fromStdString(verdict.sentence), says);
    }

    /// Of several that differ the first is named, and the largest gap.
    void severalThatDiffer() {
        decode();
        const auto add = [](double gap) {
            return [gap](OrderedJson& r) { r["log_probs"]["composed"] = r["log_probs"]["composed"].get<double>() + gap; };
        };
        editRow(run(), 4, add(5e-5));
        editRow(run(), 6, add(2e-5));
        RunOptions options = scripted();
        options.device = "cpu";
        QCOMPARE(QByteArray::fromStdString(replay(run(), options).sentence),
                 QByteArray("Within tolerance: the same tokens; log p of them differs by at most 5e-05 nats (allowed 0.0001, same "
                            "device), and the first stored value that differs is 'log_probs.composed' at position 4."));
    }

    /// What log p may differ by: less on the device the run was decoded on than on another.
    void toleranceOfTheDevice_data() {
        QTest::addColumn<QByteArray>("device");
        QTest::addColumn<double>("gap");
        QTest::addColumn<Kind>("kind");
        QTest::newRow("same, below") << QByteArray("cpu") << 5e-5 << Kind::WithinTolerance;
        QTest::newRow("same, above") << QByteArray("cpu") << 5e-4 << Kind::Diverged;
        QTest::newRow("another, below") << QByteArray("cuda:0") << 2e-3 << Kind::WithinTolerance;
        QTest::newRow("another, above") << QByteArray("cuda:0") << 2e-2 << Kind::Diverged;
    }
    void toleranceOfTheDevice() {
        QFETCH(QByteArray, device);
        QFETCH(double, gap);
        QFETCH(Kind, kind);
        decode();
        edit(run() / "summary.json", [&](OrderedJson& s) { s["device"] = device.toStdString(); });
        editRow(run(), 4, [&](OrderedJson& r) { r["log_probs"]["composed"] = r["log_probs"]["composed"].get<double>() + gap; });
        RunOptions options = scripted();
        options.device = "cpu";
        const ReplayVerdict verdict = replay(run(), options);
        QCOMPARE(verdict.kind, kind);
        QVERIFY(std::abs(verdict.gap - gap) < 1e-9);
    }

    /// Without the network module there is the processor, which is all that a recording needs.
    void deviceOnAProgramWithoutTorch() {
        qputenv("COUNTERPOINT_MODULES", QByteArray::fromStdString(folder().string()));
        decode();
        edit(run() / "summary.json", [](OrderedJson& s) { s["device"] = "cuda:0"; });
        std::vector<compute::OpenOptions> asked;
        const ReplayVerdict verdict = replay(run(), scripted(&asked));
        QCOMPARE(verdict.kind, Kind::Identical);
        QCOMPARE(QByteArray::fromStdString(verdict.sentence).left(79),
                 QByteArray("The run was decoded on cuda:0, which is not here: the processor is used. Identi"));
        QCOMPARE(asked.front().device, std::string("cpu"));
        QCOMPARE(compute::devices().size(), std::size_t{1});
    }

    void theLineIsNamedOnce() {
        decode();
        const std::string text = compute::readFile(run() / "trace.jsonl");
        compute::writeFile(run() / "trace.jsonl", text.substr(0, text.size() - 40));
        const std::string says = errorOf([this] { (void)replay(run(), scripted()); });
        QVERIFY2(says.find("trace.jsonl, line 14: the JSON ends too early") != std::string::npos, says.c_str());
    }

    void asTheRunWasDecoded() {
        decode();
        edit(run() / "summary.json", [](OrderedJson& s) { s["dtype"] = "bfloat16"; });
        std::vector<compute::OpenOptions> asked;
        (void)replay(run(), scripted(&asked));
        QCOMPARE(asked.front().dtype, std::string("bfloat16"));
        RunOptions other = scripted(&asked);
        other.dtype = "float16";
        const std::string says = replay(run(), other).sentence;
        QVERIFY2(says.starts_with("Identical"), says.c_str());  // another dtype was asked for
        QCOMPARE(asked.back().dtype, std::string("float16"));
        // Sources of several dtypes: each model's own.
        edit(run() / "summary.json", [](OrderedJson& s) { s["dtype"] = "float32,bfloat16"; });
        (void)replay(run(), scripted(&asked));
        QCOMPARE(asked.back().dtype, std::string());
    }

    /// A run that failed may fail again, any other must not.
    void failsAgain() {
        const auto failing = [](std::size_t after) {
            auto scripts = three();
            scripts.at("math").onForward = [after, read = std::make_shared<std::size_t>(0)](std::span<const TokenId> ids) {
                if ((*read += ids.size()) > after) throw compute::Error({.where = "math", .what = "broken"});
            };
            RunOptions options;
            options.opener = opener(std::move(scripts));
            return options;
        };
        writeRun(runSession(threeSession(12), failing(9)), run(), {});
        QVERIFY(sentence(failing(9)).starts_with("Identical up to where the run failed"));
        QCOMPARE(replay(run(), failing(7)).kind, Kind::Diverged);
        decode();
        QVERIFY_EXCEPTION_THROWN((void)replay(run(), failing(9)), compute::Error);
    }

    void changedWeights() {
        decode();
        const fs::path weights = folder() / "weights";
        fs::create_directories(weights);
        const auto write = [&](float value) {
            const std::vector<float> values(4, value);
            const compute::TensorToWrite tensor{.name = "x", .dtype = compute::DType::F32, .shape = {4}, .bytes = std::as_bytes(std::span(values))};
            compute::writeSafetensors(weights / "model.safetensors", {&tensor, 1}, {});
        };
        RunOptions options;
        options.opener = [&, open = opener(three())](const fs::path& path, const compute::OpenOptions& how, std::stop_token stop) {
            return open(path.filename() == "weights" ? fs::path("/scripted/math") : path, how, stop);
        };
        write(1);
        Session session = threeSession(4);
        session.specialists[0].path = weights.string();
        writeRun(runSession(session, options), run(), {});
        QVERIFY(sentence(options).starts_with("Identical"));
        write(2);
        const std::string says = sentence(options);
        QVERIFY2(says.starts_with("The weights of source 'math' in " + weights.string() + " are not those of the run"), says.c_str());
        QVERIFY2(says.find("Identical") != std::string::npos, says.c_str());
    }

    void anEarlierRunLeavesNothing() {
        decode();
        const fs::path figures = run() / "figures";
        fs::create_directories(figures);
        for (const char* name : {"drift.pdf", "drift.csv", "drift.json", "eos.svg", "entropy.png"}) compute::writeFile(figures / name, "old");
        compute::writeFile(figures / "mine.pdf", "kept");
        decode(3);
        QVERIFY(!fs::exists(figures / "drift.pdf") && !fs::exists(figures / "drift.csv") && !fs::exists(figures / "eos.svg"));
        QCOMPARE(compute::readFile(figures / "mine.pdf"), std::string("kept"));
        fs::remove(figures / "mine.pdf");
        decode(3);
        QVERIFY(!fs::exists(figures));
    }
};

QTEST_GUILESS_MAIN(TestReplay)
#include "tst_replay.moc"
