#pragma once
// `--key value` arguments of the trainer. Numbers are read without the locale. Errors: UsageError naming the argument.

#include <charconv>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

namespace counterpoint::network::train {

struct UsageError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class Arguments {
  public:
    /// argv[first…]: pairs of --key and value; every key must be one of `known` (separated by spaces).
    Arguments(int argc, char** argv, int first, std::string_view known) {
        for (int i = first; i < argc; ++i) {
            const std::string_view key = argv[i];
            if (!key.starts_with("--") ||
                (" " + std::string(known) + " ").find(" " + std::string(key.substr(2)) + " ") == std::string::npos)
                throw UsageError("unknown argument '" + std::string(key) + "'");
            if (i + 1 == argc) throw UsageError("argument '" + std::string(key) + "' needs a value");
            m_values[std::string(key.substr(2))] = argv[++i];
        }
    }

    std::string text(const std::string& key) const {
        const auto it = m_values.find(key);
        if (it == m_values.end()) throw UsageError("argument '--" + key + "' is missing");
        return it->second;
    }
    std::string text(const std::string& key, const std::string& otherwise) const {
        const auto it = m_values.find(key);
        return it == m_values.end() ? otherwise : it->second;
    }
    template <class Number>
    Number number(const std::string& key, Number otherwise) const {
        const auto it = m_values.find(key);
        if (it == m_values.end()) return otherwise;
        const std::string& value = it->second;
        Number out{};
        const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), out);
        if (error != std::errc{} || end != value.data() + value.size())
            throw UsageError("argument '--" + key + "' is not a number: '" + value + "'");
        return out;
    }

  private:
    std::map<std::string, std::string> m_values;
};

}  // namespace counterpoint::network::train
