#include "compute/files/gguf.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "compute/error.h"

namespace counterpoint::compute {
namespace {

static_assert(std::endian::native == std::endian::little, "GGUF files are little-endian and are used in place");

enum ValueType : std::uint32_t { kU8, kI8, kU16, kI16, kU32, kI32, kF32, kBool, kText, kList, kU64, kI64, kF64 };
constexpr std::array<std::string_view, 13> kTypeNames = {
    "a number",      "a number", "a number", "a number", "a number", "a number", "a number",
    "true or false", "a text",   "a list",   "a number", "a number", "a number"};
constexpr std::array<std::uint64_t, 13> kTypeSizes = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};  // 0: it depends

constexpr std::uint64_t kMaxName = 65535;

template <class T>
T load(const std::byte* at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
}

std::string bytesText(std::uint64_t n) { return std::to_string(n) + " bytes"; }

}  // namespace

/// Walks the file from front to back; nothing is taken that is not there.
class Gguf::Reader {
  public:
    explicit Reader(Gguf& gguf) : m_gguf(gguf), m_all(gguf.m_file->bytes()) {}

    void read() {
        refuseWhatIsSomethingElse();
        m_at = 4;
        checkVersion(take<std::uint32_t>("its version"));
        const auto tensors = take<std::uint64_t>("the number of tensors");
        const auto values = take<std::uint64_t>("the number of metadata entries");
        requireRoom(values, 13, "metadata entries");  // a key's length, a type and a byte
        for (std::uint64_t i = 0; i < values; ++i) readValue();
        requireRoom(tensors, 32, "tensors");
        std::vector<Entry> entries;
        for (std::uint64_t i = 0; i < tensors; ++i) entries.push_back(readTensor());
        place(entries);
    }

  private:
    struct Entry {
        GgufTensor tensor;
        std::uint64_t offset = 0, size = 0;
    };

    Gguf& m_gguf;
    std::span<const std::byte> m_all;
    std::size_t m_at = 0;

    std::uint64_t left() const { return m_all.size() - m_at; }

    void refuseWhatIsSomethingElse() const {
        const std::string_view all(reinterpret_cast<const char*>(m_all.data()), m_all.size());
        if (all.empty()) m_gguf.fail("the file is empty", "a GGUF file", "0 bytes", "copy or download it again");
        if (all.starts_with("version https://git-lfs"))
            m_gguf.fail("this is a Git LFS pointer, not the model", {}, {},
                        "fetch the file itself with 'git lfs pull'");
        for (const std::string_view old : {"tjgg", "lmgg", "fmgg", "algg"})  // ggjt, ggml, ggmf, ggla
            if (all.starts_with(old))
                m_gguf.fail("this is a file of ggml's older formats", "GGUF", {}, "convert it with llama.cpp");
        if (!all.starts_with("GGUF"))
            m_gguf.fail("this is not a GGUF file", "a file that begins with 'GGUF'", "something else");
    }

    void checkVersion(std::uint32_t version) const {
        if ((version & 0xFFFFu) == 0)
            m_gguf.fail("this GGUF file is big-endian", "little-endian", {}, "convert it with gguf_convert_endian.py");
        if (version != 2 && version != 3)
            m_gguf.fail("this version of GGUF is not supported", "2 or 3", std::to_string(version),
                        version == 1 ? "convert the model again with a current llama.cpp" : "");
    }

    /// Before a loop over `count` things of at least `least` bytes.
    void requireRoom(std::uint64_t count, std::uint64_t least, const char* things) const {
        if (count > left() / least)
            m_gguf.fail("the file is too short for the " + std::string(things) + " it announces",
                        std::to_string(count) + " " + things, bytesText(left()) + " left", "copy or download it again");
    }

    const std::byte* skip(std::uint64_t n, const std::string& what) {
        if (n > left())
            m_gguf.fail("the file ends inside " + what, bytesText(n) + " more", bytesText(left()),
                        "copy or download it again");
        const std::byte* at = m_all.data() + m_at;
        m_at += static_cast<std::size_t>(n);
        return at;
    }

    template <class T>
    T take(const std::string& what) {
        return load<T>(skip(sizeof(T), what));
    }

    std::string name(const char* what) {
        const auto length = take<std::uint64_t>(what);
        if (length > kMaxName)
            m_gguf.fail(std::string(what) + " is too long", "at most " + bytesText(kMaxName), bytesText(length));
        return {reinterpret_cast<const char*>(skip(length, what)), static_cast<std::size_t>(length)};
    }

