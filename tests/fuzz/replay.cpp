// Replays the files of seed folders through a fuzz target without libFuzzer: each as it is, cut at a number of places,
// and with single bytes changed, the same in every run.
//   PROGRAM FOLDER_OR_FILE…
// A crash, an exception, more than half a gigabyte for one input or more than a minute ends it with another status than
// 0 and the input's name.

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

#include "tests/fuzz/fuzz.h"

namespace fs = std::filesystem;

/// The limits where AddressSanitizer is built in (its own memory is out of reach of setrlimit).
extern "C" const char* __asan_default_options() { return "max_allocation_size_mb=512:hard_rss_limit_mb=2048"; }
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*)());

namespace {

constexpr unsigned kSeconds = 60;
constexpr std::uint64_t kBytes = 512u << 20;
constexpr std::size_t kCuts = 24, kChanges = 96;

char current[512] = "no input yet\n";

void tell() { [[maybe_unused]] const auto written = ::write(2, current, std::strlen(current)); }

void tellAndDie(int signal) {
    tell();
    std::signal(signal, SIG_DFL);
    std::raise(signal);
}

/// So much more address space than the program has now.
void limitMemory() {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    std::uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    rlimit limit{};
    ::getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) + kBytes;
    ::setrlimit(RLIMIT_AS, &limit);
#endif
}

/// A copy of exactly the size, so that a read beyond the end is seen.
void run(const std::string& name, const std::string& how, const std::string& bytes) {
    std::snprintf(current, sizeof current, "the input was %s, %s\n", name.c_str(), how.c_str());
    ::alarm(kSeconds);
    const std::vector<std::uint8_t> exact(bytes.begin(), bytes.end());
    LLVMFuzzerTestOneInput(exact.data(), exact.size());
    ::alarm(0);
}

std::size_t replay(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), {}}, name = file.filename().string();
    run(name, "whole", bytes);
    const auto place = [&](std::size_t i, std::size_t n) { return i * bytes.size() / n; };
    const std::size_t cuts = std::min(kCuts, bytes.size()), changes = std::min(kChanges, bytes.size());
    for (std::size_t i = 0; i < cuts; ++i)
        run(name, "cut at " + std::to_string(place(i, cuts)), bytes.substr(0, place(i, cuts)));
    for (std::size_t i = 0; i < changes; ++i) {
        std::string changed = bytes;
        char& byte = changed[place(i, changes)];
        byte = static_cast<char>(byte ^ (1 << i % 8));
        run(name, "bit " + std::to_string(i % 8) + " of byte " + std::to_string(place(i, changes)), changed);
    }
    return 1 + cuts + changes;
}

}  // namespace

int main(int argc, char** argv) {
    for (const int signal : {SIGALRM, SIGABRT}) std::signal(signal, tellAndDie);
    if (__sanitizer_set_death_callback != nullptr) __sanitizer_set_death_callback(tell);
    std::vector<fs::path> files;
    for (int i = 1; i < argc; ++i) {
        if (!fs::is_directory(argv[i])) {
            files.emplace_back(argv[i]);
            continue;
        }
        for (const fs::directory_entry& entry : fs::directory_iterator(argv[i])) files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    limitMemory();
    std::size_t inputs = 0;
    for (const fs::path& file : files) inputs += replay(file);
    std::printf("%zu seeds, %zu inputs\n", files.size(), inputs);
    return files.empty() ? 1 : 0;
}
