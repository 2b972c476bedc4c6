#include "compute/printable.h"

namespace counterpoint::compute {

std::string printable(std::string_view text) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string out;
    const auto escape = [&out, kDigits](unsigned char byte) {
        out += "\\x";
        out += kDigits[byte >> 4];
        out += kDigits[byte & 15];
    };
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0u;
        if (byte == '\n' || byte == '\r' || byte == '\t') {
            out += ' ';
        } else if (byte < 0x20 || byte == 0x7F) {
            escape(byte);
        } else if (byte == 0xC2 && next >= 0x80 && next < 0xA0) {  // U+0080 to U+009F: controls too
            escape(static_cast<unsigned char>(next));
            ++i;
        } else {
            out += text[i];
        }
    }
    return out;
}

}  // namespace counterpoint::compute
