// Toy models against an independent float64 forward pass, and what must not change the bits: cache, chunks, rewinds,
// threads, forks. HAZARDS A6, A9, A12, A26.

#include <numeric>

#include "compute/sources/notfinite.h"
#include "tests/support/fixture.h"
#include "tests/support/toysource.h"

using namespace counterpoint;
using compute::OpenOptions;
using compute::Outcome;
using compute::TokenId;
using tests::allRows;
using tests::errorOf;
using tests::open;
using tests::someIds;
using tests::Toy;

class TestNetworkModels : public QObject, tests::ToyFolder {
    Q_OBJECT

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

    /// HAZARDS A26: activations beyond float16's 65,504 are numbers here, since only weights are narrow.
    void activationsBeyondFloat16() {
        Toy toy = plain(5);
        const auto by = [&](const char* name, float factor) {
            for (float& w : toy.tensors[name]) w *= factor;
        };
        for (const char* p : {"model.layers.0.mlp.gate_proj.weight", "model.layers.0.mlp.up_proj.weight"}) by(p, 400);
        by("model.layers.0.mlp.down_proj.weight", 1e-3F);
        const std::filesystem::path directory = written("beyond", toy);
        OpenOptions options;
        options.dtype = "float16";
        const std::vector<float> a = allRows(*open(directory), someIds(30), 0);
        const std::vector<float> b = allRows(*open(directory, options), someIds(30), 0);
        float largest = 0, worst = 0;
        for (std::size_t i = 0; i < a.size(); ++i) {
            largest = std::max(largest, std::abs(a[i]));
            worst = std::max(worst, std::abs(a[i] - b[i]));  // a NaN would be lost in max: asked for below
            QVERIFY(std::isfinite(b[i]));
        }
        QVERIFY2(worst < 5e-3F * largest, qPrintable(QString::number(worst / largest)));
    }

    /// HAZARDS A26: the layer whose output is no number is named, at once and step by step, and the source goes on.
    void layerThatOverflowsIsNamed_data() {
        QTest::addColumn<QString>("tensor");
        QTest::addColumn<QString>("says");
        QTest::newRow("the embedding") << "model.embed_tokens.weight"
                                       << "the embedding gives a number that is not finite";
        QTest::newRow("the first layer") << "model.layers.0.mlp.down_proj.weight"
                                         << "layer 1 of 2 gives a number";
        QTest::newRow("attention of the second") << "model.layers.1.self_attn.o_proj.weight"
                                                 << "layer 2 of 2 gives";
    }
    void layerThatOverflowsIsNamed() {
        QFETCH(QString, tensor);
        QFETCH(QString, says);
        Toy toy = plain();
        for (float& w : toy.tensors[tensor.toStdString()]) w = std::numeric_limits<float>::max();
        const std::vector<TokenId> ids = someIds(110);
        if (tensor.contains("embed")) {  // one token's row only
            for (float& w : toy.tensors[tensor.toStdString()]) w = 0.1F;
            toy.tensors[tensor.toStdString()][ids[34] * 40 + 39] = std::numeric_limits<float>::infinity();
        }
        const auto source = open(written("overflow", toy));
        for (const std::size_t step : {0, 1}) {
            source->rewind(0);
            try {
                (void)allRows(*source, ids, step);
                QFAIL("the overflow was not seen");
            } catch (const compute::NotFinite& e) {
                QVERIFY2(QString::fromStdString(e.parts().what).startsWith(says), e.what());
            }
        }
        QCOMPARE(source->length(), tensor.contains("embed") ? 34 : 0);
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
        const std::string refused = errorOf([&] { open(written("not-tied", onlyEmbedding)); });
        QVERIFY2(refused.find("tensor 'lm_head.weight' is missing") != std::string::npos, refused.c_str());
        Toy untied = plain();
        untied.tensors.erase("model.embed_tokens.weight");
        QVERIFY(errorOf([&] {
                    open(written("not-tied-2", untied));
                }).find("tensor 'model.embed_tokens.weight' is missing") != std::string::npos);

        Toy empty = both;  // an empty entry counts as absent
        empty.tensors["lm_head.weight"].clear();
        empty.shapes["lm_head.weight"] = {0};
        const auto fourth = open(written("empty-head", empty));
        QCOMPARE(allRows(*fourth, ids, 0), expected);
        QVERIFY(fourth->info().tiedHead && fourth->info().notices.empty());
    }

    /// What would change the arithmetic is refused; a tower of its own or layers beyond the last are left out, but
    /// never unsaid.
    void unusedTensors() {
        const auto with = [&](const std::string& name) {
            Toy toy = plain();
            toy.tensors[name] = std::vector<float>(64, 1.0f);
            toy.shapes[name] = {64};
            return written("unused", toy);
        };
        for (const std::string own :
             {"model.layers.0.self_attn.q_proj.bias", "model.layers.1.mlp.down_proj.scale", "lm_head.bias",
              "model.embed_norm.weight", "lm_head.lora_A.default.weight", "model.embed_tokens.lora.A.weight"}) {
            const std::string said = tests::errorOf([&] { tests::open(with(own)); });
            QVERIFY2(said.find("tensor '" + own + "' would change") != std::string::npos, said.c_str());
        }
        for (const std::string apart : {"model.layers.2.mtp.bias", "vision_tower.layers.0.fc.bias", "score.weight",
                                        "multi_modal_projector.mm_input_projection_weight"})
            QCOMPARE(tests::open(with(apart))->info().notices,
                     std::vector<std::string>{"not used, since this architecture has no such tensor: " + apart});
        QVERIFY(tests::open(with("model.layers.0.self_attn.rotary_emb.inv_freq"))->info().notices.empty());
    }
};

QTEST_GUILESS_MAIN(TestNetworkModels)
#include "tst_network_models.moc"
