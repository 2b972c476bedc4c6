#pragma once
#include "compute/export.h"

namespace counterpoint::compute {

/// The product's version, "0.1.0"; modules must have been built with the same one.
COUNTERPOINT_API const char* version() noexcept;

}  // namespace counterpoint::compute
