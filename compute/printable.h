#pragma once
// Text that was found in a file, fit for one line of a terminal or a sentence: line ends (U+2028 and
// U+2029 too) and tabs become blanks, every other control character (C0, DEL, C1) and every byte that is no UTF-8 its
// code, "\x1b", and every mark of direction (Bidi_Control), which could turn round the words after it, "\u202e".
// Errors, the command line and names in the window's sentences go through it.
// Pure; thread: any.

#include <string>
#include <string_view>

#include "compute/export.h"

namespace counterpoint::compute {

COUNTERPOINT_API std::string printable(std::string_view text);

/// At most `bytes` of a text that is quoted, whole characters; "..." at the end where something is left out.
COUNTERPOINT_API std::string shortened(std::string_view text, std::size_t bytes = 60);

}  // namespace counterpoint::compute
