// counterpoint [FILE…]: the window; counterpoint --screenshot FILE: the same window, offscreen, after the session's
// run.

#include <QString>
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include "app/commands/enginecall.h"
#include "app/commands/functions.h"
#include "app/offscreen.h"
#include "app/perspectives.h"
#include "app/resources.h"
#include "app/window.h"
#include "compute/error.h"
#include "widgets/bankname.h"

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
    throw UsageError("--size takes WIDTHxHEIGHT, such as 1600x1000, not '" + text + "'");
}

bool displayThere() {
    for (const char* name : {"DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"})
        if (const char* value = std::getenv(name); value != nullptr && *value != '\0') return true;
    return false;
}

QtMessageHandler g_before = nullptr;

/// Qt ends a program whose display cannot be reached with three messages and an abort: one sentence and exit code 1
/// instead. Other messages go where they went, but for one about surroundings that are good enough.
void onQtMessage(QtMsgType kind, const QMessageLogContext& context, const QString& message) {
    const std::string_view category = context.category == nullptr ? "" : context.category;
    if (category.starts_with("qt.qpa.") && message.contains(QLatin1String("could not connect to display"))) return;
    if (category.starts_with("qt.qpa.") && message.contains(QLatin1String("the Qt platform plugin"))) return;
    // Qt makes a private folder by itself then (0700); one that others could read it still complains of.
    if (message.startsWith(QLatin1String("QStandardPaths: XDG_RUNTIME_DIR not set"))) return;
    if (kind != QtFatalMsg || !message.contains(QLatin1String("no Qt platform plugin could be initialized")))
        return g_before(kind, context, message);
    std::fputs(
        "counterpoint: the display for the window cannot be reached (see DISPLAY, WAYLAND_DISPLAY and "
        "QT_QPA_PLATFORM); "
        "'counterpoint run' and '--screenshot' work without one.\n",
        stderr);
    std::_Exit(1);
}

}  // namespace

int windowCommand(const Arguments& arguments) {
    WindowOptions options;
    options.screenshot = arguments.value("--screenshot");
    if (arguments.has("--screenshot")) {
        const std::string ending = std::filesystem::path(arguments.required("--screenshot")).extension().string();
        if (!ending.empty() && QString::fromStdString(ending).compare(QLatin1String(".png"), Qt::CaseInsensitive) != 0)
            throw UsageError("--screenshot writes PNG: give a name that ends in .png, not in " + ending);
    }
    if (arguments.has("--size")) options.size = sizeFrom(arguments.value("--size"));
    options.theme = arguments.value("--theme");
    if (arguments.has("--theme") && options.theme != "light" && options.theme != "dark")
        throw UsageError("--theme takes light or dark, not '" + options.theme + "'");
    options.perspective = arguments.value("--perspective");
    const QStringList perspectives = Perspectives::names();
    if (arguments.has("--perspective") && !perspectives.contains(QString::fromStdString(options.perspective)))
        throw UsageError("--perspective takes " + perspectives.join(QStringLiteral(", ")).toStdString() + ", not '" +
                         options.perspective + "'");
    options.device = deviceFrom(arguments);
    options.reportFirstPaint = arguments.has("--first-paint");
    for (const std::string& word : arguments.words) {
        if (!std::filesystem::exists(word))
            throw compute::Error({.where = word, .what = "there is no such file, and no such command"});
        options.files.emplace_back(word);
    }
    // Nothing, or banks alone: they are put into the demo session.
    if (std::ranges::all_of(options.files, widgets::isBank)) options.files.insert(options.files.begin(), demoSession());

    std::optional<Offscreen> surroundings;
    if (!options.screenshot.empty())
        surroundings.emplace();
    else if (!displayThere())
        throw compute::Error({.what = "there is no display for the window (neither DISPLAY nor WAYLAND_DISPLAY is set)",
                              .advice = "'counterpoint run' and '--screenshot' work without one"});
    else
        g_before = qInstallMessageHandler(onQtMessage);
    int count = 1;
    std::array<char, 13> name{"counterpoint"};
    std::array<char*, 2> words{name.data(), nullptr};
    return runWindow(options, count, words.data());
}

}  // namespace counterpoint::app
