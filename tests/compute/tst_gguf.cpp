// GGUF files: what is written is read; every lie is refused by file and key or tensor (HAZARDS A10).
#include <fstream>

#include "compute/files/gguf.h"
#include "tests/support/fixture.h"
#include "tests/support/ggufwriter.h"
#include "tests/support/scratch.h"

using namespace counterpoint::compute;
using namespace counterpoint::tests;

namespace {

/// Two tensors and one entry of every kind.
GgufWriter example() {
    GgufWriter w;
    w.text("general.architecture", "llama");
    w.whole("whole", 4'000'000'000u);
    w.number("number", 0.25F);
    w.flag("flag", true);
    w.texts("texts", {"one", "", "\xC4\xA0three"});
    w.numbers("numbers", {1.5F, -2.0F});
    w.wholes("wholes", {3, -1});
    w.entry("negative", 11) += GgufWriter::raw<std::int64_t>(-5);
    w.entry("large", 10) += GgufWriter::raw<std::uint64_t>(std::uint64_t{1} << 63);
    w.entry("byte", 0) += '\7';
    w.tensor("a", {2, 3}, {1, 2, 3, 4, 5, 6});
    w.tensor("b", 2, {1, 32}, std::string(18, '\1'));
    return w;
}

/// `bytes` with the first `from` replaced.
std::string with(std::string bytes, const std::string& from, const std::string& to) {
    bytes.replace(bytes.find(from), from.size(), to);
    return bytes;
}

std::string u32(std::uint32_t value) { return GgufWriter::raw(value); }
std::string u64(std::uint64_t value) { return GgufWriter::raw(value); }

}  // namespace

class TestGguf : public QObject, Scratch {
    Q_OBJECT

    /// Written without fsync: hundreds of files.
    std::shared_ptr<const Gguf> opened(const std::string& bytes) const {
        std::ofstream(folder() / "x.gguf", std::ios::binary) << bytes;
        return Gguf::open(folder() / "x.gguf");
    }

  private Q_SLOTS:
    void init() {
        failOnAnyWarning();
        renew();
    }

