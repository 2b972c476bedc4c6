// Which tokens end a sentence, and that a text that grows keeps the groups it had.

#include "compute/routing/groups.h"
#include "model/sentences.h"
#include "tests/support/fixture.h"

using namespace counterpoint::model;
using counterpoint::compute::Position;

class TestSentences : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void init() { counterpoint::tests::failOnAnyWarning(); }

    void ends_data() {
        QTest::addColumn<QByteArray>("token");
        QTest::addColumn<bool>("ends");
        const auto row = [](const char* name, const char* token, bool ends) {
            QTest::newRow(name) << QByteArray(token) << ends;
        };
        row("a point", ".", true);
        row("a word with its point", " dog.", true);
        row("a question", " who?", true);
        row("a call", "!", true);
        row("two marks", "?!", true);
        row("a quotation's end", ".\"", true);
        row("a single quote", "!'", true);
        row("a curved quote", ".\u201D", true);
        row("a guillemet", "?\u00BB", true);
        row("a bracket", ".)", true);
        row("two closers", ".\")", true);
        row("a blank behind", ". ", true);
        row("a line end", "\n", true);
        row("two line ends", "\n\n", true);
        row("a word and a line end", "dog\n", true);
        row("indentation behind a line end", "\n    ", true);
        row("a return", "\r\n", true);
        row("a word", " dog", false);
        row("a comma", ",", false);
        row("a quotation mark alone", "\"", false);
        row("a closed bracket", ")", false);
        row("a point within", "3.14", false);
        row("a line end within", "a\nb", false);
        row("a blank", " ", false);
        row("nothing", "", false);
        row("half a character", "\xE2\x80", false);
        row("a colon", ":", false);
    }
    void ends() {
        QFETCH(QByteArray, token);
        QFETCH(bool, ends);
        QCOMPARE(endsSentence(token.toStdString()), ends);
    }

    void starts() {
        QCOMPARE(sentenceStarts({}), (std::vector<Position>{0}));
        QCOMPARE(sentenceStarts({"", "A", " dog", ".", " It", " ran", "!\"", "\n", "x"}),
                 (std::vector<Position>{0, 4, 7, 8}));
        QCOMPARE(sentenceStarts({"."}), (std::vector<Position>{0, 1}));
    }

    /// A token tells by itself: the groups of a longer text begin with those of the shorter.
    void aGrowingTextKeepsItsGroups() {
        std::vector<std::string> text;
        std::vector<Position> before{0};
        for (const char* token : {"Once", " upon", ".", " A", "\n", "\n", " b", "?", "\"", "c", "."}) {
            text.emplace_back(token);
            const auto now = sentenceStarts(text);
            QVERIFY(now.size() >= before.size() && std::equal(before.begin(), before.end(), now.begin()));
            const auto from = counterpoint::compute::differFrom(
                {.groups = counterpoint::compute::groupsFrom(before), .pairs = {}, .rhoOfGroup = {}, .alphaOfPair = {}},
                {.groups = counterpoint::compute::groupsFrom(now), .pairs = {}, .rhoOfGroup = {}, .alphaOfPair = {}});
            QVERIFY(!from || *from == static_cast<Position>(text.size()));
            before = now;
        }
        QCOMPARE(before.size(), std::size_t{6});
    }
};

QTEST_GUILESS_MAIN(TestSentences)
#include "tst_sentences.moc"
