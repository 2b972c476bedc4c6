#include "compute/printable.h"

#include "compute/oneline.h"

#include "compute/text/utf8.h"

namespace counterpoint::compute {
namespace {

bool isBlank(std::uint32_t code) {
    return code == '\n' || code == '\r' || code == '\t' || code == 0x2028 || code == 0x2029;
}

bool isControl(std::uint32_t code) { return code < 0x20 || (code >= 0x7F && code < 0xA0); }

/// Unicode's Bidi_Control (UAX 9): what stands after them is read in another direction.
bool isDirection(std::uint32_t code) {
    return code == 0x061C || code == 0x200E || code == 0x200F || (code >= 0x202A && code <= 0x202E) ||
           (code >= 0x2066 && code <= 0x2069);
}

}  // namespace

std::string printable(std::string_view text) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string out;
    const auto escape = [&out, kDigits](unsigned char byte) {
        out += "\\x";
        out += kDigits[byte >> 4];
        out += kDigits[byte & 15];
    };
    for (; !text.empty();) {
        const utf8::Step step = utf8::next(text);
        const std::string_view character = text.substr(0, step.length);
        text.remove_prefix(step.length);
        if (step.kind != utf8::Kind::Complete)
            for (const char byte : character) escape(static_cast<unsigned char>(byte));
        else if (isBlank(step.code))
            out += ' ';
        else if (isControl(step.code))
            escape(static_cast<unsigned char>(step.code));
        else if (isDirection(step.code)) {
            out += "\\u";
            for (int shift = 12; shift >= 0; shift -= 4) out += kDigits[step.code >> shift & 15];
        } else
            out += character;
    }
    return out;
}

bool isOneLine(std::string_view text) {
    while (!text.empty()) {
        const utf8::Step step = utf8::next(text);
        if (step.kind != utf8::Kind::Complete || isBlank(step.code) || isControl(step.code)) return false;
        text.remove_prefix(step.length);
    }
    return true;
}

std::string shortened(std::string_view text, std::size_t bytes) {
    if (text.size() <= bytes) return std::string(text);
    std::size_t end = bytes;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
    return std::string(text.substr(0, end)) + "...";
}

}  // namespace counterpoint::compute
