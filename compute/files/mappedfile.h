#pragma once
// A read-only mapping of a whole file; shared by copies. Thread: any. Errors: Error naming the file.

#include "compute/export.h"

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

namespace counterpoint::compute {

class COUNTERPOINT_API MappedFile {
  public:
    static std::shared_ptr<const MappedFile> open(const std::filesystem::path& file);
    ~MappedFile();
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;
    std::span<const std::byte> bytes() const { return {m_data, m_size}; }
    const std::filesystem::path& path() const { return m_path; }

  private:
    MappedFile() = default;
    std::filesystem::path m_path;
    const std::byte* m_data = nullptr;
    std::size_t m_size = 0;
};

}  // namespace counterpoint::compute
