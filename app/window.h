#pragma once
// The window as a function: what main calls after it has read the arguments. Makes the QApplication, sets LC_NUMERIC
// back to "C" (HAZARDS A1), shows the window, and opens files only after the first paint. With `screenshot` the session
// runs to its end and the window is grabbed to a PNG (the platform, offscreen, is the caller's choice).
// Returns the exit code; throws Error when a screenshot's session fails. Thread: main.

#include <QSize>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "compute/sources/source.h"
#include "model/document.h"

namespace counterpoint::app {

struct WindowOptions {
    std::vector<std::filesystem::path> files;  ///< a session or model first; further model folders join the rack
    std::filesystem::path screenshot;          ///< empty: a window for a person
    QSize size;                                ///< empty: as it was left, else 1440 × 900
    std::string theme;                         ///< "light", "dark"; empty: as it was left
    std::string perspective;                   ///< "Compose", …; empty: as it was left
    std::string device = "cpu";
    /// Prints {"first_paint_ms": x, "monotonic_ns": t} and ends: x since exec by the kernel's clock of 10 ms steps; t
    /// the moment itself, for a benchmark that knows when it called exec.
    bool reportFirstPaint = false;
};

/// How the window opens a source: on the decode lane, which from then on steps back where the window wants the same
/// core (a person sees a late frame, not a late token). What the sources compute on inherits it.
std::unique_ptr<compute::Source> openBehindTheWindow(const std::filesystem::path& path,
                                                     const compute::OpenOptions& options, std::stop_token stop);

/// Waits until the analysis lane has answered all that was asked of it and the drift without the prior that is looked
/// at is in the trace; `most` at the longest, or until `givenUp` says so. Whether it came to that.
bool waitForAnalysis(model::Document& document, std::chrono::milliseconds most,
                     const std::function<bool()>& givenUp = {});

int runWindow(const WindowOptions& options, int& argc, char** argv);

}  // namespace counterpoint::app
