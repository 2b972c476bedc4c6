#pragma once
// SHA-256 (FIPS 180-4), incremental. Thread: one owner.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "compute/export.h"

namespace counterpoint::compute {

class COUNTERPOINT_API Sha256 {
  public:
    Sha256();
    void update(std::span<const std::byte> bytes);
    void update(std::string_view bytes);
    std::string hex();  ///< finishes; the object is then used up

  private:
    std::array<std::uint32_t, 8> m_state;
    std::array<std::uint8_t, 64> m_block{};
    std::uint64_t m_length = 0;
    std::size_t m_fill = 0;
    void block(const std::uint8_t* data);
};

COUNTERPOINT_API std::string base64(std::string_view bytes);
COUNTERPOINT_API std::string fromBase64(std::string_view text);

}  // namespace counterpoint::compute
