// GGUF models: the same bits as the model directory of the same weights, real models to their golden texts and to what
// llama.cpp says, and how they are refused (HAZARDS A9, A10, A11, A12, A27).
#include <algorithm>
#include <fstream>

#include "compute/files/json.h"
#include "compute/network/convert.h"
#include "compute/network/ggufmodel.h"
#include "compute/text/gguftokenizer.h"
#include "tests/support/ggufmodel.h"
#include "tests/support/models.h"
#include "tests/support/toysource.h"

using namespace counterpoint;
using compute::GgmlTypeRow;
using compute::Gguf;
using compute::Json;
using compute::OpenOptions;
using compute::TokenId;
using tests::allRows;
using tests::errorOf;
using tests::GgufWriter;
using tests::someIds;
using tests::Toy;

namespace {

const char* const kStories = "models/stories260K/gguf/stories260K-f32.gguf";

/// Widths that are whole blocks of every type.
Toy blockToy(bool tied) {
    Toy toy;
    toy.hidden = toy.intermediate = 256;
    toy.heads = 4;
    toy.keyValueHeads = 2;
    toy.headDim = 64;
    toy.layers = 1;
    toy.tied = tied;
    toy.fill(5);
    return toy;
}

/// Blocks of random integers with scales about 0.01, and the toy's numbers replaced by what they stand for.
std::string randomBlocks(const GgmlTypeRow& row, std::vector<float>& values, std::mt19937& random) {
    const std::int64_t blocks = static_cast<std::int64_t>(values.size()) / row.block;
    std::string bytes(static_cast<std::size_t>(blocks * row.bytes), '\0');
    for (char& byte : bytes) byte = static_cast<char>(random() % 256);
    const bool atEnd = row.name == "Q6_K", two = row.name.ends_with("1") || row.name == "Q4_K" || row.name == "Q5_K";
    for (std::int64_t b = 0; b < blocks; ++b) {
        char* at = bytes.data() + b * row.bytes + (atEnd ? 208 : 0);
        at[0] = static_cast<char>(random() % 256);
        at[1] = '\x10';  // 2^-11 to 2^-10
        if (two) at[2] = static_cast<char>(random() % 256), at[3] = '\x10';
    }
    row.widen(reinterpret_cast<const std::byte*>(bytes.data()), blocks, values.data());
    return bytes;
}

std::vector<TokenId> greedy(compute::Source& source, const std::vector<TokenId>& prompt, std::size_t more) {
    std::vector<TokenId> ids = prompt;
    std::vector<float> row(static_cast<std::size_t>(source.info().logitWidth));
    std::span<const TokenId> next(ids);
    while (ids.size() < prompt.size() + more) {
        if (source.forward(next, 1, row, {}) != compute::Outcome::Done) break;
        ids.push_back(static_cast<TokenId>(std::max_element(row.begin(), row.end()) - row.begin()));
        next = std::span(ids).last(1);
    }
    return ids;
}

std::unique_ptr<compute::Source> openFile(const std::filesystem::path& file, const OpenOptions& options = {}) {
    return network::openOnCpu(file, compute::openGgufTokenizer(*Gguf::open(file)), options, {});
}

bool says(const compute::SourceInfo& info, const std::string& notice) {
    return std::any_of(info.notices.begin(), info.notices.end(),
                       [&](const std::string& n) { return n.find(notice) != std::string::npos; });
}

}  // namespace

class TestNetworkGguf : public QObject, tests::ToyFolder {
    Q_OBJECT

    std::filesystem::path file(const std::string& name, const GgufWriter& w) const {
        const std::filesystem::path path = folder(name + ".gguf");
        std::ofstream(path, std::ios::binary) << w.bytes();
        return path;
    }
    std::shared_ptr<const Gguf> parsed(const GgufWriter& w) const { return Gguf::open(file("parsed", w)); }

  private Q_SLOTS:
    void init() { tests::failOnAnyWarning(); }

