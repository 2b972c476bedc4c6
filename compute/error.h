#pragma once
// The one exception type of the house: a failure a person can act on, said in one sentence.
// Thread: any. Thrown in compute and model; caught in three places only (the lanes, the action runner, main).
// Cancelling is neither an error nor a result: see Outcome.

#include "compute/export.h"

#include <stdexcept>
#include <string>

namespace counterpoint::compute {

struct ErrorParts {
    std::string where = {};     ///< the file, source, dial or entry it is about ("math/model.safetensors", "source 'math', position 17")
    std::string what = {};      ///< what went wrong, a clause without a full stop ("tensor 'lm_head.weight' is missing")
    std::string expected = {};  ///< what was expected (may be empty)
    std::string found = {};     ///< what was found (may be empty)
    std::string advice = {};    ///< what to do (may be empty)
    std::string details = {};   ///< the native trace or library message; shown folded, never in the sentence
};

class COUNTERPOINT_API Error : public std::runtime_error {
  public:
    explicit Error(ErrorParts parts);
    ~Error() override;
    const ErrorParts& parts() const noexcept { return m_parts; }
    /// One line: "where: what (expected X, found Y); advice". Same text as what().
    std::string sentence() const { return what(); }

  private:
    ErrorParts m_parts;
};

/// How a piece of interruptible work ended. Cancelled: nothing was published and nothing committed.
enum class Outcome { Done, Cancelled };

}  // namespace counterpoint::compute
