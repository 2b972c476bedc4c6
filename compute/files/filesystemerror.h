#pragma once
// What std::filesystem throws where a path cannot even be asked about (no permission, a circle of links, a name too
// long), in the words of the other file errors: "DIR/config.json: permission is denied." Pure; thread: any.

#include <filesystem>
#include <string>

#include "compute/export.h"

namespace counterpoint::compute {

COUNTERPOINT_API std::string sentenceOf(const std::filesystem::filesystem_error& error);

}  // namespace counterpoint::compute
