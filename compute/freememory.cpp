#include "compute/freememory.h"

#include <fstream>

namespace counterpoint::compute {

std::optional<std::int64_t> freeMemory() {
    std::ifstream in("/proc/meminfo");
    std::string key;
    for (std::int64_t kilobytes = 0; in >> key >> kilobytes; in.ignore(64, '\n'))
        if (key == "MemAvailable:") return kilobytes * 1024;
    return std::nullopt;
}

}  // namespace counterpoint::compute
