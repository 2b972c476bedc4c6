#pragma once
// Names in files. Pure; thread: any.

#include <string_view>

#include "compute/export.h"

namespace counterpoint::compute {

/// No line end, tab or other control character, and valid UTF-8: what a name in a file may be. Marks of direction may
/// stand in it, as names in Arabic or Hebrew have them; printable() shows them by their code.
COUNTERPOINT_API bool isOneLine(std::string_view text);

}  // namespace counterpoint::compute
