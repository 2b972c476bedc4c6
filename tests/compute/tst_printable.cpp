// Text of a file on one line of a terminal or in a sentence: what it may not bring there.
#include "compute/oneline.h"
#include "compute/printable.h"
#include "tests/support/fixture.h"

using namespace counterpoint::compute;
using namespace counterpoint::tests;

class TestPrintable : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void init() { failOnAnyWarning(); }

    void lettersStay() {
        for (const std::string text :
             {"", "a 'name'", "né", "中", "שלום", "مرحبا", "a\u00A0b", "a\u200Db", "👨‍👩‍👧"})
            QCOMPARE(printable(text), text);
    }

    void controlsAreTheirCodes() {
        QCOMPARE(printable("a\nb\r\tc\u2028d\u2029e"), std::string("a b  c d e"));
        QCOMPARE(printable("\x1b[31m\x7f\u0085\xff"), std::string("\\x1b[31m\\x7f\\x85\\xff"));
    }

    // Every one of Bidi_Control and none of its neighbours.
    void marksOfDirectionAreTheirCodes() {
        for (char16_t code = 0x0600; code < 0x2100; ++code) {
            if (code == 0x2028 || code == 0x2029) continue;
            const QString text(1, QChar(code));
            const bool mark = code == 0x061C || code == 0x200E || code == 0x200F ||
                              (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
            const QString expected = mark ? QStringLiteral("\\u%1").arg(code, 4, 16, QLatin1Char('0')) : text;
            QCOMPARE(QString::fromStdString(printable(text.toStdString())), expected);
        }
        QCOMPARE(printable("safe\u202Egpj.exe"), std::string("safe\\u202egpj.exe"));
        QCOMPARE(printable("\u061C"), std::string("\\u061c"));
    }

    /// What a name in a file may be: everything that printable() leaves, and marks of direction.
    void namesAreOneLine() {
        for (const std::string text : {"", "a 'name'", "שלום", "a\u00A0b", "a\u200Db", "a\u200Fb", "a\u202Eb\u2066"})
            QVERIFY2(isOneLine(text), text.c_str());
        for (const std::string text :
             {"a\n", "\r", "a\tb", "a\u2028b", "\u2029", "\x1b[31m", "a\x7f", "\u0085", "a\xff"})
            QVERIFY2(!isOneLine(text), printable(text).c_str());
        QVERIFY(!isOneLine(std::string_view("a\0b", 3)));
    }
};

QTEST_MAIN(TestPrintable)
#include "tst_printable.moc"