    void readValue() {
        const std::string key = name("a metadata key"), what = "the value of '" + key + "'";
        Value value;
        value.type = take<std::uint32_t>(what);
        if (value.type == kList) {
            value.list = true;
            value.type = take<std::uint32_t>(what);
            value.count = take<std::uint64_t>(what);
        }
        if (value.type >= kTypeSizes.size() || value.type == kList)
            m_gguf.fail(what + " has a type that is not supported",
                        value.list ? "a list of numbers, flags or texts" : "type 0 to 12",
                        value.type == kList ? "a list of lists" : "type " + std::to_string(value.type));
        value.data = m_all.data() + m_at;
        const std::uint64_t size = kTypeSizes[value.type];
        if (size == 0) {
            requireRoom(value.count, 8, "texts");
            for (std::uint64_t i = 0; i < value.count; ++i) skip(take<std::uint64_t>(what), what);
        } else {
            if (value.count > left() / size)
                m_gguf.fail("the file ends inside " + what, std::to_string(value.count) + " elements",
                            bytesText(left()) + " left", "copy or download it again");
            skip(value.count * size, what);
        }
        if (!m_gguf.m_values.emplace(key, value).second) m_gguf.fail("the metadata key '" + key + "' stands twice");
    }

    Entry readTensor() {
        Entry entry;
        GgufTensor& tensor = entry.tensor;
        tensor.name = name("a tensor's name");
        const std::string what = "tensor '" + tensor.name + "'";
        const auto dimensions = take<std::uint32_t>(what);
        if (dimensions < 1 || dimensions > 4)
            m_gguf.fail(what + " has a number of dimensions that is not supported", "1 to 4",
                        std::to_string(dimensions));
        std::uint64_t count = 1;
        for (std::uint32_t i = 0; i < dimensions; ++i) {
            const auto n = take<std::uint64_t>(what);
            if (n == 0 || n > static_cast<std::uint64_t>(INT64_MAX) || __builtin_mul_overflow(count, n, &count) ||
                count > static_cast<std::uint64_t>(INT64_MAX))
                m_gguf.fail(what + ": a dimension is not usable", "from 1, and a product below 2^63",
                            std::to_string(n));
            tensor.shape.push_back(static_cast<std::int64_t>(n));
        }
        const auto type = take<std::uint32_t>(what);
        const GgmlTypeRow* row = findGgmlType(type);
        if (row == nullptr) refuseType(what, type);
        tensor.type = row->type;
        if (tensor.shape.front() % row->block != 0)
            m_gguf.fail(what + ": its rows are not whole blocks of " + std::string(row->name),
                        "a multiple of " + std::to_string(row->block), std::to_string(tensor.shape.front()));
        if (__builtin_mul_overflow(count / static_cast<std::uint64_t>(row->block),
                                   static_cast<std::uint64_t>(row->bytes), &entry.size))
            m_gguf.fail(what + " has more bytes than 64 bits can count");
        std::reverse(tensor.shape.begin(), tensor.shape.end());
        entry.offset = take<std::uint64_t>(what);
        return entry;
    }

    [[noreturn]] void refuseType(const std::string& what, std::uint32_t type) const {
        std::string known;
        for (const GgmlTypeRow& row : ggmlTypes()) known += (known.empty() ? "" : ", ") + std::string(row.name);
        m_gguf.fail("the number type of " + what + " is not supported", known, ggmlTypeName(type));
    }

    std::uint64_t alignment() const {
        const std::int64_t asked = m_gguf.integer("general.alignment").value_or(32);
        if (asked < 8 || asked > 1 << 20 || !std::has_single_bit(static_cast<std::uint64_t>(asked)))
            m_gguf.fail("'general.alignment' is not usable", "a power of two from 8 to 1048576", std::to_string(asked));
        return static_cast<std::uint64_t>(asked);
    }

    void place(std::vector<Entry>& entries) {
        const std::uint64_t align = alignment(), begin = (m_at + align - 1) / align * align;
        if (entries.empty()) return;
        const std::uint64_t room = begin > m_all.size() ? 0 : m_all.size() - begin;
        std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.offset < b.offset; });
        std::uint64_t end = 0;
        const Entry* last = nullptr;
        for (Entry& entry : entries) {
            const std::string what = "tensor '" + entry.tensor.name + "'";
            if (entry.offset % align != 0)
                m_gguf.fail(what + " stands at an odd address", "a multiple of " + std::to_string(align),
                            std::to_string(entry.offset));
            if (entry.offset > room || entry.size > room - entry.offset)
                m_gguf.fail(what + " lies outside the file: the file is too short",
                            bytesText(entry.size) + " at " + std::to_string(entry.offset) + " of the data",
                            bytesText(room) + " of data", "copy or download it again");
            if (entry.offset < end)
                m_gguf.fail("tensors '" + last->tensor.name + "' and '" + entry.tensor.name + "' overlap");
            end = entry.offset + entry.size;
            last = &entry;
            entry.tensor.bytes =
                m_all.subspan(static_cast<std::size_t>(begin + entry.offset), static_cast<std::size_t>(entry.size));
        }
        for (Entry& entry : entries) {
            if (!m_gguf.m_byName.emplace(entry.tensor.name, m_gguf.m_tensors.size()).second)
                m_gguf.fail("tensor '" + entry.tensor.name + "' stands twice");
            m_gguf.m_tensors.push_back(std::move(entry.tensor));
        }
    }
};

