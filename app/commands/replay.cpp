// counterpoint replay DIR: decodes again from DIR/session.json and says how far it agrees (SPEC.md 3).

#include <cstdio>

#include "app/commands/enginecall.h"
#include "app/commands/functions.h"
#include "app/interrupt.h"
#include "model/opensession.h"

namespace counterpoint::app {

int replayCommand(const Arguments& arguments) {
    Interrupt interrupt;  // first: from here on a signal is answered
    model::RunOptions options = engineOptions(arguments);
    if (!arguments.has("--device")) options.device.clear();  // the run's own
    options.stop = interrupt.token();
    interrupt.setLastWords(arguments.words[0] + ": ended by a second signal, before the replay was compared.");
    std::vector<std::string> known;  // keys that are told when the run was written
    tell("notice", model::codeNotices(
                       model::readSession(std::filesystem::path(arguments.words[0]) / "session.json", known)));
    ProgressLine line;
    options.progress = [&line](const model::Progress& progress) { line.show(progress); };
    const model::ReplayVerdict verdict = model::replay(arguments.words[0], options);
    line.erase();
    if (interrupt.asked())
        throw compute::Error({.where = arguments.words[0], .what = "the replay was stopped by a signal"});
    std::printf("%s\n", verdict.sentence.c_str());
    return verdict.kind == model::ReplayVerdict::Kind::Diverged ? 3 : 0;
}

}  // namespace counterpoint::app
