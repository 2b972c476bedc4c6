// counterpoint route RECORDING|RUN: what the dials of R11 do to stored router logits, as JSON (SPEC.md 3).

#include <algorithm>
#include <cmath>
#include <limits>
#include <thread>

#include "app/commands/enginecall.h"
#include "app/commands/functions.h"
#include "app/interrupt.h"
#include "model/routereport.h"

namespace counterpoint::app {
namespace {

/// A dial from 0 to 1 that must be given.
double share(const Arguments& arguments, std::string_view option) {
    (void)arguments.required(option);
    return *arguments.real(option, "a number from 0 to 1", [](double x) { return x >= 0 && x <= 1; });
}

double factor(const Arguments& arguments, std::string_view option) {
    return arguments.real(option, "a number above 0", [](double x) { return x > 0 && std::isfinite(x); }).value_or(1);
}

model::RouteDials dialsFrom(const Arguments& arguments) {
    model::RouteDials dials;
    dials.source = arguments.value("--source");
    dials.rho = share(arguments, "--rho");
    dials.alpha = share(arguments, "--alpha");
    for (const char* needed : {"--window", "--draws"}) (void)arguments.required(needed);
    dials.window = *arguments.integer("--window", 1, std::numeric_limits<std::int32_t>::max());
    dials.draws = static_cast<int>(*arguments.integer("--draws", 2, 1'000'000));  // one draw has no error
    dials.seed = arguments.seed("--seed").value_or(7);
    dials.routerTemperature = factor(arguments, "--router-temperature");
    dials.capacity = factor(arguments, "--capacity");
    if (arguments.has("--source") && dials.source.empty()) throw UsageError("--source needs the name of a source");
    if (arguments.has("--pairs")) (void)arguments.required("--pairs");
    return dials;
}

}  // namespace

int routeCommand(const Arguments& arguments) {
    Interrupt interrupt;  // first: from here on a signal is answered
    model::RouteDials dials = dialsFrom(arguments);
    const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    const int threads = static_cast<int>(arguments.integer("--threads", 1, 1024).value_or(cores));
    const compute::Recording recording = compute::readRecording(model::recordingOf(arguments.words[0]));
    const auto positions = static_cast<compute::Position>(recording.tokens.size());
    dials.bias =
        model::switchedIn(arguments.words[0], dials.source.empty() ? recording.sources.front().name : dials.source);
    if (dials.window > positions)
        tell("notice", {"--window " + std::to_string(dials.window) + " is longer than the text of " +
                        std::to_string(positions) + " positions, which is one group"});
    if (arguments.has("--pairs")) {
        const auto last = compute::groupAt(compute::windowsOf(dials.window), positions - 1);
        dials.pairs = model::readPairs(arguments.required("--pairs"), last.group + 1);
    }
    ProgressLine line;
    const auto report = model::routeReport(
        recording, dials, threads, [&line](const model::Progress& progress) { line.show(progress); },
        interrupt.token());
    line.erase();
    if (!report)
        throw compute::Error({.where = recording.file.string(), .what = "stopped by a signal; nothing is reported"});
    print(toJson(*report));
    return 0;
}

}  // namespace counterpoint::app
