#pragma once
// Writes GGUF files for tests, by the specification and with nothing of the reader: metadata in the order given,
// tensors one after the other.

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "compute/files/ggufblocks.h"

namespace counterpoint::tests {

class GgufWriter {
  public:
    std::uint32_t version = 3, alignment = 32;

    void text(const std::string& key, std::string_view value) { entry(key, 8) += string(value); }
    void whole(const std::string& key, std::uint32_t value) { entry(key, 4) += raw(value); }
    void number(const std::string& key, float value) { entry(key, 6) += raw(value); }
    void flag(const std::string& key, bool value) { entry(key, 7) += value ? '\1' : '\0'; }
    void texts(const std::string& key, const std::vector<std::string>& values) {
        std::string& to = list(key, 8, values.size());
        for (const std::string& value : values) to += string(value);
    }
    void numbers(const std::string& key, const std::vector<float>& values) {
        std::string& to = list(key, 6, values.size());
        for (const float value : values) to += raw(value);
    }
    void wholes(const std::string& key, const std::vector<std::int32_t>& values) {
        std::string& to = list(key, 5, values.size());
        for (const std::int32_t value : values) to += raw(value);
    }
    /// An entry of any type, its value as bytes.
    std::string& entry(const std::string& key, std::uint32_t type) {
        ++m_entries;
        return m_metadata += string(key) + raw(type);
    }
    /// `shape` rows first.
    void tensor(const std::string& name, std::uint32_t type, const std::vector<std::uint64_t>& shape,
                std::string_view bytes) {
        tensorAt(name, type, shape, m_data.size());
        m_data += bytes;
        m_data.resize((m_data.size() + alignment - 1) / alignment * alignment, '\0');
    }
    void tensor(const std::string& name, const std::vector<std::uint64_t>& shape, const std::vector<float>& values) {
        tensor(name, 0, shape, {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
    }
    /// A line of the table only.
    void tensorAt(const std::string& name, std::uint32_t type, const std::vector<std::uint64_t>& shape,
                  std::uint64_t offset) {
        ++m_tensors;
        m_table += string(name) + raw(static_cast<std::uint32_t>(shape.size()));
        for (auto n = shape.rbegin(); n != shape.rend(); ++n) m_table += raw(*n);
        m_table += raw(type) + raw(offset);
    }

    std::string bytes() const {
        std::string all = "GGUF" + raw(version) + raw(m_tensors) + raw(m_entries) + m_metadata + m_table;
        all.resize((all.size() + alignment - 1) / alignment * alignment, '\0');
        return all + m_data;
    }

    template <class T>
    static std::string raw(T value) {
        return {reinterpret_cast<const char*>(&value), sizeof value};
    }
    static std::string string(std::string_view text) { return raw<std::uint64_t>(text.size()) + std::string(text); }

  private:
    std::uint64_t m_entries = 0, m_tensors = 0;
    std::string m_metadata, m_table, m_data;

    std::string& list(const std::string& key, std::uint32_t type, std::uint64_t count) {
        return entry(key, 9) += raw(type) + raw(count);
    }
};

}  // namespace counterpoint::tests
