#pragma once
// Numbers as a person reads them, in plots' notes, tables and read-outs alike: a real minus sign, never "−0.00", "∞",
// "−∞", and "–" for not a number. Locale-free. Pure; thread: any.

#include <string>

namespace counterpoint::model {

/// `decimals` digits after the point. From 1e6 on and (where it would show only zeros) below the last digit: "1.2e−7".
std::string shownNumber(double value, int decimals = 3);
/// As narrow as four digits and a point: "0.1234", "12.35", "148.4", "4e−5".
std::string shownCell(double value);
/// All digits that matter: the shortest text that gives the same double.
std::string shownExact(double value);
/// "812 tokens/s", "1.4 tokens/s", "1 token/s".
std::string shownRate(double tokensPerSecond);

}  // namespace counterpoint::model
