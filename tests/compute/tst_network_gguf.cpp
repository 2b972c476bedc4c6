// GGUF models: the same bits as the model directory of the same weights, real models to their golden texts and to what
// llama.cpp says.
#include <algorithm>

#include "compute/decode/ensemble.h"
#include "compute/files/json.h"
#include "compute/network/convert.h"
#include "tests/support/ggufsource.h"
#include "tests/support/models.h"

using namespace counterpoint;
using compute::Json;
using compute::OpenOptions;
using compute::TokenId;
using tests::allRows;
using tests::GgufWriter;
using tests::openGguf;
using tests::someIds;
using tests::Toy;

namespace {

const char* const kStories = "models/stories260K/gguf/stories260K-f32.gguf";

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

}  // namespace

class TestNetworkGguf : public QObject, tests::GgufFolder {
    Q_OBJECT

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
        const auto gguf = openGguf(file("toy", tests::ggufWithFloats(toy)));
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

    /// Those of queries, keys and values without that of the output: as a directory where it is 0.
    void biasesAsTheyArePresent() {
        Toy toy;
        toy.attentionBias = true;
        toy.fill(3);
        for (auto& [name, values] : toy.tensors)
            if (name.ends_with("o_proj.bias")) std::ranges::fill(values, 0.0F);
        const auto directory = tests::open(written("directory", toy));
        std::erase_if(toy.tensors, [](const auto& entry) { return entry.first.ends_with("o_proj.bias"); });
        const auto gguf = openGguf(file("biases", tests::ggufWithFloats(toy)));
        QVERIFY(gguf->info().notices.empty());
        QCOMPARE(allRows(*gguf, someIds(40), 0), allRows(*directory, someIds(40), 0));
    }

    /// A tower of its own or layers beyond the last are left out, and said.
    void partsBesideTheModelAreTold() {
        const Toy toy = plain();
        GgufWriter w = tests::ggufWithFloats(toy);
        for (const char* name : {"v.blk.0.attn_q.bias", "mm.0.weight", "blk.2.nextn.eh_proj.weight"})
            w.tensor(name, {8}, std::vector<float>(8));
        const auto gguf = openGguf(file("parts", w));
        QCOMPARE(gguf->info().notices, std::vector<std::string>{"not used, since this architecture has no such tensor: "
                                                                "blk.2.nextn.eh_proj.weight and 2 more"});
        QCOMPARE(allRows(*gguf, someIds(9), 0), allRows(*tests::open(written("directory", toy)), someIds(9), 0));
    }

    void numbersThatAreNone_data() {
        QTest::addColumn<QString>("tensor");
        QTest::addColumn<uint>("type");
        QTest::addColumn<QByteArray>("number");
        QTest::addColumn<QString>("says");
        const QString holds = "since tensor '%1' in %2 holds a NaN or an infinity; copy or download the weights again";
        const auto row = [](const char* tensor, uint type, const QByteArray& number, const QString& says) {
            QTest::addRow("%s, type %u", tensor, type) << tensor << type << number << says;
        };
        row("output_norm.weight", 0, QByteArray("\0\0\xC0\x7F", 4), holds);
        row("token_embd.weight", 1, QByteArray("\0\x7E", 2), holds);
        row("token_embd.weight", 8, QByteArray("\0\x7C", 2), holds);  // the scale of the first block
        row("output_norm.weight", 0, QByteArray("\0\0\0\x7F", 4),
            "its arithmetic left float32: check that its tensors and its metadata belong together");
    }
    void numbersThatAreNone() {
        QFETCH(QString, tensor);
        QFETCH(uint, type);
        QFETCH(QByteArray, number);
        QFETCH(QString, says);
        Toy toy;
        toy.hidden = 64;
        toy.fill(3);
        for (float& x : toy.tensors["lm_head.weight"]) x *= 1e3F;
        GgufWriter w = tests::ggufOf(toy);
        tests::addTensors(w, toy, [&](const std::string& name, const std::vector<float>& values) {
            auto encoded = tests::asFloats(name, values);
            if (tests::ggufName(name) != tensor.toStdString()) return encoded;
            if (type != 0) encoded = {type, std::string(type == 1 ? values.size() * 2 : values.size() / 32 * 34, '\0')};
            encoded.second.replace(0, static_cast<std::size_t>(number.size()), number.toStdString());
            return encoded;
        });
        const std::filesystem::path path = file("none", w);
        std::vector<compute::EnsembleMember> members;
        members.push_back({.name = "base", .source = openGguf(path), .prefix = {}});
        compute::Ensemble ensemble(std::move(members));
        std::vector<compute::RawRows> rows;
        const std::string said = tests::errorOf([&] { ensemble.forward(std::vector<TokenId>{0, 1}, 1, rows, {}); });
        if (says.contains("%1")) says = says.arg(tensor, QString::fromStdString(path.string()));
        QVERIFY2(said.find(says.toStdString()) != std::string::npos, said.c_str());
        QVERIFY2(said.find("config.json") == std::string::npos, said.c_str());
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
        const auto gguf = openGguf(file("halves", w));
        QCOMPARE(gguf->info().dtype, dtype.toStdString());
        const std::vector<TokenId> ids = someIds(20);
        QCOMPARE(allRows(*gguf, ids, 0), allRows(*tests::open(written("wide", toy), narrow), ids, 0));
    }

    /// The golden texts of shared/models: the same greedy ids as the model directory.
    void goldenStories() {
        REQUIRE_SHARED(kStories);
        const auto source = openGguf(tests::shared(kStories));
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
        const auto gguf = openGguf(tests::shared(kStories));
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
        const Json golden =
            compute::readJson(tests::checkout() / "tests/data/gguf/greedy.json")[static_cast<std::size_t>(model)];
        const std::string name = golden["file"];
        REQUIRE_MODEL(name);
        static std::unique_ptr<compute::Source> source;
        static std::string open;
        if (open != name) source.reset(), source = openGguf(tests::models(name));
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
};

QTEST_GUILESS_MAIN(TestNetworkGguf)
#include "tst_network_gguf.moc"
