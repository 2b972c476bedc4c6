#include "model/shownnumber.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

namespace counterpoint::model {
namespace {

constexpr const char* kMinus = "−";

/// As to_chars writes it, but "1e-07" as "1e−7" and "1e+06" as "1e6".
std::string proper(std::string_view digits) {
    std::string text;
    const std::size_t exponent = std::min(digits.find('e'), digits.size());
    for (const char c : digits.substr(0, exponent)) text += c == '-' ? kMinus : std::string(1, c);
    digits.remove_prefix(exponent);
    if (digits.empty()) return text;
    text += digits[1] == '-' ? std::string("e") + kMinus : "e";
    digits.remove_prefix(2);  // the sign is always written
    while (digits.size() > 1 && digits.front() == '0') digits.remove_prefix(1);
    return text.append(digits);
}

template <class... How>
std::string written(double value, How... how) {
    if (std::isnan(value)) return "–";
    if (std::isinf(value)) return value > 0 ? "∞" : "−∞";
    std::array<char, 400> buffer{};
    const double unsignedZero = value == 0 ? 0.0 : value;
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), unsignedZero, how...).ptr;
    return proper({buffer.data(), static_cast<std::size_t>(end - buffer.data())});
}

}  // namespace

std::string shownNumber(double value, int decimals) {
    const bool vanishes = value != 0 && std::abs(value) < 0.5 * std::pow(10.0, -decimals);
    if (std::abs(value) >= 1e6 || vanishes) return written(value, std::chars_format::scientific, 1);
    return written(value, std::chars_format::fixed, decimals);
}

std::string shownCell(double value) {
    const double size = std::abs(value);
    if (size >= 1e5 || (size > 0 && size < 0.5e-4)) return written(value, std::chars_format::scientific, 0);
    return shownNumber(value, size < 10 ? 4 : size < 100 ? 2 : size < 1000 ? 1 : 0);
}

std::string shownExact(double value) { return written(value); }

std::string shownRate(double tokensPerSecond) {
    constexpr double kSlow = 10;  // below it a whole number is too coarse
    std::string text = shownNumber(tokensPerSecond, tokensPerSecond < kSlow ? 1 : 0);
    if (text.ends_with(".0")) text.resize(text.size() - 2);
    return text + (text == "1" ? " token/s" : " tokens/s");
}

}  // namespace counterpoint::model
