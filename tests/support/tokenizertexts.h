#pragma once
// The texts of the tokenizer cases, the same as resources/golden/make_tokenizer_cases.py makes them: text i depends on
// i and on tests/data/tokenizers/texts.json only. Hashes are FNV-1a, 64 bits.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compute/files/json.h"
#include "compute/text/utf8.h"

namespace counterpoint::tests {

class TokenizerTexts {
  public:
    explicit TokenizerTexts(const compute::Json& parts)
        : m_ranges(parts["ranges"].get<std::vector<std::pair<std::uint32_t, std::uint32_t>>>()),
          m_spaces(parts["spaces"].get<std::vector<std::string>>()),
          m_words(parts["words"].get<std::vector<std::string>>()),
          m_marks(parts["marks"].get<std::vector<std::string>>()) {}

    std::string text(std::uint64_t index) {
        m_state = index * 0x9E3779B97F4A7C15u + 0x1234567;
        std::string out;
        for (std::uint64_t n = draw(draw(8) == 0 ? 40 : 10); n > 0; --n) out += part();
        return out;
    }

    /// A number below n (Knuth's 64-bit congruence, its top 31 bits).
    std::uint64_t draw(std::uint64_t n) {
        m_state = m_state * 6364136223846793005u + 1442695040888963407u;
        return (m_state >> 33) % n;
    }
    void restart(std::uint64_t state) { m_state = state; }

  private:
    std::vector<std::pair<std::uint32_t, std::uint32_t>> m_ranges;
    std::vector<std::string> m_spaces, m_words, m_marks;
    std::uint64_t m_state = 0;

    const std::string& one(const std::vector<std::string>& list) { return list[draw(list.size())]; }
    std::string run(std::uint64_t longest) {
        const auto [first, last] = m_ranges[draw(m_ranges.size())];
        std::string out;
        for (std::uint64_t n = 1 + draw(longest); n > 0; --n)
            compute::utf8::append(out, first + static_cast<std::uint32_t>(draw(last - first + 1)));
        return out;
    }
    std::string part() {
        const std::uint64_t kind = draw(16);
        if (kind < 6) return one(m_words);
        if (kind < 9) return " " + run(6);
        if (kind < 11) return run(8);
        if (kind < 14) return one(m_spaces);
        if (kind < 15) return one(m_marks);
        std::string marked = run(1);
        for (std::uint64_t n = 1 + draw(3); n > 0; --n)
            compute::utf8::append(marked, 0x300 + static_cast<std::uint32_t>(draw(0x70)));
        return marked;
    }
};

class Fnv {
  public:
    void add(std::string_view bytes) {
        for (const char c : bytes) m_hash = (m_hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
    }
    /// Four bytes each, little-endian, and their number before them.
    void add(const std::vector<std::int32_t>& ids) {
        number(ids.size());
        for (const std::int32_t id : ids) number(static_cast<std::uint64_t>(id));
    }
    std::string hex() const {
        std::string text;
        for (int shift = 60; shift >= 0; shift -= 4) text += "0123456789abcdef"[m_hash >> shift & 15];
        return text;
    }

  private:
    std::uint64_t m_hash = 0xCBF29CE484222325u;
    void number(std::uint64_t value) {
        for (int shift = 0; shift < 32; shift += 8) {
            const char byte = static_cast<char>(value >> shift & 0xFF);
            add(std::string_view(&byte, 1));
        }
    }
};

}  // namespace counterpoint::tests
