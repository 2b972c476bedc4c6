// Counterpoint: arguments before anything else, so that only the window needs a display; every failure one line.

#include <QHashSeed>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <vector>

#include "app/commands/commands.h"
#include "compute/error.h"
#include "compute/files/filesystemerror.h"
#include "compute/printable.h"
#include "compute/version.h"
#include "stamp.h"

namespace {

int fail(int code, std::string_view sentence) {
    std::fprintf(stderr, "counterpoint: %s\n", counterpoint::compute::printable(sentence).c_str());
    return code;
}

}  // namespace

int main(int argc, char** argv) {
    if (std::strcmp(counterpoint::compute::stamp(), COUNTERPOINT_STAMP) != 0)
        return fail(1, std::string("libcompute.so belongs to another build of the program (expected ") +
                           COUNTERPOINT_STAMP + ", found " + counterpoint::compute::stamp() +
                           "); build program and library together.");
    std::signal(SIGXFSZ, SIG_IGN);            // a limit on the size of files is then said as any other failure to write
    QHashSeed::setDeterministicGlobalSeed();  // equal figures need equal hash order; must precede every QHash
    const std::vector<std::string> given(argv + std::min(argc, 1), argv + argc);
    int code = 0;
    try {
        code = counterpoint::app::dispatch(given);
    } catch (const counterpoint::app::UsageError& error) {
        code = fail(2, std::string(error.what()) + "; see 'counterpoint --help'.");
    } catch (const std::bad_alloc&) {
        code = fail(1, "there is not enough memory for this.");
    } catch (const std::filesystem::filesystem_error& error) {
        code = fail(1, counterpoint::compute::sentenceOf(error));
    } catch (const std::exception& error) {
        code = fail(1, error.what());
    } catch (...) {
        code = fail(1, "something failed without saying what.");
    }
    // Output that could not be written (a full disk behind a redirection) is a failure too.
    const bool whole = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;  // a long text fails before the flush
    if (!whole && code == 0) code = fail(1, "standard output could not be written.");
    // Not by way of exit(): the destructors of libtorch's tables take long, and all that was ours is closed by now.
    std::_Exit(code);
}
