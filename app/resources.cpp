#include "app/resources.h"

#include "compute/sources/modules.h"

namespace counterpoint::app {

std::filesystem::path resourceFolder() { return (compute::moduleFolder() / ".." / "resources").lexically_normal(); }

std::filesystem::path demoSession() { return resourceFolder() / "demo" / "demo.session.json"; }

}  // namespace counterpoint::app
