#pragma once
// Streamed text: token bytes in, complete UTF-8 out; an unfinished character is held back (HAZARDS A28).
// Streamed pieces + finish() = the decode of the whole, where a bad byte shows as one U+FFFD.
// Thread: one owner.

#include <string>
#include <string_view>

#include "compute/export.h"

namespace counterpoint::compute {

class COUNTERPOINT_API Utf8Stream {
  public:
    /// Complete characters that became readable with these bytes; invalid bytes become U+FFFD.
    std::string push(std::string_view bytes);
    /// What is held back at the end: "" or one U+FFFD.
    std::string finish();

  private:
    std::string m_pending;
};

/// Whole-string version: valid UTF-8 with U+FFFD for what is not.
COUNTERPOINT_API std::string toValidUtf8(std::string_view bytes);

}  // namespace counterpoint::compute
