#include "compute/files/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <set>

#include "compute/error.h"
#include "compute/files/atomicfile.h"
#include "compute/files/json.h"
#include "compute/files/safetensorsbytes.h"

namespace counterpoint::compute {
namespace {

namespace fs = std::filesystem;
static_assert(std::endian::native == std::endian::little, "safetensors are little-endian and are used in place");

struct DTypeRow {
    DType dtype;
    std::string_view tag;   ///< in the file
    std::string_view name;  ///< for people
    std::size_t size;
};
constexpr std::array<DTypeRow, 10> kDTypes = {{{DType::F64, "F64", "float64", 8},
                                               {DType::F32, "F32", "float32", 4},
                                               {DType::F16, "F16", "float16", 2},
                                               {DType::BF16, "BF16", "bfloat16", 2},
                                               {DType::I64, "I64", "int64", 8},
                                               {DType::I32, "I32", "int32", 4},
                                               {DType::I16, "I16", "int16", 2},
                                               {DType::I8, "I8", "int8", 1},
                                               {DType::U8, "U8", "uint8", 1},
                                               {DType::Bool, "BOOL", "bool", 1}}};
constexpr std::uint64_t kMaxHeader = 100'000'000;

const DTypeRow& row(DType dtype) { return kDTypes[static_cast<std::size_t>(dtype)]; }

std::string bytesText(std::uint64_t n) { return std::to_string(n) + " bytes"; }

/// Bytes of a shape; nothing where the product does not fit 64 bits.
std::optional<std::uint64_t> sizeOf(const std::vector<std::int64_t>& shape, DType dtype) {
    std::uint64_t product = row(dtype).size;
    for (const std::int64_t n : shape)
        if (n < 0 || __builtin_mul_overflow(product, static_cast<std::uint64_t>(n), &product)) return std::nullopt;
    return product;
}

std::string shapeText(const std::vector<std::int64_t>& shape) {
    std::string text = "[";
    for (const std::int64_t n : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(n);
    return text + "]";
}

struct Entry {
    std::string name;
    DType dtype = DType::F32;
    std::vector<std::int64_t> shape;
    std::uint64_t begin = 0, end = 0;
};

class Header {
  public:
    explicit Header(const MappedFile& file) : m_file(file.path().string()) {
        const std::string_view all(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
        refuseWhatIsSomethingElse(all);
        std::uint64_t length = 0;
        std::memcpy(&length, all.data(), 8);
        if (length > kMaxHeader)
            fail("this is not a safetensors file: its header would be too long", "at most " + bytesText(kMaxHeader),
                 std::to_string(length));
        if (length > all.size() - 8)
            fail("the file ends inside its header", bytesText(length + 8) + " at least", bytesText(all.size()),
                 "copy or download it again");
        dataBegin = static_cast<std::size_t>(8 + length);
        m_dataSize = all.size() - dataBegin;
        read(parseJson(all.substr(8, static_cast<std::size_t>(length)), m_file + " (header)"));
        checkLayout();
    }

    std::vector<Entry> entries;  ///< in the order of their bytes
    std::map<std::string, std::string> metadata;
    std::size_t dataBegin = 0;

  private:
    std::string m_file;
    std::uint64_t m_dataSize = 0;

    [[noreturn]] void fail(std::string what, std::string expected = {}, std::string found = {},
                           std::string advice = {}) const {
        throw Error({.where = m_file,
                     .what = std::move(what),
                     .expected = std::move(expected),
                     .found = std::move(found),
                     .advice = std::move(advice)});
    }

    void refuseWhatIsSomethingElse(std::string_view all) const {
        if (all.empty()) fail("the file is empty", "a safetensors file", "0 bytes", "copy or download it again");
        if (all.starts_with("version https://git-lfs"))
            fail("this is a Git LFS pointer, not the weights", {}, {}, "fetch the file itself with 'git lfs pull'");
        if (all.starts_with("PK\x03\x04")) fail("this is a zip archive (as PyTorch writes), not a safetensors file");
        if (all.starts_with("GGUF")) fail("this is a GGUF file, not a safetensors file");
        if (all.size() < 8)
            fail("the file is too short for a safetensors file", "at least 8 bytes", bytesText(all.size()));
        if (all.size() > 8 && all[8] != '{')
            fail("this is not a safetensors file", "a header that begins with '{'", "something else");
    }

    void read(const Json& header) {
        if (!header.is_object()) fail("the header is not a JSON object");
        for (const auto& [name, value] : header.items()) {
            if (name == "__metadata__")
                readMetadata(value);
            else
                entries.push_back(readEntry(name, value));
        }
    }

    void readMetadata(const Json& value) {
        if (value.is_null()) return;
        if (!value.is_object()) fail("__metadata__ is not an object of strings");
        for (const auto& [key, text] : value.items()) {
            if (!text.is_string()) fail("__metadata__ entry '" + key + "' is not a string");
            metadata[key] = text.get<std::string>();
        }
    }

    std::uint64_t natural(const Json& value, const std::string& what) const {
        if (!value.is_number_unsigned())
            fail(what + " is not a whole number from 0", {}, value.is_number() ? value.dump() : "");
        return value.get<std::uint64_t>();
    }

    Entry readEntry(const std::string& name, const Json& value) const {
        const std::string tensor = "tensor '" + name + "'";
        if (!value.is_object() || !value.contains("dtype") || !value.contains("shape") ||
            !value.contains("data_offsets"))
            fail(tensor + " lacks dtype, shape or data_offsets");
        Entry entry;
        entry.name = name;
        const Json& dtype = value["dtype"];
        const auto known =
            std::find_if(kDTypes.begin(), kDTypes.end(), [&](const DTypeRow& r) { return dtype == r.tag; });
        if (known == kDTypes.end())
            fail(tensor + " has a number type that is not supported", "one of F64 F32 F16 BF16 I64 I32 I16 I8 U8 BOOL",
                 dtype.dump());
        entry.dtype = known->dtype;
        if (!value["shape"].is_array()) fail(tensor + ": shape is not a list");
        for (const Json& n : value["shape"]) {
            const std::uint64_t size = natural(n, tensor + ": a dimension");
            if (size > static_cast<std::uint64_t>(INT64_MAX))
                fail(tensor + ": a dimension is too large", {}, std::to_string(size));
            entry.shape.push_back(static_cast<std::int64_t>(size));
        }
        const Json& offsets = value["data_offsets"];
        if (!offsets.is_array() || offsets.size() != 2) fail(tensor + ": data_offsets is not a pair");
        entry.begin = natural(offsets[0], tensor + ": begin");
        entry.end = natural(offsets[1], tensor + ": end");
        checkRange(entry, tensor);
        return entry;
    }

    void checkRange(const Entry& entry, const std::string& tensor) const {
        if (entry.begin > entry.end)
            fail(tensor + " begins after its end", {}, std::to_string(entry.begin) + " > " + std::to_string(entry.end));
        if (entry.end > m_dataSize)
            fail(tensor + " lies outside the file: the file is too short",
                 bytesText(dataBegin + entry.end) + " at least", bytesText(dataBegin + m_dataSize),
                 "copy or download it again");
        const std::optional<std::uint64_t> size = sizeOf(entry.shape, entry.dtype);
        const std::string shape = shapeText(entry.shape) + " " + std::string(dtypeName(entry.dtype));
        if (!size) fail(tensor + ": the shape " + shape + " has more bytes than 64 bits can count");
        if (*size != entry.end - entry.begin)
            fail(tensor + ": shape " + shape + " and byte range disagree", bytesText(*size),
                 std::to_string(entry.end - entry.begin));
    }

    /// Neither overlaps nor holes, as the format asks: so no byte is read twice and none is hidden.
    void checkLayout() {
        std::sort(entries.begin(), entries.end(),
                  [](const Entry& a, const Entry& b) { return std::pair(a.begin, a.end) < std::pair(b.begin, b.end); });
        std::uint64_t at = 0;
        const Entry* last = nullptr;
        for (const Entry& entry : entries) {
            if (entry.begin < at) fail("tensors '" + last->name + "' and '" + entry.name + "' overlap");
            if (entry.begin > at)
                fail("there is a hole before tensor '" + entry.name + "'", "its bytes from " + std::to_string(at),
                     std::to_string(entry.begin));
            at = entry.end;
            last = &entry;
        }
        if (at != m_dataSize)
            fail("the file is longer than its header says", bytesText(dataBegin + at),
                 bytesText(dataBegin + m_dataSize));
    }
};

}  // namespace

std::string_view dtypeName(DType dtype) { return row(dtype).name; }
std::size_t dtypeSize(DType dtype) { return row(dtype).size; }

Safetensors Safetensors::openFile(const fs::path& path) {
    std::shared_ptr<const MappedFile> file = MappedFile::open(path);
    Header header(*file);
    Safetensors result;
    result.m_files = {path};
    result.m_metadata = std::move(header.metadata);
    std::size_t dataBegin = header.dataBegin;
    const auto misaligned = [&](const Entry& e) { return (dataBegin + e.begin) % dtypeSize(e.dtype) != 0; };
    if (std::any_of(header.entries.begin(), header.entries.end(), misaligned)) {
        // Writers of old did not pad the header: the numbers stand at odd addresses and cannot be used in place.
        file = MappedFile::copyFrom(*file, dataBegin);
        dataBegin = 0;
    }
    for (Entry& entry : header.entries) {
        if (misaligned(entry))
            throw Error({.where = path.string(),
                         .what = "tensor '" + entry.name + "' stands at an odd address",
                         .expected = "a multiple of " + std::to_string(dtypeSize(entry.dtype)),
                         .found = std::to_string(entry.begin)});
        TensorView view{.name = entry.name,
                        .dtype = entry.dtype,
                        .shape = std::move(entry.shape),
                        .bytes = file->bytes().subspan(dataBegin + entry.begin, entry.end - entry.begin),
                        .file = file};
        result.m_tensors.emplace(entry.name, std::move(view));
    }
    return result;
}

const TensorView* Safetensors::find(const std::string& name) const {
    const auto it = m_tensors.find(name);
    return it == m_tensors.end() ? nullptr : &it->second;
}

namespace {

/// Tensors in the order of the file, and all that stands before them.
struct Plan {
    std::vector<const TensorToWrite*> order;
    std::string head;
    std::uint64_t bytes = 0;  ///< of the tensors
};

[[noreturn]] void refuse(const std::string& where, const TensorToWrite& tensor, std::uint64_t bytes) {
    throw Error({.where = where,
                 .what = "tensor '" + tensor.name + "' cannot be written: its name stands twice or shape " +
                         shapeText(tensor.shape) + " does not fit its " + bytesText(bytes)});
}

/// Widest types first, then by name: with a header padded to 8 bytes every tensor is aligned and the file is always the
/// same.
Plan planOf(const std::string& where, std::span<const TensorToWrite> tensors,
            const std::map<std::string, std::string>& metadata) {
    Plan plan;
    for (const TensorToWrite& tensor : tensors) plan.order.push_back(&tensor);
    std::sort(plan.order.begin(), plan.order.end(), [](const TensorToWrite* a, const TensorToWrite* b) {
        return std::pair(dtypeSize(b->dtype), std::string_view(a->name)) <
               std::pair(dtypeSize(a->dtype), std::string_view(b->name));
    });
    Json header = Json::object();
    if (!metadata.empty()) header["__metadata__"] = metadata;
    std::uint64_t& at = plan.bytes;
    for (const TensorToWrite* tensor : plan.order) {
        const std::optional<std::uint64_t> size = sizeOf(tensor->shape, tensor->dtype);
        if (!size || (!tensor->produce && *size != tensor->bytes.size()) || header.contains(tensor->name))
            refuse(where, *tensor, tensor->bytes.size());
        header[tensor->name] = {
            {"dtype", row(tensor->dtype).tag}, {"shape", tensor->shape}, {"data_offsets", {at, at + *size}}};
        at += *size;
    }
    std::string text = header.dump();
    text.append((8 - text.size() % 8) % 8, ' ');
    const std::uint64_t length = text.size();
    if (length > kMaxHeader)
        throw Error({.where = where,
                     .what = "the file cannot be written: its header would be too long",
                     .expected = "at most " + bytesText(kMaxHeader),
                     .found = bytesText(length)});
    plan.head.assign(reinterpret_cast<const char*>(&length), 8);
    plan.head += text;
    return plan;
}

}  // namespace

std::uint64_t safetensorsBytes(std::span<const TensorToWrite> tensors,
                               const std::map<std::string, std::string>& metadata) {
    const Plan plan = planOf("", tensors, metadata);
    return plan.head.size() + plan.bytes;
}

void writeSafetensors(const fs::path& file, std::span<const TensorToWrite> tensors,
                      const std::map<std::string, std::string>& metadata) {
    const Plan plan = planOf(file.string(), tensors, metadata);
    AtomicFile out(file);
    out.write(plan.head);
    for (const TensorToWrite* tensor : plan.order) {
        if (!tensor->produce) {
            out.write(tensor->bytes);
            continue;
        }
        std::uint64_t written = 0;
        tensor->produce([&](std::span<const std::byte> bytes) {
            written += bytes.size();
            out.write(bytes);
        });
        if (written != *sizeOf(tensor->shape, tensor->dtype)) refuse(file.string(), *tensor, written);
    }
    out.commit();
}

}  // namespace counterpoint::compute
