// counterpoint [FILE…]: the window; counterpoint --screenshot FILE: the same window, offscreen, after the session's
// run.

#include <array>
#include <charconv>
#include <cstdlib>
#include <string>

#include "app/commands/functions.h"
#include "app/resources.h"
#include "app/window.h"
#include "compute/error.h"

namespace counterpoint::app {
namespace {

/// "1600x1000"
QSize sizeFrom(const std::string& text) {
    constexpr int largest = 16384;
    int width = 0, height = 0;
    const char* const end = text.data() + text.size();
    const auto [afterWidth, widthError] = std::from_chars(text.data(), end, width);
    if (widthError == std::errc() && afterWidth != end && *afterWidth == 'x') {
        const auto [afterHeight, heightError] = std::from_chars(afterWidth + 1, end, height);
        if (heightError == std::errc() && afterHeight == end && width > 0 && height > 0 && width <= largest &&
            height <= largest)
            return {width, height};
    }
    throw UsageError("--size takes WIDTHxHEIGHT in pixels, such as 1600x1000, not '" + text + "'");
}

bool displayThere() {
    for (const char* name : {"DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"})
        if (const char* value = std::getenv(name); value != nullptr && *value != '\0') return true;
    return false;
}

}  // namespace

}  // namespace counterpoint::app
