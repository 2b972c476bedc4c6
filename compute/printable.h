#pragma once
// Text that was found in a file, fit for a terminal: line ends and tabs become blanks, every other control character
// (C0, DEL, C1) and every byte that is no UTF-8 its code, "\x1b". Errors and the command line say everything through it.
// Pure; thread: any.

#include <string>
#include <string_view>

#include "compute/export.h"

namespace counterpoint::compute {

COUNTERPOINT_API std::string printable(std::string_view text);

/// At most `bytes` of a text that is quoted, whole characters; "..." at the end where something is left out.
COUNTERPOINT_API std::string shortened(std::string_view text, std::size_t bytes = 60);

}  // namespace counterpoint::compute
