#pragma once
// R8 `when`: where a prior acts. A position's context is the prompt and the generated text before it and its tokens.
//   regex      found anywhere in the last `chars` code points (PCRE2: UTF, UCP, $ is the end; (?m) for lines)
//   tokens     the sequence ends with the ids
//   code_block inside a fence of ``` or ~~~ (CommonMark), its language as asked; a fence counts from its line's end on
//   feature    of its opens and closes, read from the start, the last open has no close; an open is looked for behind
//              the last close, a close behind the open; the last kFeatureBytes of the text are read
// Bounded: all searches of a context at a position are given kWork steps of PCRE2 together, beyond 16 for each place
// that they look at, and a feature kSearches searches; where that is not enough the context does not match, and says
// so. An unfinished character at the end is not seen before it is whole; bytes that are no text are U+FFFD. Errors:
// none; a pattern that cannot be read is a sentence and never matches. Thread: const from any.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compute/priors/bank.h"
#include "compute/text/utf8stream.h"

namespace counterpoint::compute {

/// A trace's text with where each position's context ends; grows with the trace.
class COUNTERPOINT_API ContextText {
  public:
    void push(TokenId token, std::string_view bytes);  ///< bytes as they stand in the text
    Position length() const { return static_cast<Position>(m_ids.size()); }
    /// Valid UTF-8; 0 <= position <= length().
    std::string_view before(Position position) const;
    std::span<const TokenId> ids(Position position) const;

  private:
    std::string m_text;
    Utf8Stream m_stream;
    std::vector<std::size_t> m_ends{0};  ///< [length + 1]
    std::vector<TokenId> m_ids;
};

/// The distinct contexts of some banks, compiled once.
class COUNTERPOINT_API Contexts {
  public:
    enum class Answer : std::uint8_t { No, Yes, Bound };
    using Span = std::pair<std::size_t, std::size_t>;  ///< bytes [first, second) of the text before a position
    static constexpr std::uint32_t kWork = 200'000;
    static constexpr int kSearches = 2'000;
    static constexpr std::size_t kFeatureBytes = 65'536;

    /// The index of an equal context, added where it is new. `features`: of the bank it stands in.
    std::size_t add(const Context& context, std::span<const Feature> features);
    std::size_t size() const;
    /// Why it never matches; empty: it may.
    const std::string& problem(std::size_t i) const;
    /// Context i at a position.
    Answer match(std::size_t i, const ContextText& text, Position position) const;
    /// What makes context i match at a position; empty where it does not, or matches without looking.
    Span where(std::size_t i, const ContextText& text, Position position) const;

    Contexts();
    ~Contexts();
    Contexts(Contexts&&) noexcept;
    Contexts& operator=(Contexts&&) noexcept;

  private:
    struct Compiled;
    std::vector<Compiled> m_all;
    std::unordered_map<std::string, std::size_t> m_index;
};

}  // namespace counterpoint::compute
