#pragma once
// GGUF, versions 2 and 3, little-endian: metadata by key and a table of tensors, memory-mapped. Everything is checked
// before it is used (HAZARDS A10): every count against the bytes that are left, names once, types known, products of
// dimensions with overflow, every tensor aligned, inside the file and without overlap. Shapes: rows first ([out][in];
// the file counts the other way round). Lists are read when they are asked for; opening walks them once. Thread: any
// (immutable). Errors: Error naming the file and the key or tensor, expected and found. Source: the GGUF specification
// of ggml.

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "compute/files/ggufblocks.h"
#include "compute/files/mappedfile.h"

namespace counterpoint::compute {

struct GgufTensor {
    std::string name;
    GgmlType type = GgmlType::F32;
    std::vector<std::int64_t> shape;   ///< rows first; 1 to 4 dimensions, none 0
    std::span<const std::byte> bytes;  ///< inside the mapping
};

class COUNTERPOINT_API Gguf {
  public:
    static std::shared_ptr<const Gguf> open(const std::filesystem::path& file);
    const std::shared_ptr<const MappedFile>& file() const { return m_file; }
    std::string where() const { return m_file->path().string(); }

    /// In the order of their bytes.
    const std::vector<GgufTensor>& tensors() const { return m_tensors; }
    const GgufTensor* find(std::string_view name) const;  ///< nullptr when absent

    // Metadata. Absent: no value, or an empty list. Another kind than the one asked for: Error naming the key.
    bool has(std::string_view key) const { return m_values.contains(key); }
    std::optional<std::string> text(std::string_view key) const;
    std::optional<std::int64_t> integer(std::string_view key) const;
    std::optional<double> number(std::string_view key) const;  ///< any number
    std::optional<bool> flag(std::string_view key) const;
    std::vector<std::string_view> texts(std::string_view key) const;  ///< inside the mapping
    std::vector<double> numbers(std::string_view key) const;

    [[noreturn]] void fail(std::string what, std::string expected = {}, std::string found = {},
                           std::string advice = {}) const;

  private:
    struct Value {
        std::uint32_t type = 0;  ///< of a list: of its elements
        bool list = false;
        std::uint64_t count = 1;
        const std::byte* data = nullptr;
    };
    class Reader;

    std::shared_ptr<const MappedFile> m_file;
    std::map<std::string, Value, std::less<>> m_values;
    std::vector<GgufTensor> m_tensors;
    std::map<std::string, std::size_t, std::less<>> m_byName;

    const Value* value(std::string_view key, bool list) const;
    double plainNumber(std::string_view key, std::uint32_t type, const std::byte* data) const;
};

}  // namespace counterpoint::compute
