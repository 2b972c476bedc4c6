#pragma once
// One step of UTF-8 decoding (Unicode 15, table 3-7: no overlong forms, no surrogates, at most U+10FFFF). Internal to
// compute. Thread: any.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace counterpoint::compute::utf8 {

enum class Kind { Complete, Unfinished, Bad };

struct Step {
    Kind kind = Kind::Complete;
    std::size_t length = 0;  ///< bytes of the character, or of the longest part that could begin one (at least 1)
    std::uint32_t code = 0;  ///< only when complete
};

/// The first character of `bytes`, which is not empty. Unfinished: all that is there could still become one.
inline Step next(std::string_view bytes) {
    const auto at = [&](std::size_t i) { return static_cast<std::uint8_t>(bytes[i]); };
    const std::uint8_t lead = at(0);
    if (lead < 0x80) return {Kind::Complete, 1, lead};
    if (lead < 0xC2 || lead > 0xF4) return {Kind::Bad, 1, 0};
    const std::size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    std::uint32_t code = lead & (0x7Fu >> length);
    for (std::size_t i = 1; i < length; ++i) {
        if (i == bytes.size()) return {Kind::Unfinished, i, 0};
        std::uint8_t low = 0x80, high = 0xBF;
        if (i == 1 && lead == 0xE0) low = 0xA0;
        if (i == 1 && lead == 0xED) high = 0x9F;
        if (i == 1 && lead == 0xF0) low = 0x90;
        if (i == 1 && lead == 0xF4) high = 0x8F;
        if (at(i) < low || at(i) > high) return {Kind::Bad, i, 0};
        code = code << 6 | (at(i) & 0x3Fu);
    }
    return {Kind::Complete, length, code};
}

inline bool isValid(std::string_view text) {
    while (!text.empty()) {
        const Step step = next(text);
        if (step.kind != Kind::Complete) return false;
        text.remove_prefix(step.length);
    }
    return true;
}

inline void append(std::string& text, std::uint32_t code) {
    const auto put = [&](std::uint32_t byte) { text += static_cast<char>(byte); };
    if (code < 0x80) return put(code);
    if (code < 0x800) {
        put(0xC0 | code >> 6);
    } else if (code < 0x10000) {
        put(0xE0 | code >> 12);
        put(0x80 | (code >> 6 & 0x3F));
    } else {
        put(0xF0 | code >> 18);
        put(0x80 | (code >> 12 & 0x3F));
        put(0x80 | (code >> 6 & 0x3F));
    }
    put(0x80 | (code & 0x3F));
}

}  // namespace counterpoint::compute::utf8