    void everyKindOfValue() {
        GgufWriter w = example();
        w.entry("tiny", 1) += GgufWriter::raw<std::int8_t>(-3);
        w.entry("short", 3) += GgufWriter::raw<std::int16_t>(-300);
        w.entry("no double", 10) += GgufWriter::raw<std::uint64_t>((std::uint64_t{1} << 53) + 1);
        w.entry("no double below 0", 11) += GgufWriter::raw<std::int64_t>(-(std::int64_t{1} << 53) - 1);
        const auto gguf = opened(w.bytes());
        QCOMPARE(gguf->integer("tiny"), std::optional<std::int64_t>(-3));
        QCOMPARE(gguf->integer("short"), std::optional<std::int64_t>(-300));
        QCOMPARE(gguf->integer("no double"), std::optional<std::int64_t>(9007199254740993));
        QCOMPARE(gguf->integer("no double below 0"), std::optional<std::int64_t>(-9007199254740993));
        QCOMPARE(gguf->text("general.architecture"), std::optional<std::string>("llama"));
        QCOMPARE(gguf->integer("whole"), std::optional<std::int64_t>(4'000'000'000));
        QCOMPARE(gguf->integer("negative"), std::optional<std::int64_t>(-5));
        QCOMPARE(gguf->integer("byte"), std::optional<std::int64_t>(7));
        QCOMPARE(gguf->number("number"), std::optional<double>(0.25));
        QCOMPARE(gguf->number("whole"), std::optional<double>(4e9));
        QCOMPARE(gguf->flag("flag"), std::optional<bool>(true));
        QCOMPARE(gguf->texts("texts"), (std::vector<std::string_view>{"one", "", "\xC4\xA0three"}));
        QCOMPARE(gguf->numbers("numbers"), (std::vector<double>{1.5, -2.0}));
        QCOMPARE(gguf->numbers("wholes"), (std::vector<double>{3, -1}));
        QVERIFY(gguf->has("flag") && !gguf->has("absent"));
        QVERIFY(!gguf->text("absent") && !gguf->integer("absent") && !gguf->number("absent") && !gguf->flag("absent"));
        QVERIFY(gguf->texts("absent").empty() && gguf->numbers("absent").empty());
    }

    void anotherKindThanAskedFor() {
        const auto gguf = opened(example().bytes());
        const auto says = [&](const std::string& what, auto call) {
            const std::string found = errorOf(call);
            QVERIFY2(found.find(what) != std::string::npos, found.c_str());
        };
        says("'whole' is of another kind (expected a text, found a number)", [&] { gguf->text("whole"); });
        says("'flag' is of another kind (expected a number, found true or false)", [&] { gguf->number("flag"); });
        says("'number' is of another kind (expected a whole number below 2^63, found a decimal number)",
             [&] { gguf->integer("number"); });
        says("found 9223372036854775808)", [&] { gguf->integer("large"); });
        says("'byte' is of another kind (expected true or false, found a number)", [&] { gguf->flag("byte"); });
        says("'whole' is of another kind (expected a list, found a single value)", [&] { gguf->texts("whole"); });
        says("'texts' is of another kind (expected a single value, found a list of 3)", [&] { gguf->text("texts"); });
        says("'numbers' is of another kind (expected a list of texts", [&] { gguf->texts("numbers"); });
        says("'texts' is of another kind (expected a list of numbers, found a list of texts)",
             [&] { gguf->numbers("texts"); });
    }

    void tensorsInPlace() {
        for (const std::uint32_t version : {2u, 3u}) {
            GgufWriter w = example();
            w.version = version;
            const auto gguf = opened(w.bytes());
            QCOMPARE(gguf->tensors().size(), std::size_t{2});
            const GgufTensor& a = *gguf->find("a");
            QCOMPARE(a.shape, (std::vector<std::int64_t>{2, 3}));
            QCOMPARE(a.type, GgmlType::F32);
            QCOMPARE(a.bytes.size(), std::size_t{24});
            float last = 0;
            std::memcpy(&last, a.bytes.data() + 20, 4);
            QCOMPARE(last, 6.0F);
            QVERIFY(a.bytes.data() >= gguf->file()->bytes().data());
            QCOMPARE(reinterpret_cast<std::uintptr_t>(gguf->find("b")->bytes.data()) % 32, std::uintptr_t{0});
            QCOMPARE(gguf->find("b")->bytes.size(), std::size_t{18});
            QVERIFY(gguf->find("c") == nullptr);
        }
    }

    void tableInAnyOrder() {
        GgufWriter w;
        w.tensorAt("late", 0, {8}, 32);
        w.tensor("early", {8}, std::vector<float>(8));
        const auto gguf = opened(w.bytes() + std::string(32, '\0'));
        QCOMPARE(gguf->find("late")->bytes.data() - gguf->find("early")->bytes.data(), std::ptrdiff_t{32});
    }

    void anotherAlignment() {
        GgufWriter w;
        w.alignment = 4096;
        w.whole("general.alignment", 4096);
        w.tensor("a", {1}, {1});
        w.tensor("b", {1}, {2});
        const auto gguf = opened(w.bytes());
        QCOMPARE(gguf->find("b")->bytes.data() - gguf->file()->bytes().data(), std::ptrdiff_t{8192});
    }

    /// A file without its last padding is whole; the shared model is read as another implementation wrote it.
    void realFile() {
        REQUIRE_SHARED("models/stories260K/gguf");
        const auto gguf = Gguf::open(shared("models/stories260K/gguf/stories260K-f32.gguf"));
        QCOMPARE(gguf->tensors().size(), std::size_t{47});
        QCOMPARE(gguf->integer("llama.embedding_length"), std::optional<std::int64_t>(64));
        QCOMPARE(gguf->find("blk.0.ffn_gate.weight")->shape, (std::vector<std::int64_t>{172, 64}));
        QCOMPARE(gguf->texts("tokenizer.ggml.tokens").size(), std::size_t{512});
    }

    void refused_data() {
        QTest::addColumn<QByteArray>("bytes");
        QTest::addColumn<QString>("says");
        const auto row = [](const char* name, const std::string& bytes, const char* says) {
            QTest::newRow(name) << QByteArray::fromStdString(bytes) << QString(says);
        };
        const std::string good = example().bytes();
        row("empty", "", "the file is empty (expected a GGUF file, found 0 bytes); copy or download it again");
        row("LFS pointer", "version https://git-lfs.github.com/spec/v1\n", "this is a Git LFS pointer");
        row("wrong magic", "GGUG" + good.substr(4), "this is not a GGUF file");
        row("a short magic", "GG", "this is not a GGUF file");
        row("ggml", "lmgg" + good.substr(4), "a file of ggml's older formats");
        row("big-endian", with(good, u32(3), std::string("\0\0\0\3", 4)),
            "this GGUF file is big-endian (expected little-endian)");
        row("version 1", with(good, u32(3), u32(1)),
            "this version of GGUF is not supported (expected 2 or 3, found 1)");
        row("version 4", with(good, u32(3), u32(4)),
            "this version of GGUF is not supported (expected 2 or 3, found 4)");
        row("header only", good.substr(0, 12), "the file ends inside the number of tensors");
        row("2^63 entries", good.substr(0, 16) + u64(std::uint64_t{1} << 63) + good.substr(24),
            "the file is too short for the metadata entries it announces (expected 9223372036854775808");
        row("2^63 tensors", good.substr(0, 8) + u64(std::uint64_t{1} << 63) + good.substr(16),
            "the file is too short for the tensors it announces");
        row("more entries than there are", good.substr(0, 16) + u64(14) + good.substr(24),
            "a metadata key is too long");
        row("long key", good.substr(0, 24) + u64(std::uint64_t{1} << 62) + good.substr(32),
            "a metadata key is too long");
        row("key past the end", good.substr(0, 24) + u64(60000) + good.substr(32),
            "the file ends inside a metadata key");

        GgufWriter w;
        w.entry("odd", 99) += '\1';
        row("value of no type", w.bytes() + std::string(64, '\0'),
            "the value of 'odd' has a type that is not supported");
        w = {};
        w.entry("odd", 9) += u32(9) + u64(1) + u32(4) + u64(0);
        row("list of lists", w.bytes(),
            "the value of 'odd' has a type that is not supported (expected a list of numbers, flags or texts, found a "
            "list of lists)");
        w = {};
        w.entry("odd", 9) += u32(12) + u64(std::uint64_t{1} << 61);
        row("a list whose bytes wrap to 0", w.bytes() + std::string(64, '\0'),
            "the file ends inside the value of 'odd' (expected 2305843009213693952 elements");
        w = {};
        w.entry("odd", 9) += u32(8) + u64(std::uint64_t{1} << 61);
        row("a list of 2^61 texts", w.bytes() + std::string(64, '\0'),
            "the file is too short for the texts it announces");
        w = {};
        w.entry("odd", 8) += u64(std::uint64_t{0} - 1);
        row("a text of 2^64 - 1 bytes", w.bytes() + std::string(64, '\0'), "the file ends inside the value of 'odd'");
        w = {};
        w.whole("same", 1);
        w.whole("same", 1);
        row("a key twice", w.bytes(), "the metadata key 'same' stands twice");
        for (const std::uint32_t alignment : {0u, 4u, 48u, 1u << 21}) {
            w = {};
            w.whole("general.alignment", alignment);
            row(qPrintable(QStringLiteral("alignment %1").arg(alignment)), w.bytes(),
                "'general.alignment' is not usable (expected a power of two from 8 to 1048576");
        }

        const auto tensors = [&](auto... add) {
            GgufWriter t;
            (add(t), ...);
            return t.bytes();
        };
        const auto line = [](const char* name, std::uint32_t type, std::vector<std::uint64_t> shape,
                             std::uint64_t offset) {
            return [=](GgufWriter& t) { t.tensorAt(name, type, shape, offset); };
        };
        const auto data = [](GgufWriter& t) { t.tensor("data", {4, 64}, std::vector<float>(256)); };
        row("a short file", good.substr(0, good.size() - 32),
            "tensor 'b' lies outside the file: the file is too short");
        row("no data at all", tensors(line("x", 0, {4}, 0)), "tensor 'x' lies outside the file");
        row("0 dimensions", tensors(data, line("x", 0, {}, 0)),
            "tensor 'x' has a number of dimensions that is not supported (expected 1 to 4, found 0)");
        row("5 dimensions", tensors(data, line("x", 0, {1, 1, 1, 1, 1}, 0)), "found 5)");
        row("a dimension of 0", tensors(data, line("x", 0, {4, 0}, 0)), "tensor 'x': a dimension is not usable");
        row("a product that wraps to 0",
            tensors(data, line("x", 0, {std::uint64_t{1} << 32, std::uint64_t{1} << 32}, 0)),
            "tensor 'x': a dimension is not usable");
        row("a dimension of 2^63", tensors(data, line("x", 0, {std::uint64_t{1} << 63}, 0)),
            "tensor 'x': a dimension is not usable");
        row("bytes that wrap", tensors(data, line("x", 0, {std::uint64_t{1} << 62}, 0)),
            "tensor 'x' has more bytes than 64 bits can count");
        row("a type that is not read", tensors(data, line("x", 23, {1, 256}, 0)),
            "the number type of tensor 'x' is not supported (expected F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, "
            "Q4_K, Q5_K, Q6_K, found IQ4_XS)");
        row("a type that does not exist", tensors(data, line("x", 250, {1, 256}, 0)), "found number 250)");
        row("part of a block", tensors(data, line("x", 12, {2, 128}, 0)),
            "tensor 'x': its rows are not whole blocks of Q4_K (expected a multiple of 256, found 128)");
        row("an odd address", tensors(data, line("x", 0, {4}, 4)),
            "tensor 'x' stands at an odd address (expected a multiple of 32, found 4)");
        row("an address that wraps", tensors(data, line("x", 0, {4}, std::uint64_t{0} - 32)),
            "tensor 'x' lies outside the file");
        row("overlap", tensors(data, line("x", 0, {4}, 32)), "tensors 'data' and 'x' overlap");
        row("the same name", tensors(data, [](GgufWriter& t) { t.tensor("data", {1}, {1}); }),
            "tensor 'data' stands twice");
    }
    void refused() {
        QFETCH(QByteArray, bytes);
        QFETCH(QString, says);
        const std::string found = errorOf([&] { opened(bytes.toStdString()); });
        QVERIFY2(found.find(says.toStdString()) != std::string::npos, found.c_str());
        QVERIFY(found.starts_with((folder() / "x.gguf").string()));
    }

    /// Cut anywhere: refused in one line, never read past the end.
    void cutAnywhere() {
        const std::string good = example().bytes();
        for (std::size_t n = 0; n < good.size() - 14;
             n += n + 60 < good.size() ? 7 : 1)  // the last 14 bytes are padding
            QVERIFY2(!errorOf([&] { opened(good.substr(0, n)); }).empty(), qPrintable(QString::number(n)));
        QVERIFY(errorOf([&] { opened(good.substr(0, good.size() - 14)); }).empty());
    }
};

QTEST_GUILESS_MAIN(TestGguf)
#include "tst_gguf.moc"
