#pragma once
// Random text of many scripts, the same for the same seed on every machine.

#include <cstdint>
#include <random>
#include <string>

#include "compute/text/utf8.h"

namespace counterpoint::tests {

inline std::string randomText(std::mt19937& random, int length) {
    struct Range {
        std::uint32_t first, last;
    };
    // Twice as likely: plain English, so that merges happen.
    constexpr Range kRanges[] = {{'a', 'z'},       {'a', 'z'},       {' ', ' '},         {' ', ' '},
                                 {'A', 'Z'},       {'!', '~'},       {'\n', '\n'},       {'\t', '\t'},
                                 {0xC0, 0x24F},    {0x370, 0x3FF},   {0x400, 0x45F},     {0x5D0, 0x5EA},
                                 {0x627, 0x64A},   {0x905, 0x939},   {0xE01, 0xE30},     {0x4E00, 0x9FA5},
                                 {0xAC00, 0xD7A3}, {0x2000, 0x206F}, {0x1F300, 0x1F64F}, {0x300, 0x36F}};
    constexpr const char* kWords[] = {"Once upon a time", " the", " little", " girl", " Lily", "Tim",
                                      " happy",           ".\n",  "  ",      "'s"};
    std::string text;
    for (int i = 0; i < length; ++i) {
        if (random() % 4 == 0) {
            text += kWords[random() % std::size(kWords)];
            continue;
        }
        const Range range = kRanges[random() % std::size(kRanges)];
        compute::utf8::append(text, range.first + random() % (range.last - range.first + 1));
    }
    return text;
}

}  // namespace counterpoint::tests
