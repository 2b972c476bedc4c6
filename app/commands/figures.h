#pragma once
// Figures of a run, drawn without a display: every diagnostic of the trace dock and, with priors, of their banks, each with its CSV and its recipe
// beside it. Thread: main. Errors: compute::Error naming the file; UsageError for a format that is not known.

#include <filesystem>
#include <functional>

#include "app/arguments.h"
#include "model/trace.h"

namespace counterpoint::app {

/// The comma list of `option`: pdf, svg, png. Empty when it is not given.
std::set<std::string> figureFormats(const Arguments& arguments, std::string_view option);

/// Calls `draw` where Qt draws without a display. Once in a program's life.
void withoutDisplay(const std::function<void()>& draw);

/// FOLDER/ID.FORMAT for each diagnostic and format, FOLDER/ID.csv and FOLDER/ID.json. Returns a sentence for each
/// figure that is left out because there is nothing to draw.
std::vector<std::string> writeFigures(const model::Trace& trace, const std::set<std::string>& formats,
                                      const std::filesystem::path& folder);

}  // namespace counterpoint::app
