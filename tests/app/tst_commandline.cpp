// The command line without any model: help, version, wrong usage (exit 2), and that none of it needs a display.

#include "tests/app/program.h"

using namespace counterpoint::tests;

class TestCommandLine : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void init() { failOnAnyWarning(); }

    void helpAndVersion() {
        for (const QString& home : {QStringLiteral("HOME=/proc"), QStringLiteral("HOME")}) {
            const Finished help = runProgram({QStringLiteral("--help")}, {home});
            COMPARE_CODE(help, 0);
            QVERIFY(help.err.isEmpty());
            for (const char* part :
                 {"counterpoint run SESSION --out DIR", "counterpoint replay DIR", "counterpoint bank report BANK",
                  "counterpoint bank compress BANK --out FILE", "--screenshot FILE",
                  "counterpoint route RECORDING|RUN --rho R --alpha A --window W --draws D [--seed S]", "--device",
                  "--dtype", "--threads", "--dump", "--figures", "1 to 16384 each", "Exit codes"})
                QVERIFY2(help.out.contains(part), part);
            for (const char* later : {"counterpoint score", "counterpoint sweep"})
                QVERIFY2(!help.out.contains(later), later);
            const Finished version = runProgram({QStringLiteral("--version")}, {home});
            COMPARE_CODE(version, 0);
            QVERIFY2(version.out.startsWith("Counterpoint "), version.out.constData());
        }
    }

    void libraryOfAnotherBuild() {
        const Finished mixed = runProgram({QStringLiteral("--version")},
                                          {QStringLiteral("LD_PRELOAD=") + inBuild("bin/libotherbuild.so")});
        COMPARE_CODE(mixed, 1);
        QVERIFY2(mixed.err.contains("libcompute.so belongs to another build") && mixed.err.contains("another one") &&
                     mixed.errorLines() == 1,
                 mixed.err.constData());
        QVERIFY2(mixed.out.isEmpty(), mixed.out.constData());
    }

    void helpThatCannotBeWritten() {
        QProcess process;
        process.setStandardOutputFile(QStringLiteral("/dev/full"));
        process.start(programPath(), {QStringLiteral("--help")});
        QVERIFY(process.waitForFinished());
        QCOMPARE(process.exitCode(), 1);
    }

    void wrongUsage_data() {
        QTest::addColumn<QStringList>("arguments");
        QTest::addColumn<QByteArray>("names");
        const auto row = [](const char* name, const char* words, const char* names) {
            QTest::newRow(name) << QString::fromLatin1(words).split(QLatin1Char(' ')) << QByteArray(names);
        };
        row("a command of another version", "score s.json --texts a --out b", "score");
        row("version with more", "--version extra", "extra");
        row("bank alone", "bank", "'bank' is followed by report or compress");
        row("bank of another word", "bank show b", "'bank' is followed by report or compress, not by 'show'");
        const QByteArray dials = "route r --rho 0.5 --alpha 0.5 --window 8 --draws 9 ";
        row("route without recording", "route --rho 0.5", "usage: counterpoint route RECORDING|RUN --rho R");
        row("route without rho", "route r --alpha 0.5 --window 8 --draws 9", "--rho is needed");
        row("route without alpha", "route r --rho 0.5 --window 8 --draws 9", "--alpha is needed");
        row("route without window", "route r --rho 0.5 --alpha 0.5 --draws 9", "--window is needed");
        row("route without draws", "route r --rho 0.5 --alpha 0.5 --window 8", "--draws is needed");
        row("route, rho", "route r --rho 1.01 --alpha 0.5", "--rho takes a number from 0 to 1, not '1.01'");
        row("route, rho that is none", "route r --rho nan --alpha 0.5", "--rho takes a number from 0 to 1, not 'nan'");
        row("route, rho with a comma", "route r --rho 0,5 --alpha 0.5", "--rho takes a number from 0 to 1, not '0,5'");
        row("route, alpha", "route r --rho 1 --alpha -0.1", "--alpha takes a number from 0 to 1, not '-0.1'");
        row("route, window 0", "route r --rho 0 --alpha 1 --window 0 --draws 9",
            "--window takes a whole number from 1");
        row("route, one draw", "route r --rho 0 --alpha 1 --window 8 --draws 1", "--draws takes a whole number from 2");
        row("route, seed", dials + "--seed -1", "--seed");
        row("route, temperature 0", dials + "--router-temperature 0", "--router-temperature takes a number above 0");
        row("route, temperature inf", dials + "--router-temperature inf", "not 'inf'");
        row("route, capacity", dials + "--capacity -1", "--capacity takes a number above 0, not '-1'");
        row("route, threads", dials + "--threads 0", "--threads");
        row("route, no source", dials + "--source=", "--source");
        row("route, no pairs", dials + "--pairs=", "--pairs");
        row("bank report without bank", "bank report", "usage");
        row("bank report of two", "bank report a b", "usage");
        row("bank compress without --out", "bank compress b", "--out");
        row("bank compress, level", "bank compress b --out c --level 4", "--level");
        row("bank compress, level 0", "bank compress b --out c --level 0", "--level");
        row("bank compress, keep", "bank compress b --out c --keep all", "--keep");
        row("score", "score s.json", "score");
        row("render without figure", "render --out f.pdf", "usage: counterpoint render FIGURE.json");
        row("render of two", "render f.json g.json", "usage");
        row("render, another kind", "render f.json --out f.gif", "f.gif");
        row("render, no file", "render f.json --out=", "--out");
        row("sweep", "sweep m", "sweep");
        row("unknown option", "run s.json --out d --colour red", "--colour");
        row("run without session", "run --out d", "usage");
        row("run without --out", "run s.json", "--out");
        row("run with two sessions", "run a b --out d", "usage");
        row("option without value", "run s.json --out", "--out");
        row("option twice", "run s.json --out a --out b", "--out");
        row("threads zero", "run s.json --out d --threads 0", "--threads");
        row("threads not a number", "run s.json --out d --threads two", "--threads");
        row("threads with a tail", "run s.json --out d --threads 2,5", "--threads");
        row("device", "run s.json --out d --device gpu", "gpu");
        row("device index", "run s.json --out d --device cuda:x", "cuda:x");
        row("dtype", "run s.json --out d --dtype int4", "int4");
        row("dump", "run s.json --out d --dump logits", "logits");
        row("dump, empty entry", "run s.json --out d --dump log_prob,", "--dump");
        row("figures", "run s.json --out d --figures gif", "gif");
        row("figures, TikZ", "run s.json --out d --figures tikz", "TikZ");
        row("replay without directory", "replay", "usage");
        row("replay of two", "replay a b", "usage");
        row("size", "--screenshot a.png --size 10", "--size");
        row("a picture of another kind", "--screenshot a.jpg", ".png");
        row("size, not positive", "--screenshot a.png --size 0x600", "--size");
        row("size, too large", "--screenshot a.png --size 16385x600", "--size");
        row("perspective", "--screenshot a.png --perspective Foo", "Compose, Priors, Routing, Paper");
        QTest::newRow("a session without a name")
            << QStringList{QStringLiteral("run"), QString(), QStringLiteral("--out"), QStringLiteral("d")}
            << QByteArray("session");
        row("theme", "--screenshot a.png --theme blue", "blue");
    }
    void wrongUsage() {
        QFETCH(QStringList, arguments);
        QFETCH(QByteArray, names);
        const Finished finished = runProgram(arguments);
        COMPARE_CODE(finished, 2);
        QCOMPARE(finished.errorLines(), 1);
        QVERIFY2(finished.err.contains(names), finished.err.constData());
        QVERIFY(finished.out.isEmpty());
    }

    void windowWithoutDisplay() {
        const Finished finished = runProgram({});
        COMPARE_CODE(finished, 1);
        QCOMPARE(finished.errorLines(), 1);
        QVERIFY2(finished.err.contains("display"), finished.err.constData());
    }

    /// Qt itself would say it in three lines and abort.
    void displayThatCannotBeReached_data() {
        QTest::addColumn<QStringList>("surroundings");
        QTest::newRow("any platform") << QStringList{QStringLiteral("DISPLAY=:4711")};
        QTest::newRow("xcb") << QStringList{QStringLiteral("DISPLAY=:4711"), QStringLiteral("QT_QPA_PLATFORM=xcb")};
        QTest::newRow("no such platform") << QStringList{QStringLiteral("QT_QPA_PLATFORM=none")};
    }
    void displayThatCannotBeReached() {
        QFETCH(QStringList, surroundings);
        const Finished finished = runProgram({}, surroundings);
        COMPARE_CODE(finished, 1);
        QCOMPARE(finished.errorLines(), 1);
        QVERIFY2(finished.err.contains("display"), finished.err.constData());
    }

    void nothingIsSaidOfARuntimeFolder() {
        const Finished finished =
            runProgram({QStringLiteral("--first-paint")},
                       {QStringLiteral("QT_QPA_PLATFORM=offscreen"), QStringLiteral("XDG_RUNTIME_DIR")});
        COMPARE_CODE(finished, 0);
        QVERIFY2(!finished.err.contains("XDG_RUNTIME_DIR"), finished.err.constData());
    }

    void sizeThatTheWindowDoesNotFitInto() {
        const QTemporaryDir scratch;
        const Finished finished = runProgram({QStringLiteral("--screenshot"), scratch.filePath(QStringLiteral("a.png")),
                                              QStringLiteral("--size"), QStringLiteral("10x10")});
        COMPARE_CODE(finished, 1);
        QCOMPARE(finished.errorLines(), 1);
        QVERIFY2(finished.err.contains("10x10") && finished.err.contains("at least"), finished.err.constData());
    }

    void sentencesEndWithOneStop() {
        QTemporaryDir folder;  // no model
        const Finished finished =
            runProgram({QStringLiteral("--screenshot"), folder.filePath(QStringLiteral("a.png")), folder.path()});
        COMPARE_CODE(finished, 1);
        QCOMPARE(finished.errorLines(), 1);  // and Qt says nothing of its own
        QVERIFY2(finished.err.endsWith(".\n") && !finished.err.endsWith("..\n"), finished.err.constData());
    }

    void fileThatIsNotThere() {
        const Finished finished = runProgram({QStringLiteral("/nowhere/a.session.json")});
        COMPARE_CODE(finished, 1);
        QCOMPARE(finished.errorLines(), 1);
        QVERIFY2(finished.err.contains("/nowhere/a.session.json"), finished.err.constData());
    }
};

QTEST_GUILESS_MAIN(TestCommandLine)
#include "tst_commandline.moc"
