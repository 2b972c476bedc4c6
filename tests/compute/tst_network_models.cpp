// Toy models against an independent float64 forward pass, and what must not change the bits: cache, chunks, rewinds,
// threads, forks. HAZARDS A6, A7, A9, A11, A12, A18, A27.

#include <functional>
#include <numeric>
#include <thread>

#include "compute/network/kernels/kernels.h"
#include "compute/network/modelsource.h"
#include "tests/support/fixture.h"
#include "tests/support/toymodel.h"

using namespace counterpoint;
using compute::OpenOptions;
using compute::Outcome;
using compute::TokenId;
using tests::Toy;

namespace {

std::unique_ptr<compute::Source> open(const std::filesystem::path& directory, const OpenOptions& options = {},
                                      std::int64_t tokens = 300) {
    return network::openOnCpu(directory, std::make_shared<tests::CountingTokenizer>(tokens), options, {});
}

std::vector<TokenId> someIds(std::size_t n, TokenId vocabulary = 300) {
    std::vector<TokenId> ids(n);
    for (std::size_t i = 0; i < n; ++i)
        ids[i] = static_cast<TokenId>((i * i * 31 + i * 7 + 3) % static_cast<std::size_t>(vocabulary));
    return ids;
}

/// All rows, feeding `step` tokens at a time (0: all at once).
std::vector<float> allRows(compute::Source& source, const std::vector<TokenId>& ids, std::size_t step) {
    const auto V = static_cast<std::size_t>(source.info().logitWidth);
    std::vector<float> rows(ids.size() * V);
    for (std::size_t from = 0; from < ids.size();) {
        const std::size_t n = step == 0 ? ids.size() : std::min(step, ids.size() - from);
        const Outcome outcome = source.forward(std::span(ids).subspan(from, n), static_cast<std::int64_t>(n),
                                               std::span(rows).subspan(from * V, n * V), {});
        if (outcome != Outcome::Done) throw std::runtime_error("cancelled");
        from += n;
    }
    return rows;
}

std::string sentence(const std::function<void()>& work) {
    try {
        work();
    } catch (const compute::Error& e) {
        return e.sentence();
    }
    return {};
}

long residentPages() {
    std::ifstream statm("/proc/self/statm");
    long all = 0, resident = 0;
    statm >> all >> resident;
    return resident;
}

}  // namespace

class TestNetworkModels : public QObject {
    Q_OBJECT
    QTemporaryDir m_folder;
    std::filesystem::path folder(const std::string& name) const {
        return std::filesystem::path(m_folder.path().toStdString()) / name;
    }
    std::filesystem::path written(const std::string& name, const Toy& toy) const {
        toy.write(folder(name));
        return folder(name);
    }
    static Toy plain(unsigned seed = 1) {
        Toy toy;
        toy.fill(seed);
        return toy;
    }

  private Q_SLOTS:
    void init() { tests::failOnAnyWarning(); }

    void logitsAgainstFloat64_data() {
        QTest::addColumn<std::function<void(Toy&)>>("change");
        QTest::newRow("A12: hidden 40, 4 heads of 16, 1 group") << std::function<void(Toy&)>([](Toy&) {});
        QTest::newRow("two groups") << std::function<void(Toy&)>([](Toy& t) { t.keyValueHeads = 2; });
        QTest::newRow("no groups") << std::function<void(Toy&)>([](Toy& t) { t.keyValueHeads = 4; });
        QTest::newRow("tied") << std::function<void(Toy&)>([](Toy& t) { t.tied = true; });
        QTest::newRow("attention bias") << std::function<void(Toy&)>([](Toy& t) { t.attentionBias = true; });
        QTest::newRow("mlp bias") << std::function<void(Toy&)>([](Toy& t) { t.mlpBias = true; });
        QTest::newRow("odd sizes") << std::function<void(Toy&)>([](Toy& t) {
            t.hidden = 33;
            t.intermediate = 17;
            t.headDim = 6;
            t.heads = 3;
            t.keyValueHeads = 3;
            t.layers = 3;
        });
    }
    void logitsAgainstFloat64() {
        QFETCH(std::function<void(Toy&)>, change);
        Toy toy;
        change(toy);
        toy.fill(7);
        const auto source = open(written("float64", toy));
        const std::vector<TokenId> ids = someIds(501);
        const std::vector<float> rows = allRows(*source, ids, 0);
        const std::vector<std::vector<double>> expected = tests::PlainForward(toy)(ids);
        double largest = 0, worst = 0;
        for (const std::size_t position : {0, 50, 500})
            for (std::size_t v = 0; v < 300; ++v) {
                largest = std::max(largest, std::abs(expected[position][v]));
                worst = std::max(worst, std::abs(rows[position * 300 + v] - expected[position][v]));
            }
        QVERIFY2(worst < 2e-5 * largest, qPrintable(QString::number(worst / largest)));
    }

