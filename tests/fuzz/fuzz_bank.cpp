// A bank as JSON: what is read is read again, equal, from what is written of it in both formats.
#include "tests/fuzz/banks.h"

using namespace counterpoint::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    checkBank(folder().put("x.bank.json", asText(data, size)));
    return 0;
}
