// Model directories opened and refused: configs, tensors, limits, bad calls, stopping, and memory that stays flat.
// HAZARDS A7, A11, A18, A27.

#include <fstream>
#include <thread>

#include "compute/decode/ensemble.h"
#include "tests/support/fixture.h"
#include "tests/support/toysource.h"

using namespace counterpoint;
using compute::Ensemble;
using compute::EnsembleMember;
using compute::OpenOptions;
using compute::Outcome;
using compute::TokenId;
using tests::allRows;
using tests::errorOf;
using tests::open;
using tests::someIds;
using tests::Toy;

namespace {

long residentPages() {
    std::ifstream statm("/proc/self/statm");
    long all = 0, resident = 0;
    statm >> all >> resident;
    return resident;
}

}  // namespace

class TestNetworkLoading : public QObject, tests::ToyFolder {
    Q_OBJECT

  private Q_SLOTS:
    void init() { tests::failOnAnyWarning(); }

    void refusedByName_data() {
        QTest::addColumn<std::function<void(Toy&)>>("change");
        QTest::addColumn<QStringList>("said");
        const auto row = [](const char* name, std::function<void(Toy&)> change, QStringList said) {
            QTest::newRow(name) << change << said;
        };
        const auto config = [](const char* more) {
            return std::function<void(Toy&)>([more](Toy& t) { t.extraConfig = more; });
        };
        row("A12: wrong-shaped tensor",
            [](Toy& t) {
                t.shapes["model.layers.1.self_attn.q_proj.weight"] = {40, 64};
            },
            {"model.layers.1.self_attn.q_proj.weight", "[64, 40]", "[40, 64]", "model.safetensors"});
        row("missing tensor", [](Toy& t) { t.tensors.erase("model.layers.0.mlp.up_proj.weight"); },
            {"'model.layers.0.mlp.up_proj.weight' is missing",
             "; config.json and the weights are not of one model: download the folder again."});
        row("A11: rope_scaling foo", config(R"(,"rope_scaling":{"rope_type":"foo","factor":2})"),
            {"'foo'", "rope_scaling"});
        row("A11: rope_scaling by its older key", config(R"(,"rope_scaling":{"type":"longrope","factor":2})"),
            {"'longrope'"});
        row("A11: a scaling without a kind", config(R"(,"rope_scaling":{"factor":2})"), {"'unnamed'", "rope_scaling"});
        row("A11: llama3 that lacks a part",
            config(R"(,"rope_scaling":{"rope_type":"llama3","factor":8,"original_max_position_embeddings":64})"),
            {"'llama3'", "low_freq_factor"});
        row("A11: llama3 without a ramp",
            config(R"(,"rope_scaling":{"rope_type":"llama3","factor":8,"low_freq_factor":4,"high_freq_factor":4})"),
            {"llama3", "high_freq_factor"});
        row("A11: linear without a factor", config(R"(,"rope_scaling":{"rope_type":"linear"})"),
            {"'linear'", "factor"});
        row("A11: rope_parameters", config(R"(,"rope_parameters":{"rope_type":"yarn"})"), {"'yarn'", "factor"});
        row("A11: a factor of 0", config(R"(,"rope_scaling":{"rope_type":"linear","factor":0})"),
            {"'factor'", "above 0"});
        row("A11: dynamic that shrinks", config(R"(,"rope_scaling":{"rope_type":"dynamic","factor":0.5})"),
            {"dynamic", "0.5"});
        row("A11: settings for each kind of layer",
            config(R"(,"rope_parameters":{"full_attention":{"rope_type":"linear","factor":8}})"),
            {"kind of layer", "full_attention"});
        row("layer_types too short", config(R"(,"layer_types":["full_attention"])"), {"layer_types", "1 entries"});
        row("a layer of another kind", config(R"(,"layer_types":["full_attention","chunked_attention"])"),
            {"chunked_attention"});
        row("a layer that slides without a window", config(R"(,"layer_types":["full_attention","sliding_attention"])"),
            {"window", "sliding_window"});
        row("a part of the head turned", config(R"(,"partial_rotary_factor":0.5)"), {"partial_rotary_factor", "0.5"});
        row("a part of the head turned, newer key", config(R"(,"rope_parameters":{"partial_rotary_factor":0.25})"),
            {"partial_rotary_factor", "0.25"});
        row("scaled residuals", config(R"(,"residual_multiplier":0.22)"), {"residual_multiplier", "0.22"});
        row("scaled attention", config(R"(,"attention_multiplier":0.01)"), {"attention_multiplier", "0.01"});
        row("norms of queries and keys", config(R"(,"use_qk_norm":true)"), {"use_qk_norm"});
        row("capped logits", config(R"(,"final_logit_softcapping":30.0)"), {"final_logit_softcapping"});
        for (const char* key : {"use_parallel_residual", "qkv_bias", "use_bias", "lm_head_bias", "scale_embedding",
                                "rope_interleave", "rope_interleaved", "cross_layer_sharing"})
            row(key, [key](Toy& t) { t.extraConfig = std::string(",\"") + key + "\":true"; },
                {QString("'%1' is not supported by this architecture (expected false, found true)").arg(key)});
        row("attention to what follows", config(R"(,"is_causal":false)"),
            {"'is_causal' is not supported by this architecture (expected true, found false)"});
        row("chunks of attention", config(R"(,"attention_chunk_size":8)"),
            {"'attention_chunk_size' is not supported by this architecture (expected none, found 8)"});
        row("a dtype that is none", config(R"(,"torch_dtype":"int8")"),
            {"config.json: the value of 'torch_dtype' is not a float type (expected float32, bfloat16 or float16, "
             "found 'int8')"});
        row("a dtype that is none, newer key", config(R"(,"dtype":"int32")"), {"'dtype'", "'int32'"});
        row("experts", config(R"(,"num_local_experts":8)"), {"mixture of experts", "8"});
        row("a sliding window", config(R"(,"sliding_window":64)"), {"sliding window", "64"});
        row("quantised", config(R"(,"quantization_config":{"quant_method":"gptq","bits":4})"), {"gptq", "quantised"});
        row("head_dim odd", [](Toy& t) { t.headDim = 15; }, {"head size", "15"});
        row("groups that do not divide", [](Toy& t) { t.keyValueHeads = 3; }, {"num_key_value_heads", "4 and 3"});
    }
    void refusedByName() {
        QFETCH(std::function<void(Toy&)>, change);
        QFETCH(QStringList, said);
        Toy toy = plain();
        change(toy);
        const std::string text = errorOf([&] { open(written("refused", toy)); });
        for (const QString& word : said)
            QVERIFY2(text.find(word.toStdString()) != std::string::npos,
                     (text + " lacks " + word.toStdString()).c_str());
    }

