// The one writer: the old file stays on every failure and through kill -9; mode and symbolic links are kept (A21).
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "compute/error.h"
#include "compute/files/atomicfile.h"
#include "compute/files/mappedfile.h"
#include "tests/support/fixture.h"
#include "tests/support/scratch.h"

using namespace counterpoint::compute;
using namespace counterpoint::tests;
namespace fs = std::filesystem;

namespace {

int filesIn(const fs::path& folder) { return static_cast<int>(std::distance(fs::directory_iterator(folder), {})); }

/// Much of one letter: a half written or mixed file shows at once.
std::string letters(char letter, std::size_t megabytes = 2) { return std::string(megabytes << 20, letter); }

}  // namespace

class TestAtomicFile : public QObject, Scratch {
    Q_OBJECT

  private Q_SLOTS:
    void init() {
        failOnAnyWarning();
        renew();
    }

    void writesAndReads() {
        const fs::path file = folder() / "a.json";
        writeFile(file, "one");
        writeFile(file, "two, longer");
        QCOMPARE(readFile(file), std::string("two, longer"));
        QCOMPARE(filesIn(folder()), 1);
        writeFile(file, "");
        QCOMPARE(readFile(file), std::string());
    }

    void withoutCommitNothingHappens() {
        const fs::path file = folder() / "a.json";
        writeFile(file, "old");
        {
            AtomicFile writer(file);
            writer.write(letters('x'));
        }
        QCOMPARE(readFile(file), std::string("old"));
        QCOMPARE(filesIn(folder()), 1);
    }

    void keepsModeAndFollowsLinks() {
        const fs::path file = folder() / "real.json", link = folder() / "link.json";
        writeFile(file, "old");
        fs::permissions(file, fs::perms(0640));
        fs::create_symlink("real.json", link);
        writeFile(link, "new");
        QVERIFY(fs::is_symlink(link));
        QCOMPARE(readFile(file), std::string("new"));
        QCOMPARE(int(fs::status(file).permissions()), 0640);
        fs::create_symlink("later.json", folder() / "dangling.json");
        writeFile(folder() / "dangling.json", "made");
        QCOMPARE(readFile(folder() / "later.json"), std::string("made"));
        fs::create_symlink("round.json", folder() / "round.json");
        QVERIFY(!errorOf([&] { writeFile(folder() / "round.json", "x"); }).empty());
    }

    void refusals() {
        const fs::path readOnly = folder() / "readonly.json";
        writeFile(readOnly, "old");
        fs::permissions(readOnly, fs::perms(0444));
        QVERIFY(errorOf([&] { writeFile(readOnly, "new"); }).find("read-only") != std::string::npos);
        QCOMPARE(readFile(readOnly), std::string("old"));
        QVERIFY(errorOf([&] { writeFile(folder(), "new"); }).find("folder") != std::string::npos);
        QVERIFY(errorOf([&] { writeFile(folder() / "none" / "a", "new"); }).find("no such") != std::string::npos);
        QVERIFY(errorOf([&] { writeFile(readOnly / "a", "new"); }).find("a part of the path is a file") !=
                std::string::npos);
        QVERIFY(errorOf([&] { writeFile(folder() / std::string(300, 'n'), "new"); }).find("too long") !=
                std::string::npos);
        QVERIFY(errorOf([&] { writeFile("/dev/null", "new"); }).find("not a regular file") != std::string::npos);
        QCOMPARE(filesIn(folder()), 1);
    }

    void theFolderVanishes() {
        const fs::path below = folder() / "below";
        fs::create_directory(below);
        AtomicFile writer(below / "a.json");
        writer.write("text");
        fs::remove_all(below);
        QVERIFY(errorOf([&] { writer.commit(); }).find("a.json: cannot be written") != std::string::npos);
    }

    /// A full disk, played by the limit on a file's size (SIGXFSZ ignored, write gives EFBIG).
    void fileSizeLimit() {
        const fs::path file = folder() / "a.json";
        writeFile(file, "old");
        rlimit before{};
        getrlimit(RLIMIT_FSIZE, &before);
        std::signal(SIGXFSZ, SIG_IGN);
        const rlimit small{.rlim_cur = 1u << 20, .rlim_max = before.rlim_max};
        setrlimit(RLIMIT_FSIZE, &small);
        const std::string found = errorOf([&] { writeFile(file, letters('x')); });
        setrlimit(RLIMIT_FSIZE, &before);
        std::signal(SIGXFSZ, SIG_DFL);
        QVERIFY2(found.find("a.json: cannot be written") != std::string::npos, found.c_str());
        QCOMPARE(readFile(file), std::string("old"));
        QCOMPARE(filesIn(folder()), 1);
    }

