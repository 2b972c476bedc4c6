// tokenizer.model through the SentencePiece module: it agrees with the tokenizer.json of the same vocabulary; it
// trains.
#include "compute/error.h"
#include "compute/files/atomicfile.h"
#include "compute/sources/modules.h"
#include "compute/text/tokenizer.h"
#include "tests/support/fixture.h"
#include "tests/support/randomtext.h"
#include "tests/support/scratch.h"

using namespace counterpoint::compute;
using namespace counterpoint::tests;

namespace {

std::filesystem::path pathOf(const QTemporaryDir& dir, const char* name) {
    return std::filesystem::path(dir.path().toStdString()) / name;
}

}  // namespace

class TestSpm : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void init() { failOnAnyWarning(); }

    void agreesWithTokenizerJson() {
        REQUIRE_SHARED("models/stories260K/hf/tokenizer.model");
        const auto directory = shared("models/stories260K/hf");
        const auto json = openTokenizerJson(directory / "tokenizer.json");
        const auto model = spm().open(directory / "tokenizer.model", directory);
        QCOMPARE(model->size(), json->size());
        QCOMPARE(model->fingerprint(), json->fingerprint());
        QCOMPARE(model->dropsLeadingSpace(), json->dropsLeadingSpace());
        QCOMPARE(model->addsBos(), json->addsBos());
        for (TokenId id = 0; id < json->size(); ++id) {
            QCOMPARE(model->piece(id), json->piece(id));
            QCOMPARE(model->bytes(id), json->bytes(id));
        }
        std::mt19937 random(2026);
        for (int i = 0; i < 2000; ++i) {
            const std::string text = randomText(random, 1 + static_cast<int>(random() % 40));
            const std::vector<TokenId> ids = json->encode(text);
            if (model->encode(text) != ids) QFAIL(qPrintable(QString::fromStdString(text)));
            QCOMPARE(json->decode(ids), text);
            QCOMPARE(model->decode(ids), text);
        }
    }

    /// Neither reader lets a typed control mark become one (A24); both do when asked.
    void controlMarksAreText() {
        REQUIRE_SHARED("models/stories260K/hf/tokenizer.model");
        const auto directory = shared("models/stories260K/hf");
        const std::string text = "Once <s>upon</s> <unk>";
        for (const auto& tokenizer :
             {openTokenizerJson(directory / "tokenizer.json"), spm().open(directory / "tokenizer.model", directory)}) {
            const std::vector<TokenId> plain = tokenizer->encode(text);
            for (const TokenId id : plain) QVERIFY(!tokenizer->isControl(id));
            QCOMPARE(tokenizer->decode(plain), text);
            const std::vector<TokenId> marked = tokenizer->encode("</s>a", {.controlTokens = true});
            QCOMPARE(marked.front(), 2);
            QCOMPARE(marked.size(), std::size_t(2));
        }
    }

    void opensWithoutTokenizerJson() {
        REQUIRE_SHARED("models/stories260K/hf/tokenizer.model");
        QTemporaryDir dir;
        std::filesystem::copy_file(shared("models/stories260K/hf/tokenizer.model"), pathOf(dir, "tokenizer.model"));
        const auto tokenizer = openTokenizer(dir.path().toStdString());
        QCOMPARE(tokenizer->size(), std::int64_t(512));
        QCOMPARE(tokenizer->eos().value_or(-1), 2);
        QVERIFY(tokenizer->addsBos());
        writeFile(pathOf(dir, "tokenizer_config.json"), R"({"add_bos_token":false,"eos_token":"<s>"})");
        const auto changed = openTokenizer(dir.path().toStdString());
        QVERIFY(!changed->addsBos());
        QCOMPARE(changed->eos().value_or(-1), 1);
    }

    void refusesWhatIsNoModel_data() {
        QTest::addColumn<QByteArray>("content");
        QTest::addColumn<QString>("sentence");
        const QString none =
            "this is not a SentencePiece model; download it again, or put the model's tokenizer.json beside it.";
        QTest::newRow("empty") << QByteArray() << "the file is empty; download it again.";
        QTest::newRow("text") << QByteArray("this is not a model") << none;
        QTest::newRow("LFS pointer") << QByteArray(
                                            "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n")
                                     << "fetch the file itself with 'git lfs pull'.";
        QTest::newRow("zeros") << QByteArray(4096, '\0') << none;
    }
    void refusesWhatIsNoModel() {
        QFETCH(QByteArray, content);
        QTemporaryDir dir;
        writeFile(pathOf(dir, "tokenizer.model"), content.toStdString());
        QFETCH(QString, sentence);
        const QString found = QString::fromStdString(errorOf([&] { openTokenizer(dir.path().toStdString()); }));
        QVERIFY2(found.endsWith(sentence), qPrintable(found));
    }

    void trains() {
        QTemporaryDir dir;
        std::string text;
        std::mt19937 random(3);
        constexpr const char* words[] = {"the", "little",    "dog",          "said",     "\"Hello!\"",
                                         "and", "ran  home", "in 1234 days", "caf\u00e9"};
        for (int line = 0; line < 2000; ++line) {
            for (int i = 0; i < 8; ++i) text.append(i == 0 ? "" : " ").append(words[random() % std::size(words)]);
            text += ".\n";
        }
        writeFile(pathOf(dir, "text, with a comma.txt"), text);
        spm().train(pathOf(dir, "text, with a comma.txt"), pathOf(dir, "tokenizer.model"), 320);
        spm().train(pathOf(dir, "text, with a comma.txt"), pathOf(dir, "again.model"), 320);
        QCOMPARE(readFile(pathOf(dir, "again.model")), readFile(pathOf(dir, "tokenizer.model")));
        const auto tokenizer = openTokenizer(dir.path().toStdString());
        QCOMPARE(tokenizer->size(), std::int64_t(320));
        QCOMPARE(tokenizer->bos().value_or(-1), 1);
        QCOMPARE(tokenizer->eos().value_or(-1), 2);
        for (const std::string original : {"the little dog  ran\thome\n\n \xF0\x9F\xA6\x99", " x", "", "12345"})
            QCOMPARE(tokenizer->decode(tokenizer->encode(original)), original);
        QVERIFY(tokenizer->encode("the little dog").size() <= 6);
        QVERIFY(tokenizer->encode("12345").size() >= 5);  // digits stand alone
    }

    void trainerRefuses_data() {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<int>("size");
        QTest::newRow("vocabulary too small") << QByteArray("a b c\n") << 100;
        QTest::newRow("vocabulary too large for the text") << QByteArray("a b c\n") << 5000;
        QTest::newRow("empty text") << QByteArray() << 300;
        QTest::newRow("not UTF-8") << QByteArray("\xFF\xFE") << 300;
    }
    void trainerRefuses() {
        QFETCH(QByteArray, text);
        QFETCH(int, size);
        QTemporaryDir dir;
        writeFile(pathOf(dir, "text.txt"), text.toStdString());
        QVERIFY_THROWS_EXCEPTION(Error, spm().train(pathOf(dir, "text.txt"), pathOf(dir, "out.model"), size));
        QVERIFY(!std::filesystem::exists(pathOf(dir, "out.model")));
    }
};

QTEST_GUILESS_MAIN(TestSpm)
#include "tst_spm.moc"
