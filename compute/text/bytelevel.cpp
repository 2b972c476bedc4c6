#include "compute/text/bytelevel.h"

#include <array>

#include "compute/text/utf8.h"

namespace counterpoint::compute::bytelevel {
namespace {

constexpr bool standsForItself(unsigned byte) {
    return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || (byte >= 0xAE && byte <= 0xFF);
}

constexpr std::array<std::uint16_t, 256> codeOfByte() {
    std::array<std::uint16_t, 256> codes{};
    std::uint16_t next = 0x100;
    for (unsigned byte = 0; byte < 256; ++byte)
        codes[byte] = standsForItself(byte) ? static_cast<std::uint16_t>(byte) : next++;
    return codes;
}

constexpr std::array<int, 0x144> byteOfCode() {
    std::array<int, 0x144> bytes{};
    bytes.fill(-1);
    for (unsigned byte = 0; byte < 256; ++byte) bytes[codeOfByte()[byte]] = static_cast<int>(byte);
    return bytes;
}

constexpr std::array<std::uint16_t, 256> kCodes = codeOfByte();
constexpr std::array<int, 0x144> kBytes = byteOfCode();

}  // namespace

std::string encode(std::string_view bytes) {
    std::string visible;
    visible.reserve(bytes.size() * 2);
    for (const char c : bytes) utf8::append(visible, kCodes[static_cast<unsigned char>(c)]);
    return visible;
}

std::string decode(std::string_view visible) {
    std::string bytes;
    for (std::string_view rest = visible; !rest.empty();) {
        const utf8::Step step = utf8::next(rest);
        if (step.kind != utf8::Kind::Complete || step.code >= kBytes.size() || kBytes[step.code] < 0)
            return std::string(visible);
        bytes += static_cast<char>(kBytes[step.code]);
        rest.remove_prefix(step.length);
    }
    return bytes;
}

}  // namespace counterpoint::compute::bytelevel
