#include "compute/files/posix.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>

namespace counterpoint::compute::posix {

Fd::~Fd() {
    if (fd >= 0) ::close(fd);
}

int openRegular(const std::filesystem::path& file, std::uint64_t& size, std::int64_t& modifiedNs) {
    // O_NONBLOCK: a pipe with no writer must be refused, not waited for.
    Fd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (fd.fd < 0) fail(file, "cannot be opened", errno);
    struct stat status {};
    if (::fstat(fd.fd, &status) != 0) fail(file, "cannot be examined", errno);
    if (S_ISDIR(status.st_mode)) fail(file, "cannot be read", EISDIR);
    if (!S_ISREG(status.st_mode))
        throw Error({.where = file.string(), .what = "cannot be read: it is not a regular file"});
    size = static_cast<std::uint64_t>(status.st_size);
    modifiedNs = std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
    return fd.release();
}

}  // namespace counterpoint::compute::posix
