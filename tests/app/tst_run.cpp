// `counterpoint run` and `replay` end to end on real models: the golden texts, the same files whatever the threads, the
// locale and the home folder, and what replay says.

#include <QDirIterator>

#include "tests/app/trio.h"

using namespace counterpoint::tests;

namespace {

const QStringList kRunFiles{QStringLiteral("trace.jsonl"), QStringLiteral("session.json"),
                            QStringLiteral("log_prob.safetensors"), QStringLiteral("sources.safetensors")};

/// Folder of a German locale, built here; empty where this system cannot.
QString germanLocale(const QTemporaryDir& scratch) {
    const QString folder = scratch.filePath(QStringLiteral("locale"));
    QDir().mkpath(folder);
    QProcess localedef;
    localedef.start(QStringLiteral("localedef"), {QStringLiteral("-i"), QStringLiteral("de_DE"), QStringLiteral("-f"),
                                                  QStringLiteral("UTF-8"), folder + QStringLiteral("/de_DE.UTF-8")});
    return localedef.waitForFinished() && localedef.exitCode() == 0 ? folder : QString();
}

/// Files below a folder, relative, sorted.
QStringList filesBelow(const QString& folder) {
    QStringList files;
    QDirIterator it(folder, QDir::Files, QDirIterator::Subdirectories);
    while (it.hasNext()) files += QDir(folder).relativeFilePath(it.next());
    files.sort();
    return files;
}

}  // namespace

class TestRun : public QObject {
    Q_OBJECT
    QTemporaryDir m_scratch;
    QString path(const QString& name) const { return m_scratch.filePath(name); }

    /// One sampled run of the trio with dumps in `name`.
    Finished sampled(const QString& name, const QStringList& more = {}, const QStringList& surroundings = {}) const {
        Json session = trioSession(24);
        session["decoding"]["temperature"] = 0.7;
        session["decoding"]["top_p"] = 0.95;
        session["specialists"][1]["weight"] = -0.25;
        const QString file = writeSession(path(QStringLiteral("sampled.session.json")), session);
        return runProgram(QStringList{QStringLiteral("run"), file, QStringLiteral("--out"), path(name),
                                      QStringLiteral("--dump"), QStringLiteral("log_prob,sources")} +
                              more,
                          surroundings);
    }

  private Q_SLOTS:
    void init() {
        failOnAnyWarning();
        REQUIRE_SHARED("models/composed_golden.json");
    }

    void goldenTexts() {
        const Json golden = readJson(QString::fromStdString(shared("models/composed_golden.json").string()));
        int number = 0;
        for (const Json& expected : golden["cases"]) {
            const std::size_t prompt = expected["prompt_ids"].size();
            Json session = trioSession(static_cast<int>(expected["ids"].size() - prompt));
            session["prompt"] = expected["prompt"];
            for (Json& specialist : session["specialists"]) {
                const std::string name = specialist["name"];
                specialist["weight"] = expected["weights"].value(name, 0.0);
            }
            const QString run = path(QStringLiteral("golden%1").arg(number++));
            const QString file = writeSession(run + QStringLiteral(".session.json"), session);
            const Finished finished = runProgram({QStringLiteral("run"), file, QStringLiteral("--out"), run});
            COMPARE_CODE(finished, 0);

            std::vector<int> ids = readJson(run + QStringLiteral("/summary.json"))["prompt_ids"];
            std::string text;
            std::size_t step = 0;
            for (const Json& row : traceRows(run)) {
                if (row.value("prompt", false)) continue;
                ids.push_back(row["token"]);
                text += row["text"];
                const double drift = row["drift"], wanted = expected["drift"][step++];
                QVERIFY2(std::abs(drift - wanted) <= 1e-3,
                         qPrintable(QStringLiteral("case %1, step %2: drift %3, golden %4")
                                        .arg(number)
                                        .arg(step)
                                        .arg(drift)
                                        .arg(wanted)));
            }
            QCOMPARE(ids, expected["ids"].get<std::vector<int>>());
            const std::string whole = expected["text"];
            QVERIFY2(!text.empty() && whole.ends_with(text), text.c_str());
        }
        QVERIFY(number > 0);
    }

    void filesOfARun() {
        const Finished finished = sampled(QStringLiteral("files"));
        COMPARE_CODE(finished, 0);
        QVERIFY2(!finished.err.contains("warning"), finished.err.constData());
        QStringList expected = kRunFiles;
        expected += QStringLiteral("summary.json");
        expected.sort();
        QCOMPARE(filesBelow(path(QStringLiteral("files"))), expected);
        const Json summary = readJson(path(QStringLiteral("files/summary.json")));
        QVERIFY(summary["sha256"].contains("base") && summary["sha256"].contains("animals"));
        QCOMPARE(QByteArray::fromStdString(summary["stop"]), QByteArray("limit"));
        QVERIFY(summary["versions"].contains("torch") && !summary["versions"].contains("threads"));
    }

