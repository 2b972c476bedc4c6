#include "compute/network/configreader.h"

#include <cmath>

#include "compute/error.h"
#include "compute/printable.h"

namespace counterpoint::network {

std::string shown(const compute::Json& value) {
    const double number = value.is_number_float() ? value.get<double>() : 0.0;
    if (std::isnan(number)) return "nan";
    if (std::isinf(number)) return number > 0.0 ? "inf" : "-inf";
    return compute::shortened(value.dump(-1, ' ', false, compute::Json::error_handler_t::replace));
}

std::string ConfigReader::name(std::string_view key) const {
    if (m_names == nullptr) return std::string(key);
    const auto other = m_names->find(key);
    return other == m_names->end() ? std::string(key) : other->second;
}

std::string ConfigReader::quoted(std::string_view key) const {
    return std::string(1, '\'').append(name(key)).append("'");
}

std::string ConfigReader::named(const char* key) const { return "the value of " + quoted(key) + " is not usable"; }

void ConfigReader::refuse(const std::string& what, const std::string& expected, const std::string& found,
                          const std::string& advice) const {
    throw compute::Error(
        {.where = m_where, .what = what, .expected = expected, .found = found, .advice = advice, .details = {}});
}

const compute::Json* ConfigReader::find(const char* key) const {
    const auto it = m_config.find(key);
    return it == m_config.end() || it->is_null() ? nullptr : &*it;
}

bool ConfigReader::isNull(const char* key) const {
    const auto it = m_config.find(key);
    return it != m_config.end() && it->is_null();
}

std::int64_t ConfigReader::count(const char* key, std::int64_t most, std::optional<std::int64_t> initial) const {
    const compute::Json* value = find(key);
    if (value == nullptr) {
        if (initial) return *initial;
        refuse("the key " + quoted(key) + " is missing", "a whole number", {});
    }
    if (!value->is_number_integer() || *value < 1 || *value > most)
        refuse(named(key), "a whole number from 1 to " + std::to_string(most), shown(*value));
    return value->get<std::int64_t>();
}

double ConfigReader::positive(const char* key, double initial) const {
    const compute::Json* value = find(key);
    if (value == nullptr) return initial;
    // What is beyond is a mistake, and would become 0 or infinity in the arithmetic.
    constexpr double kLeast = 1e-30, kMost = 1e30;
    if (!value->is_number() || !(value->get<double>() >= kLeast && value->get<double>() <= kMost))
        refuse(named(key), "a number above 0, from 1e-30 to 1e30", shown(*value));
    return value->get<double>();
}

bool ConfigReader::flag(const char* key, bool initial) const {
    const compute::Json* value = find(key);
    if (value == nullptr) return initial;
    if (!value->is_boolean()) refuse(named(key), "true or false", shown(*value));
    return value->get<bool>();
}

std::string ConfigReader::text(const char* key, const std::string& initial) const {
    const compute::Json* value = find(key);
    if (value == nullptr) return initial;
    if (!value->is_string()) refuse(named(key), "a text", shown(*value));
    return value->get<std::string>();
}

}  // namespace counterpoint::network
