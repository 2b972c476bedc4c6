#include "compute/network/versions.h"

#include <ATen/Version.h>
#include <dlfcn.h>
#include <torch/cuda.h>
#include <torch/version.h>

#include <charconv>

#include "compute/network/kernels/kernels.h"
#include "compute/network/modelsource.h"

namespace counterpoint::network {
namespace {

/// The text of show_config() from `key` up to the next comma or line end; "" when it has no such key.
std::string configured(const std::string& key) {
    const std::string all = at::show_config();
    const std::size_t at = all.find(key);
    if (at == std::string::npos) return {};
    const std::size_t from = at + key.size();
    return all.substr(from, all.find_first_of(",\n", from) - from);
}

bool builtWithCuda() {
    const std::string value = configured("USE_CUDA=");
    return value == "ON" || value == "1";
}

std::string cudaState() {
    if (!builtWithCuda() && torch::cuda::device_count() == 0) return "no: this libtorch was built without it";
    if (torch::cuda::device_count() == 0) return "no: no device or no driver was found";
    return "yes: " + std::to_string(torch::cuda::device_count()) + " device(s)";
}

template <class Function>
Function* symbol(const char* name) {
    return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

std::string blasName() {
    if (auto* core = symbol<char*()>("openblas_get_corename"); core != nullptr)
        return std::string("OpenBLAS, core ") + core();
    const std::string info = configured("BLAS_INFO=");
    return info.empty() ? "the reference BLAS or unknown" : info;
}

std::string cudaName(int index) {
    char name[256] = {};
    if (auto* read = symbol<int(char*, int, int)>("cuDeviceGetName");
        read != nullptr && read(name, sizeof name - 1, index) == 0)
        return name;
    return "CUDA device " + std::to_string(index);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> versions() {
    std::string capability = configured("CPU capability usage: ");
    return {{"torch", TORCH_VERSION},
            {"cuda", cudaState()},
            {"blas", blasName()},
            {"kernels", kernels().name},
            {"cpu_capability", capability.empty() ? "unknown" : capability},
            {"threads", std::to_string(threadCount(0))}};
}

std::vector<compute::DeviceInfo> devices() {
    std::vector<compute::DeviceInfo> all = {{"cpu", std::string("Processor (") + kernels().name + ")"}};
    const auto count = static_cast<int>(torch::cuda::device_count());
    for (int i = 0; i < count; ++i) all.push_back({"cuda:" + std::to_string(i), cudaName(i)});
    return all;
}

void requireCudaDevice(const std::string& device) {
    const auto refuse = [&](const std::string& what, const std::string& expected) {
        throw compute::Error({.where = "device '" + device + "'",
                              .what = what,
                              .expected = expected,
                              .found = {},
                              .advice = "this is libtorch " TORCH_VERSION "; CUDA: " + cudaState(),
                              .details = {}});
    };
    int index = 0;
    if (device != "cuda") {
        const bool prefixed = device.starts_with("cuda:");
        const char *from = device.data() + 5, *to = device.data() + device.size();
        const auto read =
            prefixed ? std::from_chars(from, to, index) : std::from_chars_result{to, std::errc::invalid_argument};
        if (read.ec != std::errc{} || read.ptr != to || index < 0 || index > 127)
            refuse("there is no device of that name", "cpu, cuda or cuda:n");
    }
    if (index >= static_cast<int>(torch::cuda::device_count())) refuse("this device is not to be had", {});
}

}  // namespace counterpoint::network
