// counterpoint run SESSION --out DIR: decodes or scores a session to its end and writes its run directory (SPEC.md 2,
// 3).

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "app/commands/enginecall.h"
#include "app/commands/figures.h"
#include "app/commands/functions.h"
#include "app/interrupt.h"

namespace counterpoint::app {
namespace {

constexpr std::array<std::string_view, 2> kDumps{"log_prob", "sources"};

/// Before an hour of decoding rather than after it.
void requireWritable(const std::filesystem::path& folder) {
    model::requireRunDirectory(folder);
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    std::string why;
    if (error)
        why = error.message();
    else if (access(folder.c_str(), W_OK | X_OK) != 0)
        why = std::strerror(errno);
    if (!why.empty())
        throw compute::Error({.where = folder.string(), .what = "the run directory cannot be written: " + why});
}

}  // namespace

int runCommand(const Arguments& arguments) {
    const std::filesystem::path out = arguments.required("--out");
    model::RunOptions options = engineOptions(arguments);
    options.dumps = arguments.list("--dump", kDumps);
    const std::set<std::string> formats = figureFormats(arguments, "--figures");

    std::vector<std::string> warnings;
    const model::Session session = model::readSession(arguments.words[0], warnings);
    tell("warning", warnings);
    requireWritable(out);

    const Interrupt interrupt;
    options.stop = interrupt.token();
    ProgressLine line;
    options.progress = [&line](const model::Progress& progress) { line.show(progress); };
    const model::RunResult result = model::runSession(session, options);
    line.erase();
    tell("notice", result.notices);

    model::writeRun(result, out, options.dumps);
    if (!formats.empty()) writeFigures(result.trace, formats, out / "figures");

    if (result.failure) model::raise(*result.failure);
    const std::string steps = std::to_string(result.trace.steps.size()) + " steps";
    if (interrupt.asked())
        throw compute::Error(
            {.where = out.string(), .what = "stopped by a signal after " + steps + "; they are written there"});
    std::printf("%s: %s, %.0f tokens/s, stopped by %s\n", out.c_str(), steps.c_str(), result.trace.tokensPerSecond,
                result.trace.stop.c_str());
    return 0;
}

}  // namespace counterpoint::app