    void diskFull() {
        const fs::path disk = folder() / "disk";
        fs::create_directory(disk);
        if (::mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=1m") != 0)
            QSKIP(
                "no small file system can be mounted here: the full disk was not tried (the limit on a file's size "
                "was)");
        writeFile(disk / "a.json", "old");
        const std::string found = errorOf([&] { writeFile(disk / "a.json", letters('x')); });
        const std::string kept = readFile(disk / "a.json");
        const int files = filesIn(disk);
        ::umount(disk.c_str());
        QVERIFY2(found.find("the disk is full; make room there") != std::string::npos, found.c_str());
        QCOMPARE(kept, std::string("old"));
        QCOMPARE(files, 1);
    }

    void aFolderIsNoFile() {
        const std::string is = folder().string(), what = ": it is a folder, not a file; name the file itself.";
        QCOMPARE(errorOf([&] { writeFile(folder(), "x"); }), is + ": cannot be written" + what);
        QCOMPARE(errorOf([&] { readFile(folder()); }), is + ": cannot be read" + what);
    }

    /// The folder's permission is what a rename needs: asked for as somebody whom permissions bind.
    void readOnlyFolder() {
        const fs::path file = folder() / "a.json";
        writeFile(file, "old");
        fs::permissions(file, fs::perms(0666));
        fs::permissions(folder(), fs::perms(0555));
        const bool root = ::geteuid() == 0;
        if (root) QVERIFY(::seteuid(65534) == 0);
        const std::string found = errorOf([&] { writeFile(file, "new"); });
        if (root) QVERIFY(::seteuid(0) == 0);
        QVERIFY2(found.find("a.json: cannot be written") != std::string::npos, found.c_str());
        QCOMPARE(readFile(file), std::string("old"));
        QCOMPARE(filesIn(folder()), 1);
        fs::permissions(folder(), fs::perms(0700));
    }

    /// A child saves files of 50 MB one after the other and is killed at another moment each time.
    void killedWhileWriting() {
        constexpr std::size_t kMegabytes = 50;
        const fs::path file = folder() / "a.json";
        writeFile(file, letters('a', kMegabytes));
        const std::string first = letters('b', kMegabytes), second = letters('c', kMegabytes);
        int halfWritten = 0;
        for (int round = 0; round < 50; ++round) {
            int ready[2];
            QVERIFY(::pipe(ready) == 0);
            const pid_t child = ::fork();
            QVERIFY(child >= 0);
            if (child == 0) {
                if (::write(ready[1], "!", 1) != 1) ::_exit(1);
                while (true) {
                    writeFile(file, first);
                    writeFile(file, second);
                }
            }
            char go = 0;
            QVERIFY(::read(ready[0], &go, 1) == 1);
            // Not a wait for anything: the moment of the kill is the input.
            ::usleep(static_cast<useconds_t>(1500 * round));
            ::kill(child, SIGKILL);
            int status = 0;
            ::waitpid(child, &status, 0);
            ::close(ready[0]);
            ::close(ready[1]);
            QVERIFY(WIFSIGNALED(status));
            const std::string found = readFile(file);
            QCOMPARE(found.size(), kMegabytes << 20);
            QVERIFY(found.find_first_not_of(found[0]) == std::string::npos);
            for (const auto& entry : fs::directory_iterator(folder()))
                if (entry.path() != file) halfWritten += fs::remove(entry.path());
        }
        QVERIFY2(halfWritten > 10, "the kills did not fall into saves");
    }

    void readingRefuses() {
        QVERIFY(errorOf([&] { readFile(folder()); }).find("folder") != std::string::npos);
        QVERIFY(errorOf([&] { readFile(folder() / "none"); }).find("no such") != std::string::npos);
        writeFile(folder() / "big", std::string(1000, 'x'));
        QVERIFY(errorOf([&] { readFile(folder() / "big", 999); }).find("too large") != std::string::npos);
        QCOMPARE(readFile(folder() / "big", 1000).size(), std::size_t(1000));
        QVERIFY(::mkfifo((folder() / "pipe").c_str(), 0600) == 0);
        QVERIFY(errorOf([&] { readFile(folder() / "pipe"); }).find("not a regular file") != std::string::npos);
    }

    void aMappedFileNoticesChanges() {
        const fs::path file = folder() / "weights";
        writeFile(file, std::string(10000, 'w'));
        const auto mapped = MappedFile::open(file);
        QCOMPARE(mapped->bytes().size(), std::size_t(10000));
        mapped->requireUnchanged();
        writeFile(file, "another file in its place");  // renamed over: the mapping keeps the old one
        mapped->requireUnchanged();
        QVERIFY(mapped->bytes()[9999] == std::byte{'w'});
        const auto second = MappedFile::open(file);
        fs::resize_file(file, 5);
        const std::string found = errorOf([&] { second->requireUnchanged(); });
        QVERIFY2(found.find("changed while it was open (expected 25 bytes, found 5)") != std::string::npos,
                 found.c_str());
        writeFile(file, "");
        QVERIFY(MappedFile::open(file)->bytes().empty());
    }
};

QTEST_GUILESS_MAIN(TestAtomicFile)
#include "tst_atomicfile.moc"
