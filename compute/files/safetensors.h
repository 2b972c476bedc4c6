#pragma once
// Safetensors: one file, or shards with an index, memory-mapped; everything is checked before anything is allocated
// (HAZARDS A10): header length within the file and 100 MB, ranges inside, without overlap or hole, bytes = product of
// shape (checked) times dtype size, every shard of the index present, files outside the index ignored. Every tensor is
// aligned to its type (a file written without padding is copied into memory). Thread: any (immutable). Errors: Error
// naming file and tensor, expected and found.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "compute/export.h"
#include "compute/files/mappedfile.h"

namespace counterpoint::compute {

enum class DType { F64, F32, F16, BF16, I64, I32, I16, I8, U8, Bool };
COUNTERPOINT_API std::string_view dtypeName(DType dtype);  ///< "float32", "bfloat16", …
COUNTERPOINT_API std::size_t dtypeSize(DType dtype);

struct TensorView {
    std::string name;
    DType dtype = DType::F32;
    std::vector<std::int64_t> shape;
    std::span<const std::byte> bytes;  ///< inside `file`
    std::shared_ptr<const MappedFile> file;
};

class COUNTERPOINT_API Safetensors {
  public:
    static Safetensors openFile(const std::filesystem::path& file);
    /// model.safetensors.index.json when there, else model.safetensors (else the one *.safetensors).
    static Safetensors openDirectory(const std::filesystem::path& directory);
    const TensorView* find(const std::string& name) const;  ///< nullptr when absent
    const std::map<std::string, TensorView>& tensors() const { return m_tensors; }
    const std::map<std::string, std::string>& metadata() const { return m_metadata; }
    const std::vector<std::filesystem::path>& files() const { return m_files; }
    /// What lists the tensors of a directory's shards; empty: there is one file, which does so itself.
    const std::filesystem::path& index() const { return m_index; }

  private:
    std::map<std::string, TensorView> m_tensors;
    std::map<std::string, std::string> m_metadata;
    std::vector<std::filesystem::path> m_files;
    std::filesystem::path m_index;
};

/// The weight files of a model directory, sorted: the shards of model.safetensors.index.json, else model.safetensors,
/// else the one
/// *.safetensors. Errors: none, several without an index, a shard that is not there.
COUNTERPOINT_API std::vector<std::filesystem::path> weightFiles(const std::filesystem::path& directory);

struct TensorToWrite {
    std::string name;
    DType dtype = DType::F32;
    std::vector<std::int64_t> shape;
    std::span<const std::byte> bytes;
    /// For what should not stand in memory as a whole, instead of `bytes`: hands the tensor's bytes to `write` in
    /// order.
    std::function<void(const std::function<void(std::span<const std::byte>)>& write)> produce = {};
};
/// Written through AtomicFile. Errors: a name twice, a shape and a number of bytes that disagree.
COUNTERPOINT_API void writeSafetensors(const std::filesystem::path& file, std::span<const TensorToWrite> tensors,
                                       const std::map<std::string, std::string>& metadata);

}  // namespace counterpoint::compute
