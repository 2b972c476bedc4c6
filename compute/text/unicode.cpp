#include "compute/text/unicode.h"

#include <unicode/uchar.h>

#include "compute/text/utf8.h"

namespace counterpoint::compute::unicode {
namespace {

std::uint32_t maskOf(std::uint32_t code) { return U_GET_GC_MASK(static_cast<UChar32>(code)); }

int ageOf(std::uint32_t code) {
    UVersionInfo age;
    u_charAge(static_cast<UChar32>(code), age);
    return age[0];
}

/// The first byte of the character that ends before `at`.
std::size_t beginOfLast(std::string_view text, std::size_t from, std::size_t at) {
    std::size_t begin = at - 1;
    while (begin > from && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) --begin;
    return begin;
}

}  // namespace

bool isSpace(std::uint32_t code) { return u_isUWhiteSpace(static_cast<UChar32>(code)) != 0; }

bool isNumber(std::uint32_t code) {
    return code < 0x80 ? code >= '0' && code <= '9'
                       : (maskOf(code) & (U_GC_ND_MASK | U_GC_NL_MASK | U_GC_NO_MASK)) != 0;
}

bool isMark(std::uint32_t code) {
    constexpr std::uint32_t marksOfThatTime[] = {0x1CF2, 0x1CF3};  // letters since Unicode 12
    if (code == marksOfThatTime[0] || code == marksOfThatTime[1]) return true;
    return (maskOf(code) & U_GC_M_MASK) != 0 && ageOf(code) <= 9;
}

bool isPunctuation(std::uint32_t code) {
    if (code < 0x80)
        return (code > 0x20 && code < '0') || (code > '9' && code < 'A') || (code > 'Z' && code < 'a') ||
               (code > 'z' && code < 0x7F);
    constexpr std::uint32_t punctuationOfThatTime[] = {0x166D, 0x111C9};
    if (code == punctuationOfThatTime[0] || code == punctuationOfThatTime[1]) return true;
    return (maskOf(code) & U_GC_P_MASK) != 0 && ageOf(code) <= 8;
}

bool isWord(std::uint32_t code) {
    const auto point = static_cast<UChar32>(code);
    return (maskOf(code) & (U_GC_M_MASK | U_GC_ND_MASK | U_GC_PC_MASK)) != 0 ||
           u_hasBinaryProperty(point, UCHAR_ALPHABETIC) || u_hasBinaryProperty(point, UCHAR_JOIN_CONTROL);
}

std::size_t trimmedLeft(std::string_view text, std::size_t from, std::size_t at) {
    while (at > from) {
        const std::size_t begin = beginOfLast(text, from, at);
        if (!isSpace(utf8::next(text.substr(begin)).code)) break;
        at = begin;
    }
    return at;
}

std::size_t trimmedRight(std::string_view text, std::size_t at) {
    while (at < text.size()) {
        const utf8::Step step = utf8::next(text.substr(at));
        if (!isSpace(step.code)) break;
        at += step.length;
    }
    return at;
}

std::uint32_t codeBefore(std::string_view text, std::size_t at) {
    return utf8::next(text.substr(beginOfLast(text, 0, at))).code;
}

}  // namespace counterpoint::compute::unicode
