// Session files on the disk: saving that is killed or finds it full (HAZARDS A21), paths, and keys that nobody knows.

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <ctime>
#include <random>

#include "compute/files/atomicfile.h"
#include "tests/model/sessions.h"
#include "tests/support/fixture.h"

using namespace counterpoint;
using namespace counterpoint::model;
using namespace counterpoint::tests;

class TestSessionFiles : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void init() { failOnAnyWarning(); }

    void relativePaths() {
        QTemporaryDir folder;
        const std::filesystem::path root = folder.path().toStdString();
        std::filesystem::create_directories(root / "a/b");
        std::vector<std::string> warnings;
        compute::writeFile(root / "s.session.json", kRich);
        const Session s = readSession(root / "s.session.json", warnings);
        writeSession(s, root / "a/b/t.session.json");
        const Session moved = readSession(root / "a/b/t.session.json", warnings);
        QCOMPARE(moved.base.path, std::string("../../m"));
        QCOMPARE(moved.specialists[0].path, std::string("/abs/a"));
        QCOMPARE(moved.resolve(moved.base.path).string(), (root / "m").string());
    }

    /// A file made of nothing but keys that nobody knows: read, said shortly, written again, in linear time.
    void veryManyUnknownKeys() {
        // Processor time of reading, writing and reading again: linear is four times as much, quadratic sixteen times.
        const auto seconds = [](int keys) {
            std::string text = R"({"format":"counterpoint.session/1","base":{"path":"m"},"decoding":{)";
            for (int i = 0; i < 1'000; ++i)
                text += (i == 0 ? "" : ",") + ("\"d" + std::to_string(i)) + "\":" + std::to_string(i);
            text += "}";
            for (int i = 0; i < keys; ++i) text += ",\"k" + std::to_string(i) + "\":{\"a\":1}";
            text += "}";
            const std::clock_t begun = std::clock();
            std::vector<std::string> warnings, again;
            const Session session = sessionFromJson(compute::parseOrderedJson(text, "many"), {}, warnings);
            const std::string written = toJson(session).dump();
            const bool same = sessionFromJson(compute::parseOrderedJson(written, "again"), {}, again) == session;
            const std::clock_t ended = std::clock();
            const std::string last = "\"k" + std::to_string(keys - 1) + "\":{\"a\":1}";
            const std::string rest = std::to_string(keys - 20) + " more keys are unknown";
            const bool told = warnings.size() == 42 && warnings.back().find(rest) != std::string::npos;
            const bool kept = written.find("\"d999\":999") != std::string::npos && written.find(last) != std::string::npos;
            return same && told && kept ? double(ended - begun) / CLOCKS_PER_SEC : 1e9;
        };
        const double few = std::min({seconds(20'000), seconds(20'000), seconds(20'000)});
        const double many = std::min({seconds(80'000), seconds(80'000), seconds(80'000)});
        QVERIFY2(few < 1e9 && many < 9 * few, qPrintable(QString("%1 s, %2 s").arg(few).arg(many)));
    }

    // A warning is a line of a terminal.
    void unknownKeysWithControlCharacters() {
        std::vector<std::string> warnings;
        OrderedJson json = small();
        json["a\x1b[31m\n"] = 1;
        (void)sessionFromJson(json, {}, warnings);
        QCOMPARE(warnings.size(), std::size_t{1});
        QVERIFY(warnings[0].find_first_of("\x1b\n") == std::string::npos);
    }

    /// The first 20 by name, then how many more.
    void manyUnknownKeys() {
        for (const std::size_t n : {20u, 25u}) {
            std::vector<std::string> warnings;
            OrderedJson json = small();
            for (std::size_t i = 0; i < n; ++i) json["key" + std::to_string(i)] = 1;
            (void)sessionFromJson(json, {}, warnings);
            QCOMPARE(warnings.size(), n == 20 ? n : std::size_t{21});
            QVERIFY(warnings[19].find("\"key19\" is unknown") != std::string::npos);
            QCOMPARE(warnings.back().find("5 more keys are unknown") != std::string::npos, n == 25);
        }
    }

    void killedWhileSaving() {
        QTemporaryDir folder;
        const std::filesystem::path file = std::filesystem::path(folder.path().toStdString()) / "s.session.json";
        std::array<Session, 2> sessions{parse(kSample), parse(kSample)};
        std::array<std::string, 2> texts;
        for (std::size_t i = 0; i < 2; ++i) {
            sessions[i].prompt.assign(1u << 20, i == 0 ? 'a' : 'b');
            writeSession(sessions[i], file);
            texts[i] = compute::readFile(file);
        }
        std::mt19937 random(1);
        for (int n = 0; n < 50; ++n) {
            const pid_t child = ::fork();
            if (child == 0)
                for (std::size_t i = 0;; ++i) writeSession(sessions[i % 2], file);
            ::usleep(random() % 15000);
            ::kill(child, SIGKILL);
            ::waitpid(child, nullptr, 0);
            const std::string now = compute::readFile(file);
            QVERIFY2(now == texts[0] || now == texts[1], "a half-written session");
        }
    }

    void fullDisk() {
        QTemporaryDir folder;
        const std::filesystem::path file = std::filesystem::path(folder.path().toStdString()) / "s.session.json";
        Session s = parse(kSample);
        writeSession(s, file);
        const std::string before = compute::readFile(file);
        const pid_t child = ::fork();
        if (child == 0) {
            std::signal(SIGXFSZ, SIG_IGN);
            const rlimit small{1000, 1000};
            ::setrlimit(RLIMIT_FSIZE, &small);
            s.prompt.assign(100000, 'x');
            ::_exit(errorOf([&] { writeSession(s, file); }).empty() ? 1 : 0);
        }
        int status = -1;
        ::waitpid(child, &status, 0);
        QVERIFY(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        QCOMPARE(compute::readFile(file), before);
        QCOMPARE(std::distance(std::filesystem::directory_iterator(folder.path().toStdString()), {}), 1);
    }
};

QTEST_GUILESS_MAIN(TestSessionFiles)
#include "tst_sessionfiles.moc"
