#include "compute/version.h"

namespace counterpoint::compute {

const char* version() noexcept { return COUNTERPOINT_VERSION; }

}  // namespace counterpoint::compute
