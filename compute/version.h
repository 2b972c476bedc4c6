#pragma once
#include "compute/export.h"

namespace counterpoint::compute {

/// The product's version, "0.1.0".
COUNTERPOINT_API const char* version() noexcept;
/// The version with a hash of the headers this library was built from, "0.1.0+3fb2c1d09a4e". Program and modules compare
/// it with the one they were built with (COUNTERPOINT_STAMP).
COUNTERPOINT_API const char* stamp() noexcept;

}  // namespace counterpoint::compute