    /// Prompt at once, in pieces, one by one, without a cache, on two threads, after a rewind, in a fork: the same
    /// bits.
    void sameBitsHoweverFed_data() {
        QTest::addColumn<QString>("dtype");
        for (const char* dtype : {"float32", "bfloat16", "float16"}) QTest::newRow(dtype) << QString(dtype);
    }
    void sameBitsHoweverFed() {
        QFETCH(QString, dtype);
        const std::filesystem::path directory = written("bits", plain());
        const std::vector<TokenId> ids = someIds(150);
        OpenOptions options;
        options.dtype = dtype.toStdString();
        const std::vector<float> once = allRows(*open(directory, options), ids, 0);
        for (const std::size_t step : {1, 2, 7, 64, 65}) QCOMPARE(allRows(*open(directory, options), ids, step), once);

        options.cache = false;
        const auto recomputing = open(directory, options);
        QCOMPARE(allRows(*recomputing, ids, 7), once);
        QCOMPARE(recomputing->length(), 150);
        options.cache = true;

        const auto source = open(directory, options);
        allRows(*source, someIds(140, 97), 0);  // other tokens first
        source->rewind(0);
        QCOMPARE(allRows(*source, ids, 1), once);
        source->rewind(33);
        const std::vector<TokenId> rest(ids.begin() + 33, ids.end());
        QCOMPARE(allRows(*source, rest, 0), std::vector<float>(once.begin() + 33 * 300, once.end()));

        const auto branch = source->fork();
        QCOMPARE(branch->length(), 0);
        QCOMPARE(allRows(*branch, ids, 5), once);
        QCOMPARE(source->length(), 150);
    }

    void sameBitsWithAnyNumberOfThreads() {
        Toy toy;  // large enough that the work is shared between threads
        toy.hidden = 256;
        toy.intermediate = 704;
        toy.headDim = 32;
        toy.heads = 8;
        toy.keyValueHeads = 4;
        toy.vocabulary = 5000;
        toy.fill(3);
        const std::filesystem::path directory = written("threads", toy);
        const std::vector<TokenId> ids = someIds(100, 5000);
        OpenOptions options;
        options.threads = 1;
        const std::vector<float> one = allRows(*open(directory, options, 5000), ids, 0);
        for (const int threads : {2, 3, 8}) {
            options.threads = threads;
            QCOMPARE(allRows(*open(directory, options, 5000), ids, 0), one);
            QCOMPARE(allRows(*open(directory, options, 5000), ids, 1), one);
        }
    }

    void onlyTheRowsAskedFor() {
        const auto source = open(written("rows", plain()));
        const std::vector<TokenId> ids = someIds(100);
        const std::vector<float> all = allRows(*source, ids, 0);
        for (const std::int64_t rows : {0, 1, 36, 37, 99}) {
            source->rewind(0);
            std::vector<float> last(static_cast<std::size_t>(rows * 300), -7.0f);
            QCOMPARE(source->forward(ids, rows, last, {}), Outcome::Done);
            QCOMPARE(last, std::vector<float>(all.end() - rows * 300, all.end()));
            QCOMPARE(source->length(), 100);
        }
    }

