// Files of example texts as they are read: lines, text files, folders, and what is told of those that cannot be used.
#include <QTest>

#include "compute/files/atomicfile.h"
#include "model/examples.h"
#include "tests/support/fixture.h"
#include "tests/support/scratch.h"

using namespace counterpoint;
using namespace counterpoint::model;
using namespace counterpoint::tests;

class TestExampleFiles : public QObject, Scratch {
    Q_OBJECT
  private Q_SLOTS:
    void init() {
        failOnAnyWarning();
        renew();
    }

    void linesAreRead() {
        const auto file = folder() / "both.jsonl";
        compute::writeFile(file,
                           "\xEF\xBB\xBF{\"text\":\"gr\\u00fcn\",\"preferred\":true}\n\n"
                           "{\"preferred\":false,\"text\":\"two\\nlines\",\"weight\":2.5,\"note\":1}\r\n"
                           "{\"text\":\"three\",\"preferred\":true}");
        const ExamplesRead read = readExamples(file, std::nullopt);
        QVERIFY(read.problems.empty());
        QCOMPARE(read.texts.size(), std::size_t(3));
        QCOMPARE(read.texts[0].text, std::string("gr\xC3\xBCn"));
        QVERIFY(read.texts[0].example.preferred);
        QCOMPARE(read.texts[1].text, std::string("two\nlines"));
        QVERIFY(!read.texts[1].example.preferred);
        QCOMPARE(read.texts[1].example.weight, 2.5);
        QCOMPARE(read.texts[1].from, std::string("both.jsonl, line 3"));
        QCOMPARE(read.texts[2].example.weight, 1.0);
    }

    void aSetsFileLeavesTheSideOut() {
        const auto file = folder() / "good.ndjson";
        compute::writeFile(file, "{\"text\":\"one\"}\n{\"text\":\"two\",\"preferred\":false}\n");
        const ExamplesRead read = readExamples(file, true);
        QCOMPARE(read.texts.size(), std::size_t(2));
        QVERIFY(read.texts[0].example.preferred);
        QVERIFY(!read.texts[1].example.preferred);  // its own word
    }

    void badLinesAreTold_data() {
        QTest::addColumn<QByteArray>("line");
        QTest::addColumn<QStringList>("said");
        const auto row = [](const char* name, const QByteArray& line, const QStringList& said) {
            QTest::newRow(name) << line << said;
        };
        row("no JSON", "{text}", {"the line is no JSON object", "found {text}"});
        row("an array", "[1]", {"an object", "[1]"});
        row("no text", "{\"preferred\":true}", {"\"text\" is missing"});
        row("text is a number", "{\"text\":7,\"preferred\":true}", {"\"text\"", "expected text", "7"});
        row("no side", "{\"text\":\"x\"}", {"\"preferred\" is missing", "true or false"});
        row("side is a word", "{\"text\":\"x\",\"preferred\":\"yes\"}", {"\"preferred\"", "true or false", "yes"});
        row("weight 0", "{\"text\":\"x\",\"preferred\":true,\"weight\":0}", {"\"weight\"", "above 0"});
        row("weight below 0", "{\"text\":\"x\",\"preferred\":true,\"weight\":-1}", {"\"weight\"", "above 0", "-1"});
        row("weight is a word", "{\"text\":\"x\",\"preferred\":true,\"weight\":\"inf\"}", {"\"weight\"", "inf"});
        row("empty", "{\"text\":\" \\n\",\"preferred\":true}", {"the text is empty"});
        row("no UTF-8", "{\"text\":\"\xFF\",\"preferred\":true}", {"not UTF-8"});
        row("deep", QByteArray(5000, '['), {"no JSON object"});
    }
    void badLinesAreTold() {
        QFETCH(const QByteArray, line);
        QFETCH(const QStringList, said);
        const auto file = folder() / "both.jsonl";
        const std::string good = "{\"text\":\"good\",\"preferred\":true}\n";
        compute::writeFile(file, good + line.toStdString() + "\n" + good);
        const ExamplesRead read = readExamples(file, std::nullopt);
        QCOMPARE(read.texts.size(), std::size_t(2));  // the others are used
        QCOMPARE(read.problems.size(), std::size_t(1));
        const QString sentence = QString::fromStdString(read.problems[0]);
        QVERIFY2(sentence.startsWith("both.jsonl, line 2"), qPrintable(sentence));
        QVERIFY2(sentence.size() < 300, qPrintable(sentence));
        for (const QString& part : said) QVERIFY2(sentence.contains(part), qPrintable(sentence));
    }

    void manyProblemsAreCounted() {
        std::string lines;
        for (int i = 0; i < 50; ++i) lines += "{}\n";
        compute::writeFile(folder() / "bad.jsonl", lines);
        const ExamplesRead read = readExamples(folder() / "bad.jsonl", true);
        QCOMPARE(read.problems.size(), std::size_t(21));
        QCOMPARE(read.problems.back(), std::string("30 more texts could not be used."));
    }

    void aFolderIsRead() {
        compute::writeFile(folder() / "b.txt", "second\n");
        compute::writeFile(folder() / "a.txt", "first\r\n\n");
        compute::writeFile(folder() / "c.jsonl", "{\"text\":\"third\"}\n");
        compute::writeFile(folder() / "picture.png", "\x89PNG");
        compute::writeFile(folder() / "d.md", "\n");
        const ExamplesRead read = readExamples(folder(), false);
        std::vector<std::string> found;
        for (const ExampleText& text : read.texts) found.push_back(text.from + ":" + text.text);
        QCOMPARE(found, (std::vector<std::string>{"a.txt:first", "b.txt:second", "c.jsonl, line 1:third"}));
        QCOMPARE(read.problems.size(), std::size_t(1));
        QCOMPARE(read.problems[0], std::string("d.md: the text is empty."));
    }

    void filesThatCannotBeRead() {
        const auto said = [&](const std::filesystem::path& path, std::optional<bool> side) {
            return QString::fromStdString(errorOf([&] { (void)readExamples(path, side); }));
        };
        QVERIFY(said(folder() / "none.txt", true).contains("none.txt"));
        QVERIFY(said(folder(), true).contains("there is no text in the folder"));
        QVERIFY(said("/dev/zero", true).contains("not a regular file"));
        compute::writeFile(folder() / "one.txt", "x");
        QVERIFY(said(folder() / "one.txt", std::nullopt).contains("does not say whether it is preferred"));
        compute::writeFile(folder() / "large.txt", std::string(kMostTextBytes + 1, 'x'));
        QVERIFY(!said(folder() / "large.txt", true).isEmpty());
    }
};

QTEST_GUILESS_MAIN(TestExampleFiles)
#include "tst_examplefiles.moc"
