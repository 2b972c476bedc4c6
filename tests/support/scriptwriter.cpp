// The late module behind scripts.h.

#include <torch/csrc/jit/serialization/pickle.h>
#include <torch/script.h>

#include <fstream>

#include "tests/support/scripts.h"

namespace counterpoint::tests {
namespace {

void write(const std::filesystem::path& file, const ScriptText& text) {
    torch::jit::Module module("ToyScript");
    for (const ScriptTensor& t : text.parameters) {
        const at::Tensor values = at::tensor(t.values).view(t.shape);
        module.register_parameter(t.name, text.half ? values.to(at::kHalf) : values, false);
    }
    if (text.maxPositions) module.register_attribute("max_positions", c10::IntType::get(), *text.maxPositions);
    if (text.positions) module.register_buffer("positions", at::arange(8, at::kLong));
    module.define(text.methods + "\n");
    module.save(file.string());
}

void writePickle(const std::filesystem::path& file) {
    const std::vector<char> bytes = torch::jit::pickle_save(at::arange(8, at::kFloat));
    std::ofstream(file, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace
}  // namespace counterpoint::tests

extern "C" __attribute__((visibility("default"))) const counterpoint::tests::ScriptWriter counterpoint_scripts;
const counterpoint::tests::ScriptWriter counterpoint_scripts = {counterpoint::tests::write,
                                                                counterpoint::tests::writePickle};
