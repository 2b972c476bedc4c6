#include "compute/files/mappedfile.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "compute/files/posix.h"

namespace counterpoint::compute {

std::shared_ptr<const MappedFile> MappedFile::open(const std::filesystem::path& file) {
    std::shared_ptr<MappedFile> mapped(new MappedFile);
    mapped->m_path = file;
    std::uint64_t size = 0;
    mapped->m_fd = posix::openRegular(file, size, mapped->m_modifiedNs);
    if (size == 0) return mapped;
    void* data = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, mapped->m_fd, 0);
    if (data == MAP_FAILED) posix::fail(file, "cannot be mapped into memory", errno);
    mapped->m_data = static_cast<const std::byte*>(data);
    mapped->m_size = size;
    return mapped;
}

std::shared_ptr<const MappedFile> MappedFile::filled(const std::filesystem::path& file, std::size_t size,
                                                     const std::function<void(std::span<std::byte>)>& fill) {
    std::shared_ptr<MappedFile> memory(new MappedFile);
    memory->m_path = file;
    if (size == 0) return memory;
    void* data = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) posix::fail(file, "cannot be copied into memory", errno);
    memory->m_data = static_cast<const std::byte*>(data);
    memory->m_size = size;
    fill({static_cast<std::byte*>(data), size});
    return memory;
}

std::shared_ptr<const MappedFile> MappedFile::copyFrom(const MappedFile& file, std::size_t offset) {
    const std::span<const std::byte> rest = file.bytes().subspan(offset);
    return filled(file.m_path, rest.size(),
                  [&](std::span<std::byte> memory) { std::memcpy(memory.data(), rest.data(), rest.size()); });
}

MappedFile::~MappedFile() {
    if (m_data != nullptr) ::munmap(const_cast<std::byte*>(m_data), m_size);
    if (m_fd >= 0) ::close(m_fd);
}

void MappedFile::requireUnchanged() const {
    if (m_fd < 0) return;
    struct stat status {};
    if (::fstat(m_fd, &status) != 0) posix::fail(m_path, "cannot be examined", errno);
    const std::string advice = "open it again";
    if (static_cast<std::size_t>(status.st_size) != m_size)
        throw Error({.where = m_path.string(),
                     .what = "the file was changed while it was open",
                     .expected = std::to_string(m_size) + " bytes",
                     .found = std::to_string(status.st_size),
                     .advice = advice});
    if (std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec != m_modifiedNs)
        throw Error({.where = m_path.string(), .what = "the file was written to while it was open", .advice = advice});
}

}  // namespace counterpoint::compute
