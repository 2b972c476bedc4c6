#pragma once
// What this libtorch is and can do, for summary.json, the About box and error sentences (HAZARDS A31). Thread: any.

#include <string>
#include <utility>
#include <vector>

#include "compute/sources/source.h"

namespace counterpoint::network {

/// torch, cuda (yes or no, and why), blas (with OpenBLAS's core), kernels, cpu capability, threads.
std::vector<std::pair<std::string, std::string>> versions();
std::vector<compute::DeviceInfo> devices();
/// Error that says which libtorch this is and what it has, where `device` ("cuda", "cuda:n") is not to be had.
void requireCudaDevice(const std::string& device);

}  // namespace counterpoint::network
