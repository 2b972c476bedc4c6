// Safetensors: what is written is read; every lie of HAZARDS A10 is refused with file and tensor.
#include <sys/stat.h>

#include "compute/error.h"
#include "compute/files/safetensors.h"
#include "tests/support/fixture.h"
#include "tests/support/scratch.h"
#include "tests/support/toyfiles.h"

using namespace counterpoint::compute;
using namespace counterpoint::tests;
namespace fs = std::filesystem;

namespace {

/// A file with this header and `data` bytes behind it.
std::string fileWith(const std::string& header, std::size_t data) {
    const std::uint64_t length = header.size();
    return std::string(reinterpret_cast<const char*>(&length), 8) + header + std::string(data, '\0');
}

std::string tensor(const std::string& name, const std::string& shape, const std::string& offsets,
                   const std::string& dtype = "F32") {
    std::string text = R"("NAME":{"dtype":"DTYPE","shape":SHAPE,"data_offsets":OFFSETS})";
    for (const auto& [mark, value] :
         {std::pair("NAME", name), {"DTYPE", dtype}, {"SHAPE", shape}, {"OFFSETS", offsets}})
        text.replace(text.find(mark), std::strlen(mark), value);
    return text;
}

}  // namespace

class TestSafetensors : public QObject, Scratch {
    Q_OBJECT

    /// Two shards with an index: a and b in the first, c in the second.
    void writeShards() const {
        writeTensors(folder() / "model-00001-of-00002.safetensors",
                     {randomTensor("a", {4, 4}, 1), randomTensor("b", {8}, 2)});
        writeTensors(folder() / "model-00002-of-00002.safetensors", {randomTensor("c", {2, 16}, 3)});
        writeJson(folder() / "model.safetensors.index.json", {{"metadata", {{"total_size", 224}}},
                                                              {"weight_map",
                                                               {{"a", "model-00001-of-00002.safetensors"},
                                                                {"b", "model-00001-of-00002.safetensors"},
                                                                {"c", "model-00002-of-00002.safetensors"}}}});
    }

  private Q_SLOTS:
    void init() {
        failOnAnyWarning();
        renew();
    }

    void roundTrip() {
        const std::string bytes = "0123456789abcdefghijklmn";
        const auto view = [&](std::size_t n) { return std::as_bytes(std::span(bytes.data(), n)); };
        const std::vector<TensorToWrite> tensors = {
            {"odd", DType::U8, {3}, view(3)},       {"f64", DType::F64, {1, 2}, view(16)},
            {"bf16", DType::BF16, {3}, view(6)},    {"scalar", DType::I64, {}, view(8)},
            {"empty", DType::F32, {0, 7}, view(0)}, {"bool", DType::Bool, {1}, view(1)}};
        writeSafetensors(folder() / "x.safetensors", tensors, {{"format", "test"}, {"note", "ä"}});
        const Safetensors read = Safetensors::openFile(folder() / "x.safetensors");
        QCOMPARE(read.tensors().size(), tensors.size());
        QCOMPARE(read.metadata().at("note"), std::string("ä"));
        for (const TensorToWrite& written : tensors) {
            const TensorView* found = read.find(written.name);
            QVERIFY(found != nullptr);
            QVERIFY(found->dtype == written.dtype && found->shape == written.shape);
            QVERIFY(std::equal(found->bytes.begin(), found->bytes.end(), written.bytes.begin(), written.bytes.end()));
            QCOMPARE(reinterpret_cast<std::uintptr_t>(found->bytes.data()) % dtypeSize(found->dtype),
                     std::uintptr_t(0));
        }
        QVERIFY(read.find("nobody") == nullptr);
        QVERIFY(!errorOf([&] {
                     writeSafetensors(folder() / "y", std::vector<TensorToWrite>{{"a", DType::F32, {2}, view(3)}}, {});
                 }).empty());
        QVERIFY(!fs::exists(folder() / "y"));
    }

