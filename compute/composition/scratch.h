#pragma once
// Rows of float64 that a step needs between its parts; one set per thread, warm after the first step of a width.

#include <cstddef>
#include <vector>

namespace counterpoint::compute {

struct Scratch {
    std::vector<double> score;
    double* row(std::size_t n) {
        if (score.size() < n) score.resize(n);
        return score.data();
    }
};

inline Scratch& scratch() {
    thread_local Scratch warm;
    return warm;
}

}  // namespace counterpoint::compute
