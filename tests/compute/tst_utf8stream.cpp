// Streamed text equals the decode of the whole, whatever the pieces (A28).
#include <random>

#include "compute/files/json.h"
#include "compute/text/tokenizer.h"
#include "compute/text/utf8stream.h"
#include "tests/support/fixture.h"

using namespace counterpoint::compute;
using namespace counterpoint::tests;

namespace {

std::string streamed(const std::vector<std::string>& pieces) {
    Utf8Stream stream;
    std::string text;
    for (const std::string& piece : pieces) text += stream.push(piece);
    return text + stream.finish();
}

}  // namespace

class TestUtf8Stream : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void init() { failOnAnyWarning(); }

    void heldBackUntilWhole() {
        for (const std::string character : {"é", "中", "👨‍👩‍👧"}) {
            Utf8Stream stream;
            std::string text;
            for (const char c : character) {
                text += stream.push({&c, 1});
                QVERIFY(QString::fromStdString(text).count(QChar::ReplacementCharacter) == 0);
            }
            QCOMPARE(text, character);
            QCOMPARE(stream.finish(), std::string());
        }
    }

    /// One U+FFFD for the longest part that could have begun a character (Unicode 15, 3.9, table 3-8 and its
    /// neighbours).
    void replacements_data() {
        QTest::addColumn<QByteArray>("bytes");
        QTest::addColumn<QString>("text");
        QTest::newRow("stop in mid-character") << QByteArray("a\xE4\xB8") << "a\uFFFD";
        QTest::newRow("0xFF") << QByteArray(
                                     "a\xFF"
                                     "b")
                              << "a\uFFFDb";
        QTest::newRow("lone continuation") << QByteArray("\x80\x80") << "\uFFFD\uFFFD";
        QTest::newRow("overlong slash") << QByteArray("\xC0\xAF") << "\uFFFD\uFFFD";
        QTest::newRow("surrogate") << QByteArray("\xED\xA0\x80") << "\uFFFD\uFFFD\uFFFD";
        QTest::newRow("beyond U+10FFFF") << QByteArray("\xF4\x90\x80\x80") << "\uFFFD\uFFFD\uFFFD\uFFFD";
        QTest::newRow("cut, then a letter") << QByteArray(
                                                   "\xF0\x9F\x98"
                                                   "A")
                                            << "\uFFFDA";
        QTest::newRow("cut, then a character") << QByteArray("\xE4\xC3\xA9") << "\uFFFDé";
        QTest::newRow("Unicode's example") << QByteArray("\x61\xF1\x80\x80\xE1\x80\xC2\x62\x80\x63\x80\xBF\x64")
                                           << "a\uFFFD\uFFFD\uFFFDb\uFFFDc\uFFFD\uFFFDd";
    }
    void replacements() {
        QFETCH(QByteArray, bytes);
        QFETCH(QString, text);
        QCOMPARE(QString::fromStdString(toValidUtf8(bytes.toStdString())), text);
        std::vector<std::string> single;
        for (const char c : bytes) single.emplace_back(1, c);
        QCOMPARE(QString::fromStdString(streamed(single)), text);
    }

    void randomBytes() {
        std::mt19937 random(28);
        for (int round = 0; round < 3000; ++round) {
            std::vector<std::string> pieces(random() % 12);
            std::string whole;
            for (std::string& piece : pieces) {
                for (auto n = random() % 5; n > 0; --n)
                    piece += static_cast<char>(random() % 3 == 0 ? random() % 128 : 128 + random() % 128);
                whole += piece;
            }
            const std::string text = streamed(pieces);
            QCOMPARE(text, toValidUtf8(whole));
            QCOMPARE(toValidUtf8(text), text);
            // Qt's own decoder knows valid from invalid: it leaves what we made as it is.
            QCOMPARE(QString::fromStdString(text).toStdString(), text);
        }
    }

    /// Every golden text, token by token, through the tokenizer's bytes; the first space is the tokenizer's.
    void goldenTexts_data() {
        QTest::addColumn<QString>("file");
        QTest::newRow("stories260K") << "models/stories260K/golden.json";
        QTest::newRow("composed") << "models/composed_golden.json";
    }
    void goldenTexts() {
        QFETCH(QString, file);
        REQUIRE_SHARED(file.toStdString());
        const auto tokenizer = openTokenizer(shared("models/stories260K/hf"));
        const Json golden = readJson(shared(file.toStdString()));
        for (const Json& entry : golden["cases"]) {
            const auto ids = entry["ids"].get<std::vector<TokenId>>();
            std::vector<std::string> pieces;
            for (const TokenId id : ids) pieces.emplace_back(tokenizer->bytes(id));
            std::string text = streamed(pieces);
            if (tokenizer->dropsLeadingSpace() && text.starts_with(' ')) text.erase(0, 1);
            QCOMPARE(text, toValidUtf8(tokenizer->decode(ids)));
            QCOMPARE(text, entry["text"].get<std::string>());
        }
    }
};

QTEST_GUILESS_MAIN(TestUtf8Stream)
#include "tst_utf8stream.moc"
