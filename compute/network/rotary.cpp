#include "compute/network/rotary.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace counterpoint::network {

std::vector<double> plainFrequencies(double base, std::int64_t n) {
    std::vector<double> frequencies;
    for (std::int64_t i = 0; i < n; ++i)
        frequencies.push_back(std::pow(base, -static_cast<double>(i) / static_cast<double>(n)));
    return frequencies;
}

void scale(const Llama3Scaling& by, Rotary& rotary) {
    for (double& f : rotary.frequencies) {
        const double turns = by.N * f / (2.0 * std::numbers::pi);  // N / wavelength
        const double share = std::clamp((turns - by.low) / (by.high - by.low), 0.0, 1.0);
        f = (1.0 - share) * f / by.s + share * f;
    }
}

void scale(const YarnScaling& by, Rotary& rotary) {
    const auto n = static_cast<double>(rotary.frequencies.size());
    const auto channelOf = [&](double turns) {  // the channel that turns so often within N positions
        return n * std::log(by.N / (turns * 2.0 * std::numbers::pi)) / std::log(rotary.base);
    };
    double from = channelOf(by.fast), to = channelOf(by.slow);
    if (by.wholeEnds) {
        from = std::floor(from);
        to = std::ceil(to);
    }
    from = std::max(from, 0.0);
    to = std::min(to, 2.0 * n - 1.0);
    if (from == to) to += 0.001;
    double i = 0.0;
    for (double& f : rotary.frequencies) {
        const double share = std::clamp((i - from) / (to - from), 0.0, 1.0);
        f = share * f / by.s + (1.0 - share) * f;
        i += 1.0;
    }
}

void prepareAngles(const Rotary& rotary, std::int64_t first, std::int64_t T, Angles& angles) {
    const std::size_t n = rotary.frequencies.size();
    angles.cosine.resize(static_cast<std::size_t>(T) * n);
    angles.sine.resize(angles.cosine.size());
    std::vector<double> stretched;
    for (std::int64_t t = 0; t < T; ++t) {
        const double position = static_cast<double>(first + t);
        const std::vector<double>* frequencies = &rotary.frequencies;
        if (rotary.dynamic > 0.0 && first + t >= rotary.original) {
            const double s = rotary.dynamic, share = (position + 1.0) / static_cast<double>(rotary.original);
            const double power = static_cast<double>(n) / (static_cast<double>(n) - 1.0);
            stretched =
                plainFrequencies(rotary.base * std::pow(s * share - s + 1.0, power), static_cast<std::int64_t>(n));
            frequencies = &stretched;
        }
        for (std::size_t i = 0; i < n; ++i) {
            const double angle = position * (*frequencies)[i];
            const std::size_t at = static_cast<std::size_t>(t) * n + i;
            angles.cosine[at] = static_cast<float>(std::cos(angle) * rotary.factor);
            angles.sine[at] = static_cast<float>(std::sin(angle) * rotary.factor);
        }
    }
}

}  // namespace counterpoint::network
