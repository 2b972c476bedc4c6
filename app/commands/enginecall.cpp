#include "app/commands/enginecall.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "compute/printable.h"

namespace counterpoint::app {

std::string deviceFrom(const Arguments& arguments) {
    const std::string given = arguments.value("--device", "cpu");
    const std::string_view device = given;
    const std::string_view index = device.starts_with("cuda:") ? device.substr(5) : std::string_view();
    const bool indexed = !index.empty() && index.size() <= 3 && index.find_first_not_of("0123456789") == index.npos;
    if (device != "cpu" && device != "cuda" && !indexed)
        throw UsageError("--device takes cpu, cuda or cuda:N, not '" + given + "'");
    return given;
}

model::RunOptions engineOptions(const Arguments& arguments) {
    model::RunOptions options;
    options.device = deviceFrom(arguments);
    options.dtype = arguments.value("--dtype");
    constexpr std::array<std::string_view, 3> dtypes{"float32", "bfloat16", "float16"};
    if (arguments.has("--dtype") && std::find(dtypes.begin(), dtypes.end(), options.dtype) == dtypes.end())
        throw UsageError("--dtype takes float32, bfloat16 or float16, not '" + options.dtype + "'");
    options.threads = static_cast<int>(arguments.integer("--threads", 1, 1024).value_or(0));
    return options;
}

ProgressLine::ProgressLine() : m_terminal(isatty(STDERR_FILENO) == 1) {}
ProgressLine::~ProgressLine() { erase(); }

void ProgressLine::show(const model::Progress& progress) {
    if (!m_terminal) return;
    std::string line = progress.what;
    if (progress.fraction >= 0)
        line += ", " + std::to_string(static_cast<int>(100 * std::min(progress.fraction, 1.0))) + " %";
    if (!progress.rate.empty()) line += ", " + progress.rate;
    std::fprintf(stderr, "\r\033[K%s", line.c_str());
    m_shown = true;
}

void ProgressLine::erase() {
    if (m_shown) std::fputs("\r\033[K", stderr);
    m_shown = false;
}

void print(const compute::OrderedJson& json) {
    using Json = compute::OrderedJson;
    std::fputs((json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n").c_str(), stdout);
}

void tell(std::string_view kind, const std::vector<std::string>& sentences) {
    for (const std::string& sentence : sentences)
        std::fprintf(stderr, "counterpoint: %.*s: %s\n", static_cast<int>(kind.size()), kind.data(),
                     compute::printable(sentence).c_str());
}

}  // namespace counterpoint::app
