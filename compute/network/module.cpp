// What the torch module exports: one C function that checks the version and hands out the table.

#include <cstring>

#include "compute/network/atenengine.h"
#include "compute/network/guard.h"
#include "compute/network/modelsource.h"
#include "compute/network/train/train.h"
#include "compute/network/versions.h"
#include "compute/sources/modules.h"
#include "stamp.h"

namespace counterpoint::network {
namespace {

std::unique_ptr<compute::Source> openModel(const std::filesystem::path& directory,
                                           std::shared_ptr<const compute::Tokenizer> tokenizer,
                                           const compute::OpenOptions& options, std::stop_token stop) {
    return options.device.empty() || options.device == "cpu"
               ? openOnCpu(directory, std::move(tokenizer), options, stop)
               : openOnAten(directory, std::move(tokenizer), options, stop);
}

std::vector<compute::DeviceInfo> allDevices() {
    return guarded("the torch module", [] { return devices(); });
}

std::vector<std::pair<std::string, std::string>> allVersions() {
    return guarded("the torch module", [] { return versions(); });
}

constexpr compute::NetworkApi kApi = {openModel, allDevices, allVersions, trainMain};

}  // namespace
}  // namespace counterpoint::network

extern "C" __attribute__((visibility("default"))) const counterpoint::compute::NetworkApi* counterpoint_network(
    const char* stamp) {
    const bool same = stamp != nullptr && std::strcmp(stamp, COUNTERPOINT_STAMP) == 0;
    return same ? &counterpoint::network::kApi : nullptr;
}
