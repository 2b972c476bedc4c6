// counterpoint --screenshot: what was there before a write that failed is still there, and the picture depends on the
// command alone.

#include <QImage>
#include <QSettings>

#include "tests/app/program.h"

using namespace counterpoint::tests;

class TestPicture : public QObject {
    Q_OBJECT
    QTemporaryDir m_folder;
    QString path(const char* name) const { return m_folder.filePath(QLatin1String(name)); }
    QStringList command(const char* picture) const {
        return {QStringLiteral("--screenshot"), path(picture), QStringLiteral("--size"), QStringLiteral("1280x800"),
                inCheckout("resources/demo/demo.session.json")};
    }

  private Q_SLOTS:
    void init() { failOnAnyWarning(); }

    /// A limit on the size of files stands for a full disk.
    void theOldPictureSurvivesAFailedWrite() {
        write(path("kept.png"), "the old picture");
        const QStringList before =
            QDir(m_folder.path()).entryList(QDir::AllEntries | QDir::Hidden | QDir::NoDotAndDotDot);
        QProcess shell;
        shell.setProcessEnvironment(bareEnvironment());
        shell.start(QStringLiteral("/bin/sh"),
                    QStringList{QStringLiteral("-c"), QStringLiteral("trap '' XFSZ; ulimit -f 8; exec \"$0\" \"$@\""),
                                programPath()} +
                        command("kept.png"));
        QVERIFY(shell.waitForFinished(120'000));
        const QByteArray said = shell.readAllStandardError();
        QCOMPARE(shell.exitCode(), 1);
        QVERIFY2(said.count('\n') == 1 && said.contains("kept.png"), said.constData());
        QCOMPARE(contents(path("kept.png")), QByteArray("the old picture"));
        QCOMPARE(QDir(m_folder.path()).entryList(QDir::AllEntries | QDir::Hidden | QDir::NoDotAndDotDot), before);
    }

    /// --size is the window's: of twice as many pixels each way on a screen of scale 2.
    void theSizeIsTheWindows() {
        for (const auto& [scale, size] : {std::pair{"1", QSize(1280, 800)}, std::pair{"2", QSize(2560, 1600)}}) {
            const Finished finished =
                runProgram(command("scaled.png"), {QStringLiteral("QT_SCALE_FACTOR=") + QLatin1String(scale)});
            COMPARE_CODE(finished, 0);
            QCOMPARE(QImage(path("scaled.png")).size(), size);
        }
    }

    /// A bank alone goes into the demo session.
    void aBankAlone() {
        write(path("own.bank.json"),
              R"({"format":"counterpoint.bank/1","priors":[{"name":"p","quality":0.9,"promote":[300,301]}]})");
        QStringList arguments = command("bank.png");
        arguments.back() = path("own.bank.json");
        const Finished finished = runProgram(arguments + QStringList{"--perspective", "Priors"});
        COMPARE_CODE(finished, 0);
        QVERIFY2(finished.err.isEmpty() && QImage(path("bank.png")).size() == QSize(1280, 800),
                 finished.err.constData());
    }

    void aStoredLayoutChangesNothing() {
        QSettings stored(path("config/counterpoint/counterpoint.conf"), QSettings::IniFormat);
        stored.setValue(QStringLiteral("window/theme"), QStringLiteral("dark"));
        stored.setValue(QStringLiteral("window/perspective"), QStringLiteral("Routing"));
        stored.sync();
        const QByteArray kept = contents(stored.fileName());
        QImage first;
        for (const char* config : {"nothing", "config"}) {
            const Finished finished =
                runProgram(command("picture.png"), {QStringLiteral("XDG_CONFIG_HOME=") + path(config)});
            COMPARE_CODE(finished, 0);
            constexpr int kStatusBar = 32;  // the rate that is said there is another each time
            const QImage whole(path("picture.png"));
            const QImage picture = whole.copy(0, 0, whole.width(), whole.height() - kStatusBar);
            QCOMPARE(whole.size(), QSize(1280, 800));
            if (first.isNull()) first = picture;
            QVERIFY(picture == first);
        }
        QCOMPARE(contents(stored.fileName()), kept);
    }
};

QTEST_GUILESS_MAIN(TestPicture)
#include "tst_picture.moc"
