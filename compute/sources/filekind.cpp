#include "compute/sources/filekind.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "compute/error.h"
#include "compute/files/mappedfile.h"

namespace counterpoint::compute {
namespace {

using namespace std::string_view_literals;

/// Little-endian numbers of a zip archive; nothing where the archive ends before.
template <class Number>
std::optional<std::uint64_t> numberAt(std::string_view all, std::uint64_t at) {
    Number n = 0;
    if (at > all.size() || all.size() - at < sizeof n) return std::nullopt;
    std::memcpy(&n, all.data() + at, sizeof n);
    return n;
}

/// Where the table of names begins: the end record says it, in a record of its own where the archive is large. libtorch
/// always writes both.
std::optional<std::uint64_t> tableOf(std::string_view all) {
    constexpr std::size_t kEnd = 22, kLongestComment = 65'535;
    const std::size_t from = all.size() - std::min(all.size(), kEnd + kLongestComment);
    const std::size_t end = all.substr(from).rfind("PK\5\6"sv);
    if (end == std::string_view::npos || all.size() - from - end < kEnd) return std::nullopt;
    const std::uint64_t record = from + end;
    if (record >= 20 && all.substr(record - 20).starts_with("PK\6\7"sv)) {
        const auto larger = numberAt<std::uint64_t>(all, record - 12);
        if (!larger || *larger >= all.size() || !all.substr(*larger).starts_with("PK\6\6"sv)) return std::nullopt;
        return numberAt<std::uint64_t>(all, *larger + 48);
    }
    return numberAt<std::uint32_t>(all, record + 16);
}

/// The names in the archive's table, in its order; nothing where it is cut or its table leads nowhere.
std::optional<std::vector<std::string_view>> namesOf(std::string_view all) {
    const std::optional<std::uint64_t> table = tableOf(all);
    if (!table || *table >= all.size()) return std::nullopt;
    std::vector<std::string_view> names;
    for (std::uint64_t at = *table; all.substr(at).starts_with("PK\1\2"sv);) {
        const auto name = numberAt<std::uint16_t>(all, at + 28), extra = numberAt<std::uint16_t>(all, at + 30),
                   comment = numberAt<std::uint16_t>(all, at + 32);
        if (!name || !extra || !comment || all.size() - at < 46 + *name + *extra + *comment) return std::nullopt;
        names.push_back(all.substr(at + 46, *name));
        at += 46 + *name + *extra + *comment;
    }
    return names.empty() ? std::nullopt : std::optional(std::move(names));
}

FileKind kindOfZip(std::string_view all) {
    const auto names = namesOf(all);
    if (!names) return FileKind::CutZip;
    const auto holds = [&](std::string_view part, bool atEnd) {
        return std::any_of(names->begin(), names->end(), [&](std::string_view name) {
            return atEnd ? name.ends_with(part) : name.find(part) != std::string_view::npos;
        });
    };
    if (holds("/code/", false) || holds("/constants.pkl", true)) return FileKind::TorchScript;
    if (holds("archive_format", true) || holds("serialized_exported_program.json", true)) return FileKind::Exported;
    return holds("data.pkl", true) ? FileKind::Pickle : FileKind::OtherZip;
}

}  // namespace

FileKind fileKind(const std::filesystem::path& file) {
    const std::shared_ptr<const MappedFile> mapped = MappedFile::open(file);
    const std::string_view all(reinterpret_cast<const char*>(mapped->bytes().data()), mapped->bytes().size());
    if (all.starts_with("GGUF")) return FileKind::Gguf;
    if (all.starts_with("PK\3\4"sv)) return kindOfZip(all);
    // A pickle says its protocol first: 2 to 5 in files of today.
    if (all.size() > 2 && all[0] == '\x80' && all[1] >= 2 && all[1] <= 5) return FileKind::Pickle;
    return FileKind::Unknown;
}

bool runsCode(const std::filesystem::path& file) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(file, error)) return false;
    try {
        return fileKind(file) == FileKind::TorchScript;
    } catch (const Error&) {
        return false;
    }
}

}  // namespace counterpoint::compute