    void floatsAsTheDirectory_data() {
        QTest::addColumn<std::function<void(Toy&)>>("change");
        const auto row = [](const char* name, std::function<void(Toy&)> change) { QTest::newRow(name) << change; };
        row("A12: a head size of its own", [](Toy&) {});
        row("groups", [](Toy& t) { t.keyValueHeads = 2; });
        row("tied", [](Toy& t) { t.tied = true; });
        row("biases", [](Toy& t) { t.attentionBias = t.mlpBias = true; });
    }
    void floatsAsTheDirectory() {
        QFETCH(std::function<void(Toy&)>, change);
        Toy toy;
        change(toy);
        toy.fill(3);
        const auto directory = tests::open(written("directory", toy));
        const auto gguf = openFile(file("toy", tests::ggufWithFloats(toy)));
        const std::vector<TokenId> ids = someIds(40);
        QCOMPARE(allRows(*gguf, ids, 0), allRows(*directory, ids, 0));
        QCOMPARE(gguf->info().kind, std::string("gguf"));
        QCOMPARE(gguf->info().architecture, std::string("LlamaForCausalLM"));
        QCOMPARE(gguf->info().dtype, std::string("float32"));
        QCOMPARE(gguf->info().tiedHead, toy.tied);
        QCOMPARE(gguf->info().parameters, directory->info().parameters);
        QCOMPARE(gguf->info().maxPositions, std::int64_t{640});
        QVERIFY(gguf->info().notices.empty());
    }

    /// In the file's own dtype everything but query and key stays in the mapping.
    void inPlace() {
        const auto gguf = parsed(tests::ggufWithFloats(plain()));
        const auto model = network::readGgufModel(*gguf, {}, 1, {}, {});
        const auto all = gguf->file()->bytes();
        for (const auto& [name, view] : model->tensors)
            QCOMPARE(view.bytes.data() >= all.data() && view.bytes.data() < all.data() + all.size(),
                     !tests::standsInPairs(name));
        QCOMPARE(model->dtype, std::string());
    }

    void halves_data() {
        QTest::addColumn<int>("type");
        QTest::addColumn<QString>("dtype");
        QTest::newRow("F16") << 1 << "float16";
        QTest::newRow("BF16") << 30 << "bfloat16";
    }
    void halves() {
        QFETCH(int, type);
        QFETCH(QString, dtype);
        const Toy toy = plain();
        GgufWriter w = tests::ggufOf(toy);
        tests::addTensors(w, toy, [&](const std::string& name, const std::vector<float>& values) {
            if (toy.shapes.at(name).size() == 1) return tests::asFloats(name, values);
            std::string bytes(values.size() * 2, '\0');
            network::convert(values.data(), network::WeightType::Float32, static_cast<std::int64_t>(values.size()),
                             type == 1 ? network::WeightType::Float16 : network::WeightType::BFloat16, bytes.data());
            return std::pair(static_cast<std::uint32_t>(type), bytes);
        });
        OpenOptions narrow;
        narrow.dtype = dtype.toStdString();
        const auto gguf = openFile(file("halves", w));
        QCOMPARE(gguf->info().dtype, dtype.toStdString());
        const std::vector<TokenId> ids = someIds(20);
        QCOMPARE(allRows(*gguf, ids, 0), allRows(*tests::open(written("wide", toy), narrow), ids, 0));
    }

