// Text that can be read, colours that can be told apart, numbers for eyes.
#include <QApplication>
#include <QLabel>
#include <limits>

#include "tests/support/fixture.h"
#include "widgets/icons.h"
#include "widgets/palette.h"
#include "widgets/tokenstrip.h"

using namespace counterpoint;
using namespace counterpoint::widgets;

class TestPlotPalette : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void init() { tests::failOnAnyWarning(); }

    void contrastIsWcag() {
        QVERIFY(std::abs(contrast(Qt::black, Qt::white) - 21) < 1e-9);
        QVERIFY(std::abs(contrast(QColor("#777777"), Qt::white) - 4.48) < 0.01);  // the well-known near miss
    }

    void textIsReadable_data() {
        QTest::addColumn<int>("kind");
        QTest::newRow("light") << 0;
        QTest::newRow("dark") << 1;
        QTest::newRow("paper") << 2;
    }
    void textIsReadable() {
        QFETCH(int, kind);
        const Theme& t = theme(static_cast<ThemeKind>(kind));
        for (const QColor& ground : {t.window, t.surface, t.raised})
            for (const QColor& ink : {t.text, t.quiet, t.warning, t.failure, t.good})
                QVERIFY2(contrast(ink, ground) >= 4.5,
                         qPrintable(QString("%1 on %2: %3").arg(ink.name(), ground.name()).arg(contrast(ink, ground))));
        QVERIFY(contrast(t.onAccent, t.accent) >= 4.5);
        QVERIFY(contrast(t.accent, t.surface) >= 3);
        for (const QColor& ink : {t.text, t.quiet, t.warning, t.failure}) QVERIFY(contrast(ink, t.selection) >= 4.5);
    }

    // A button that has no room yet asks for an icon of no size.
    void anIconOfNoSizeIsNoPicture() {
        QVERIFY(lineIcon(Glyph::Open).pixmap(QSize(0, 16), 1.0).isNull());
        QCOMPARE(lineIcon(Glyph::Open).pixmap(QSize(16, 16), 1.0).size(), QSize(16, 16));
    }

    void tokensCanBeReadOnEveryColour_data() {
        QTest::addColumn<int>("kind");
        QTest::newRow("light") << static_cast<int>(ThemeKind::Light);
        QTest::newRow("dark") << static_cast<int>(ThemeKind::Dark);
    }
    void tokensCanBeReadOnEveryColour() {
        QFETCH(int, kind);
        applyTheme(*qApp, static_cast<ThemeKind>(kind));
        const auto back = qScopeGuard([] { applyTheme(*qApp, ThemeKind::Light); });
        const Theme& t = currentTheme();
        std::vector<QColor> grounds = {t.surface, TokenStrip::tintOf(t.accent), TokenStrip::tintOf(t.grey)};
        for (int i = 0; i <= 100; ++i)
            grounds.push_back(TokenStrip::tintOf(magnitudeColour(Magnitudes::Viridis, i / 100.0)));
        for (int i = 0; i < 8; ++i) grounds.push_back(TokenStrip::tintOf(seriesColour(t, i)));
        using Run = TokenRun::Kind;
        for (const TokenRun& run :
             {TokenRun{Run::Mark, "↵"}, TokenRun{Run::Mark, "··↵"}, TokenRun{Run::Mark, "⇥ "},
              TokenRun{Run::Text, "the"}, TokenRun{Run::Control, "<s>"}, TokenRun{Run::Bytes, "C3"}})
            for (const bool given : {false, true})
                for (const QColor& ground : grounds)
                    QVERIFY2(contrast(TokenStrip::inkOf(run, given), ground) >= 4.5,
                             qPrintable(run.text + ' ' + ground.name() + ' ' +
                                        QString::number(contrast(TokenStrip::inkOf(run, given), ground))));
    }

    void colourBySourceIsStable() {
        const Theme& t = theme(ThemeKind::Light);
        QCOMPARE(seriesColour(t, 1), QColor("#E69F00"));
        QCOMPARE(seriesColour(t, 8), seriesColour(t, 1));  // repeats, but never the base's
        QCOMPARE(seriesColour(t, -2), t.accent);
    }

    void magnitudes() {
        QCOMPARE(magnitudeColour(Magnitudes::Viridis, 0), QColor("#440154"));
        QCOMPARE(magnitudeColour(Magnitudes::Viridis, 7), QColor("#FDE725"));
        QCOMPARE(magnitudeColour(Magnitudes::Cividis, 1), QColor("#FEE838"));
        double last = -1;  // brighter all the way, so that a grey print keeps the order
        for (int i = 0; i <= 50; ++i) {
            const double c = contrast(magnitudeColour(Magnitudes::Cividis, i / 50.0), Qt::black);
            QVERIFY(c > last);
            last = c;
        }
    }

    void cellsAreNarrow() {
        const QFontMetricsF metrics(qApp->font());
        const double widest = metrics.horizontalAdvance("−0.0000");
        for (const double size : {0.0, 1e-99, 4.4e-5, 0.9e-4, 0.1234, 9.99994, 12.3456, 148.413, 99999.4, 2e5, 1e99})
            for (const double value : {size, -size})
                QVERIFY2(metrics.horizontalAdvance(formatCell(value)) <= widest + 1, qPrintable(formatCell(value)));
        QCOMPARE(formatCell(4.4e-5), QString("4e−5"));
        QCOMPARE(formatCell(-1.23456), QString("−1.2346"));
        QCOMPARE(formatCell(148.4132), QString("148.4"));
    }

    void numbers_data() {
        QTest::addColumn<double>("value");
        QTest::addColumn<int>("decimals");
        QTest::addColumn<QString>("text");
        QTest::newRow("plain") << 1.23456 << 3 << "1.235";
        QTest::newRow("minus") << -0.5 << 2 << "−0.50";
        QTest::newRow("minus zero") << -0.0 << 2 << "0.00";
        QTest::newRow("vanishing") << -1.2e-7 << 3 << "−1.2e−7";
        QTest::newRow("large") << 2.5e9 << 3 << "2.5e9";
        QTest::newRow("far") << 1e-300 << 3 << "1.0e−300";
        QTest::newRow("ten") << 1e10 << 3 << "1.0e10";
        QTest::newRow("infinite") << std::numeric_limits<double>::infinity() << 3 << "∞";
        QTest::newRow("minus infinite") << -std::numeric_limits<double>::infinity() << 3 << "−∞";
        QTest::newRow("none") << std::numeric_limits<double>::quiet_NaN() << 3 << "–";
    }
    void numbers() {
        QFETCH(double, value);
        QFETCH(int, decimals);
        QFETCH(QString, text);
        QCOMPARE(formatNumber(value, decimals), text);
    }

    void aThemeReachesWidgetsAtOnce() {
        QLabel label("x");
        label.show();  // a style sheet reaches a widget when it is polished
        applyTheme(*qApp, ThemeKind::Dark);
        QCOMPARE(label.palette().color(QPalette::Window), theme(ThemeKind::Dark).window);
        applyTheme(*qApp, ThemeKind::Light);
        QCOMPARE(label.palette().color(QPalette::Window), theme(ThemeKind::Light).window);
        QVERIFY(!styleSheetOf(theme(ThemeKind::Light)).contains(QRegularExpression("\\{(line|text|accent)\\}")));
    }
};

QTEST_MAIN(TestPlotPalette)
#include "tst_plotpalette.moc"
