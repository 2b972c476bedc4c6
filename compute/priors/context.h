#pragma once
// R8 `when`: where a prior acts. A position's context is the prompt and the generated text before it, in code points,
// and its tokens. Regex: PCRE2 (UTF, UCP) found anywhere in the last `chars` code points; tokens: the sequence ends
// with the ids; code_block: an odd number of ``` fences before, the last one's language as asked; feature: of the
// feature's opens and closes, read from the start, the last open is not closed. Bounded: a pattern is given kWork steps
// a position; one that hits the bound does not match there and says so. An unfinished character at the end is not seen
// before it is whole; bytes that are no text are U+FFFD. Errors: none; a pattern that cannot be read is a sentence in
// `problem` and never matches. Thread: const from any.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compute/priors/bank.h"

namespace counterpoint::compute {

/// A trace's text with where each position's context ends; grows with the trace.
class COUNTERPOINT_API ContextText {
  public:
    void push(TokenId token, std::string_view bytes);  ///< bytes as they stand in the text
    Position length() const { return static_cast<Position>(m_ids.size()); }
    std::string_view before(Position position) const;  ///< valid UTF-8
    std::span<const TokenId> ids(Position position) const;

  private:
    std::string m_text, m_pending;
    std::vector<std::size_t> m_ends;  ///< [length + 1]
    std::vector<TokenId> m_ids;
};

/// The distinct contexts of some banks, compiled once.
class COUNTERPOINT_API Contexts {
  public:
    enum class Answer : std::uint8_t { No, Yes, Bound };
    static constexpr std::uint32_t kWork = 200'000;

    /// The index of an equal context, added where it is new. `features`: of the bank it stands in.
    std::size_t add(const Context& context, std::span<const Feature> features);
    std::size_t size() const;
    const std::string& problem(std::size_t i) const;  ///< why it never matches; empty: it may
    /// out[size()]: every context at a position.
    void match(const ContextText& text, Position position, std::vector<Answer>& out) const;
    /// Bytes [from, to) of text.before(position) that make context i match there; empty: the whole, or it does not.
    std::pair<std::size_t, std::size_t> where(std::size_t i, const ContextText& text, Position position) const;

    Contexts();
    ~Contexts();
    Contexts(Contexts&&) noexcept;
    Contexts& operator=(Contexts&&) noexcept;

  private:
    struct Compiled;
    std::vector<Compiled> m_all;
};

}  // namespace counterpoint::compute