    /// Widened to each dtype: the same bits as a directory of the widened numbers, opened in that dtype.
    void blocksAsTheDirectory_data() {
        QTest::addColumn<int>("number");
        for (const GgmlTypeRow& row : compute::ggmlTypes())
            if (row.widen != nullptr) QTest::newRow(row.name.data()) << static_cast<int>(row.type);
    }
    void blocksAsTheDirectory() {
        QFETCH(int, number);
        const GgmlTypeRow& row = compute::ggmlType(static_cast<compute::GgmlType>(number));
        Toy toy = blockToy(number % 2 == 0);
        std::mt19937 random(9);
        GgufWriter w = tests::ggufOf(toy);
        for (auto& [name, values] : toy.tensors) {
            const std::vector<std::int64_t>& shape = toy.shapes.at(name);
            if (toy.tied && name.starts_with("lm_head")) continue;
            if (shape.size() == 1) {
                w.tensor(tests::ggufName(name), {shape.begin(), shape.end()}, values);
                continue;
            }
            std::string bytes = randomBlocks(row, values, random);
            if (tests::standsInPairs(name)) {  // rows of blocks move as a whole
                const std::int64_t rowBytes = shape.back() / row.block * row.bytes;
                const std::vector<char> moved =
                    tests::inPairs(std::vector<char>(bytes.begin(), bytes.end()), toy.headDim, rowBytes);
                bytes.assign(moved.begin(), moved.end());
            }
            w.tensor(tests::ggufName(name), static_cast<std::uint32_t>(number), {shape.begin(), shape.end()}, bytes);
        }
        const std::filesystem::path path = file("blocks", w), directory = written("widened", toy);
        const std::vector<TokenId> ids = someIds(12);
        for (const char* dtype : {"", "float32", "bfloat16", "float16"}) {
            OpenOptions options;
            options.dtype = dtype;
            options.threads = 2;
            const auto gguf = openFile(path, options);
            QCOMPARE(gguf->info().dtype, std::string(*dtype == '\0' ? "float32" : dtype));
            QVERIFY(says(gguf->info(), std::string(row.name) + " (") &&
                    says(gguf->info(), ") widened to " + gguf->info().dtype));
            QCOMPARE(allRows(*gguf, ids, 0), allRows(*tests::open(directory, options), ids, 0));
        }
    }

    void tooLargeForFloat16() {
        Toy toy = blockToy(false);
        GgufWriter w = tests::ggufOf(toy);
        tests::addTensors(w, toy, [&](const std::string& name, const std::vector<float>& values) {
            if (name != "model.layers.0.mlp.up_proj.weight") return tests::asFloats(name, values);
            std::string block(34, '\x7F');  // d = 65504 (0x7BFF) times 127
            block[0] = '\xFF', block[1] = '\x7B';
            std::string bytes;
            for (std::size_t i = 0; i < values.size() / 32; ++i) bytes += block;
            return std::pair(8u, bytes);
        });
        OpenOptions options;
        options.dtype = "float16";
        const std::string found = errorOf([&] { openFile(file("large", w), options); });
        QVERIFY2(found.find("tensor 'blk.0.ffn_up.weight' does not fit float16") != std::string::npos, found.c_str());
        options.dtype = "bfloat16";
        QVERIFY(openFile(file("large", w), options) != nullptr);
    }

    /// The golden texts of shared/models: the same greedy ids as the model directory.
    void goldenStories() {
        REQUIRE_SHARED(kStories);
        const auto source = openFile(tests::shared(kStories));
        QCOMPARE(source->info().stopIds, std::vector<TokenId>{2});
        int checked = 0;
        const Json golden = compute::readJson(tests::shared("models/stories260K/golden.json"));
        for (const Json& entry : golden["cases"]) {
            const std::vector<TokenId> prompt = entry["prompt_ids"], ids = entry["ids"];
            source->rewind(0);
            QCOMPARE(greedy(*source, prompt, ids.size() - prompt.size()), ids);
            ++checked;
        }
        QCOMPARE(checked, 5);
    }

    void composesWithItsDirectory() {
        REQUIRE_SHARED(kStories);
        const auto gguf = openFile(tests::shared(kStories));
        const auto directory =
            network::openOnCpu(tests::shared("models/stories260K/hf"),
                               compute::openTokenizer(tests::shared("models/stories260K/hf")), {}, {});
        QVERIFY(compute::requireComposable("base", *directory, "file", *gguf).empty());
    }

