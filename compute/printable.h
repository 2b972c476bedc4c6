#pragma once
// Text that was found in a file, fit for a terminal: line ends and tabs become blanks, every other control character
// (C0, DEL, C1) its code, "\x1b". Errors and the command line say everything through it. Pure; thread: any.

#include <string>
#include <string_view>

#include "compute/export.h"

namespace counterpoint::compute {

COUNTERPOINT_API std::string printable(std::string_view text);

}  // namespace counterpoint::compute
