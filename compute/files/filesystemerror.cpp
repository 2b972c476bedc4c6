#include "compute/files/filesystemerror.h"

#include "compute/error.h"
#include "compute/files/posix.h"

namespace counterpoint::compute {

std::string sentenceOf(const std::filesystem::filesystem_error& error) {
    const bool ofSystem = error.code().category() == std::generic_category() ||
                          error.code().category() == std::system_category();
    return Error({.where = error.path1().string(),
                  .what = ofSystem ? posix::reason(error.code().value()) : error.code().message()})
        .sentence();
}

}  // namespace counterpoint::compute
