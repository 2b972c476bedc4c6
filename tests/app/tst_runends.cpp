// How a `run` ends that does not go as it should: a signal, figures that cannot be written, an earlier run in its
// folder, names that cannot be.

#include "tests/app/terminal.h"
#include "tests/app/trio.h"

using namespace counterpoint::tests;

class TestRunEnds : public QObject {
    Q_OBJECT
    QTemporaryDir m_scratch;
    QString path(const QString& name) const { return m_scratch.filePath(name); }

    static QByteArray interruptedRun(const QString& session, const QString& out, const QByteArray& when,
                                     const QStringList& options = {}) {
        return interruptedProgram(QStringList{QStringLiteral("run"), session, QStringLiteral("--out"), out} + options,
                                  when);
    }

    /// Three models read their 512 positions in a tenth of a second, which a signal could miss: here they are thirty.
    static Json longSession() {
        Json session = trioSession(100000);
        session["decoding"]["temperature"] = 1.0;
        session["decoding"]["stop_ids"] = Json::array();
        for (int i = 0; i < 27; ++i) {
            Json more = session["specialists"][0];
            more["name"] = "more " + std::to_string(i);
            more["weight"] = 0.01;
            session["specialists"].push_back(more);
        }
        return session;
    }

  private Q_SLOTS:
    void init() {
        failOnAnyWarning();
        REQUIRE_SHARED("models/composed_golden.json");
    }

    void interruptedRuns_data() {
        QTest::addColumn<QByteArray>("when");
        QTest::addColumn<bool>("rows");
        QTest::newRow("while opening the session") << QByteArray("warning") << false;
        QTest::newRow("while loading") << QByteArray("Loading") << false;
        QTest::newRow("while decoding") << QByteArray("Decoding") << true;
    }
    /// A terminal as standard error shows progress; the first SIGINT then ends the run as Stop does, and the run
    /// directory is kept.
    void interruptedRuns() {
        QFETCH(QByteArray, when);
        QFETCH(bool, rows);
        Json session = longSession();
        // Each unknown key is a warning: it takes a while until all of them are said.
        for (int i = 0; when == "warning" && i < 5000; ++i) session["unknown " + std::to_string(i)] = i;
        const QString file = writeSession(path(QStringLiteral("long.session.json")), session);
        const QByteArray shown = interruptedRun(file, path(QStringLiteral("long")), when,
                                                {QStringLiteral("--dump"), QStringLiteral("log_prob,sources"),
                                                 QStringLiteral("--figures"), QStringLiteral("svg")});
        QVERIFY2(shown.contains("stopped by a signal") && !shown.startsWith("not as"), shown.constData());
        QCOMPARE(QByteArray::fromStdString(readJson(path(QStringLiteral("long/summary.json")))["stop"]),
                 QByteArray("user"));
        QCOMPARE(!traceRows(path(QStringLiteral("long"))).empty(), rows);
        QCOMPARE(QFile::exists(path(QStringLiteral("long/sources.safetensors"))), rows);
        QCOMPARE(QFile::exists(path(QStringLiteral("long/figures/drift.svg"))), rows);
        const Finished replayed = runProgram({QStringLiteral("replay"), path(QStringLiteral("long"))});
        COMPARE_CODE(replayed, rows ? 0 : 1);
        QVERIFY2(rows ? replayed.out.startsWith("Identical up to where the run was stopped")
                      : replayed.err.contains("nothing to compare"),
                 (replayed.out + replayed.err).constData());
    }

    /// Stopped before there is a row, a run takes nothing from what stood in its folder.
    void anEarlierRunStays() {
        const QString out = path(QStringLiteral("kept"));
        const QStringList earlier{
            QStringLiteral("run"),    writeSession(path(QStringLiteral("short.session.json")), trioSession(3)),
            QStringLiteral("--out"),  out,
            QStringLiteral("--dump"), QStringLiteral("sources")};
        COMPARE_CODE(runProgram(earlier), 0);
        const QByteArray rows = contents(out + QStringLiteral("/trace.jsonl")),
                         summary = contents(out + QStringLiteral("/summary.json"));
        const QByteArray shown =
            interruptedRun(writeSession(path(QStringLiteral("longer.session.json")), longSession()), out, "Loading");
        QVERIFY2(shown.contains("before the first step; the earlier run is there as it was"), shown.constData());
        QCOMPARE(contents(out + QStringLiteral("/trace.jsonl")), rows);
        QCOMPARE(contents(out + QStringLiteral("/summary.json")), summary);
        QVERIFY(QFile::exists(out + QStringLiteral("/sources.safetensors")));
    }

