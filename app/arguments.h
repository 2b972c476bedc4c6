#pragma once
// Arguments: the words of a command line, read by a plain table before any window or library exists (HAZARDS A22).
// `--name value` and `--name=value` are the same; `--` ends the options. Numbers are read with a dot in every locale.
// Thread: any (values). Errors: UsageError, one sentence; main turns it into exit code 2.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace counterpoint::app {

class UsageError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

struct Option {
    std::string_view name;   ///< "--out"
    std::string_view value;  ///< placeholder in the help, "DIR"; empty: a switch
    std::string_view help;
    bool needed = false;
};

struct Arguments {
    std::vector<std::string> words;
    std::map<std::string, std::string, std::less<>> options;

    bool has(std::string_view option) const { return options.contains(option); }
    /// The option's value, or `otherwise`.
    std::string value(std::string_view option, std::string_view otherwise = {}) const;
    std::string required(std::string_view option) const;
    std::optional<std::int64_t> integer(std::string_view option, std::int64_t minimum, std::int64_t maximum) const;
    std::optional<std::uint64_t> seed(std::string_view option) const;  ///< 64 bits
    /// `expected` says of which numbers `inside` is true: "a number above 0".
    std::optional<double> real(std::string_view option, std::string_view expected, bool (*inside)(double)) const;
    /// A comma list without empty or unknown entries.
    std::set<std::string> list(std::string_view option, std::span<const std::string_view> known) const;
};

/// Sorts `given` into words and the options of the table; an unknown option or a missing value is a UsageError.
Arguments parseArguments(std::span<const std::string> given, std::span<const Option> table);

}  // namespace counterpoint::app