    /// tests/data/gguf/make_greedy.py: 64 tokens after each of five prompts. llama.cpp on the same weights in float32
    /// says the same ids; on the file itself it rounds activations to eight bits, so that its choice need only be near
    /// the best here.
    void realModelsAsLlamaCpp_data() {
        QTest::addColumn<int>("model");
        QTest::addColumn<int>("prompt");
        const char* const names[] = {"SmolLM2 Q4_1", "Gemma 3 Q4_K_M"};
        for (int model = 0; model < 2; ++model)
            for (int prompt = 0; prompt < 5; ++prompt)
                QTest::newRow(qPrintable(QStringLiteral("%1, prompt %2").arg(names[model]).arg(prompt + 1)))
                    << model << prompt;
    }
    void realModelsAsLlamaCpp() {
        QFETCH(int, model);
        QFETCH(int, prompt);
        const Json golden = compute::readJson(std::string(COUNTERPOINT_SOURCE_DIR) +
                                              "/tests/data/gguf/greedy.json")[static_cast<std::size_t>(model)];
        const std::string name = golden["file"];
        REQUIRE_MODEL(name);
        static std::unique_ptr<compute::Source> source;
        static std::string open;
        if (open != name) source.reset(), source = openFile(tests::models(name));
        open = name;
        const Json& entry = golden["cases"][static_cast<std::size_t>(prompt)];
        std::vector<TokenId> ids = source->tokenizer()->encode(entry["prompt"].get<std::string>());
        if (source->tokenizer()->addsBos()) ids.insert(ids.begin(), *source->tokenizer()->bos());
        const auto from = static_cast<std::ptrdiff_t>(ids.size());

        source->rewind(0);
        const std::vector<TokenId> all = greedy(*source, ids, 64), found(all.begin() + from, all.end());
        QCOMPARE(QString::fromStdString(source->tokenizer()->decode(found)),
                 QString::fromStdString(entry["widened"]["text"].get<std::string>()));
        QCOMPARE(found, entry["widened"]["ids"].get<std::vector<TokenId>>());

        const std::vector<TokenId> theirs = entry["file"]["ids"];
        QCOMPARE(theirs.size(), std::size_t{64});
        ids.insert(ids.end(), theirs.begin(), theirs.end() - 1);
        const auto V = static_cast<std::size_t>(source->info().logitWidth);
        std::vector<float> rows(theirs.size() * V);
        source->rewind(0);
        QCOMPARE(source->forward(ids, 64, rows, {}), compute::Outcome::Done);
        int same = 0;
        float furthest = 0;
        for (std::size_t t = 0; t < theirs.size(); ++t) {
            const auto row = std::span(rows).subspan(t * V, V);
            const float gap = *std::max_element(row.begin(), row.end()) - row[static_cast<std::size_t>(theirs[t])];
            same += gap == 0.0F ? 1 : 0;
            furthest = std::max(furthest, gap);
        }
        qInfo("on the file itself: %d of 64 the same, the furthest %.3f nats below", same,
              static_cast<double>(furthest));
        QVERIFY(same >= 56);
        QVERIFY(furthest < 1.0F);
    }

