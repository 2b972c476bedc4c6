// The torch module as the program uses it: real models to their golden texts, the device path against the processor's,
// what it says about itself, and how it refuses.

#include <QElapsedTimer>
#include <QFloat16>
#include <algorithm>
#include <cmath>
#include <fstream>

#include "compute/files/json.h"
#include "compute/sources/modules.h"
#include "compute/sources/notfinite.h"
#include "tests/support/fixture.h"
#include "tests/support/scratch.h"
#include "tests/support/toyfiles.h"
#include "tests/support/toymodel.h"

using namespace counterpoint;
using compute::OpenOptions;
using compute::Outcome;
using compute::TokenId;

namespace {

const char* const kModel = "models/stories260K/hf";

OpenOptions on(const std::string& device) {
    OpenOptions options;
    options.device = device;
    return options;
}

std::unique_ptr<compute::Source> openStories(const OpenOptions& options = {}) {
    return compute::openSource(tests::shared(kModel), options, {});
}

TokenId argmax(std::span<const float> row) {
    return static_cast<TokenId>(std::max_element(row.begin(), row.end()) - row.begin());
}

double logSum(std::span<const float> row) {
    const double top = *std::max_element(row.begin(), row.end());
    double sum = 0;
    for (const float x : row) sum += std::exp(x - top);
    return top + std::log(sum);
}

double logProb(std::span<const float> row, TokenId id) { return row[static_cast<std::size_t>(id)] - logSum(row); }

struct Greedy {
    std::vector<TokenId> ids;
    std::vector<float> firstRow;  ///< after the last prompt token
    double sumLogProb = 0;        ///< of every token but the first, prompt included
};

/// The prompt at once, then token by token until `total` ids or the end token 2 would be drawn.
Greedy decodeGreedily(compute::Source& source, const std::vector<TokenId>& prompt, std::size_t total) {
    const auto V = static_cast<std::size_t>(source.info().logitWidth);
    Greedy result{prompt, {}, 0};
    std::vector<float> rows(prompt.size() * V);
    const auto read = [&](std::span<const TokenId> ids, std::span<float> out) {
        if (source.forward(ids, static_cast<std::int64_t>(ids.size()), out, {}) != Outcome::Done)
            throw std::runtime_error("cancelled");
    };
    read(prompt, rows);
    for (std::size_t t = 0; t + 1 < prompt.size(); ++t)
        result.sumLogProb += logProb(std::span(rows).subspan(t * V, V), prompt[t + 1]);
    std::vector<float> row(rows.end() - static_cast<std::ptrdiff_t>(V), rows.end());
    result.firstRow = row;
    while (result.ids.size() < total) {
        const TokenId next = argmax(row);
        result.sumLogProb += logProb(row, next);
        result.ids.push_back(next);
        if (result.ids.size() < total) read(std::span(&result.ids.back(), 1), row);
    }
    return result;
}

compute::Json golden() { return compute::readJson(tests::shared("models/stories260K/golden.json")); }

/// A copy of the model's directory with its weights in another dtype.
void writeNarrow(const std::filesystem::path& to, compute::DType dtype) {
    std::filesystem::create_directories(to);
    for (const auto& entry : std::filesystem::directory_iterator(tests::shared(kModel)))
        if (entry.path().extension() != ".safetensors")
            std::filesystem::copy_file(entry.path(), to / entry.path().filename());
    const auto files = compute::Safetensors::openDirectory(tests::shared(kModel));
    std::vector<std::vector<std::uint16_t>> memory;
    std::vector<compute::TensorToWrite> list;
    memory.reserve(files.tensors().size());
    for (const auto& [name, tensor] : files.tensors()) {
        std::vector<float> wide(tensor.bytes.size() / 4);
        std::memcpy(wide.data(), tensor.bytes.data(), tensor.bytes.size());
        std::vector<std::uint16_t>& narrow = memory.emplace_back();
        for (const float x : wide) {
            std::uint32_t bits = 0;
            std::memcpy(&bits, &x, 4);
            const qfloat16 half(x);
            std::uint16_t halfBits = 0;
            std::memcpy(&halfBits, &half, 2);
            narrow.push_back(dtype == compute::DType::F16
                                 ? halfBits
                                 : static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16));
        }
        list.push_back({name, dtype, tensor.shape, std::as_bytes(std::span(narrow))});
    }
    compute::writeSafetensors(to / "model.safetensors", list, {});
}

}  // namespace