std::shared_ptr<const Gguf> Gguf::open(const std::filesystem::path& file) {
    auto gguf = std::make_shared<Gguf>();
    gguf->m_file = MappedFile::open(file);
    Reader(*gguf).read();
    return gguf;
}

void Gguf::fail(std::string what, std::string expected, std::string found, std::string advice) const {
    throw Error({.where = where(),
                 .what = std::move(what),
                 .expected = std::move(expected),
                 .found = std::move(found),
                 .advice = std::move(advice)});
}

const GgufTensor* Gguf::find(std::string_view name) const {
    const auto it = m_byName.find(name);
    return it == m_byName.end() ? nullptr : &m_tensors[it->second];
}

const Gguf::Value* Gguf::value(std::string_view key, bool list) const {
    const auto it = m_values.find(key);
    if (it == m_values.end()) return nullptr;
    if (it->second.list != list)
        fail("the metadata key '" + std::string(key) + "' is of another kind", list ? "a list" : "a single value",
             list ? "a single value" : "a list of " + std::to_string(it->second.count));
    return &it->second;
}

double Gguf::plainNumber(std::string_view key, std::uint32_t type, const std::byte* data) const {
    switch (type) {
        case kU8:
            return load<std::uint8_t>(data);
        case kI8:
            return load<std::int8_t>(data);
        case kU16:
            return load<std::uint16_t>(data);
        case kI16:
            return load<std::int16_t>(data);
        case kU32:
            return load<std::uint32_t>(data);
        case kI32:
            return load<std::int32_t>(data);
        case kF32:
            return static_cast<double>(load<float>(data));
        case kU64:
            return static_cast<double>(load<std::uint64_t>(data));
        case kI64:
            return static_cast<double>(load<std::int64_t>(data));
        case kF64:
            return load<double>(data);
        default:
            fail("the metadata key '" + std::string(key) + "' is of another kind", "a number",
                 std::string(kTypeNames[type]));
    }
}

std::optional<double> Gguf::number(std::string_view key) const {
    const Value* v = value(key, false);
    return v == nullptr ? std::nullopt : std::optional(plainNumber(key, v->type, v->data));
}

std::optional<std::int64_t> Gguf::integer(std::string_view key) const {
    const Value* v = value(key, false);
    if (v == nullptr) return std::nullopt;
    if (v->type == kI64) return load<std::int64_t>(v->data);
    const double number = plainNumber(key, v->type, v->data);
    const bool whole = v->type != kF32 && v->type != kF64;
    if (!whole || number >= 0x1p63)
        fail("the metadata key '" + std::string(key) + "' is of another kind", "a whole number below 2^63",
             whole ? std::to_string(load<std::uint64_t>(v->data)) : "a decimal number");
    return v->type == kU64 ? static_cast<std::int64_t>(load<std::uint64_t>(v->data))
                           : static_cast<std::int64_t>(number);
}

std::optional<bool> Gguf::flag(std::string_view key) const {
    const Value* v = value(key, false);
    if (v == nullptr) return std::nullopt;
    if (v->type != kBool)
        fail("the metadata key '" + std::string(key) + "' is of another kind", "true or false",
             std::string(kTypeNames[v->type]));
    return load<std::uint8_t>(v->data) != 0;
}

std::optional<std::string> Gguf::text(std::string_view key) const {
    const Value* v = value(key, false);
    if (v == nullptr) return std::nullopt;
    if (v->type != kText)
        fail("the metadata key '" + std::string(key) + "' is of another kind", "a text",
             std::string(kTypeNames[v->type]));
    return std::string(reinterpret_cast<const char*>(v->data + 8),
                       static_cast<std::size_t>(load<std::uint64_t>(v->data)));
}

std::vector<std::string_view> Gguf::texts(std::string_view key) const {
    const Value* v = value(key, true);
    if (v == nullptr) return {};
    if (v->type != kText)
        fail("the metadata key '" + std::string(key) + "' is of another kind", "a list of texts",
             "a list of something else");
    std::vector<std::string_view> all;
    all.reserve(static_cast<std::size_t>(v->count));
    const std::byte* at = v->data;
    for (std::uint64_t i = 0; i < v->count; ++i) {
        const auto length = static_cast<std::size_t>(load<std::uint64_t>(at));
        all.emplace_back(reinterpret_cast<const char*>(at + 8), length);
        at += 8 + length;
    }
    return all;
}

std::vector<double> Gguf::numbers(std::string_view key) const {
    const Value* v = value(key, true);
    if (v == nullptr) return {};
    std::vector<double> all;
    all.reserve(static_cast<std::size_t>(v->count));
    if (v->type == kText)
        fail("the metadata key '" + std::string(key) + "' is of another kind", "a list of numbers", "a list of texts");
    for (std::uint64_t i = 0; i < v->count; ++i)
        all.push_back(plainNumber(key, v->type, v->data + i * kTypeSizes[v->type]));
    return all;
}

}  // namespace counterpoint::compute
