#pragma once
// What the file code says and does alike about system calls. Internal to compute. Thread: any.

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>

#include "compute/error.h"

namespace counterpoint::compute::posix {

/// "the disk is full" and such in plain words, the system's own words for the rest.
inline std::string reason(int error) {
    switch (error) {
        case ENOENT:
            return "there is no such file or folder";
        case EACCES:
        case EPERM:
            return "permission is denied";
        case ENOSPC:
        case EDQUOT:
            return "the disk is full";
        case EFBIG:
            return "the file would grow over the allowed size";
        case EROFS:
            return "the file system is read-only";
        case EISDIR:
            return "it is a folder, not a file";
        case ENOTDIR:
            return "a part of the path is a file, not a folder";
        case ENAMETOOLONG:
            return "the name is too long";
        case ELOOP:
            return "symbolic links go round in a circle";
        default:
            return std::strerror(error);
    }
}

/// What to do about it, where that is known.
inline std::string advice(int error) {
    switch (error) {
        case ENOENT:
        case ENOTDIR:
            return "check the path";
        case EISDIR:
            return "name the file itself";
        case ENOSPC:
        case EDQUOT:
            return "make room there, or write somewhere else";
        case EFBIG:
            return "raise the limit on the size of files (ulimit -f), or write somewhere else";
        case EROFS:
            return "write somewhere else";
        default:
            return {};
    }
}

[[noreturn]] inline void fail(const std::filesystem::path& file, const std::string& what, int error) {
    throw Error({.where = file.string(), .what = what + ": " + reason(error), .advice = advice(error)});
}

/// A descriptor that closes itself.
struct Fd {
    int fd = -1;
    explicit Fd(int descriptor) : fd(descriptor) {}
    ~Fd();
    Fd(const Fd&) = delete;
    Fd& operator=(const Fd&) = delete;
    int release() {
        const int kept = fd;
        fd = -1;
        return kept;
    }
};

/// Opens a regular file for reading and tells its size; a folder, a pipe or a missing file is an Error.
int openRegular(const std::filesystem::path& file, std::uint64_t& size, std::int64_t& modifiedNs);

}  // namespace counterpoint::compute::posix