    void refusedConfigs_data() {
        QTest::addColumn<QString>("from");
        QTest::addColumn<QString>("to");
        QTest::addColumn<QString>("said");
        QTest::newRow("architecture") << "LlamaForCausalLM"
                                      << "GemmaForCausalLM"
                                      << "LlamaForCausalLM";
        QTest::newRow("model_type") << "\"llama\""
                                    << "\"mixtral\""
                                    << "mixtral); open a model of one of these architectures.";
        QTest::newRow("activation") << "silu"
                                    << "relu2"
                                    << "relu2";
        QTest::newRow("negative size") << "\"hidden_size\":40"
                                       << "\"hidden_size\":-40"
                                       << "-40";
        QTest::newRow("size as text") << "\"hidden_size\":40"
                                      << "\"hidden_size\":\"40\""
                                      << "hidden_size";
        QTest::newRow("missing size") << "\"hidden_size\":40"
                                      << "\"other\":40"
                                      << "'hidden_size' is missing";
        QTest::newRow("more heads than anything") << "\"num_attention_heads\":4"
                                                  << "\"num_attention_heads\":4000000000000"
                                                  << "num_attention_heads";
        QTest::newRow("flag as number") << "\"mlp_bias\":false"
                                        << "\"mlp_bias\":0"
                                        << "mlp_bias";
        QTest::newRow("not an object") << "{\"architectures\""
                                       << "[{\"architectures\""
                                       << "config.json";
    }
    void refusedConfigs() {
        QFETCH(QString, from);
        QFETCH(QString, to);
        QFETCH(QString, said);
        const Toy toy = plain();
        const std::filesystem::path directory = written("config", toy);
        QString text = QString::fromStdString(toy.config());
        QVERIFY(text.contains(from));
        std::ofstream(directory / "config.json") << text.replace(from, to).toStdString();
        const std::string what = errorOf([&] { open(directory); });
        QVERIFY2(what.find(said.toStdString()) != std::string::npos && what.find("config.json") != std::string::npos,
                 what.c_str());
    }

