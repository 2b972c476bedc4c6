// What a file is, by its content alone: kinds, and archives that are damaged where it looks (HAZARDS A10).
#include "compute/files/atomicfile.h"
#include "compute/sources/filekind.h"
#include "tests/support/fixture.h"
#include "tests/support/scratch.h"
#include "tests/support/ziparchive.h"

using namespace counterpoint;
using namespace counterpoint::tests;
using compute::FileKind;

namespace {

constexpr std::size_t kPage = 4096;

/// `bytes` at the end of a file whose length is a whole number of pages: a read beyond it is a read of nothing.
std::string atTheEndOfAPage(const std::string& head, const std::string& bytes) {
    return head + std::string(kPage - head.size() - bytes.size(), 'x') + bytes;
}

/// The end record says that the larger one begins at `place`.
std::string leadingTo(std::uint64_t place) {
    return "PK\3\4PK\6\7" + std::string(4, '\0') + littleEndian(place) + std::string(4, '\0') + "PK\5\6" +
           std::string(18, '\0');
}

}  // namespace

class TestFileKind : public QObject, Scratch {
    Q_OBJECT

  private Q_SLOTS:
    void init() {
        failOnAnyWarning();
        renew();
    }

    void kinds_data() {
        QTest::addColumn<QByteArray>("bytes");
        QTest::addColumn<int>("kind");
        const auto row = [](const char* name, const std::string& bytes, FileKind kind) {
            QTest::newRow(name) << QByteArray::fromStdString(bytes) << static_cast<int>(kind);
        };
        row("empty", "", FileKind::Unknown);
        row("text", "some text", FileKind::Unknown);
        row("GGUF", "GGUF", FileKind::Gguf);
        row("nearly GGUF", "GGU", FileKind::Unknown);
        row("pickle, protocol 2", "\x80\x02.", FileKind::Pickle);
        row("pickle, protocol 5", "\x80\x05.", FileKind::Pickle);
        row("protocol 1 says nothing of itself", "\x80\x01.", FileKind::Unknown);
        row("protocol 6", "\x80\x06.", FileKind::Unknown);
        row("too short for a pickle", "\x80\x02", FileKind::Unknown);
        row("another first byte", "a\x02.", FileKind::Unknown);

        const auto zip = [&](const char* name, FileKind kind) { row(name, archive({.names = {name}}), kind); };
        zip("m/code/x.py", FileKind::TorchScript);
        zip("m/constants.pkl", FileKind::TorchScript);
        zip("m/constants.pkl.old", FileKind::OtherZip);
        zip("constants.pkl", FileKind::OtherZip);
        zip("m/code", FileKind::OtherZip);
        zip("m/archive_format", FileKind::Exported);
        zip("m/archive_format/more", FileKind::OtherZip);
        zip("m/serialized_exported_program.json", FileKind::Exported);
        zip("m/data.pkl", FileKind::Pickle);
        zip("m/data.pkl.old", FileKind::OtherZip);
        zip("word/document.xml", FileKind::OtherZip);

        const std::vector<std::string> two = {"a", "m/archive_format"};
        row("extra fields and comments", archive({.names = two, .extra = "12345", .comment = "abc"}),
            FileKind::Exported);
        row("a comment at the end", archive({.names = two}) + "a comment", FileKind::Exported);
        row("the longest comment", archive({.names = two}) + std::string(65'535, 'c'), FileKind::Exported);
        row("a longer one", archive({.names = two}) + std::string(65'536, 'c'), FileKind::CutZip);
        row("a large record", archive({.names = two, .large = true}), FileKind::Exported);
        row("a large record of another mark", archive({.names = two, .large = true, .largeMark = "PK\6\5"}),
            FileKind::CutZip);
        row("a large record beyond the end", archive({.names = two, .large = true, .further = 10'000}),
            FileKind::CutZip);
        row("a table beyond the end", archive({.names = two, .further = 10'000}), FileKind::CutZip);
        row("no names", archive({}), FileKind::CutZip);
        row("no table", "PK\3\4" + std::string(100, 'x'), FileKind::CutZip);
        row("nothing before the end record", "PK\3\4PK\5\6" + std::string(18, '\0'), FileKind::CutZip);
        const std::string whole = archive({.names = two});
        row("the end record cut by one", whole.substr(0, whole.size() - 1), FileKind::CutZip);
        row("a large record cut inside its number",
            atTheEndOfAPage(leadingTo(kPage - 52), "PK\6\6" + std::string(48, 'x')), FileKind::CutZip);
        row("a large record cut before its number",
            atTheEndOfAPage(leadingTo(kPage - 10), "PK\6\6" + std::string(6, 'x')), FileKind::CutZip);
        std::string longer = archive({.names = {"m/archive_format"}});
        longer.replace(longer.find("PK\1\2") + 28, 2, "\xFF\xFF");
        row("an entry longer than the file", longer, FileKind::CutZip);
    }
    void kinds() {
        QFETCH(QByteArray, bytes);
        QFETCH(int, kind);
        compute::writeFile(folder() / "file", bytes.toStdString());
        QCOMPARE(static_cast<int>(compute::fileKind(folder() / "file")), kind);
    }
};

QTEST_GUILESS_MAIN(TestFileKind)
#include "tst_filekind.moc"