    void configurations_data() {
        QTest::addColumn<std::function<void(GgufWriter&)>>("add");
        QTest::addColumn<std::function<bool(const network::Shape&)>>("holds");
        const auto row = [](const char* name, std::function<void(GgufWriter&)> add,
                            std::function<bool(const network::Shape&)> holds) { QTest::newRow(name) << add << holds; };
        row(
            "defaults", [](GgufWriter&) {},
            [](const network::Shape& s) {
                return s.tiedHead && s.vocabulary == 300 && s.headDim == 16 && s.rotaries[0].base == 10000.0 &&
                       s.normEpsilon == 1e-5F && s.rotaries[0].scaling.empty();
            });
        row(
            "rope base", [](GgufWriter& w) { w.number("llama.rope.freq_base", 500000.0F); },
            [](const network::Shape& s) { return s.rotaries[0].base == 500000.0; });
        row(
            "A11: linear",
            [](GgufWriter& w) {
                w.text("llama.rope.scaling.type", "linear");
                w.number("llama.rope.scaling.factor", 4.0F);
            },
            [](const network::Shape& s) { return s.rotaries[0].frequencies[0] == 0.25; });
        row(
            "A11: the older key", [](GgufWriter& w) { w.number("llama.rope.scale_linear", 2.0F); },
            [](const network::Shape& s) { return s.rotaries[0].frequencies[0] == 0.5; });
        row(
            "A11: yarn",
            [](GgufWriter& w) {
                w.text("llama.rope.scaling.type", "yarn");
                w.number("llama.rope.scaling.factor", 4.0F);
                w.whole("llama.rope.scaling.original_context_length", 320);
            },
            [](const network::Shape& s) {
                return s.rotaries[0].scaling.starts_with("yarn, factor 4") && s.maxPositions == 1280;
            });
        row(
            "A11: factors in the file",
            [](GgufWriter& w) {
                w.tensor("rope_freqs.weight", {8}, {1, 1, 1, 1, 1, 1, 1, 8});
            },
            [](const network::Shape& s) {
                return s.rotaries[0].frequencies[0] == 1.0 &&
                       s.rotaries[0].frequencies[7] == std::pow(10000.0, -7.0 / 8.0) / 8.0;
            });
    }
    void configurations() {
        QFETCH(std::function<void(GgufWriter&)>, add);
        QFETCH(std::function<bool(const network::Shape&)>, holds);
        GgufWriter w = tests::ggufOf(plain());
        w.tensor("token_embd.weight", {300, 40}, std::vector<float>(12000));
        add(w);
        QVERIFY(holds(network::readGgufConfig(*parsed(w)).shape));
    }

    void refused_data() {
        QTest::addColumn<std::function<void(GgufWriter&)>>("write");
        QTest::addColumn<QString>("sentence");
        const auto row = [](const char* name, std::function<void(GgufWriter&)> write, const char* sentence) {
            QTest::newRow(name) << write << QString(sentence);
        };
        const auto with = [](std::function<void(GgufWriter&)> more) {
            return [more](GgufWriter& w) {
                w = tests::ggufOf(ToyFolder::plain());
                more(w);
                tests::addTensors(w, ToyFolder::plain(), tests::asFloats);
            };
        };
        const auto without = [](const std::string& left, std::vector<std::int64_t> shape = {}) {
            return [=](GgufWriter& w) {
                Toy toy = ToyFolder::plain();
                shape.empty() ? void(toy.tensors.erase(left)) : void(toy.shapes[left] = shape);
                w = tests::ggufWithFloats(toy);
            };
        };
        row(
            "no architecture", [](GgufWriter& w) { w = {}; },
            "this architecture is not supported in a GGUF file (expected llama, qwen2, qwen3, gemma2, gemma3, "
            "gpt2, gptneox, phi3, found none)");
        row(
            "another architecture",
            [](GgufWriter& w) {
                w = {};
                w.text("general.architecture", "mamba");
            },
            "found mamba)");
        row("A9: no embedding", without("model.embed_tokens.weight"), "tensor 'token_embd.weight' is missing");
        row("a tensor that is not there", without("model.layers.1.mlp.up_proj.weight"),
            "tensor 'model.layers.1.mlp.up_proj.weight' is missing");
        row("A12: another shape", without("model.layers.1.mlp.up_proj.weight", {40, 56}),
            "has another shape than the configuration says (expected [56, 40], found [40, 56])");
        row("A11: longrope", with([](GgufWriter& w) {
                w.text("llama.rope.scaling.type", "longrope");
                w.number("llama.rope.scaling.factor", 4.0F);
            }),
            "'longrope'");
        row("experts", with([](GgufWriter& w) { w.whole("llama.expert_count", 4); }),
            "a mixture of experts is not supported by this architecture");
        row("a window", with([](GgufWriter& w) { w.whole("llama.attention.sliding_window", 64); }),
            "a sliding window of attention");
        row("A13: a scale of logits", with([](GgufWriter& w) { w.number("llama.logit_scale", 0.5F); }),
            "the key llama.logit_scale is not supported by this architecture (expected none, found 0.5)");
        row("one part of many", with([](GgufWriter& w) { w.whole("split.count", 3); }),
            "this is one part of a model in 3 files; join them");
        row("a list where a number stands", with([](GgufWriter& w) {
                w.numbers("llama.rope.freq_base", {1, 2});
            }),
            "'llama.rope.freq_base' is of another kind");
        row("factors of another size", with([](GgufWriter& w) {
                w.tensor("rope_freqs.weight", {4}, {1, 1, 1, 1});
            }),
            "tensor 'rope_freqs.weight' has another size");
        row("a factor of 0", with([](GgufWriter& w) {
                w.tensor("rope_freqs.weight", {8}, {1, 1, 1, 1, 1, 1, 1, 0});
            }),
            "a factor in tensor 'rope_freqs.weight' is not usable");
    }
    void refused() {
        QFETCH(std::function<void(GgufWriter&)>, write);
        QFETCH(QString, sentence);
        GgufWriter w;
        write(w);
        const std::filesystem::path path = file("refused", w);
        const std::string found =
            errorOf([&] { network::openOnCpu(path, std::make_shared<tests::CountingTokenizer>(300), {}, {}); });
        QVERIFY2(found.find(sentence.toStdString()) != std::string::npos, found.c_str());
        QVERIFY2(found.starts_with(path.string()), found.c_str());
    }