    void defaultRopeScalingIsRead() {
        Toy toy = plain();
        const std::vector<float> expected = allRows(*open(written("rope", toy)), someIds(9), 0);
        for (const char* more : {R"(,"rope_scaling":null)", R"(,"rope_scaling":{"rope_type":"default"})",
                                 R"(,"rope_parameters":{"rope_type":"default","rope_theta":10000.0})"}) {
            toy.extraConfig = more;
            QCOMPARE(allRows(*open(written("rope", toy)), someIds(9), 0), expected);
        }
        toy.extraConfig = R"(,"rope_parameters":{"rope_type":"default","rope_theta":500.0})";
        QVERIFY(allRows(*open(written("rope", toy)), someIds(9), 0) != expected);
    }

    /// The default of every key that changes the arithmetic, and what changes nothing in the file.
    void defaultsPass() {
        Toy toy = plain();
        toy.extraConfig =
            R"(,"is_causal":true,"use_parallel_residual":false,"qkv_bias":false,"use_bias":false,"lm_head_bias":false,)"
            R"("scale_embedding":false,"rope_interleave":false,"rope_interleaved":false,"cross_layer_sharing":false,)"
            R"("attention_chunk_size":null,"pretraining_tp":1,"torch_dtype":"bfloat16","dtype":"torch.float16",)"
            R"("use_cache":true,"my_own_key":3)";
        QVERIFY(open(written("defaults", toy))->info().notices.empty());
        toy.extraConfig = R"(,"pretraining_tp":2)";
        const std::vector<std::string> notices = open(written("parts", toy))->info().notices;
        QCOMPARE(notices, std::vector<std::string>{(folder("parts") / "config.json").string() +
                                                   ": pretraining_tp 2 is not followed: it changes only the order in "
                                                   "which sums are rounded"});
    }

    void aTensorThatTheIndexLeavesOut() {
        const Toy toy = plain();
        const std::filesystem::path directory = written("index", toy),
                                    index = directory / "model.safetensors.index.json";
        compute::Json map = compute::Json::object();
        for (const auto& [name, values] : toy.tensors)
            if (name != "model.layers.1.mlp.up_proj.weight") map[name] = "model.safetensors";
        std::ofstream(index) << compute::Json{{"weight_map", map}};
        QCOMPARE(errorOf([&] { open(directory); }),
                 index.string() +
                     ": tensor 'model.layers.1.mlp.up_proj.weight' is missing, this index does not list it (expected a "
                     "tensor of shape [56, 40]); download it again, or take it away if model.safetensors holds the "
                     "whole model.");
        std::filesystem::remove(index);
        QVERIFY(open(directory) != nullptr);
    }

    void paddingRowsAreTold() {
        const auto source = open(written("padding", plain()), {}, 296);  // HAZARDS A7
        QCOMPARE(source->info().logitWidth, 300);
        QVERIFY(source->info().notices.empty());
        std::vector<EnsembleMember> members;
        for (const char* name : {"base", "math"})
            members.push_back({.name = name, .source = source->fork(), .prefix = {}});
        const std::vector<std::string> told = Ensemble(std::move(members)).notices();
        QCOMPARE(told.size(), std::size_t(2));  // each source once
        QVERIFY(told[0].starts_with("'base': 4 rows of logits beyond the tokenizer's 296 tokens") &&
                told[1].starts_with("'math': 4 rows"));
    }

