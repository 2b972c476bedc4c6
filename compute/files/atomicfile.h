#pragma once
// The one writer for all files: writes beside the target (same folder), fsync, keeps mode and follows symlinks, then
// renames over it. On any failure the target is untouched and the temporary file is removed (HAZARDS A21). Thread: any;
// one object one thread.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "compute/export.h"

namespace counterpoint::compute {

class COUNTERPOINT_API AtomicFile {
  public:
    explicit AtomicFile(const std::filesystem::path& target);
    ~AtomicFile();  ///< not committed: the temporary file is removed
    AtomicFile(const AtomicFile&) = delete;
    AtomicFile& operator=(const AtomicFile&) = delete;
    void write(std::string_view bytes);
    void write(std::span<const std::byte> bytes);
    void commit();  ///< fsync + rename; throws Error, then the target is as it was

  private:
    std::filesystem::path m_target, m_temporary;
    int m_fd = -1;
    std::string m_buffer;
    void flush();
    void discard() noexcept;
};

COUNTERPOINT_API void writeFile(const std::filesystem::path& target, std::string_view bytes);
/// A whole regular file; more than `limit` bytes are refused unread.
COUNTERPOINT_API std::string readFile(const std::filesystem::path& file, std::uint64_t limit = 256u << 20);

}  // namespace counterpoint::compute
