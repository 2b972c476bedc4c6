#include "compute/text/precompiled.h"

#include <unicode/brkiter.h>

#include <array>
#include <memory>

#include "compute/error.h"
#include "compute/text/components.h"
#include "compute/text/utf8.h"

namespace counterpoint::compute {
namespace {

std::string fromBase64(std::string_view text, const std::string& where) {
    constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string bytes;
    std::uint32_t bits = 0;
    int count = 0;
    while (text.ends_with('=')) text.remove_suffix(1);
    for (const char c : text) {
        const std::size_t digit = alphabet.find(c);
        if (digit == std::string_view::npos)
            throw Error({.where = where, .what = "precompiled_charsmap is not base64"});
        bits = bits << 6 | static_cast<std::uint32_t>(digit);
        count += 6;
        if (count < 8) continue;
        count -= 8;
        bytes += static_cast<char>(bits >> count & 0xFF);
    }
    return bytes;
}

std::uint32_t littleEndian(std::string_view bytes, std::size_t at) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < 4; ++i) value |= std::uint32_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
    return value;
}

/// A unit of Darts-clone's double array: a leaf holds a value, any other node a label, whether it has a leaf, and how
/// far off its children are.
constexpr bool hasLeaf(std::uint32_t unit) { return (unit >> 8 & 1) != 0; }
constexpr std::uint32_t valueOf(std::uint32_t unit) { return unit & 0x7FFFFFFF; }
constexpr std::uint32_t labelOf(std::uint32_t unit) { return unit & 0x800000FF; }
constexpr std::uint32_t offsetOf(std::uint32_t unit) { return unit >> 10 << ((unit & 0x200) >> 6); }

/// Lengths in bytes of the user-perceived characters (UAX 29).
std::vector<std::size_t> graphemes(const std::string& text, const std::string& where) {
    UErrorCode status = U_ZERO_ERROR;
    const std::unique_ptr<icu::BreakIterator> breaks(
        icu::BreakIterator::createCharacterInstance(icu::Locale::getRoot(), status));
    if (U_FAILURE(status)) throw Error({.where = where, .what = "ICU has no rules for graphemes"});
    const icu::UnicodeString wide = icu::UnicodeString::fromUTF8(text);
    breaks->setText(wide);
    std::vector<std::size_t> lengths;
    std::size_t at = 0;
    for (std::int32_t from = breaks->first(), to = breaks->next(); to != icu::BreakIterator::DONE;
         from = to, to = breaks->next()) {
        std::size_t length = 0;
        for (std::int32_t unit = from; unit < to;) {
            const UChar32 code = wide.char32At(unit);
            unit += code > 0xFFFF ? 2 : 1;
            length += utf8::next(std::string_view(text).substr(at + length)).length;
        }
        lengths.push_back(length);
        at += length;
    }
    return lengths;
}

}  // namespace

Precompiled::Precompiled(std::string_view base64, const std::string& where) : m_where(where) {
    const std::string bytes = fromBase64(base64, where);
    const std::size_t size = bytes.size() < 4 ? 0 : littleEndian(bytes, 0);
    if (size == 0 || size % 4 != 0 || size > bytes.size() - 4)
        throw Error({.where = where, .what = "precompiled_charsmap is cut or is no character map"});
    for (std::size_t at = 4; at < 4 + size; at += 4) m_units.push_back(littleEndian(bytes, at));
    m_texts = bytes.substr(4 + size);
    if (!utf8::isValid(m_texts))
        throw Error({.where = where, .what = "precompiled_charsmap holds a text that is not UTF-8"});
}

std::optional<std::string_view> Precompiled::find(std::string_view chunk) const {
    std::size_t node = offsetOf(m_units[0]);
    for (const char c : chunk) {
        const auto label = static_cast<unsigned char>(c);
        node ^= label;
        if (label == 0 || node >= m_units.size() || labelOf(m_units[node]) != label) return std::nullopt;
        const std::uint32_t unit = m_units[node];
        node ^= offsetOf(unit);
        if (!hasLeaf(unit)) continue;
        const std::size_t begin = node < m_units.size() ? valueOf(m_units[node]) : m_texts.size();
        // Nowhere, or into the middle of a character: no text of this map.
        if (begin >= m_texts.size() || (static_cast<unsigned char>(m_texts[begin]) & 0xC0) == 0x80) return std::nullopt;
        return std::string_view(m_texts).substr(begin, m_texts.find('\0', begin) - begin);
    }
    return std::nullopt;
}

std::string Precompiled::apply(const std::string& text) const {
    constexpr std::size_t shortGrapheme = 6;
    std::string out;
    std::size_t at = 0;
    for (const std::size_t length : graphemes(text, m_where)) {
        requireGrowth(text.size(), out.size(), m_where);
        std::string_view grapheme = std::string_view(text).substr(at, length);
        at += length;
        if (length < shortGrapheme) {
            if (const auto whole = find(grapheme)) {
                out += *whole;
                continue;
            }
        }
        while (!grapheme.empty()) {
            const std::string_view character = grapheme.substr(0, utf8::next(grapheme).length);
            out += find(character).value_or(character);
            grapheme.remove_prefix(character.size());
        }
    }
    return out;
}

}  // namespace counterpoint::compute