    void halfPrecisionStaysNear_data() {
        QTest::addColumn<QString>("dtype");
        QTest::addColumn<double>("bound");
        QTest::newRow("bfloat16") << "bfloat16" << 2e-2;
        QTest::newRow("float16") << "float16" << 2.5e-3;
    }
    void halfPrecisionStaysNear() {
        QFETCH(QString, dtype);
        QFETCH(double, bound);
        const std::filesystem::path directory = written("half", plain(5));
        OpenOptions options;
        options.dtype = dtype.toStdString();
        const auto narrow = open(directory, options);
        QCOMPARE(QString::fromStdString(narrow->info().dtype), dtype);
        const std::string notices =
            std::accumulate(narrow->info().notices.begin(), narrow->info().notices.end(), std::string());
        QVERIFY2(notices.find("converted to " + options.dtype) != std::string::npos, notices.c_str());
        QVERIFY(narrow->info().weightBytes < open(directory)->info().weightBytes * 6 / 10);
        const std::vector<float> a = allRows(*open(directory), someIds(60), 0), b = allRows(*narrow, someIds(60), 0);
        float largest = 0, worst = 0;
        for (std::size_t i = 0; i < a.size(); ++i) {
            largest = std::max(largest, std::abs(a[i]));
            worst = std::max(worst, std::abs(a[i] - b[i]));
        }
        QVERIFY2(worst > 0 && worst < static_cast<float>(bound) * largest,
                 qPrintable(QString::number(worst / largest)));
    }

