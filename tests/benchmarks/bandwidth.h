#pragma once
// The limit of what is bound by memory: a plain read of it, on as many threads.

#include <cstdint>
#include <iostream>
#include <numeric>
#include <thread>
#include <vector>

#include "tests/benchmarks/measuring.h"

namespace counterpoint::benchmarks {

/// The shortest of several runs: what the machine can do when it is let.
template <class Work>
double best(int runs, Work&& work) {
    double shortest = 1e300;
    for (int i = 0; i < runs; ++i) shortest = std::min(shortest, timeOf(work));
    return shortest;
}

inline std::uint64_t readAll(const std::vector<std::uint64_t>& memory, std::size_t from, std::size_t to) {
    std::uint64_t sums[16] = {};
    for (std::size_t i = from; i + 16 <= to; i += 16)
        for (std::size_t j = 0; j < 16; ++j) sums[j] += memory[i + j];
    return std::accumulate(std::begin(sums), std::end(sums), std::uint64_t{0});
}

/// GB a second.
inline double readBandwidth(const std::vector<std::uint64_t>& memory, int threads) {
    std::vector<std::uint64_t> results(static_cast<std::size_t>(threads));
    const std::size_t share = memory.size() / static_cast<std::size_t>(threads);
    const double t = best(7, [&] {
        std::vector<std::jthread> others;
        for (std::size_t i = 0; i < results.size(); ++i)
            others.emplace_back([&, i] { results[i] = readAll(memory, i * share, (i + 1) * share); });
    });
    if (std::accumulate(results.begin(), results.end(), std::uint64_t{0}) == 1) std::cerr << ' ';  // the sums are used
    return static_cast<double>(memory.size()) * 8e-9 / t;
}

}  // namespace counterpoint::benchmarks
