#include "tests/support/folders.h"

namespace counterpoint::tests {

std::filesystem::path checkout() { return COUNTERPOINT_SOURCE_DIR; }
std::filesystem::path buildFolder() { return COUNTERPOINT_BINARY_DIR; }

}  // namespace counterpoint::tests
