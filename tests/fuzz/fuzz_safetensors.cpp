// A .safetensors file, or an index of shards where the input begins with '{'.
#include <algorithm>
#include <cstring>

#include "compute/files/atomicfile.h"
#include "compute/files/nonfinite.h"
#include "compute/files/safetensors.h"
#include "tests/fuzz/fuzz.h"

using namespace counterpoint::compute;
using namespace counterpoint::fuzz;

namespace {

/// Every view inside its file, aligned, as large as its shape says, and none over another.
void checkLayout(const Safetensors& read) {
    std::vector<std::span<const std::byte>> ranges;
    for (const auto& [name, tensor] : read.tensors()) {
        require(tensor.name == name && read.find(name) == &tensor, "a tensor is found under its name", name);
        std::uint64_t bytes = dtypeSize(tensor.dtype);
        for (const std::int64_t n : tensor.shape) {
            require(n >= 0, "a shape has no negative size", name);
            bytes *= static_cast<std::uint64_t>(n);
        }
        require(bytes == tensor.bytes.size(), "a view is as large as its shape", name);
        if (tensor.bytes.empty()) continue;
        const std::span<const std::byte> all = tensor.file->bytes();
        require(
            tensor.bytes.data() >= all.data() && tensor.bytes.data() + tensor.bytes.size() <= all.data() + all.size(),
            "a view lies inside its mapping", name);
        require(reinterpret_cast<std::uintptr_t>(tensor.bytes.data()) % dtypeSize(tensor.dtype) == 0,
                "a view is aligned to its numbers", name);
        ranges.push_back(tensor.bytes);
    }
    std::sort(ranges.begin(), ranges.end(), [](const auto& a, const auto& b) { return a.data() < b.data(); });
    for (std::size_t i = 1; i < ranges.size(); ++i)
        require(ranges[i - 1].data() + ranges[i - 1].size() <= ranges[i].data(), "views do not overlap");
}

bool same(const TensorView& a, const TensorView& b) {
    return a.dtype == b.dtype && a.shape == b.shape && std::ranges::equal(a.bytes, b.bytes);
}

/// What was read is read again from what is written of it.
void checkWritten(const Safetensors& read) {
    std::vector<TensorToWrite> tensors;
    for (const auto& [name, t] : read.tensors()) tensors.push_back({t.name, t.dtype, t.shape, t.bytes, {}});
    const auto file = folder().path() / "again.safetensors";
    writeSafetensors(file, tensors, read.metadata());
    const Safetensors again = Safetensors::openFile(file);
    require(again.metadata() == read.metadata(), "metadata come back");
    require(again.tensors().size() == read.tensors().size(), "every tensor comes back");
    for (const auto& [name, tensor] : read.tensors())
        require(again.find(name) != nullptr && same(*again.find(name), tensor), "a tensor comes back", name);
}

void readFile(std::string_view bytes) {
    const auto file = folder().put("x.safetensors", bytes);
    accepts([&] {
        const Safetensors read = Safetensors::openFile(file);
        checkLayout(read);
        firstNonFinite(read);
        checkWritten(read);
    });
}

/// The shards a.safetensors and b.safetensors and what the input says of them.
void readIndex(std::string_view bytes) {
    static const bool made = [] {
        std::filesystem::create_directory(folder().path() / "shards");
        const std::vector<std::byte> values(16);
        for (const char* name : {"a", "b"}) {
            const TensorToWrite tensor{name, DType::F32, {2, 2}, values, {}};
            writeSafetensors(folder().path() / "shards" / (std::string(name) + ".safetensors"), {&tensor, 1}, {});
        }
        return true;
    }();
    require(made, "the shards are there");
    folder().put("shards/model.safetensors.index.json", bytes);
    accepts([] {
        const Safetensors read = Safetensors::openDirectory(folder().path() / "shards");
        require(!read.tensors().empty(), "an index that names no tensor is refused");
        checkLayout(read);
    });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes = asText(data, size);
    bytes.starts_with('{') ? readIndex(bytes) : readFile(bytes);
    return 0;
}
