// counterpoint run SESSION --out DIR: decodes or scores a session to its end and writes its run directory (SPEC.md 2,
// 3).

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "app/commands/enginecall.h"
#include "app/commands/figures.h"
#include "app/commands/functions.h"
#include "app/interrupt.h"
#include "model/opensession.h"

namespace counterpoint::app {
namespace {

constexpr std::array<std::string_view, 2> kDumps{"log_prob", "sources"};

/// The run directory, made before an hour of decoding rather than after it; what was made for nothing goes again.
class RunFolder {
  public:
    explicit RunFolder(const std::filesystem::path& folder) {
        model::requireRunDirectory(folder);
        std::filesystem::path above = std::filesystem::absolute(folder).lexically_normal();
        for (; !std::filesystem::exists(above, m_error) && above != above.parent_path(); above = above.parent_path())
            m_made.push_back(above);
        std::filesystem::create_directories(folder, m_error);
        std::string why;
        if (m_error)
            why = m_error.message();
        else if (access(folder.c_str(), W_OK | X_OK) != 0)
            why = std::strerror(errno);
        if (why.empty()) return;
        clear();
        throw compute::Error({.where = folder.string(), .what = "the run directory cannot be written: " + why});
    }
    ~RunFolder() { clear(); }
    RunFolder(const RunFolder&) = delete;
    RunFolder& operator=(const RunFolder&) = delete;

  private:
    /// Folders that hold something by now stay.
    void clear() {
        for (const std::filesystem::path& folder : m_made) std::filesystem::remove(folder, m_error);
    }

    std::error_code m_error;
    std::vector<std::filesystem::path> m_made;  ///< deepest first
};

/// "45 steps, 3210 tokens/s, stopped by limit"; in score mode nothing is drawn, so nothing stops it.
std::string summaryOf(const model::Trace& trace) {
    std::array<char, 32> rate{};
    std::snprintf(rate.data(), rate.size(), "%.0f", trace.tokensPerSecond);
    if (trace.session.mode == model::Mode::Score) {
        const auto scored = std::count_if(trace.steps.begin(), trace.steps.end(),
                                          [](const model::StepPtr& step) { return step->token != compute::kNoToken; });
        return "scored " + std::to_string(scored) + " tokens, " + rate.data() + " positions/s";
    }
    return std::to_string(trace.steps.size()) + " steps, " + rate.data() + " tokens/s, stopped by " + trace.stop;
}

}  // namespace

int runCommand(const Arguments& arguments) {
    Interrupt interrupt;  // first: from here on a signal is answered
    if (arguments.words[0].empty()) throw UsageError("the name of the session is empty");
    const std::filesystem::path out = arguments.required("--out");
    model::RunOptions options = engineOptions(arguments);
    options.dumps = arguments.list("--dump", kDumps);
    const std::set<std::string> formats = figureFormats(arguments, "--figures");

    std::vector<std::string> warnings;
    const model::Session session = model::openSession(arguments.words[0], warnings);
    tell("warning", warnings);
    model::requireSourcesOutside(session, out);
    const RunFolder folder(out);
    tell("notice", model::codeNotices(session));  // before the first of it runs
    interrupt.setLastWords(out.string() + ": ended by a second signal, before the run was written there whole.");

    options.stop = interrupt.token();
    ProgressLine line;
    options.progress = [&line](const model::Progress& progress) { line.show(progress); };
    const model::RunResult result = model::runSession(session, options);
    line.erase();
    tell("notice", result.notices);

    const bool stopped = result.trace.stop == "user";  // a signal after the last step stops nothing
    std::error_code none;
    if (stopped && result.trace.steps.empty() && std::filesystem::exists(out / "summary.json", none))
        throw compute::Error({.where = out.string(),
                              .what = "stopped by a signal before the first step; the earlier run is there as it was"});
    const auto figures = [&] {
        if (!formats.empty()) tell("notice", writeFigures(result.trace, formats, out / "figures"));
    };
    tell("notice", model::writeRun(result, out, options.dumps, figures));

    if (result.failure) model::raise(*result.failure, session);
    if (stopped)
        throw compute::Error({.where = out.string(),
                              .what = "stopped by a signal after " + std::to_string(result.trace.steps.size()) +
                                      " steps; they are written there"});
    std::printf("%s: %s\n", out.c_str(), summaryOf(result.trace).c_str());
    return 0;
}

}  // namespace counterpoint::app
