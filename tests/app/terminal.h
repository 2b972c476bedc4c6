#pragma once
// The built program at a terminal, which a signal ends. Needs libutil.

#include <pty.h>
#include <unistd.h>

#include <csignal>

#include "tests/app/program.h"

namespace counterpoint::tests {

/// SIGINT as soon as the terminal that the program speaks to has shown `when`; what it showed by its end, with exit
/// code 1.
inline QByteArray interruptedProgram(const QStringList& arguments, const QByteArray& when) {
    int terminal = -1, side = -1;
    if (openpty(&terminal, &side, nullptr, nullptr, nullptr) != 0) return "no terminal";
    QProcess process;
    process.setProcessEnvironment(bareEnvironment());
    process.setChildProcessModifier([side] { dup2(side, STDERR_FILENO); });
    process.start(programPath(), arguments);
    const bool started = process.waitForStarted();
    close(side);
    QByteArray shown;
    char byte = 0;
    bool signalled = false;
    while (started && read(terminal, &byte, 1) == 1) {
        shown += byte;
        if (!signalled && shown.contains(when)) signalled = kill(static_cast<pid_t>(process.processId()), SIGINT) == 0;
    }
    close(terminal);
    process.waitForFinished();
    const bool as = signalled && process.exitStatus() == QProcess::NormalExit && process.exitCode() == 1;
    return as ? shown : "not as a signal ends it: " + shown;
}

}  // namespace counterpoint::tests
