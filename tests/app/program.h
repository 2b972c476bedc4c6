#pragma once
// The built program as a child: what it prints, what it returns, in which surroundings.

#include <QFile>
#include <QProcess>

#include "tests/support/fixture.h"

namespace counterpoint::tests {

struct Finished {
    int code = -1;
    QByteArray out, err;
    /// Lines of standard error.
    qsizetype errorLines() const { return err.count('\n'); }
};

/// A path below the checkout, or below the folder it was built in.
inline QString inCheckout(const char* below) { return QString::fromStdString((checkout() / below).string()); }
inline QString inBuild(const char* below) { return QString::fromStdString((buildFolder() / below).string()); }

inline QString programPath() { return inBuild("bin/counterpoint"); }

/// Surroundings without a display, as on a cluster node. `changes`: "NAME=value" sets, "NAME" removes.
inline QProcessEnvironment bareEnvironment(const QStringList& changes = {}) {
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    QStringList all{QStringLiteral("DISPLAY"), QStringLiteral("WAYLAND_DISPLAY"), QStringLiteral("QT_QPA_PLATFORM"),
                    QStringLiteral("LC_ALL=C")};
    all += changes;
    for (const QString& change : all) {
        const qsizetype equals = change.indexOf(QLatin1Char('='));
        if (equals < 0)
            environment.remove(change);
        else
            environment.insert(change.left(equals), change.mid(equals + 1));
    }
    return environment;
}

inline Finished runProgram(const QStringList& arguments, const QStringList& changes = {}) {
    QProcess process;
    process.setProcessEnvironment(bareEnvironment(changes));
    process.start(programPath(), arguments);
    Finished finished;
    if (!process.waitForFinished(300'000) || process.exitStatus() != QProcess::NormalExit) {
        process.kill();
        process.waitForFinished();
        finished.err = "the program crashed or did not end: " + process.readAllStandardError();
        return finished;
    }
    finished.code = process.exitCode();
    finished.out = process.readAllStandardOutput();
    finished.err = process.readAllStandardError();
    return finished;
}

inline QByteArray contents(const QString& path) {
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

inline void write(const QString& path, const QByteArray& bytes) {
    QFile file(path);
    if (!file.open(QIODevice::WriteOnly) || file.write(bytes) != bytes.size())
        qFatal("cannot write %s", qPrintable(path));
}

}  // namespace counterpoint::tests

/// The exit code, with what the program said where it is another.
#define COMPARE_CODE(finished, expected)    \
    QVERIFY2((finished).code == (expected), \
             ((finished).out + (finished).err + "exit code " + QByteArray::number((finished).code)).constData())