    void realModel() {
        REQUIRE_SHARED("models/stories260K/hf");
        const Safetensors read = Safetensors::openDirectory(shared("models/stories260K/hf"));
        QCOMPARE(read.find("model.embed_tokens.weight")->shape, (std::vector<std::int64_t>{512, 64}));
    }

    void dtypeNames_data() {
        QTest::addColumn<int>("dtype");
        QTest::addColumn<QString>("name");
        QTest::addColumn<int>("size");
        QTest::newRow("F64") << int(DType::F64) << "float64" << 8;
        QTest::newRow("F32") << int(DType::F32) << "float32" << 4;
        QTest::newRow("F16") << int(DType::F16) << "float16" << 2;
        QTest::newRow("BF16") << int(DType::BF16) << "bfloat16" << 2;
        QTest::newRow("I64") << int(DType::I64) << "int64" << 8;
        QTest::newRow("I32") << int(DType::I32) << "int32" << 4;
        QTest::newRow("I16") << int(DType::I16) << "int16" << 2;
        QTest::newRow("I8") << int(DType::I8) << "int8" << 1;
        QTest::newRow("U8") << int(DType::U8) << "uint8" << 1;
        QTest::newRow("BOOL") << int(DType::Bool) << "bool" << 1;
    }
    void dtypeNames() {
        QFETCH(int, dtype);
        QFETCH(QString, name);
        QFETCH(int, size);
        QCOMPARE(QString::fromUtf8(dtypeName(DType(dtype)).data()), name);
        QCOMPARE(int(dtypeSize(DType(dtype))), size);
        const std::string offsets = QString("[0,%1]").arg(size).toStdString();
        std::string header = tensor("t", "[1]", offsets, QTest::currentDataTag());
        header = std::string("{").append(header).append("}");
        writeFile(folder() / "x.safetensors", fileWith(header, std::size_t(size)));
        QVERIFY(Safetensors::openFile(folder() / "x.safetensors").find("t")->dtype == DType(dtype));
    }