    /// Without all that was asked for a run is no whole one.
    void figuresComeBeforeTheSummary() {
        const QString out = path(QStringLiteral("blocked"));
        const QString file = writeSession(path(QStringLiteral("blocked.session.json")), trioSession(3));
        COMPARE_CODE(runProgram({QStringLiteral("run"), file, QStringLiteral("--out"), out}), 0);
        write(out + QStringLiteral("/figures"), "no folder");
        const Finished finished = runProgram({QStringLiteral("run"), file, QStringLiteral("--out"), out,
                                              QStringLiteral("--figures"), QStringLiteral("svg")});
        COMPARE_CODE(finished, 1);
        QVERIFY2(finished.err.contains("figures"), finished.err.constData());
        QVERIFY(!QFile::exists(out + QStringLiteral("/summary.json")));
        QVERIFY(QFile::exists(out + QStringLiteral("/trace.jsonl")));
    }

    /// What std::filesystem throws is a sentence too, and a name that JSON cannot hold is refused before an hour of
    /// decoding.
    void namesThatCannotBe() {
        const auto one = [&](const QByteArray& name, const char* says) {
            QProcess process;
            process.setProcessEnvironment(bareEnvironment());
            const QByteArray command =
                "exec " + programPath().toUtf8() + " run " + name + " --out " + path(QStringLiteral("none")).toUtf8();
            process.start(QStringLiteral("/bin/bash"), {QStringLiteral("-c"), QString::fromUtf8(command)});
            process.waitForFinished();
            const QByteArray said = process.readAllStandardError();
            QCOMPARE(process.exitCode(), 1);
            QVERIFY2(said.count('\n') == 1 && said.contains(says), said.constData());
            QVERIFY(!QFile::exists(path(QStringLiteral("none"))));
        };
        QFile::link(path(QStringLiteral("circle")), path(QStringLiteral("circle")));
        one(path(QStringLiteral("circle")).toUtf8(), "circle: symbolic links go round in a circle");
        one(path(QString(300, 'x')).toUtf8(), "xxx: the name is too long");
        const QByteArray folder = path(QStringLiteral("plain")).toUtf8();
        QDir().mkpath(QString::fromUtf8(folder));
        const QByteArray named = folder + "/$'w\\xff'";
        QCOMPARE(QProcess::execute(
                     QStringLiteral("/bin/bash"),
                     {QStringLiteral("-c"),
                      QString::fromUtf8("cp -r " + QByteArray::fromStdString(modelPath("stories260K")) + " " + named)}),
                 0);
        one(named, "this name is not UTF-8");
    }

    void compressionWithoutAStep() {
        write(path(QStringLiteral("a.bank.json")),
              R"({"format":"counterpoint.bank/1","priors":[{"name":"p","quality":0.9,"promote":[300,301]}]})");
        Json session = trioSession(0);
        session["decoding"]["score_prompt"] = false;
        session["priors"] = {{{"bank", "a.bank.json"}}};
        const Finished finished =
            runProgram({QStringLiteral("bank"), QStringLiteral("compress"), path(QStringLiteral("a.bank.json")),
                        QStringLiteral("--session"), writeSession(path(QStringLiteral("none.session.json")), session),
                        QStringLiteral("--out"), path(QStringLiteral("n.bank.json"))});
        COMPARE_CODE(finished, 1);
        QVERIFY2(finished.err.contains("makes no step that KL could be measured on"), finished.err.constData());
        QVERIFY(!QFile::exists(path(QStringLiteral("n.bank.json"))));
    }

    /// `bank compress` decodes its session first: stopped there, it writes nothing and says so.
    void interruptedCompression_data() {
        QTest::addColumn<QByteArray>("when");
        QTest::newRow("while loading") << QByteArray("Loading");
        QTest::newRow("while decoding") << QByteArray("Decoding");
    }
    void interruptedCompression() {
        QFETCH(QByteArray, when);
        write(path(QStringLiteral("a.bank.json")),
              R"({"format":"counterpoint.bank/1","priors":[{"name":"p","quality":0.9,"promote":[300,301]}]})");
        Json session = longSession();
        session["priors"] = {{{"bank", "a.bank.json"}}};
        const QString file = writeSession(path(QStringLiteral("bank.session.json")), session);
        const QString out = path(QStringLiteral("b.bank.safetensors"));
        const QByteArray shown =
            interruptedProgram({QStringLiteral("bank"), QStringLiteral("compress"), path(QStringLiteral("a.bank.json")),
                                QStringLiteral("--session"), file, QStringLiteral("--out"), out},
                               when);
        QVERIFY2(shown.contains("stopped by a signal; nothing was written") && !shown.startsWith("not as"),
                 shown.constData());
        QVERIFY(!QFile::exists(out));
    }
};

QTEST_GUILESS_MAIN(TestRunEnds)
#include "tst_runends.moc"
