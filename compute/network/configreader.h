#pragma once
// Typed access to the keys of a config.json; null counts as absent. Errors: Error naming file, key, expected and found.
// Pure; thread: any.

#include <cstdint>
#include <optional>
#include <string>

#include "compute/files/json.h"

namespace counterpoint::network {

class ConfigReader {
  public:
    ConfigReader(const compute::Json& config, std::string where) : m_config(config), m_where(std::move(where)) {}
    const std::string& where() const { return m_where; }
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
    const compute::Json& m_config;
    std::string m_where;
};

}  // namespace counterpoint::network
