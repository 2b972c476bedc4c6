// Tokens for eyes (HAZARDS A28): spaces and line ends as marks, half characters as bytes, whole ones as they are.

#include "tests/support/fixture.h"
#include "widgets/tokentext.h"

using namespace counterpoint;
using namespace counterpoint::widgets;
using Kind = TokenRun::Kind;

class TestTokenText : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void init() { tests::failOnAnyWarning(); }

    void runs_data() {
        QTest::addColumn<QByteArray>("bytes");
        QTest::addColumn<QString>("shown");  // kind letter and text of each run
        QTest::addColumn<bool>("breaks");
        QTest::newRow("word") << QByteArray(" the") << "M· Tthe" << false;
        QTest::newRow("line end") << QByteArray(".\n") << "T. M↵" << true;
        QTest::newRow("e-acute") << QByteArray("\xC3\xA9") << "Té" << false;
        QTest::newRow("half of it") << QByteArray("\xC3") << "BC3" << false;
        QTest::newRow("other half") << QByteArray("\xA9") << "BA9" << false;
        QTest::newRow("three of an emoji") << QByteArray("\xF0\x9F\x91") << "BF0 9F 91" << false;
        QTest::newRow("whole emoji") << QByteArray("\xF0\x9F\x91\xA8") << "T👨" << false;
        QTest::newRow("0xFF") << QByteArray(
                                     "a\xFF"
                                     "b")
                              << "Ta BFF Tb" << false;
        QTest::newRow("tab and bell") << QByteArray("\t\x07") << "M⇥  B07" << false;
        QTest::newRow("nothing") << QByteArray() << "" << false;
    }
    void runs() {
        QFETCH(QByteArray, bytes);
        QFETCH(QString, shown);
        QFETCH(bool, breaks);
        const TokenText text = tokenText(bytes.toStdString());
        QStringList found;
        for (const TokenRun& run : text.runs)
            found << QString(QLatin1Char(run.kind == Kind::Text    ? 'T'
                                         : run.kind == Kind::Mark  ? 'M'
                                         : run.kind == Kind::Bytes ? 'B'
                                                                   : 'C')) +
                         run.text;
        QCOMPARE(found.join(QLatin1Char(' ')), shown);
        QCOMPARE(text.breaksLine, breaks);
    }
};

QTEST_GUILESS_MAIN(TestTokenText)
#include "tst_tokentext.moc"
