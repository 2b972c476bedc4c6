#pragma once
// A read-only mapping of a whole file; shared by copies. Thread: any. Errors: Error naming the file.
// A file that another program cuts short while it is mapped ends in SIGBUS when the lost part is read; that cannot be
// turned into an Error, so requireUnchanged() (one fstat, about a microsecond) is called before the bytes are used
// again.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>

#include "compute/export.h"

namespace counterpoint::compute {

class COUNTERPOINT_API MappedFile {
  public:
    static std::shared_ptr<const MappedFile> open(const std::filesystem::path& file);
    ~MappedFile();
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;
    /// The bytes from `offset` on, copied to page-aligned memory: for files whose data stand at an odd address.
    static std::shared_ptr<const MappedFile> copyFrom(const MappedFile& file, std::size_t offset);
    /// Memory of its own under the name of a file: `fill` writes it once.
    static std::shared_ptr<const MappedFile> filled(const std::filesystem::path& file, std::size_t size,
                                                    const std::function<void(std::span<std::byte>)>& fill);
    /// Throws when the file was cut, grown or written to since it was opened (in place; a renamed-over file is another
    /// file).
    void requireUnchanged() const;
    std::span<const std::byte> bytes() const { return {m_data, m_size}; }
    const std::filesystem::path& path() const { return m_path; }

  private:
    MappedFile() = default;
    std::filesystem::path m_path;
    const std::byte* m_data = nullptr;
    std::size_t m_size = 0;
    int m_fd = -1;                  ///< kept open for requireUnchanged(); -1: a copy
    std::int64_t m_modifiedNs = 0;  ///< modification time at opening
};

}  // namespace counterpoint::compute