    /// HAZARDS A9, four files: which is used, and what is said.
    void tiedEmbeddings() {
        Toy toy = plain();
        const std::vector<TokenId> ids = someIds(5);
        const auto has = [](const compute::Source& s, const char* text) {
            for (const std::string& n : s.info().notices)
                if (n.find(text) != std::string::npos) return true;
            return false;
        };
        toy.tied = true;
        Toy both = toy, onlyEmbedding = toy, onlyHead = toy;
        onlyEmbedding.tensors.erase("lm_head.weight");
        onlyHead.tensors["lm_head.weight"] = toy.tensors["model.embed_tokens.weight"];
        onlyHead.tensors.erase("model.embed_tokens.weight");
        const auto first = open(written("only-embedding", onlyEmbedding));
        const std::vector<float> expected = allRows(*first, ids, 0);
        QVERIFY(first->info().notices.empty());
        QVERIFY(first->info().tiedHead);

        const auto second = open(written("only-head", onlyHead));
        QCOMPARE(allRows(*second, ids, 0), expected);
        QVERIFY(has(*second, "tied: the file has lm_head.weight only"));

        const auto third = open(written("both", both));  // they differ: the embedding, said
        QCOMPARE(allRows(*third, ids, 0), expected);
        QVERIFY(has(*third, "lm_head.weight differs from model.embed_tokens.weight"));

        onlyEmbedding.tied = false;
        const std::string refused = sentence([&] { open(written("not-tied", onlyEmbedding)); });
        QVERIFY2(refused.find("tensor 'lm_head.weight' is missing") != std::string::npos, refused.c_str());
        Toy untied = plain();
        untied.tensors.erase("model.embed_tokens.weight");
        QVERIFY(sentence([&] {
                    open(written("not-tied-2", untied));
                }).find("tensor 'model.embed_tokens.weight' is missing") != std::string::npos);

        Toy empty = both;  // an empty entry counts as absent
        empty.tensors["lm_head.weight"].clear();
        empty.shapes["lm_head.weight"] = {0};
        const auto fourth = open(written("empty-head", empty));
        QCOMPARE(allRows(*fourth, ids, 0), expected);
        QVERIFY(fourth->info().tiedHead && fourth->info().notices.empty());
    }

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
            {"'model.layers.0.mlp.up_proj.weight' is missing"});
        row("A11: rope_scaling foo", config(R"(,"rope_scaling":{"rope_type":"foo","factor":2})"),
            {"'foo'", "rope_scaling"});
        row("A11: rope_scaling by its older key", config(R"(,"rope_scaling":{"type":"linear","factor":2})"),
            {"'linear'"});
        row("A11: llama3",
            config(R"(,"rope_scaling":{"rope_type":"llama3","factor":8,"original_max_position_embeddings":64})"),
            {"'llama3'"});
        row("A11: rope_parameters", config(R"(,"rope_parameters":{"rope_type":"yarn"})"),
            {"'yarn'", "rope_parameters"});
        row("quantised", config(R"(,"quantization_config":{"quant_method":"gptq","bits":4})"), {"gptq", "quantised"});
        row("head_dim odd", [](Toy& t) { t.headDim = 15; }, {"head size", "15"});
        row("groups that do not divide", [](Toy& t) { t.keyValueHeads = 3; }, {"num_key_value_heads", "4 and 3"});
    }
    void refusedByName() {
        QFETCH(std::function<void(Toy&)>, change);
        QFETCH(QStringList, said);
        Toy toy = plain();
        change(toy);
        const std::string text = sentence([&] { open(written("refused", toy)); });
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
                                    << "mixtral";
        QTest::newRow("activation") << "silu"
                                    << "gelu_new"
                                    << "gelu_new";
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
        const std::string what = sentence([&] { open(directory); });
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

    void paddingRowsAreTold() {
        const auto source = open(written("padding", plain()), {}, 296);  // HAZARDS A7
        QCOMPARE(source->info().logitWidth, 300);
        QVERIFY(source->info().notices.size() == 1 &&
                source->info().notices.front().starts_with("4 rows of logits beyond"));
    }

    void unusedTensorsAreTold() {
        Toy toy = plain();
        toy.tensors["model.layers.0.self_attn.q_proj.bias"] = std::vector<float>(64, 1.0f);
        toy.shapes["model.layers.0.self_attn.q_proj.bias"] = {64};
        const auto source = open(written("unused", toy));
        QVERIFY(source->info().notices.size() == 1 &&
                source->info().notices.front().find("q_proj.bias") != std::string::npos);
    }

    void positionLimitIsAnError() {
        Toy toy = plain();
        toy.maxPositions = 70;
        const auto source = open(written("limit", toy));
        std::vector<float> row(300);
        QCOMPARE(source->forward(someIds(69), 1, row, {}), Outcome::Done);
        const std::string text = sentence([&] { (void)source->forward(someIds(2), 1, row, {}); });
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
        QVERIFY(sentence([&] { (void)source->forward(high, 1, row, {}); }).find("0 to 299") != std::string::npos);
        QVERIFY(sentence([&] { (void)source->forward(low, 1, row, {}); }).find("found -1") != std::string::npos);
        QVERIFY(!sentence([&] { (void)source->forward(good, 2, row, {}); }).empty());
        QVERIFY(!sentence([&] { (void)source->forward(good, 1, std::span(row).first(299), {}); }).empty());
        QVERIFY(!sentence([&] { source->rewind(1); }).empty());
        QCOMPARE(source->length(), 0);
        OpenOptions options;
        options.dtype = "float8";
        QVERIFY(sentence([&] { open(folder("calls"), options); }).find("float8") != std::string::npos);
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
        const std::vector<float> rows = allRows(*source, someIds(80), 0);
        QVERIFY(std::isnan(rows.back()));
    }

    void tooLargeForFloat16IsSaid() {
        Toy toy = plain();
        toy.tensors["model.layers.1.mlp.up_proj.weight"][3] = 70000.0f;
        OpenOptions options;
        options.dtype = "float16";
        const std::string text = sentence([&] { open(written("large", toy), options); });
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

QTEST_GUILESS_MAIN(TestNetworkModels)
#include "tst_network_models.moc"
