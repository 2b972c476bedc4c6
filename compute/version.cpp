#include "compute/version.h"

#include "stamp.h"

namespace counterpoint::compute {

const char* version() noexcept { return COUNTERPOINT_VERSION; }
const char* stamp() noexcept { return COUNTERPOINT_STAMP; }

}  // namespace counterpoint::compute
