// libcompute.so's answer as one of another build would give it: preloaded, it comes before the library's own.

#include "compute/version.h"

const char* counterpoint::compute::stamp() noexcept { return "another one"; }