    void theSameFiles_data() {
        QTest::addColumn<QStringList>("more");
        QTest::addColumn<QStringList>("surroundings");
        QTest::newRow("again") << QStringList() << QStringList();
        QTest::newRow("one thread") << QStringList{QStringLiteral("--threads"), QStringLiteral("1")} << QStringList();
        QTest::newRow("two threads") << QStringList{QStringLiteral("--threads"), QStringLiteral("2")} << QStringList();
        QTest::newRow("home that cannot be written") << QStringList() << QStringList{QStringLiteral("HOME=/proc")};
        QTest::newRow("no home") << QStringList() << QStringList{QStringLiteral("HOME")};
        const QString locale = germanLocale(m_scratch);
        if (!locale.isEmpty())
            QTest::newRow("German numbers")
                << QStringList()
                << QStringList{QStringLiteral("LOCPATH=") + locale, QStringLiteral("LC_ALL=de_DE.UTF-8")};
        else
            qInfo("localedef cannot build de_DE.UTF-8 here: the run under a comma locale is left out");
    }
    void theSameFiles() {
        QFETCH(QStringList, more);
        QFETCH(QStringList, surroundings);
        const QStringList figures{QStringLiteral("--figures"), QStringLiteral("pdf,svg,png")};
        const QString reference = path(QStringLiteral("reference"));
        if (!QFile::exists(reference)) COMPARE_CODE(sampled(QStringLiteral("reference"), figures), 0);
        const QString other =
            path(QString::fromLatin1(QTest::currentDataTag()).replace(QLatin1Char(' '), QLatin1Char('-')));
        const Finished finished = sampled(QFileInfo(other).fileName(), figures + more, surroundings);
        COMPARE_CODE(finished, 0);
        QVERIFY2(!finished.err.contains("warning"), finished.err.constData());

        const QStringList files = filesBelow(reference);
        QVERIFY(files.contains(QStringLiteral("figures/drift.pdf")));
        QCOMPARE(filesBelow(other), files);
        for (const QString& file : files) {
            const QString a = reference + QLatin1Char('/') + file, b = other + QLatin1Char('/') + file;
            if (file == QStringLiteral("summary.json")) {
                Json first = readJson(a), second = readJson(b);
                for (Json* summary : {&first, &second}) {
                    QVERIFY(summary->contains("tokens_per_second") && summary->contains("threads"));
                    summary->erase("tokens_per_second");
                    summary->erase("threads");
                }
                QCOMPARE(second.dump(), first.dump());
            } else {
                QVERIFY2(!contents(a).isEmpty(), qPrintable(file));
                QVERIFY2(contents(a) == contents(b), qPrintable(file));
            }
        }
    }

    void twiceIntoOneFolder() {
        COMPARE_CODE(sampled(QStringLiteral("twice")), 0);
        const QString file = writeSession(path(QStringLiteral("short.session.json")), trioSession(3));
        COMPARE_CODE(runProgram({QStringLiteral("run"), file, QStringLiteral("--out"), path(QStringLiteral("twice"))}),
                     0);
        // The second run is short and without dumps: nothing of the first may pass for it.
        QCOMPARE(filesBelow(path(QStringLiteral("twice"))),
                 (QStringList{QStringLiteral("session.json"), QStringLiteral("summary.json"),
                              QStringLiteral("trace.jsonl")}));
        COMPARE_CODE(runProgram({QStringLiteral("replay"), path(QStringLiteral("twice"))}), 0);
    }

    void replayOfARun() {
        COMPARE_CODE(sampled(QStringLiteral("to-replay")), 0);
        const Finished same = runProgram({QStringLiteral("replay"), path(QStringLiteral("to-replay"))});
        COMPARE_CODE(same, 0);
        QVERIFY2(same.out.startsWith("Identical"), same.out.constData());

        // A device that is not here is said; the processor does its work.
        const QString file = path(QStringLiteral("to-replay/summary.json"));
        Json summary = readJson(file);
        summary["device"] = "cuda:63";
        writeSession(file, summary);
        const Finished elsewhere = runProgram({QStringLiteral("replay"), path(QStringLiteral("to-replay"))});
        COMPARE_CODE(elsewhere, 0);
        QVERIFY2(elsewhere.out.contains("cuda:63, which is not here") && elsewhere.out.contains("Identical"),
                 elsewhere.out.constData());
    }

    void replayThatDiverges() {
        COMPARE_CODE(sampled(QStringLiteral("diverges")), 0);
        const QString file = path(QStringLiteral("diverges/session.json"));
        Json session = readJson(file);
        session["decoding"]["seed"] = 8;
        writeSession(file, session);
        const Finished other = runProgram({QStringLiteral("replay"), path(QStringLiteral("diverges"))});
        COMPARE_CODE(other, 3);
        QVERIFY2(other.out.contains("position"), other.out.constData());
        QVERIFY(!other.err.contains("warning"));
    }

