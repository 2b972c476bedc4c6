#pragma once
// JSON as SPEC.md 2 wants it: UTF-8, dot decimals in every locale, non-finite numbers as the strings "inf", "-inf",
// "nan", 64-bit integers exact, unknown keys kept (the caller) and warned about. Duplicate keys and depth over 200 are
// errors. Thread: any. Errors: Error with file, line and what was expected.

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "compute/export.h"

namespace counterpoint::compute {

using Json = nlohmann::json;                 ///< for reading big files
using OrderedJson = nlohmann::ordered_json;  ///< for documents a person reads: keys keep their order

/// Reads and parses a whole file. `limit`: bytes above which it is refused unread.
COUNTERPOINT_API Json readJson(const std::filesystem::path& file, std::uint64_t limit = 256u << 20);
COUNTERPOINT_API OrderedJson readOrderedJson(const std::filesystem::path& file, std::uint64_t limit = 64u << 20);
COUNTERPOINT_API Json parseJson(std::string_view text, const std::string& where);
COUNTERPOINT_API OrderedJson parseOrderedJson(std::string_view text, const std::string& where);

/// The key of the object that stands in an OrderedJson for a number above a 64-bit float's range and for the bare NaN,
/// Infinity and -Infinity that some programs write: {key: "1e999"}. Who reads a number there refuses it by its place
/// (toNumber takes it as what it says), and the rest of the document is read. (A Json refuses the text.)
constexpr const char* kNotFinite = "not a finite 64-bit float";
/// The document as text, in valid UTF-8, such numbers as they were written. `indent`: −1 for one line.
COUNTERPOINT_API std::string jsonText(const OrderedJson& document, int indent);

/// A number, or one of the three strings for a value that is not finite.
COUNTERPOINT_API OrderedJson number(double value);
/// The reverse, a number above a float's range being infinite; throws Error naming `where` when it is neither.
COUNTERPOINT_API double toNumber(const OrderedJson& value, const std::string& where);

/// Keys of `object` that are not in `known`, for "unknown keys kept and warned about".
COUNTERPOINT_API std::vector<std::string> unknownKeys(const OrderedJson& object,
                                                      std::initializer_list<std::string_view> known);

}  // namespace counterpoint::compute
