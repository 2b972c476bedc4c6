#pragma once
// Typed access to the keys of a config.json, or of what stands for one; null counts as absent. Errors: Error naming
// file, key as the file has it, expected and found. Pure; thread: any.

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "compute/files/json.h"

namespace counterpoint::network {

/// What the file has in the place of a key, where it is no config.json: "hidden_size" -> "llama.embedding_length".
using KeyNames = std::map<std::string, std::string, std::less<>>;

/// A value for an error, as its file might have it; JSON itself has no word for a NaN ("nan") or an infinity ("inf").
std::string shown(const compute::Json& value);

class ConfigReader {
  public:
    /// `names` must outlive the reader; nullptr: keys stand in the file as they are.
    ConfigReader(const compute::Json& config, std::string where, const KeyNames* names = nullptr)
        : m_config(config), m_where(std::move(where)), m_names(names) {}
    const std::string& where() const { return m_where; }
    /// A reader of an object inside this one.
    ConfigReader inside(const compute::Json& object) const { return {object, m_where, m_names}; }
    /// The key as the file has it; what every error calls it.
    std::string name(std::string_view key) const;
    std::string quoted(std::string_view key) const;
    /// The value, or nullptr when absent or null.
    const compute::Json* find(const char* key) const;
    /// Stated as null, which is not the same as absent where the family has a default.
    bool isNull(const char* key) const;
    /// A whole number in [1, most]; `initial` when absent, an error when there is none.
    std::int64_t count(const char* key, std::int64_t most, std::optional<std::int64_t> initial = {}) const;
    /// A number from 1e-30 to 1e30.
    double positive(const char* key, double initial) const;
    bool flag(const char* key, bool initial) const;
    std::string text(const char* key, const std::string& initial) const;
    [[noreturn]] void refuse(const std::string& what, const std::string& expected, const std::string& found,
                             const std::string& advice = {}) const;

  private:
    std::string named(const char* key) const;
    const compute::Json& m_config;
    std::string m_where;
    const KeyNames* m_names;
};

}  // namespace counterpoint::network