    void positionLimitIsAnError() {
        Toy toy = plain();
        toy.maxPositions = 70;
        const auto source = open(written("limit", toy));
        std::vector<float> row(300);
        QCOMPARE(source->forward(someIds(69), 1, row, {}), Outcome::Done);
        const std::string text = errorOf([&] { (void)source->forward(someIds(2), 1, row, {}); });
        QVERIFY2(text.find("at most 70 tokens") != std::string::npos && text.find("71") != std::string::npos,
                 text.c_str());
        QCOMPARE(source->length(), 69);
        QCOMPARE(source->forward(someIds(1), 1, row, {}), Outcome::Done);
        QCOMPARE(source->length(), 70);
    }

    void badCallsAreErrors() {
        const auto source = open(written("calls", plain()));
        std::vector<float> row(300);
        const std::vector<TokenId> high = {300}, low = {-1}, good = {1};
        QVERIFY(errorOf([&] { (void)source->forward(high, 1, row, {}); }).find("0 to 299") != std::string::npos);
        QVERIFY(errorOf([&] { (void)source->forward(low, 1, row, {}); }).find("found -1") != std::string::npos);
        QVERIFY(!errorOf([&] { (void)source->forward(good, 2, row, {}); }).empty());
        QVERIFY(!errorOf([&] { (void)source->forward(good, 1, std::span(row).first(299), {}); }).empty());
        QVERIFY(!errorOf([&] { source->rewind(1); }).empty());
        QCOMPARE(source->length(), 0);
        OpenOptions options;
        options.dtype = "float8";
        QVERIFY(errorOf([&] { open(folder("calls"), options); }).find("float8") != std::string::npos);
    }

    void stopDuringAPromptLeavesTheLength() {
        Toy toy = plain();
        toy.layers = 12;
        toy.hidden = 256;
        toy.intermediate = 512;
        toy.fill(2);
        const auto source = open(written("stop", toy));
        const std::vector<TokenId> ids = someIds(600);
        std::vector<float> row(300), again(300);
        const std::vector<TokenId> start(ids.begin(), ids.begin() + 20);
        QCOMPARE(source->forward(start, 1, row, {}), Outcome::Done);

        std::stop_source stopped;
        stopped.request_stop();
        QCOMPARE(source->forward(ids, 1, row, stopped.get_token()), Outcome::Cancelled);
        QCOMPARE(source->length(), 20);

        std::stop_source
            soon;  // asked for while the prompt is being read: whenever it arrives, the state is a whole one
        Outcome outcome{};
        {
            const std::jthread other([&] { soon.request_stop(); });
            outcome = source->forward(ids, 1, row, soon.get_token());
        }
        QCOMPARE(source->length(), outcome == Outcome::Cancelled ? 20 : 620);

        source->rewind(20);
        QCOMPARE(source->forward(std::span(ids).first(1), 1, row, {}), Outcome::Done);
        const auto fresh = source->fork();
        QCOMPARE(fresh->forward(start, 0, {}, {}), Outcome::Done);
        QCOMPARE(fresh->forward(std::span(ids).first(1), 1, again, {}), Outcome::Done);
        QCOMPARE(row, again);
    }

    void stopWhileOpening() {
        std::stop_source stopped;
        stopped.request_stop();
        const auto nothing = network::openOnCpu(
            written("stop-open", plain()), std::make_shared<tests::CountingTokenizer>(300), {}, stopped.get_token());
        QVERIFY(nothing == nullptr);
    }

    void notANumberInWeightsDoesNotCrash() {
        Toy toy = plain();
        toy.tensors["model.layers.0.self_attn.k_proj.weight"][3] = NAN;
        toy.tensors["model.layers.1.mlp.up_proj.weight"][3] = INFINITY;
        const auto source = open(written("nan", toy));
        for (int i = 0; i < 2; ++i) {
            const std::string said = errorOf([&] { (void)allRows(*source, someIds(80), 0); });
            QVERIFY2(said.starts_with("layer 1 of 2 gives a number that is not finite"), said.c_str());
            QCOMPARE(source->length(), 0);
        }
    }

