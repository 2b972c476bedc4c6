#pragma once
// Zip archives as bytes: what fileKind reads of them, and their damages.

#include <cstdint>
#include <string>
#include <vector>

namespace counterpoint::tests {

template <class Number>
std::string littleEndian(Number n) {
    return {reinterpret_cast<const char*>(&n), sizeof n};
}

struct Archive {
    std::vector<std::string> names;
    std::string extra = {}, comment = {};  ///< of every entry of the table
    bool large = false;                    ///< the table's place stands in a record of its own, as libtorch writes it
    std::string largeMark = "PK\6\6";
    std::uint64_t further = 0;  ///< how far beyond its place the table, or that record, is said to lie
};

inline std::string archive(const Archive& a) {
    std::string all, table;
    const auto length = [](const std::string& text) { return littleEndian(static_cast<std::uint16_t>(text.size())); };
    for (const std::string& name : a.names) {
        const auto offset = static_cast<std::uint32_t>(all.size());
        const std::string facts = littleEndian(std::uint16_t(20)) + std::string(8, '\0') + std::string(12, '\0');
        all += "PK\3\4" + facts + length(name) + std::string(2, '\0') + name;
        table += std::string("PK\1\2") + littleEndian(std::uint16_t(20)) + facts + length(name) + length(a.extra) +
                 length(a.comment) + std::string(8, '\0') + littleEndian(offset) + name + a.extra + a.comment;
    }
    if (all.empty()) all = "PK\3\4";
    const std::uint64_t place = all.size(), record = place + table.size();
    all += table;
    if (a.large)
        all += a.largeMark + std::string(44, '\0') + littleEndian(place) + "PK\6\7" + std::string(4, '\0') +
               littleEndian(record + a.further) + std::string(4, '\0');
    const auto count = static_cast<std::uint16_t>(a.names.size());
    return all + "PK\5\6" + std::string(4, '\0') + littleEndian(count) + littleEndian(count) +
           littleEndian(static_cast<std::uint32_t>(table.size())) +
           littleEndian(a.large ? 0xFFFFFFFFu : static_cast<std::uint32_t>(place + a.further)) + std::string(2, '\0');
}

}  // namespace counterpoint::tests
