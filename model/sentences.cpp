#include "model/sentences.h"

#include <array>

namespace counterpoint::model {

using std::string_view_literals::operator""sv;

namespace {

constexpr std::array kClosers = {"\""sv, "'"sv, ")"sv, "]"sv, "}"sv, "\u201D"sv, "\u2019"sv, "\u00BB"sv, "\u203A"sv};

/// What one of `ends` at the end of the text leaves of it; false: none stands there.
template <std::size_t N>
bool takeOff(std::string_view& text, const std::array<std::string_view, N>& ends) {
    for (const std::string_view end : ends)
        if (text.ends_with(end)) {
            text.remove_suffix(end.size());
            return true;
        }
    return false;
}

}  // namespace

bool endsSentence(std::string_view text) {
    while (text.ends_with(' ') || text.ends_with('\t')) text.remove_suffix(1);
    if (text.ends_with('\n') || text.ends_with('\r')) return true;
    while (takeOff(text, kClosers)) {
    }
    return text.ends_with('.') || text.ends_with('!') || text.ends_with('?');
}

std::vector<compute::Position> sentenceStarts(const std::vector<std::string>& tokenBytes) {
    std::vector<compute::Position> starts{0};
    for (std::size_t t = 0; t < tokenBytes.size(); ++t)
        if (endsSentence(tokenBytes[t])) starts.push_back(static_cast<compute::Position>(t) + 1);
    return starts;
}

}  // namespace counterpoint::model
