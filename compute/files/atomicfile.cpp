#include "compute/files/atomicfile.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>

#include "compute/files/posix.h"

namespace counterpoint::compute {
namespace {

namespace fs = std::filesystem;

/// Where the bytes go: a symbolic link stays and the file it names is replaced, also when that file does not exist yet.
fs::path followLinks(fs::path path) {
    std::error_code ignored;
    for (int hops = 0; fs::is_symlink(fs::symlink_status(path, ignored)); ++hops) {
        if (hops == 40) posix::fail(path, "cannot be written", ELOOP);
        const fs::path next = fs::read_symlink(path, ignored);
        path = next.is_absolute() ? next : path.parent_path() / next;
    }
    return path;
}

fs::path folderOf(const fs::path& file) { return file.has_parent_path() ? file.parent_path() : fs::path("."); }

}  // namespace

AtomicFile::AtomicFile(const fs::path& target) : m_target(followLinks(target)) {
    struct stat status {};
    const bool exists = ::stat(m_target.c_str(), &status) == 0;
    if (!exists && errno != ENOENT) posix::fail(m_target, "cannot be written", errno);
    if (exists && S_ISDIR(status.st_mode)) posix::fail(m_target, "cannot be written", EISDIR);
    if (exists && !S_ISREG(status.st_mode))
        throw Error({.where = m_target.string(), .what = "cannot be written: it is not a regular file"});
    // A rename needs only the folder's permission; a file marked read-only is still meant to stay as it is.
    if (exists && ((status.st_mode & 0222) == 0 || ::access(m_target.c_str(), W_OK) != 0))
        throw Error({.where = m_target.string(),
                     .what = "cannot be written: the file is read-only",
                     .advice = "choose another name"});

    static std::atomic<unsigned> counter{0};
    for (int attempt = 0; m_fd < 0; ++attempt) {
        m_temporary = folderOf(m_target) /
                      (".counterpoint-" + std::to_string(::getpid()) + "-" + std::to_string(counter++) + ".part");
        m_fd = ::open(m_temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (m_fd < 0 && (errno != EEXIST || attempt == 1000)) posix::fail(m_target, "cannot be written", errno);
    }
    if (exists) {
        // The owner may be out of our reach (then the file becomes ours); the mode must not be.
        [[maybe_unused]] const int owner = ::fchown(m_fd, status.st_uid, status.st_gid);
        if (::fchmod(m_fd, status.st_mode & 07777) != 0) {
            const int error = errno;
            discard();
            posix::fail(m_target, "cannot be given its permissions", error);
        }
    }
}

AtomicFile::~AtomicFile() { discard(); }

void AtomicFile::discard() noexcept {
    if (m_fd < 0) return;
    ::close(m_fd);
    ::unlink(m_temporary.c_str());
    m_fd = -1;
}

void AtomicFile::write(std::string_view bytes) {
    constexpr std::size_t kBlock = 1u << 20;
    m_buffer.append(bytes);
    if (m_buffer.size() >= kBlock) flush();
}

void AtomicFile::write(std::span<const std::byte> bytes) {
    write(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

void AtomicFile::flush() {
    std::string_view rest = m_buffer;
    while (!rest.empty()) {
        const ssize_t n = ::write(m_fd, rest.data(), rest.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) posix::fail(m_target, "cannot be written", errno);
        rest.remove_prefix(static_cast<std::size_t>(n));
    }
    m_buffer.clear();
}

void AtomicFile::commit() {
    flush();
    if (::fsync(m_fd) != 0) posix::fail(m_target, "cannot be written", errno);
    if (::rename(m_temporary.c_str(), m_target.c_str()) != 0) posix::fail(m_target, "cannot be written", errno);
    ::close(m_fd);
    m_fd = -1;
    // Makes the rename itself last through a power cut; a file system that cannot do it has still the whole file, old
    // or new.
    const posix::Fd folder(::open(folderOf(m_target).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (folder.fd >= 0) ::fsync(folder.fd);
}

void writeFile(const fs::path& target, std::string_view bytes) {
    AtomicFile file(target);
    file.write(bytes);
    file.commit();
}

std::string readFile(const fs::path& file, std::uint64_t limit) {
    std::uint64_t size = 0;
    std::int64_t modifiedNs = 0;
    const posix::Fd fd(posix::openRegular(file, size, modifiedNs));
    const auto refuse = [&](std::uint64_t found) {
        throw Error({.where = file.string(),
                     .what = "the file is too large to be read here",
                     .expected = "at most " + std::to_string(limit) + " bytes",
                     .found = std::to_string(found)});
    };
    if (size > limit) refuse(size);
    std::string bytes(static_cast<std::size_t>(size), '\0');
    std::size_t filled = 0;
    while (true) {
        // Files of /proc tell size 0 and a file may grow while it is read: read to the end, whatever size was told.
        if (filled == bytes.size()) bytes.resize(filled + 4096);
        const ssize_t n = ::read(fd.fd, bytes.data() + filled, bytes.size() - filled);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) posix::fail(file, "cannot be read", errno);
        if (n == 0) break;
        filled += static_cast<std::size_t>(n);
        if (filled > limit) refuse(filled);
    }
    bytes.resize(filled);
    return bytes;
}

}  // namespace counterpoint::compute
