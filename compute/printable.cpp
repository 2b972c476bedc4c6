#include "compute/printable.h"

#include "compute/text/utf8.h"

namespace counterpoint::compute {

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
        else if (character == "\n" || character == "\r" || character == "\t")
            out += ' ';
        else if (step.code < 0x20 || (step.code >= 0x7F && step.code < 0xA0))
            escape(static_cast<unsigned char>(step.code));
        else
            out += character;
    }
    return out;
}

std::string shortened(std::string_view text, std::size_t bytes) {
    if (text.size() <= bytes) return std::string(text);
    std::size_t end = bytes;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
    return std::string(text.substr(0, end)) + "...";
}

}  // namespace counterpoint::compute