    void refuses_data() {
        QTest::addColumn<QByteArray>("file");
        QTest::addColumn<QString>("sentence");
        const auto row = [](const char* name, const std::string& file, const char* sentence) {
            QTest::newRow(name) << QByteArray::fromStdString(file) << sentence;
        };
        const auto header = [](std::initializer_list<std::string> entries) {
            std::string text = "{";
            for (const std::string& entry : entries) text.append(text.size() > 1 ? "," : "").append(entry);
            return text + "}";
        };
        row("empty file", "", "the file is empty");
        row("four bytes", "abcd", "too short for a safetensors file");
        row("text", "this is some text, not a tensor in sight", "this is not a safetensors file");
        row("LFS pointer", "version https://git-lfs.github.com/spec/v1\noid sha256:ab\nsize 12\n",
            "this is a Git LFS pointer, not the weights");
        row("zip", "PK\x03\x04 and so on", "this is a zip archive");
        row("GGUF", std::string("GGUF\x03\0\0\0\0", 9), "this is a GGUF file");
        row("header length 2^63", std::string("\0\0\0\0\0\0\0\x80{}", 10),
            "its header would be too long (expected at most 100000000 bytes, found 9223372036854775808)");
        row("header length 2^64-1", std::string(8, '\xFF') + "{}", "its header would be too long");
        row("header beyond the file", std::string("\x40\0\0\0\0\0\0\0{}", 10),
            "the file ends inside its header (expected 72 bytes at least, found 10 bytes)");
        row("header not JSON", fileWith("{\"a\":", 0), "the JSON ends too early");
        row("tensor twice", fileWith(header({tensor("a", "[1]", "[0,4]"), tensor("a", "[1]", "[0,4]")}), 4),
            "the key 'a' stands twice");
        row("cut", fileWith(header({tensor("a", "[4]", "[0,16]")}), 12),
            "tensor 'a' lies outside the file: the file is too short");
        row("begin after end", fileWith(header({tensor("a", "[1]", "[8,4]")}), 8),
            "tensor 'a' begins after its end (found 8 > 4)");
        row("overlap", fileWith(header({tensor("a", "[2]", "[0,8]"), tensor("b", "[2]", "[4,12]")}), 12),
            "tensors 'a' and 'b' overlap");
        row("same bytes twice", fileWith(header({tensor("a", "[2]", "[0,8]"), tensor("b", "[2]", "[0,8]")}), 8),
            "tensors 'a' and 'b' overlap");
        row("hole", fileWith(header({tensor("a", "[1]", "[0,4]"), tensor("b", "[1]", "[8,12]")}), 12),
            "there is a hole before tensor 'b'");
        row("longer than told", fileWith(header({tensor("a", "[1]", "[0,4]")}), 8),
            "the file is longer than its header says");
        row("shape product wraps to 0", fileWith(header({tensor("a", "[4294967296,4294967296]", "[0,0]")}), 0),
            "has more bytes than 64 bits can count");
        row("shape product wraps with size", fileWith(header({tensor("a", "[4611686018427387904]", "[0,0]")}), 0),
            "has more bytes than 64 bits can count");
        row("dimension 2^64-1", fileWith(header({tensor("a", "[18446744073709551615]", "[0,4]")}), 4),
            "a dimension is too large");
        row("negative dimension", fileWith(header({tensor("a", "[-1]", "[0,4]")}), 4),
            "a dimension is not a whole number from 0 (found -1)");
        row("fractional dimension", fileWith(header({tensor("a", "[1.5]", "[0,4]")}), 4),
            "a dimension is not a whole number from 0 (found 1.5)");
        row("negative offset", fileWith(header({tensor("a", "[1]", "[-4,0]")}), 4),
            "begin is not a whole number from 0");
        row("size against shape", fileWith(header({tensor("a", "[2]", "[0,4]")}), 4),
            "shape [2] float32 and byte range disagree (expected 8 bytes, found 4)");
        row("unknown dtype", fileWith(header({tensor("a", "[4]", "[0,4]", "F8_E4M3")}), 4), "found \"F8_E4M3\"");
        row("offsets not a pair", fileWith(header({tensor("a", "[1]", "[0]")}), 4), "data_offsets is not a pair");
        row("no shape", fileWith("{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", 4),
            "lacks dtype, shape or data_offsets");
        row("metadata not strings", fileWith("{\"__metadata__\":{\"n\":1}}", 0),
            "__metadata__ entry 'n' is not a string");
        row("odd address", fileWith(header({tensor("a", "[1]", "[0,1]", "U8"), tensor("b", "[1]", "[1,5]")}), 5),
            "tensor 'b' stands at an odd address");
    }
    void refuses() {
        QFETCH(QByteArray, file);
        QFETCH(QString, sentence);
        writeFile(folder() / "x.safetensors", file.toStdString());
        const QString found =
            QString::fromStdString(errorOf([&] { Safetensors::openFile(folder() / "x.safetensors"); }));
        QVERIFY2(found.contains(sentence), qPrintable(found));
        QVERIFY2(found.contains("x.safetensors"), qPrintable(found));
    }

    void refusesAFolder() {
        fs::create_directory(folder() / "x.safetensors");
        QVERIFY(errorOf([&] { Safetensors::openFile(folder() / "x.safetensors"); }).find("folder") !=
                std::string::npos);
    }

    void anUnpaddedHeaderIsRead() {
        std::string header = std::string("{").append(tensor("a", "[2]", "[0,8]")).append("}");
        if (header.size() % 4 == 0) header += ' ';
        std::string file = fileWith(header, 8);
        const float value = 1.5F;
        std::memcpy(file.data() + file.size() - 4, &value, 4);
        writeFile(folder() / "x.safetensors", file);
        const Safetensors read = Safetensors::openFile(folder() / "x.safetensors");
        const auto* numbers = reinterpret_cast<const float*>(read.find("a")->bytes.data());
        QCOMPARE(reinterpret_cast<std::uintptr_t>(numbers) % 4, std::uintptr_t(0));
        QCOMPARE(numbers[1], 1.5F);
    }

