// The weights of GGUF files on their way into memory: blocks widened to each dtype, what stays in the mapping, memory,
// progress and stop (HAZARDS A9, A10, A27).
#include <algorithm>

#include "tests/support/fixture.h"
#include "tests/support/ggufsource.h"

using namespace counterpoint;
using compute::GgmlTypeRow;
using compute::OpenOptions;
using compute::TokenId;
using tests::allRows;
using tests::errorOf;
using tests::GgufWriter;
using tests::openGguf;
using tests::someIds;
using tests::Toy;

namespace {

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

bool says(const compute::SourceInfo& info, const std::string& notice) {
    return std::any_of(info.notices.begin(), info.notices.end(),
                       [&](const std::string& n) { return n.find(notice) != std::string::npos; });
}

}  // namespace

class TestGgufWeights : public QObject, tests::GgufFolder {
    Q_OBJECT

  private Q_SLOTS:
    void init() { tests::failOnAnyWarning(); }

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
            const auto gguf = openGguf(path, options);
            QCOMPARE(gguf->info().dtype, std::string(*dtype == '\0' ? "float32" : dtype));
            QVERIFY(says(gguf->info(), std::string(row.name) + " (") &&
                    says(gguf->info(), ") widened to " + gguf->info().dtype));
            QCOMPARE(allRows(*gguf, ids, 0), allRows(*tests::open(directory, options), ids, 0));
        }
    }

    /// Rows longer than one piece of the widening.
    void longRows() {
        Toy toy;
        toy.hidden = 32;
        toy.heads = 2;
        toy.intermediate = 4096 + 32;
        toy.layers = 1;
        toy.fill(7);
        const GgmlTypeRow& row = compute::ggmlType(compute::GgmlType::Q8_0);
        std::mt19937 random(3);
        GgufWriter w = tests::ggufOf(toy);
        const std::string name = "model.layers.0.mlp.down_proj.weight";
        const std::string bytes = randomBlocks(row, toy.tensors[name], random);
        tests::addTensors(w, toy, [&](const std::string& tensor, const std::vector<float>& values) {
            return tensor == name ? std::pair(static_cast<std::uint32_t>(row.type), bytes)
                                  : tests::asFloats(tensor, values);
        });
        const auto gguf = openGguf(file("long", w));
        const std::vector<TokenId> ids = someIds(5);
        QCOMPARE(allRows(*gguf, ids, 0), allRows(*tests::open(written("long", toy)), ids, 0));
    }

    /// Divisors of frequencies are no weight, and what nobody asks for is not widened.
    void whatIsNoWeight() {
        Toy toy = blockToy(true);
        GgufWriter w = tests::ggufWithFloats(toy);
        w.tensor("rope_freqs.weight", {32}, std::vector<float>(32, 1.0F));
        const auto gguf = openGguf(file("factors", w));
        QVERIFY(gguf->info().notices.empty());
        QCOMPARE(allRows(*gguf, someIds(5), 0), allRows(*tests::open(written("factors", toy)), someIds(5), 0));
        w.tensor("extra.weight", 8, {1, 32}, std::string(34, '\0'));
        const auto parts = parsed(w);
        QVERIFY(network::readGgufModel(*parts, {}, 1, {}, {})->tensors.at("extra.weight").bytes.empty());
    }

    /// What stands in blocks, or would have to move, in a way that is not done.
    void refused_data() {
        QTest::addColumn<std::function<void(GgufWriter&, Toy&)>>("write");
        QTest::addColumn<QString>("sentence");
        const auto row = [](const char* name, std::function<void(GgufWriter&, Toy&)> write, const char* sentence) {
            QTest::newRow(name) << write << QString(sentence);
        };
        row(
            "half a head",
            [](GgufWriter& w, Toy& toy) {
                toy.tensors.erase("model.layers.0.self_attn.q_proj.weight");
                w.tensor("blk.0.attn_q.weight", {288, 256}, std::vector<float>(288 * 256));
            },
            "tensor 'blk.0.attn_q.weight' is not made of whole heads (expected a multiple of 64 rows, found 288)");
        row(
            "a vector in blocks",
            [](GgufWriter& w, Toy& toy) {
                toy.tensors.erase("model.norm.weight");
                w.tensor("output_norm.weight", 8, {256}, std::string(8 * 34, '\0'));
            },
            "tensor 'output_norm.weight' is a vector in blocks, which is not supported (expected F32, F16 or BF16, "
            "found Q8_0)");
    }
    void refused() {
        QFETCH(std::function<void(GgufWriter&, Toy&)>, write);
        QFETCH(QString, sentence);
        Toy toy = blockToy(true);
        GgufWriter w = tests::ggufOf(toy);
        write(w, toy);
        tests::addTensors(w, toy, tests::asFloats);
        const std::string found = errorOf([&] { openGguf(file("refused", w)); });
        QVERIFY2(found.find(sentence.toStdString()) != std::string::npos, found.c_str());
    }

    /// Between two tensors: stop is read, progress told.
    void stopWhileWidening() {
        const auto gguf = parsed(tests::ggufWithFloats(blockToy(true)));  // query and key are copied
        std::vector<double> told;
        std::stop_source stop;
        const auto progress = [&](double fraction, std::string_view what) {
            if (what == "widening weights") told.push_back(fraction);
        };
        QVERIFY(network::readGgufModel(*gguf, {}, 1, progress, stop.get_token()).has_value());
        QVERIFY(told.size() == 2 && told[0] == 0.0 && told[1] > 0.0 && told[1] < 1.0);
        const auto stops = [&](double, std::string_view) { stop.request_stop(); };
        QVERIFY(!network::readGgufModel(*gguf, {}, 1, stops, stop.get_token()).has_value());
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
        const std::string found = errorOf([&] { openGguf(file("large", w), options); });
        QVERIFY2(found.find("tensor 'blk.0.ffn_up.weight' does not fit float16") != std::string::npos, found.c_str());
        options.dtype = "bfloat16";
        QVERIFY(openGguf(file("large", w), options) != nullptr);
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

QTEST_GUILESS_MAIN(TestGgufWeights)
#include "tst_ggufweights.moc"
