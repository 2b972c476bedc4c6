#include "compute/error.h"

#include <string_view>
#include <utility>

namespace counterpoint::compute {
namespace {

std::string compose(const ErrorParts& p) {
    std::string s;
    if (!p.where.empty()) s += p.where + ": ";
    s += p.what;
    if (!p.expected.empty() && !p.found.empty())
        s += " (expected " + p.expected + ", found " + p.found + ")";
    else if (!p.expected.empty())
        s += " (expected " + p.expected + ")";
    else if (!p.found.empty())
        s += " (found " + p.found + ")";
    if (!p.advice.empty()) s += "; " + p.advice;
    if (!s.ends_with('.')) s += '.';
    return printable(s);
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

Error::Error(ErrorParts parts) : std::runtime_error(compose(parts)), m_parts(std::move(parts)) {}
Error::~Error() = default;

}  // namespace counterpoint::compute
