// A TorchScript whose loop has no end (SPEC.md 2), in the window and in the commands: what is said, the button,
// leaving. Its threads run to the end of the program, so that the test leaves as the program does: by _Exit.

#include <pty.h>
#include <unistd.h>

#include <QAbstractButton>
#include <QLabel>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "tests/app/opened.h"
#include "tests/app/trio.h"
#include "tests/support/scripts.h"
#include "widgets/palette.h"

using namespace counterpoint;
using namespace counterpoint::tests;

namespace {

/// Answers up to `most` tokens, and never beyond.
void writeScript(const QString& file, int most) {
    ScriptText text;
    text.methods = "def forward(self, ids: Tensor) -> Tensor:\n    n = 0\n    while ids.size(1) > " +
                   std::to_string(most) + ":\n        n += 1\n    return self.w[ids]\n";
    text.parameters = {{"w", {8, 8}, std::vector<float>(64, 0.5F)}};
    scriptWriter().write(file.toStdString(), text);
}

Json sessionOn(const QString& script) {
    return {{"format", "counterpoint.session/1"},
            {"prompt_ids", {1, 2, 3}},
            {"base", {{"name", "base"}, {"path", script.toStdString()}}},
            {"decoding", {{"max_new_tokens", 20}, {"stop_ids", Json::array()}}}};
}

/// Its memory has `library`.
bool holds(const QProcess& process, const char* library) {
    return contents(QStringLiteral("/proc/%1/maps").arg(process.processId())).contains(library);
}

void tell(const QProcess& process, int signal) { kill(static_cast<pid_t>(process.processId()), signal); }

}  // namespace

class TestStuck : public QObject {
    Q_OBJECT
    QTemporaryDir m_scratch;
    QString path(const QString& name) const { return m_scratch.filePath(name); }

    void start(QProcess& process, const QStringList& arguments) const {
        process.setProcessEnvironment(bareEnvironment());
        process.start(programPath(), arguments);
        QVERIFY(process.waitForStarted());
    }

  private Q_SLOTS:
    void initTestCase() {
        widgets::applyTheme(*qApp, widgets::ThemeKind::Light);
        writeScript(path("six.pt"), 6);
        writeScript(path("none.pt"), 0);
        writeSession(path("six.session.json"), sessionOn(path("six.pt")));
    }
    void init() { failOnAnyWarning(); }

    void theWindow() {
        QSettings settings(path("window.ini"), QSettings::IniFormat);
        auto document =
            std::make_unique<model::Document>(nullptr, model::SourceOpener(), std::chrono::milliseconds(20));
        auto window = std::make_unique<MainWindow>(*document, settings);
        window->restore({});
        window->resize(1280, 800);
        window->show();
        document->open(path("six.session.json").toStdString());
        QTRY_VERIFY_WITH_TIMEOUT(document->ready(), kPatienceMs);
        QAction* restart = window->actions().action("decode.restart");
        const auto stall = [&] {
            QVERIFY(!restart->isEnabled());
            const std::size_t traces = document->traces().size();
            window->actions().action("decode.generate")->trigger();
            QTRY_COMPARE_WITH_TIMEOUT(document->traces().size(), traces + 1, kPatienceMs);
            QTRY_COMPARE_WITH_TIMEOUT(document->trace()->steps.size(), std::size_t{6}, kPatienceMs);
            QVERIFY(window->findChild<QAbstractButton*>("restart") == nullptr);
            window->actions().action("decode.stop")->trigger();
            QTRY_VERIFY_WITH_TIMEOUT(document->stuck() && restart->isEnabled(), kPatienceMs);
        };
        stall();
        auto* button = window->findChild<QAbstractButton*>("restart");
        QVERIFY(button != nullptr);
        QTRY_VERIFY(button->isVisible());
        const QString said = button->parentWidget()->findChild<QLabel*>("sentence")->text();
        QVERIFY2(said.startsWith(path("six.pt")) && said.contains("does not stop"), qPrintable(said));
        const model::Trace* trace = document->trace();
        QTest::mouseClick(button, Qt::LeftButton);
        QTRY_VERIFY_WITH_TIMEOUT(document->ready() && !document->busy(), kPatienceMs);
        QVERIFY(!restart->isEnabled() && !document->stuck());
        QCOMPARE(document->trace(), trace);
        QCOMPARE(trace->steps.size(), std::size_t{6});
        QCOMPARE(trace->stop, std::string("user"));

        stall();  // and once more: closing does not wait for it
        QCOMPARE(document->traces().size(), std::size_t{2});
        window->close();
        window.reset();
        document.reset();
    }