class TestNetwork : public QObject {
    Q_OBJECT
    QTemporaryDir m_folder;

    std::unique_ptr<compute::Source> onTheDevice(const tests::Toy& toy, const char* name) const {
        const std::filesystem::path directory = std::filesystem::path(m_folder.path().toStdString()) / name;
        toy.write(directory);
        tests::writeJson(directory / "tokenizer.json", tests::tokenizerOf(tests::toyPieces(300)));
        return compute::openSource(directory, on("cpu-aten"), {});
    }

  private Q_SLOTS:
    void init() { tests::failOnAnyWarning(); }

    void goldenTexts_data() {
        QTest::addColumn<int>("index");
        QTest::addColumn<bool>("cache");
        QTest::addColumn<QString>("device");
        if (!std::filesystem::exists(tests::shared(kModel))) return;
        const int cases = static_cast<int>(golden().at("cases").size());
        for (int i = 0; i < cases; ++i) {
            QTest::addRow("case %d, cache", i) << i << true << "cpu";
            QTest::addRow("case %d, no cache", i) << i << false << "cpu";
            QTest::addRow("case %d, ATen", i) << i << true << "cpu-aten";
        }
    }
    void goldenTexts() {
        REQUIRE_SHARED(kModel);
        QFETCH(int, index);
        QFETCH(bool, cache);
        QFETCH(QString, device);
        const compute::Json item = golden().at("cases").at(static_cast<std::size_t>(index));
        const auto ids = item.at("ids").get<std::vector<TokenId>>();
        OpenOptions options = on(device.toStdString());
        options.cache = cache;
        const auto source = openStories(options);
        const Greedy result = decodeGreedily(*source, item.at("prompt_ids").get<std::vector<TokenId>>(), ids.size());
        QCOMPARE(result.ids, ids);
        const auto first = item.at("first_logits_at_last_prompt_pos").get<std::vector<double>>();
        double shift = 0.0;
        if (device != "cpu") {  // log-probabilities: the logits, moved as a whole
            QVERIFY(std::abs(logSum(result.firstRow)) < 2e-6);
            shift = result.firstRow[0] - first[0];
        }
        for (std::size_t v = 0; v < first.size(); ++v)
            QVERIFY2(std::abs(result.firstRow[v] - shift - first[v]) < 2e-5,
                     qPrintable(QString::number(result.firstRow[v] - shift - first[v])));
        const double sum = item.at("sum_logprob").get<double>();  // 255 terms in float32, stated to 1e-4
        QVERIFY(std::abs(result.sumLogProb - sum) < 3e-4);
    }

