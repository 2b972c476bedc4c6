#pragma once
// A regular expression over UTF-8 text: PCRE2 with Unicode properties, bounded, so that no pattern can run away. PCRE2
// counts its steps anew at every place where a match may begin; find() counts those of all places together.
// Thread: const methods from any thread. Errors: Error naming `where` and the place in the pattern, or that the limit
// was hit.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compute/export.h"

namespace counterpoint::compute {

struct PatternOptions {
    bool lines = true;               ///< ^ and $ at every line; else $ is the very end
    std::uint32_t work = 1'000'000;  ///< steps that a search is given; of matches(): at each place
};

class COUNTERPOINT_API Pattern {
  public:
    using Span = std::pair<std::size_t, std::size_t>;  ///< bytes [first, second)
    enum class Found { No, Yes, Bound };

    Pattern(std::string_view expression, const std::string& where, PatternOptions options = {});
    /// The first match at or after byte `from`. Every place has its share of the work, 16 steps at the least; a place
    /// that needs more takes it from `left`, which several searches may use up together. Bound: nothing was left.
    Found find(std::string_view validUtf8, std::size_t from, Span& span, std::uint64_t& left) const;
    std::uint64_t work() const;  ///< what `left` begins with
    /// All matches, left to right, not overlapping; an empty one counts where no match ends, and moves on by one
    /// character.
    std::vector<Span> matches(std::string_view validUtf8) const;

  private:
    struct Compiled;
    std::shared_ptr<const Compiled> m_compiled;
    std::string m_where;
};

/// The expression of a tokenizer.json (written for Oniguruma, Ruby syntax) as PCRE2 reads it: \s is Unicode's
/// White_Space, \w and \b Oniguruma's, a name of more than two letters a script, {n,m}+ no possessive, a class within a
/// class its members. What cannot be said in PCRE2 (intersections, POSIX brackets, \h \R \X \K …) is an Error naming
/// it.
COUNTERPOINT_API std::string fromOniguruma(std::string_view expression, const std::string& where);

}  // namespace counterpoint::compute
