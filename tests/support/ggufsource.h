#pragma once
// GGUF files of one test, written and opened by the torch module's own kernels, without the module.

#include <fstream>

#include "compute/network/ggufmodel.h"
#include "compute/text/gguftokenizer.h"
#include "tests/support/ggufmodel.h"
#include "tests/support/toysource.h"

namespace counterpoint::tests {

inline std::unique_ptr<compute::Source> openGguf(const std::filesystem::path& file, const OpenOptions& options = {}) {
    return network::openOnCpu(file, compute::openGgufTokenizer(*compute::Gguf::open(file)), options, {});
}

class GgufFolder : public ToyFolder {
  public:
    std::filesystem::path file(const std::string& name, const GgufWriter& w) const {
        const std::filesystem::path path = folder(name + ".gguf");
        std::ofstream(path, std::ios::binary) << w.bytes();
        return path;
    }
    std::shared_ptr<const compute::Gguf> parsed(const GgufWriter& w) const {
        return compute::Gguf::open(file("parsed", w));
    }
};

}  // namespace counterpoint::tests