    /// Of a file that runs code the window speaks once; what cannot be written is not remembered.
    void codeIsRemembered() {
        const QString file = path("code.ini");
        for (const bool isNew : {true, false}) {
            QSettings settings(file, QSettings::IniFormat);
            QCOMPARE(app::isNewCode(settings, std::string(64, 'a')), isNew);
            QCOMPARE(app::isNewCode(settings, std::string(64, 'a')), false);
        }
        QSettings settings(file, QSettings::IniFormat);
        QVERIFY(app::isNewCode(settings, std::string(64, 'b')));
        for (int i = 0; i < 2; ++i) {
            QSettings lost(QStringLiteral("/proc/code.ini"), QSettings::IniFormat);
            QVERIFY(app::isNewCode(lost, std::string(64, 'a')));
        }
    }

    /// One signal: as Stop, and after five seconds without the call. What was decoded is a whole run. A terminal as
    /// standard error shows that four of twenty tokens are there, over and over while the fifth does not come.
    void aRunThatIsStopped() {
        int terminal = -1, side = -1;
        QVERIFY(openpty(&terminal, &side, nullptr, nullptr, nullptr) == 0);
        QProcess process;
        process.setChildProcessModifier([side] { dup2(side, STDERR_FILENO); });
        start(process, {"run", path("six.session.json"), "--out", path("stopped")});
        close(side);
        QByteArray said;
        char byte = 0;
        bool told = false;
        while (read(terminal, &byte, 1) == 1) {
            said += byte;
            if (told || said.count("20 %") < 5) continue;
            told = true;
            tell(process, SIGINT);
        }
        close(terminal);
        QVERIFY(process.waitForFinished(kPatienceMs));
        QCOMPARE(process.exitStatus(), QProcess::NormalExit);
        QCOMPARE(process.exitCode(), 1);
        QVERIFY2(said.contains("stopped by a signal after 6 steps; they are written there"), said.constData());
        QVERIFY2(said.contains("six.pt has not come back from a call after "), said.constData());
        QVERIFY2(said.contains("does not stop; it is left behind"), said.constData());
        QVERIFY2(said.contains("decoding with it runs code of whoever made it"), said.constData());
        QCOMPARE(QByteArray::fromStdString(readJson(path("stopped/summary.json"))["stop"]), QByteArray("user"));
        QCOMPARE(traceRows(path("stopped")).size(), std::size_t{6});
        // Other commands that decode say it too, before the first of it runs.
        write(path("one.bank.json"),
              R"({"format":"counterpoint.bank/1","priors":[{"name":"p","quality":0.9,"promote":[100]}]})");
        Json six = readJson(path("six.session.json"));
        six["priors"] = {{{"bank", "one.bank.json"}}};
        const QString session = writeSession(path("bank.session.json"), six);
        for (const QStringList& command :
             {QStringList{"replay", path("stopped")}, QStringList{"bank", "compress", path("one.bank.json"), "--session",
                                                                  session, "--out", path("two.bank.json")}}) {
            QProcess other;
            start(other, command);
            QByteArray heard;
            other.setReadChannel(QProcess::StandardError);
            while (!heard.contains('\n') && other.waitForReadyRead(kPatienceMs)) heard += other.readAll();
            other.kill();
            other.waitForFinished(kPatienceMs);
            QVERIFY2(heard.contains("decoding with it runs code of whoever made it"), heard.constData());
        }
    }

    void twoSignals() {
        QProcess process;
        start(process, {"run", path("none.pt"), "--out", path("ended")});
        QTRY_VERIFY_WITH_TIMEOUT(holds(process, "counterpoint_network.so"), kPatienceMs);
        tell(process, SIGINT);
        tell(process, SIGTERM);
        QVERIFY(process.waitForFinished(kPatienceMs));
        QCOMPARE(
            process.readAllStandardError(),
            ("counterpoint: notice: " + path("none.pt") +
             " is a TorchScript file: decoding with it runs code of whoever made it.\ncounterpoint: " + path("ended") + ": ended by a second signal, before the run was written there whole.\n")
                .toUtf8());
        QCOMPARE(process.exitStatus(), QProcess::NormalExit);
        QCOMPARE(process.exitCode(), 1);
        QVERIFY(!QFile::exists(path("ended/summary.json")));
    }

    void aPictureThatIsStopped() {
        QProcess process;
        start(process, {"--screenshot", path("none.png"), path("none.pt")});
        QTRY_VERIFY_WITH_TIMEOUT(holds(process, "counterpoint_network.so"), kPatienceMs);
        tell(process, SIGINT);
        QVERIFY(process.waitForFinished(kPatienceMs));
        const QByteArray said = process.readAllStandardError();
        QCOMPARE(process.exitCode(), 1);
        QVERIFY2(said.contains("stopped by a signal") && said.count('\n') == 1, said.constData());
        QVERIFY(!QFile::exists(path("none.png")));
    }
};

int main(int argc, char** argv) {
    QApplication application(argc, argv);
    int code = 0;
    {
        TestStuck test;
        code = QTest::qExec(&test, argc, argv);
    }
    std::fflush(stdout);
    std::_Exit(code);
}
#include "tst_stuck.moc"
