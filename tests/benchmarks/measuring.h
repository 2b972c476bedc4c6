#pragma once
// What every benchmark needs: a clock, the median, this process's memory, the machine's load.

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

namespace counterpoint::benchmarks {

inline double seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

template <class Work>
double timeOf(const Work& work) {
    const double start = seconds();
    work();
    return seconds() - start;
}

inline double median(std::vector<double> x) {
    std::nth_element(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2), x.end());
    return x[x.size() / 2];
}

/// MB of this process: "RssAnon" (its own memory), "RssFile" (mapped files).
inline double residentMegabytes(const std::string& key) {
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;)
        if (word == key + ":") {
            double kilobytes = 0;
            status >> kilobytes;
            return kilobytes / 1024;
        }
    return 0;
}

inline double load() {
    double average = 0;
    (void)getloadavg(&average, 1);
    return average;
}

}  // namespace counterpoint::benchmarks
