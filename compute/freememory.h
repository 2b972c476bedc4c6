#pragma once
// How much memory the system can still give: asked before a lot is taken, since taking more than there is ends the
// program without a word. Thread: any.

#include <cstdint>
#include <optional>
#include <string>

#include "compute/export.h"

namespace counterpoint::compute {

/// Bytes; nothing where the system does not say.
COUNTERPOINT_API std::optional<std::int64_t> freeMemory();
/// "512 MiB"
inline std::string mebibytes(std::int64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

}  // namespace counterpoint::compute
