#pragma once
// TorchScript files for tests, written by libtorch from source text. The writer is a late module like the program's
// own: no executable links libtorch (two protobufs), and it is loaded after the network module or before it.

#include <dlfcn.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/folders.h"

namespace counterpoint::tests {

struct ScriptTensor {
    std::string name;
    std::vector<std::int64_t> shape;
    std::vector<float> values;
};
/// A module: its parameters, then its methods.
struct ScriptText {
    std::string methods;
    std::vector<ScriptTensor> parameters;
    std::optional<std::int64_t> maxPositions = {};  ///< none: no such attribute
    bool half = false;                              ///< parameters in float16
    bool positions = false;                         ///< an int64 buffer of that name: 0, 1, …, 7
};

struct ScriptWriter {
    void (*write)(const std::filesystem::path& file, const ScriptText& text);
    void (*writePickle)(const std::filesystem::path& file);  ///< what torch.save of a tensor writes
};

inline const ScriptWriter& scriptWriter() {
    static const ScriptWriter* const writer = [] {
        void* handle = ::dlopen((buildFolder() / "tests/counterpoint_scripts.so").c_str(), RTLD_NOW | RTLD_LOCAL);
        if (handle == nullptr) throw std::runtime_error(::dlerror());
        return static_cast<const ScriptWriter*>(::dlsym(handle, "counterpoint_scripts"));
    }();
    return *writer;
}

}  // namespace counterpoint::tests