    void mixtureOfExpertsByItsName() {
        const std::string path = "models/stories260K-mixtral-tuned/gguf/stories260K-mixtral-tuned-f32.gguf";
        REQUIRE_SHARED(path);
        QVERIFY(errorOf([&] { openFile(tests::shared(path)); }).find("a mixture of experts is not supported") !=
                std::string::npos);
    }

    /// A27: weights that would fill 16 TiB are refused before anything is widened.
    void moreThanTheMemory() {
        GgufWriter w;
        w.text("general.architecture", "llama");
        for (const auto& [key, value] : {std::pair("llama.block_count", 1u),
                                         {"llama.context_length", 8u},
                                         {"llama.embedding_length", 1u << 20},
                                         {"llama.feed_forward_length", 256u},
                                         {"llama.attention.head_count", 1024u},
                                         {"llama.attention.key_length", 1024u}})
            w.whole(key, value);
        w.tensorAt("token_embd.weight", 2, {1u << 22, 1u << 20}, 0);
        const std::filesystem::path path = file("huge", w);
        std::error_code error;
        std::filesystem::resize_file(path, (std::uintmax_t{1} << 42) / 32 * 18 + 4096, error);
        if (error) QSKIP("this file system holds no file of 2.5 TB: this check did not run");
        const std::string found = errorOf([&] { network::openOnCpu(path, nullptr, {}, {}); });
        QVERIFY2(found.find("there is not enough memory for its weights in float32 (expected 16777216 MiB, found") !=
                     std::string::npos,
                 found.c_str());
    }

    void progressAndStop() {
        Toy toy = blockToy(true);
        GgufWriter w = tests::ggufWithFloats(toy);
        OpenOptions options;
        double last = -1;
        options.progress = [&](double fraction, std::string_view) { last = fraction; };
        std::stop_source stop;
        QVERIFY(network::openOnCpu(file("stop", w), nullptr, options, stop.get_token()) != nullptr);
        QCOMPARE(last, 1.0);
        stop.request_stop();
        QVERIFY(network::openOnCpu(file("stop", w), nullptr, options, stop.get_token()) == nullptr);
    }
};

QTEST_GUILESS_MAIN(TestNetworkGguf)
#include "tst_network_gguf.moc"
