// Real models through runSession: golden texts of one and of three models (shared/models, made by an independent
// implementation, see the files' notes), cache on and off, 1 and 2 threads, locale, replay.

#include <algorithm>
#include <bit>
#include <cmath>
#include <sstream>

#include "compute/error.h"
#include "compute/files/atomicfile.h"
#include "compute/files/json.h"
#include "compute/files/safetensors.h"
#include "compute/sources/recording.h"
#include "model/opensession.h"
#include "model/runner.h"
#include "model/sentences.h"
#include "model/sourcerouting.h"
#include "tests/model/rundirectory.h"
#include "tests/support/fixture.h"
#include "tests/support/germanlocale.h"

using namespace counterpoint;
using namespace counterpoint::model;
using namespace counterpoint::tests;
using compute::Json;

namespace {

namespace fs = std::filesystem;

Session three() {
    Session s = sessionForModel(shared("models/stories260K/hf"));
    for (const char* name : {"dialogue", "animals"}) {
        SourceEntry entry;
        entry.name = name;
        entry.path = shared("models/stories260K-" + std::string(name) + "/hf").string();
        s.specialists.push_back(std::move(entry));
    }
    return s;
}

}  // namespace

class TestRealRuns : public QObject {
    Q_OBJECT
    QTemporaryDir m_folder;
    fs::path folder(const std::string& name) const { return fs::path(m_folder.path().toStdString()) / name; }

  private Q_SLOTS:
    void init() { failOnAnyWarning(); }