    /// Mixtral's layout with real weights: four equal experts in the place of one MLP give the dense model's texts,
    /// four tuned ones those of their own golden file.
    void goldenTextsOfMixtures_data() {
        QTest::addColumn<QString>("model");
        QTest::addColumn<QString>("texts");
        QTest::addColumn<QString>("device");
        for (const char* device : {"cpu", "cpu-aten"}) {
            QTest::addRow("upcycled, %s", device) << "models/stories260K-mixtral-upcycled/hf"
                                                  << "models/stories260K/golden.json" << device;
            QTest::addRow("tuned, %s", device) << "models/stories260K-mixtral-tuned/hf"
                                               << "models/stories260K-mixtral-tuned/golden.json" << device;
        }
    }
    void goldenTextsOfMixtures() {
        QFETCH(QString, model);
        QFETCH(QString, texts);
        QFETCH(QString, device);
        REQUIRE_SHARED(model.toStdString());
        REQUIRE_SHARED(texts.toStdString());
        const auto source = compute::openSource(tests::shared(model.toStdString()), on(device.toStdString()), {});
        QCOMPARE(source->info().routers->experts, 4);
        const compute::Json json = compute::readJson(tests::shared(texts.toStdString()));
        QVERIFY(json.at("cases").size() >= 3);
        for (const compute::Json& item : json.at("cases")) {
            const auto ids = item.at("ids").get<std::vector<TokenId>>();
            source->rewind(0);
            QCOMPARE(decodeGreedily(*source, item.at("prompt_ids").get<std::vector<TokenId>>(), ids.size()).ids, ids);
        }
    }

    /// The files hold the narrow dtype and are used as they lie.
    void narrowWeightsStayNear_data() {
        QTest::addColumn<bool>("half");
        QTest::addColumn<QString>("device");
        QTest::addColumn<double>("bound");
        QTest::newRow("bfloat16") << false << "cpu" << 2e-2;  // measured 4.4e-3
        QTest::newRow("float16") << true << "cpu" << 2e-3;    // measured 5.7e-4
        QTest::newRow("bfloat16 by ATen")
            << false << "cpu-aten" << 5e-2;  // measured 1.4e-2: activations are narrow there too
    }
    void narrowWeightsStayNear() {
        REQUIRE_SHARED(kModel);
        QFETCH(bool, half);
        QFETCH(QString, device);
        QFETCH(double, bound);
        const std::filesystem::path copy =
            std::filesystem::path(m_folder.path().toStdString()) / QTest::currentDataTag();
        writeNarrow(copy, half ? compute::DType::F16 : compute::DType::BF16);
        const auto narrow = compute::openSource(copy, on(device.toStdString()), {});
        QCOMPARE(narrow->info().dtype, std::string(half ? "float16" : "bfloat16"));
        const auto wide = openStories();
        const auto ids = golden().at("cases").at(2).at("ids").get<std::vector<TokenId>>();
        std::vector<float> a(ids.size() * 512), b(a.size());
        QCOMPARE(wide->forward(ids, static_cast<std::int64_t>(ids.size()), a, {}), Outcome::Done);
        QCOMPARE(narrow->forward(ids, static_cast<std::int64_t>(ids.size()), b, {}), Outcome::Done);
        if (device != "cpu")  // log-probabilities there
            for (std::size_t row = 0; row < ids.size(); ++row) {
                const std::span logits = std::span(a).subspan(row * 512, 512);
                const double sum = logSum(logits);
                for (float& x : logits) x = static_cast<float>(x - sum);
            }
        float largest = 0, worst = 0;
        for (std::size_t i = 0; i < a.size(); ++i) {
            largest = std::max(largest, std::abs(a[i]));
            worst = std::max(worst, std::abs(a[i] - b[i]));
        }
        QVERIFY2(worst > 0 && worst < static_cast<float>(bound) * largest,
                 qPrintable(QString::number(worst / largest)));
    }

    void opensFast() {
        REQUIRE_SHARED(kModel);
        (void)openStories();  // the module is loaded once: 0.7 s
        QElapsedTimer timer;
        qint64 shortest = 1'000'000'000;
        for (int i = 0; i < 20; ++i) {
            timer.start();
            const auto source = openStories();
            shortest = std::min(shortest, timer.nsecsElapsed());
        }
        QVERIFY2(shortest < 30'000'000, qPrintable(QString::number(shortest)));
    }