    void shards() {
        writeShards();
        writeTensors(folder() / "model.safetensors", {randomTensor("a", {4, 4}, 9), randomTensor("stale", {1}, 9)});
        const Safetensors read = Safetensors::openDirectory(folder());
        QCOMPARE(read.tensors().size(), std::size_t(3));
        QCOMPARE(read.files().size(), std::size_t(2));
        QVERIFY(read.find("stale") == nullptr);
        const std::vector<std::byte> expected = randomTensor("a", {4, 4}, 1).bytes;
        QVERIFY(std::equal(expected.begin(), expected.end(), read.find("a")->bytes.begin()));
    }

    void brokenShards_data() {
        QTest::addColumn<QString>("fault");
        QTest::addColumn<QString>("sentence");
        QTest::newRow("shard missing")
            << "missing"
            << "the shard 'model-00002-of-00002.safetensors' that the index names is not there";
        QTest::newRow("64 bytes cut") << "cut"
                                      << "tensor 'c' lies outside the file: the file is too short";
        QTest::newRow("shard is a folder") << "folder"
                                           << "it is a folder, not a file";
        QTest::newRow("tensor not in its shard") << "moved"
                                                 << "tensor 'a' is missing, though the index says it is in this shard";
        QTest::newRow("path out of the folder") << "path"
                                                << "must be the name of a file in the same folder, not a path";
        QTest::newRow("index without map") << "map"
                                           << "the index has no object 'weight_map'";
        QTest::newRow("empty index") << "none"
                                     << "the index names no tensor";
        QTest::newRow("number for a name") << "number"
                                           << "the shard of tensor 'a' is not a file name";
    }
    void brokenShards() {
        QFETCH(QString, fault);
        QFETCH(QString, sentence);
        writeShards();
        const fs::path second = folder() / "model-00002-of-00002.safetensors",
                       index = folder() / "model.safetensors.index.json";
        if (fault == "missing" || fault == "folder") fs::remove(second);
        if (fault == "folder") fs::create_directory(second);
        if (fault == "cut") fs::resize_file(second, fs::file_size(second) - 64);
        if (fault == "moved") writeJson(index, {{"weight_map", {{"a", "model-00002-of-00002.safetensors"}}}});
        if (fault == "path") writeJson(index, {{"weight_map", {{"a", "../model.safetensors"}}}});
        if (fault == "map") writeJson(index, {{"metadata", nullptr}});
        if (fault == "none") writeJson(index, {{"weight_map", Json::object()}});
        if (fault == "number") writeJson(index, {{"weight_map", {{"a", 1}}}});
        const QString found = QString::fromStdString(errorOf([&] { Safetensors::openDirectory(folder()); }));
        QVERIFY2(found.contains(sentence), qPrintable(found));
    }

    void whichFile() {
        QVERIFY(errorOf([&] { Safetensors::openDirectory(folder()); }).find("there are no weights in this folder") !=
                std::string::npos);
        writeFile(folder() / "pytorch_model.bin", "x");
        QVERIFY(errorOf([&] { Safetensors::openDirectory(folder()); }).find("pickled weights") != std::string::npos);
        writeTensors(folder() / "other.safetensors", {randomTensor("a", {1}, 1)});
        QVERIFY(Safetensors::openDirectory(folder()).find("a") != nullptr);
        writeTensors(folder() / "another.safetensors", {randomTensor("b", {1}, 1)});
        const std::string several = errorOf([&] { Safetensors::openDirectory(folder()); });
        QVERIFY2(several.find("several .safetensors files") != std::string::npos &&
                     several.ends_with("; copy or download the index too."),
                 several.c_str());
        writeTensors(folder() / "model.safetensors", {randomTensor("c", {1}, 1)});
        QVERIFY(Safetensors::openDirectory(folder()).find("c") != nullptr);
    }
};

QTEST_GUILESS_MAIN(TestSafetensors)
#include "tst_safetensors.moc"
