#pragma once
// What every fuzz target shares: the input as a file in a folder of its own, the one way a reader may refuse it (a
// compute::Error of one plain sentence), and a check that ends the program when it does not hold.

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "compute/error.h"
#include "compute/text/utf8.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace counterpoint::fuzz {

inline void require(bool holds, std::string_view what, std::string_view about = {}) {
    if (holds) return;
    const std::string line = "does not hold: " + std::string(what) + "\n" + std::string(about) + "\n";
    std::fputs(line.c_str(), stderr);
    std::abort();
}

/// A folder that is gone when the program ends well.
class Folder {
  public:
    Folder() {
        std::string name = (std::filesystem::temp_directory_path() / "counterpoint-fuzz-XXXXXX").string();
        require(::mkdtemp(name.data()) != nullptr, "a folder for the input can be made");
        m_path = name;
    }
    ~Folder() {
        std::error_code ignored;
        std::filesystem::remove_all(m_path, ignored);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    const std::filesystem::path& path() const { return m_path; }
    /// Written without fsync, in place: millions of inputs.
    std::filesystem::path put(const char* name, std::string_view bytes) const {
        std::filesystem::path file = m_path / name;
        std::FILE* out = std::fopen(file.c_str(), "wb");
        require(out != nullptr, "a file for the input can be made");
        const bool written = bytes.empty() || std::fwrite(bytes.data(), 1, bytes.size(), out) == bytes.size();
        require(std::fclose(out) == 0 && written, "the input can be written to a file");
        return file;
    }

  private:
    std::filesystem::path m_path;
};

inline const Folder& folder() {
    static const Folder one;
    return one;
}

inline std::string_view asText(const std::uint8_t* data, std::size_t size) {
    return {reinterpret_cast<const char*>(data), size};
}

/// One line of readable UTF-8 that ends in one full stop.
inline void requireSentence(std::string_view sentence) {
    require(sentence.size() >= 10 && sentence.ends_with('.') && !sentence.ends_with(".."),
            "an error is a sentence with one full stop at its end", sentence);
    require(compute::utf8::isValid(sentence), "an error is valid UTF-8", sentence);
    for (const char c : sentence)
        require(static_cast<unsigned char>(c) >= 0x20 && c != 0x7F, "an error is one line", sentence);
}

/// false: `read` refused the input. Anything but an Error escapes and ends the program.
inline bool accepts(const std::function<void()>& read) {
    try {
        read();
        return true;
    } catch (const compute::Error& error) {
        requireSentence(error.sentence());
        return false;
    }
}

}  // namespace counterpoint::fuzz
