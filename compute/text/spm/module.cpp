// What the SentencePiece module exports: one C function that checks the version and hands out the table.
#include <cstring>

#include "compute/sources/modules.h"
#include "compute/text/spm/spmtokenizer.h"
#include "stamp.h"

namespace counterpoint::spm {
namespace {

constexpr compute::SpmApi kApi = {.open = open, .train = train};

}  // namespace
}  // namespace counterpoint::spm

extern "C" COUNTERPOINT_API const counterpoint::compute::SpmApi* counterpoint_spm(const char* stamp) {
    const bool same = stamp != nullptr && std::strcmp(stamp, COUNTERPOINT_STAMP) == 0;
    return same ? &counterpoint::spm::kApi : nullptr;
}