    void replayOfNoRun() {
        const Finished nothing = runProgram({QStringLiteral("replay"), path(QStringLiteral("nothing"))});
        COMPARE_CODE(nothing, 1);
        QCOMPARE(nothing.errorLines(), 1);
        QVERIFY2(nothing.err.contains("nothing"), nothing.err.constData());
    }

    void folderThatCannotBeWritten() {
        const QString file = writeSession(path(QStringLiteral("unwritable.session.json")), trioSession(3));
        for (const QString& out : {QStringLiteral("/proc/run"), file + QStringLiteral("/run")}) {
            const Finished finished = runProgram({QStringLiteral("run"), file, QStringLiteral("--out"), out});
            COMPARE_CODE(finished, 1);
            QCOMPARE(finished.errorLines(), 1);
            QVERIFY2(finished.err.contains(out.toUtf8()), finished.err.constData());
        }
    }

    void unknownKeyIsKeptAndWarnedAbout() {
        Json session = trioSession(2);
        session["colour"] = "red";
        session["decoding"]["topk"] = 3;
        const QString file = writeSession(path(QStringLiteral("unknown.session.json")), session);
        const Finished finished =
            runProgram({QStringLiteral("run"), file, QStringLiteral("--out"), path(QStringLiteral("unknown"))});
        COMPARE_CODE(finished, 0);
        QVERIFY2(finished.err.contains("colour") && finished.err.contains("topk"), finished.err.constData());
        const Json copy = readJson(path(QStringLiteral("unknown/session.json")));
        QCOMPARE(QByteArray::fromStdString(copy["colour"]), QByteArray("red"));
        QCOMPARE(copy["decoding"]["topk"].get<int>(), 3);
    }

    void scoreOfAPrompt() {
        // Teacher-forced over the prompt; the last row is about no token.
        Json session = trioSession(5);
        session["mode"] = "score";
        const QString file = writeSession(path(QStringLiteral("score.session.json")), session);
        const Finished finished =
            runProgram({QStringLiteral("run"), file, QStringLiteral("--out"), path(QStringLiteral("score"))});
        COMPARE_CODE(finished, 0);
        QVERIFY2(finished.out.contains("scored 4 tokens") && finished.out.contains("positions/s"),
                 finished.out.constData());
        QVERIFY2(!finished.out.contains("limit") && !finished.out.contains(" 0 "), finished.out.constData());
        const std::vector<Json> rows = traceRows(path(QStringLiteral("score")));
        QCOMPARE(rows.size(), std::size_t(5));
        QVERIFY(rows.back()["token"].is_null());
    }

    void replayKeepsTheDtype_data() {
        QTest::addColumn<QString>("dtype");
        QTest::newRow("bfloat16") << QStringLiteral("bfloat16");
        QTest::newRow("float16") << QStringLiteral("float16");
    }
    void replayKeepsTheDtype() {
        QFETCH(QString, dtype);
        COMPARE_CODE(sampled(dtype, {QStringLiteral("--dtype"), dtype}), 0);
        const Finished same = runProgram({QStringLiteral("replay"), path(dtype)});
        COMPARE_CODE(same, 0);
        QVERIFY2(same.out.startsWith("Identical"), same.out.constData());
        const Finished other =
            runProgram({QStringLiteral("replay"), path(dtype), QStringLiteral("--dtype"), QStringLiteral("float32")});
        QVERIFY2(!other.out.startsWith("Identical"), other.out.constData());
    }

    /// The destructors of libtorch's tables would take longer than a short run.
    void theProgramEndsWithoutWaitingForLibraries() {
        const QString file = writeSession(path(QStringLiteral("short.session.json")), trioSession(1));
        const Finished finished =
            runProgram({QStringLiteral("run"), file, QStringLiteral("--out"), path(QStringLiteral("short"))},
                       {QStringLiteral("LD_DEBUG=files")});
        COMPARE_CODE(finished, 0);
        QVERIFY(finished.err.contains("calling init: ") && finished.err.contains("libtorch"));
        QVERIFY(!finished.err.contains("calling fini: "));
    }

    /// No specialist: what has nothing to show is named, the other figures are there.
    void figuresOfABaseAlone() {
        Json session = trioSession(3);
        session["specialists"] = Json::array();
        const QString file = writeSession(path(QStringLiteral("alone.session.json")), session);
        const Finished finished =
            runProgram({QStringLiteral("run"), file, QStringLiteral("--out"), path(QStringLiteral("alone")),
                        QStringLiteral("--figures"), QStringLiteral("svg")});
        COMPARE_CODE(finished, 0);
        QVERIFY2(finished.err.contains("figure 'Activity' is left out"), finished.err.constData());
        QVERIFY(QFile::exists(path(QStringLiteral("alone/figures/drift.svg"))));
    }
};

QTEST_GUILESS_MAIN(TestRun)
#include "tst_run.moc"