    void infoOfARealModel() {
        REQUIRE_SHARED(kModel);
        const auto source = openStories();
        const compute::SourceInfo& info = source->info();
        QCOMPARE(info.architecture, std::string("LlamaForCausalLM"));
        QCOMPARE(info.parameters, 260032);  // the embedding counts once
        QCOMPARE(info.weightBytes, 4 * 260032);
        QCOMPARE(info.logitWidth, 512);
        QCOMPARE(info.maxPositions, 512);
        QCOMPARE(info.layers, 5);
        QVERIFY(info.tiedHead);
        QCOMPARE(info.stopIds, std::vector<TokenId>{2});
        QVERIFY(info.notices.empty());  // tiedHead says it: nothing to notice
    }

    void versionsAndDevices() {
        const auto versions = compute::networkVersions();
        const auto value = [&](const std::string& key) {
            for (const auto& [name, text] : versions)
                if (name == key) return text;
            return std::string();
        };
        for (const char* key : {"torch", "cuda", "blas", "kernels", "cpu_capability", "threads"})
            QVERIFY2(!value(key).empty(), key);
        QVERIFY2(value("cuda").starts_with("yes") || value("cuda").starts_with("no: "), value("cuda").c_str());
        const std::vector<compute::DeviceInfo> devices = compute::devices();
        QVERIFY(!devices.empty());
        QCOMPARE(devices.front().id, std::string("cpu"));
        QCOMPARE(devices.size() > 1, value("cuda").starts_with("yes"));  // HAZARDS A31: said, and true
    }

    void deviceThatIsNotThere_data() {
        QTest::addColumn<QString>("device");
        for (const char* device : {"cuda:120", "cuda:-1", "cuda:", "cuda:1x", "gpu", "mps"})
            QTest::newRow(device) << QString(device);
    }
    void deviceThatIsNotThere() {
        REQUIRE_SHARED(kModel);
        QFETCH(QString, device);
        const OpenOptions options = on(device.toStdString());
        try {
            (void)openStories(options);
            QFAIL("opened");
        } catch (const compute::Error& e) {
            QVERIFY2(e.sentence().find(options.device) != std::string::npos &&
                         e.sentence().find("libtorch") != std::string::npos,
                     e.what());
        }
    }