    void tooLargeForFloat16IsSaid() {
        Toy toy = plain();
        toy.tensors["model.layers.1.mlp.up_proj.weight"][3] = 70000.0f;
        OpenOptions options;
        options.dtype = "float16";
        const std::string text = errorOf([&] { open(written("large", toy), options); });
        QVERIFY2(text.find("model.layers.1.mlp.up_proj.weight") != std::string::npos &&
                     text.find("bfloat16") != std::string::npos,
                 text.c_str());
        options.dtype = "bfloat16";
        QVERIFY(open(folder("large"), options) != nullptr);
    }

    void memoryIsFlatOverTwoThousandTokens() {  // HAZARDS A18
        Toy toy = plain();
        toy.maxPositions = 2048;
        const auto source = open(written("flat", toy));
        std::vector<float> row(300);
        const std::vector<TokenId> ids = someIds(2000);
        long early = 0;
        for (std::size_t i = 0; i < ids.size(); ++i) {
            QCOMPARE(source->forward(std::span(ids).subspan(i, 1), 1, row, {}), Outcome::Done);
            if (i == 200) early = residentPages();
        }
        const long grown = (residentPages() - early) * 4096;
        QVERIFY2(grown < 3 << 20,
                 qPrintable(QString::number(grown)));  // the cache itself: 1800 · 2 layers · 2 · 16 · 4 bytes = 0.5 MB
    }

    void memoryIsFlatOverOpeningAndClosing() {  // HAZARDS A27
        Toy toy = plain();
        toy.hidden = 128;
        toy.vocabulary = 4000;
        toy.fill(4);
        written("cycles", toy);
        long early = 0;
        for (int cycle = 0; cycle < 60; ++cycle) {
            OpenOptions options;
            options.dtype = "bfloat16";  // a converted copy: 2 MB
            const auto source = open(folder("cycles"), options, 4000);
            std::vector<float> row(4000);
            QCOMPARE(source->forward(someIds(100), 1, row, {}), Outcome::Done);
            if (cycle == 10) early = residentPages();
        }
        const long grown = (residentPages() - early) * 4096;
        QVERIFY2(grown < 2 << 20, qPrintable(QString::number(grown)));
    }

    /// 24 MB of float32 weights are used where they lie: opening takes no memory and no time to speak of.
    void floatWeightsAreNotCopied() {
        Toy toy = plain();
        toy.hidden = 128;
        toy.vocabulary = 24000;
        toy.fill(6);
        written("mapped", toy);
        open(folder("mapped"), {}, 24000);
        const long before = residentPages();
        const auto source = open(folder("mapped"), {}, 24000);
        const long grown = (residentPages() - before) * 4096;
        QVERIFY2(grown < 8 << 20, qPrintable(QString::number(grown)));
        QVERIFY(source->info().weightBytes > 20 << 20);
    }

    void infoTellsWhatItIs() {
        const Toy toy = plain();
        std::vector<double> fractions;
        OpenOptions options;
        options.progress = [&](double fraction, std::string_view) { fractions.push_back(fraction); };
        const auto source = open(written("info", toy), options);
        const compute::SourceInfo& info = source->info();
        std::int64_t parameters = 0;
        for (const auto& [name, values] : toy.tensors) parameters += static_cast<std::int64_t>(values.size());
        QCOMPARE(info.parameters, parameters);
        QCOMPARE(info.weightBytes, parameters * 4);
        QCOMPARE(info.kind, std::string("model"));
        QCOMPARE(info.architecture, std::string("LlamaForCausalLM"));
        QCOMPARE(info.dtype, std::string("float32"));
        QCOMPARE(info.maxPositions, 640);
        QCOMPARE(info.layers, 2);
        QVERIFY(!info.tiedHead && info.notices.empty());
        QVERIFY(!fractions.empty() && fractions.back() == 1.0 && std::is_sorted(fractions.begin(), fractions.end()));
    }
};

QTEST_GUILESS_MAIN(TestNetworkLoading)
#include "tst_network_loading.moc"