    /// A model whose matrices are of two types is replayed in both, and says both.
    void matricesOfTwoTypes() {
        REQUIRE_SHARED("models/stories260K/golden.json");
        const fs::path model = folder("mixed");
        fs::copy(shared("models/stories260K/hf"), model, fs::copy_options::recursive);
        const auto whole = compute::Safetensors::openFile(shared("models/stories260K/hf/model.safetensors"));
        std::vector<compute::TensorToWrite> tensors;
        std::vector<std::uint16_t> half;
        for (const auto& [name, view] : whole.tensors()) {
            tensors.push_back({.name = name, .dtype = view.dtype, .shape = view.shape, .bytes = view.bytes});
            if (name != "model.embed_tokens.weight") continue;
            const std::span values(reinterpret_cast<const float*>(view.bytes.data()), view.bytes.size() / 4);
            for (const float x : values)
                half.push_back(static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(x) >> 16));
            tensors.back().dtype = compute::DType::BF16;
            tensors.back().bytes = std::as_bytes(std::span(half));
        }
        fs::remove(model / "model.safetensors");  // a copy of a file that is only read
        compute::writeSafetensors(model / "model.safetensors", tensors, {});
        Session s = sessionForModel(model);
        s.decoding.maxNewTokens = 30;
        const RunResult result = runSession(s, {});
        QCOMPARE(result.dtype, std::string("bfloat16,float32"));
        writeRun(result, folder("mixed run"), {});
        QVERIFY2(replay(folder("mixed run"), {}).sentence.starts_with("Identical"),
                 replay(folder("mixed run"), {}).sentence.c_str());
    }

    /// A mixture of experts under coupled noise: the same again, every position's experts in the trace, and the dump a
    /// recording of the router logits as they were.
    void aRoutedRun() {
        REQUIRE_SHARED("models/stories260K-mixtral-tuned/hf");
        Session s = sessionForModel(shared("models/stories260K-mixtral-tuned/hf"));
        s.decoding.maxNewTokens = 20;
        s.decoding.temperature = 0;
        s.base.routing = {{"mode", "coupled"}, {"rho", 0.6}, {"alpha", 0.5}, {"window", 4}, {"seed", 11}};
        RunOptions options;
        options.dumps = {"sources"};
        const RunResult result = runSession(s, options);
        const fs::path run = folder("routed");
        writeRun(result, run, options.dumps);
        QVERIFY2(replay(run, {}).sentence.starts_with("Identical"), replay(run, {}).sentence.c_str());
        QCOMPARE(compute::readJson(run / "summary.json")["law"].get<std::string>(), std::string("scored only"));
        const compute::RouterInfo& routers = result.trace.routers.at(0).value();
        const auto L = routers.layers.size(), K = static_cast<std::size_t>(routers.chosen);
        std::istringstream lines(compute::readFile(run / "trace.jsonl"));
        std::size_t rows = 0;
        for (std::string line; std::getline(lines, line); ++rows) {
            const Json routing = Json::parse(line)["routing"];
            QCOMPARE(routing.size(), L);
            for (const Json& layer : routing) {
                QCOMPARE(layer["experts"].size(), K);
                double sum = 0;
                for (const Json& weight : layer["weights"]) sum += weight.get<double>();
                QVERIFY(std::abs(sum - 1) < 1e-5 || !routers.normTopkProb);
            }
        }
        QCOMPARE(rows, result.trace.steps.size());
        const compute::Recording recording = compute::readRecording(run / "sources.safetensors");
        const compute::RecordedSource& base = recording.sources.front();
        QVERIFY(base.routing && base.routing->layers == routers.layers &&
                base.routing->expertsPerToken == routers.chosen && base.routing->normTopkProb == routers.normTopkProb);
        const std::vector<float> logits = compute::readRouterLogits(recording, base);
        const auto T = recording.tokens.size(), E = static_cast<std::size_t>(routers.experts);
        QCOMPARE(logits.size(), L * T * E);
        for (std::size_t t = 0; t < T; ++t) {
            const auto row = result.trace.store->routing(static_cast<compute::Position>(t) + 1, 0);
            for (std::size_t l = 0; l < L; ++l)
                QVERIFY(std::equal(row->logits.begin() + static_cast<std::ptrdiff_t>(l * E),
                                   row->logits.begin() + static_cast<std::ptrdiff_t>((l + 1) * E),
                                   logits.begin() + static_cast<std::ptrdiff_t>((l * T + t) * E)));
        }
        // Without noise the same text goes other ways somewhere, and its law is exact.
        s.base.routing = {};
        const RunResult plain = runSession(s, {});
        writeRun(plain, folder("plain"), {});
        QCOMPARE(compute::readJson(folder("plain") / "summary.json")["law"].get<std::string>(), std::string("exact"));
        QVERIFY(plain.trace.tokens != result.trace.tokens || plain.trace.steps.front()->routing.at(0)->experts !=
                                                                 result.trace.steps.front()->routing.at(0)->experts);
    }

    /// Groups by sentences and switched experts: step by step, read at once and replayed a text goes the same ways, in
    /// both mixtures, and the switched ones are never chosen.
    void sentencesAndSwitches_data() {
        QTest::addColumn<QString>("model");
        QTest::newRow("tuned") << "models/stories260K-mixtral-tuned/hf";
        QTest::newRow("upcycled") << "models/stories260K-mixtral-upcycled/hf";
    }
    void sentencesAndSwitches() {
        QFETCH(QString, model);
        REQUIRE_SHARED(model.toStdString());
        Session s = sessionForModel(shared(model.toStdString()));
        s.prompt = "Once upon a time there was a dog. He ran.";
        s.decoding.maxNewTokens = 60;
        s.base.routing = OrderedJson::parse(
            R"({"mode":"coupled","rho":0.7,"alpha":1,"groups":"sentences","seed":5,"experts":{"1":{"off":[2]},"3":{"bias":{"0":-0.5}}}})");
        const RunResult result = runSession(s, {});
        const Trace& trace = result.trace;
        const compute::RouterInfo& routers = trace.routers.at(0).value();
        const auto starts = sentenceStarts(trace.tokenBytes);
        QVERIFY2(starts.size() > 3, trace.text().c_str());
        const fs::path run = folder("sentences " + model.toStdString().substr(27, 5));
        writeRun(result, run, {});
        QVERIFY2(replay(run, {}).sentence.starts_with("Identical"), replay(run, {}).sentence.c_str());
        QCOMPARE(compute::readJson(run / "summary.json")["law"].get<std::string>(), std::string("changed"));
        Session whole = s;
        whole.mode = Mode::Score;
        whole.promptIds = trace.tokens;
        const RunResult scored = runSession(whole, {});
        const auto K = static_cast<std::size_t>(routers.chosen);
        const auto rowOf = [](const Trace& of, compute::Position t) { return of.store->routing(t + 1, 0); };
        // By the rules as they are written, from the stored logits.
        compute::SourceRouting routing = fitted(sourceRouting(s.base.routing, "w"), routers, "w");
        routing.noise.coupling.groups = compute::groupsFrom(starts);
        for (compute::Position t = 0; t + 1 < static_cast<compute::Position>(trace.tokens.size()); ++t) {
            const auto row = rowOf(trace, t);
            QCOMPARE(row->experts, rowOf(scored.trace, t)->experts);
            for (std::size_t l = 0; l < routers.layers.size(); ++l) {
                const auto E = static_cast<std::size_t>(routers.experts);
                compute::RouterLaw law{.chosen = static_cast<int>(K), .normTopkProb = routers.normTopkProb, .bias = {}};
                if (const auto bias = routing.bias.find(routers.layers[l]); bias != routing.bias.end())
                    law.bias = bias->second;
                compute::RouteMemory memory;
                compute::Routed routed;
                compute::routePosition(routing.noise, law, std::span(row->logits).subspan(l * E, E),
                                       {static_cast<std::uint32_t>(routers.layers[l]), t}, memory, routed);
                QVERIFY(std::equal(routed.experts.begin(), routed.experts.end(),
                                   row->experts.begin() + static_cast<std::ptrdiff_t>(l * K)));
                if (routers.layers[l] == 1) QVERIFY(std::count(routed.experts.begin(), routed.experts.end(), 2) == 0);
            }
        }
    }

    void golden_data() {
        QTest::addColumn<bool>("cache");
        QTest::newRow("cache on") << true;
        QTest::newRow("cache off") << false;
    }
    void golden() {
        QFETCH(bool, cache);
        REQUIRE_SHARED("models/stories260K/golden.json");
        const Json golden = compute::readJson(shared("models/stories260K/golden.json"));
        for (const Json& c : golden["cases"]) {
            Session s = sessionForModel(shared("models/stories260K/hf"));
            s.prompt = c["prompt"];
            s.decoding.temperature = 0;
            const auto ids = c["ids"].get<std::vector<compute::TokenId>>();
            s.decoding.maxNewTokens = static_cast<std::int64_t>(ids.size() - c["prompt_ids"].size());
            RunOptions options;
            options.cache = cache;
            const RunResult result = runSession(s, options);
            QCOMPARE(result.trace.tokens, ids);
        }
    }

    /// A recording of a run names the tokenizer of whatever kind of base the run had, and has its tokens and rows.
    void recordingOfEveryKindOfBase_data() {
        QTest::addColumn<QString>("file");
        QTest::addColumn<QString>("names");
        QTest::newRow("folder") << "hf" << "../hf";
        QTest::newRow("GGUF") << "gguf/stories260K-f32.gguf" << "../stories260K-f32.gguf";
        QTest::newRow("TorchScript, its tokenizer beside it") << "torchscript/stories260K.ts.pt" << "../script";
    }
    void recordingOfEveryKindOfBase() {
        REQUIRE_SHARED("models/stories260K/golden.json");
        QFETCH(QString, file);
        QFETCH(QString, names);
        const fs::path given = shared("models/stories260K/" + file.toStdString()), at = folder("kinds");
        fs::path base = at / given.filename();
        fs::create_directories(at);
        if (file.startsWith("torchscript")) {
            fs::create_directories(at / "script");
            base = at / "script" / given.filename();
            for (const char* name : {"tokenizer.json", "tokenizer_config.json"})
                fs::copy_file(shared("models/stories260K/hf") / name, at / "script" / name);
        }
        fs::copy(given, base);
        Session s = sessionForModel(base);
        s.base.path = base.lexically_relative(at).string();
        s.file = at / "s.session.json";
        s.prompt = "Once upon a time";
        s.decoding.temperature = 0;
        s.decoding.maxNewTokens = 12;
        RunOptions options;
        options.dumps = {"log_prob", "sources"};
        const RunResult run = runSession(s, options);
        const fs::path out = at / ("run of " + given.filename().string());
        writeRun(run, out, options.dumps);
        QCOMPARE(compute::Safetensors::openFile(out / "sources.safetensors").metadata().at("tokenizer"), names.toStdString());
        Session scored = sessionForRecording(out / "sources.safetensors");
        scored.decoding = s.decoding;
        const RunResult again = runSession(scored, options);
        QCOMPARE(again.trace.tokens, run.trace.tokens);
        QCOMPARE(again.trace.text(), run.trace.text());
        QVERIFY(again.trace.tokenizer != nullptr);
        for (std::size_t i = 0; i < run.trace.steps.size(); ++i)
            QCOMPARE(again.trace.steps[i]->logProbs, run.trace.steps[i]->logProbs);
    }

    void composedGolden() {
        REQUIRE_SHARED("models/composed_golden.json");
        const Json golden = compute::readJson(shared("models/composed_golden.json"));
        double worst = 0;
        for (const Json& c : golden["cases"]) {
            Session s = three();
            s.prompt = c["prompt"];
            for (SourceEntry& e : s.specialists) e.weight = c["weights"].value(e.name, 0.0);
            s.decoding.temperature = 0;
            const auto ids = c["ids"].get<std::vector<compute::TokenId>>();
            const auto given = static_cast<std::int64_t>(c["prompt_ids"].size());
            s.decoding.maxNewTokens = static_cast<std::int64_t>(ids.size()) - given;
            const RunResult result = runSession(s, {});
            QCOMPARE(result.trace.tokens, ids);
            const auto drift = c["drift"].get<std::vector<double>>();
            QCOMPARE(static_cast<std::int64_t>(drift.size()), s.decoding.maxNewTokens);
            for (std::size_t i = 0; i < drift.size(); ++i) {
                const compute::Step* step = result.trace.at(given + static_cast<compute::Position>(i));
                worst = std::max(worst, std::abs(step->diagnostics.drift - drift[i]));
            }
        }
        qInfo("largest difference of drift: %g nats", worst);
        QVERIFY(worst < 1e-3);
    }

    void sameFiles() {
        REQUIRE_SHARED("models/stories260K/hf");
        const Session s = three();
        const std::set<std::string> dumps{"log_prob", "sources"};
        RunOptions options;
        options.dumps = dumps;
        options.threads = 1;
        writeRun(runSession(s, options), folder("one"), dumps);
        options.threads = 2;
        writeRun(runSession(s, options), folder("two"), dumps);
        QVERIFY(allBytes(folder("one")) == allBytes(folder("two")));
        {
            const GermanLocale german;
            if (!german.on) QSKIP("no locale with a decimal comma can be had: this check did not run");
            writeRun(runSession(s, options), folder("de"), dumps);
        }
        QVERIFY(allBytes(folder("one")) == allBytes(folder("de")));
        QCOMPARE(replay(folder("one"), options).kind, ReplayVerdict::Kind::Identical);
        const Json summary = compute::readJson(folder("one") / "summary.json");
        QCOMPARE(summary["sha256"].size(), std::size_t{3});
        QVERIFY(summary["versions"].contains("torch"));
        // Weights that are not the session's are reported.
        Session other = s;
        other.base.sha256 = std::string(64, '0');
        other.decoding.maxNewTokens = 1;
        const auto reported = [](const RunResult& r) {
            return std::count_if(r.notices.begin(), r.notices.end(),
                                 [](const std::string& n) { return n.find("SHA-256") != std::string::npos; });
        };
        QCOMPARE(reported(runSession(other, {})), 1);
        other.base.sha256 = summary["sha256"]["base"].get<std::string>();
        QCOMPARE(reported(runSession(other, {})), 0);
    }

    /// A recording of a run recomposes to the run's distributions, bit for bit, without a network.
    void recordingOfARun() {
        REQUIRE_SHARED("models/stories260K/hf");
        Session s = three();
        s.decoding.temperature = 0.8;
        s.specialists[1].weight = 0.5;
        RunOptions options;
        options.dumps = {"log_prob", "sources"};
        const RunResult run = runSession(s, options);
        writeRun(run, folder("recorded"), options.dumps);
        Session scored = sessionForRecording(folder("recorded") / "sources.safetensors");
        scored.decoding = s.decoding;
        scored.specialists[0].weight = scored.specialists[0].name == "dialogue" ? 1.0 : 0.5;
        scored.specialists[1].weight = 1.5 - scored.specialists[0].weight;
        // Rack order is the order of summation: as in the run.
        if (scored.specialists[0].name != "dialogue") std::swap(scored.specialists[0], scored.specialists[1]);
        const RunResult again = runSession(scored, options);
        writeRun(again, folder("from the recording"), options.dumps);
        QCOMPARE(again.trace.tokens, run.trace.tokens);
        QCOMPARE(again.trace.text(), run.trace.text());
        QCOMPARE(again.trace.stopIds, run.trace.stopIds);
        const auto file = [&](const char* name) {
            const auto tensors = compute::Safetensors::openFile(folder(name) / "log_prob.safetensors");
            const auto bytes = tensors.find("log_prob")->bytes;
            return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        };
        QVERIFY(file("from the recording").starts_with(file("recorded")));
        for (std::size_t i = 0; i < run.trace.steps.size(); ++i) {
            QCOMPARE(again.trace.steps[i]->diagnostics.drift, run.trace.steps[i]->diagnostics.drift);
            QCOMPARE(again.trace.steps[i]->diagnostics.eosComposed, run.trace.steps[i]->diagnostics.eosComposed);
        }
    }

    void brokenModels() {
        REQUIRE_SHARED("models/stories260K/hf");
        const fs::path bad = folder("bad");
        fs::create_directories(bad);
        for (const auto& entry : fs::directory_iterator(shared("models/stories260K/hf"))) fs::copy_file(entry.path(), bad / entry.path().filename());
        fs::resize_file(bad / "model.safetensors", fs::file_size(bad / "model.safetensors") - 64);
        Session s = three();
        s.decoding.maxNewTokens = 3;
        const Session good = s;
        s.specialists[0].path = bad.string();
        for (int n = 0; n < 20; ++n) {
            if (n == 10) fs::remove(bad / "config.json");
            QVERIFY_EXCEPTION_THROWN(runSession(s, {}), compute::Error);
        }
        QCOMPARE(runSession(good, {}).trace.stop, std::string("limit"));
    }
};

QTEST_GUILESS_MAIN(TestRealRuns)
#include "tst_realruns.moc"