    /// HAZARDS A6: twenty failures, then a good run; every one a sentence.
    void failuresLeaveTheModuleUsable() {
        REQUIRE_SHARED(kModel);
        const std::filesystem::path broken = std::filesystem::path(m_folder.path().toStdString()) / "broken";
        writeNarrow(broken, compute::DType::F16);
        std::filesystem::resize_file(broken / "model.safetensors", 300'000);
        for (int i = 0; i < 20; ++i) {
            const OpenOptions options = on(i % 2 == 0 ? "cpu" : "cpu-aten");
            QVERIFY_THROWS_EXCEPTION(compute::Error, (void)compute::openSource(broken, options, {}));
        }
        const auto ids = golden().at("cases").at(3).at("ids").get<std::vector<TokenId>>();
        QCOMPARE(
            decodeGreedily(*openStories(), golden().at("cases").at(3).at("prompt_ids").get<std::vector<TokenId>>(), 30)
                .ids,
            std::vector<TokenId>(ids.begin(), ids.begin() + 30));
    }

    /// A tokenizer of more ids than the model has logits would leave tokens without a say.
    void fewerLogitsThanTokensIsRefused() {
        const std::filesystem::path directory = std::filesystem::path(m_folder.path().toStdString()) / "few";
        tests::Toy toy;
        toy.fill(1);
        toy.write(directory);
        tests::writeJson(directory / "tokenizer.json", tests::tokenizerOf(tests::toyPieces(300)));
        QCOMPARE(compute::openSource(directory, {}, {})->info().logitWidth, std::int64_t{300});
        tests::writeJson(directory / "tokenizer.json", tests::tokenizerOf(tests::toyPieces(304)));
        const QString found =
            QString::fromStdString(tests::errorOf([&] { (void)compute::openSource(directory, {}, {}); }));
        QVERIFY2(found.contains("few: the model gives fewer logits than the tokenizer has tokens") &&
                     found.contains("304 at least") && found.contains("found 300"),
                 qPrintable(found));
    }

    /// HAZARDS A26: the device path names the layer too; a chunk whose rows nobody asked for included.
    void deviceNamesTheLayerThatOverflows() {
        for (const auto& [tensor, says] : {std::pair{"model.layers.1.mlp.down_proj.weight", "layer 2 of 2 gives"},
                                           {"model.layers.0.self_attn.o_proj.weight", "layer 1 of 2 gives"},
                                           {"lm_head.weight", ""}}) {
            tests::Toy toy;
            toy.fill(1);
            for (float& w : toy.tensors[tensor]) w = std::numeric_limits<float>::max();
            const auto source = onTheDevice(toy, "overflow");
            std::vector<float> row(300);
            for (const auto& [count, rows] : {std::pair{1, 1}, {300, 0}, {300, 1}}) {
                const std::vector<TokenId> ids(static_cast<std::size_t>(count), 5);
                std::string said;
                source->rewind(0);
                try {
                    QCOMPARE(source->forward(ids, rows, std::span(row).first(static_cast<std::size_t>(rows) * 300), {}),
                             Outcome::Done);
                } catch (const compute::NotFinite& e) {
                    said = e.parts().what;
                }
                QVERIFY2(*says == 0 ? said.empty() : said.starts_with(says), said.c_str());
            }
        }
    }

    /// Prompts of more than one chunk: the last rows only, however many, and what is not asked for is not written.
    void deviceGivesTheRowsAskedFor() {
        tests::Toy toy;
        toy.fill(1);
        const auto source = onTheDevice(toy, "rows");
        std::vector<TokenId> ids(520);
        for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<TokenId>(i * i % 299);
        std::vector<float> all(ids.size() * 300);
        QCOMPARE(source->forward(ids, 520, all, {}), Outcome::Done);
        for (const std::int64_t rows : {1, 8, 9, 300, 519}) {
            source->rewind(0);
            std::vector<float> last(static_cast<std::size_t>(rows) * 300, -7.0F);
            QCOMPARE(source->forward(ids, rows, last, {}), Outcome::Done);
            for (std::size_t i = 0; i < last.size(); ++i)
                QVERIFY(std::abs(last[i] - all[all.size() - last.size() + i]) < 1e-4F);
        }
    }

    /// The device path keeps the contract too: rewind, fork, stop, limit.
    void atenPathKeepsTheContract() {
        REQUIRE_SHARED(kModel);
        const auto source = openStories(on("cpu-aten"));
        const auto ids = golden().at("cases").at(0).at("ids").get<std::vector<TokenId>>();
        std::vector<float> row(512), again(512), fresh(512);
        QCOMPARE(source->forward(ids, 1, row, {}), Outcome::Done);
        std::stop_source stopped;
        stopped.request_stop();
        QCOMPARE(source->forward(ids, 1, again, stopped.get_token()), Outcome::Cancelled);
        QCOMPARE(source->length(), 256);
        source->rewind(200);
        QCOMPARE(source->forward(std::span(ids).subspan(200), 1, again, {}), Outcome::Done);
        for (std::size_t v = 0; v < 512; ++v) QVERIFY(std::abs(row[v] - again[v]) < 1e-4f);
        const auto branch = source->fork();
        for (const TokenId id : ids) QCOMPARE(branch->forward(std::span(&id, 1), 1, fresh, {}), Outcome::Done);
        for (std::size_t v = 0; v < 512; ++v) QVERIFY(std::abs(row[v] - fresh[v]) < 1e-4f);
        QCOMPARE(source->forward(ids, 1, row, {}), Outcome::Done);
        QCOMPARE(source->length(), 512);
        QVERIFY_THROWS_EXCEPTION(compute::Error, (void)source->forward(std::span(ids).first(1), 1, row, {}));
    }
};

QTEST_GUILESS_MAIN(TestNetwork)
#include "tst_network.moc"
