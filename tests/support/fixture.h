#pragma once
// What every test shares: any qWarning fails it, the shared folder beside the project, a scratch folder.

#include <QDir>
#include <QRegularExpression>
#include <QTemporaryDir>
#include <QTest>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/folders.h"

namespace counterpoint::tests {

/// ../shared beside the checkout (or $COUNTERPOINT_SHARED): real models, golden values. Tests that need it skip where it is missing.
inline std::filesystem::path shared(const std::string& below = {}) {
    const char* given = std::getenv("COUNTERPOINT_SHARED");
    const std::filesystem::path root = given != nullptr ? std::filesystem::path(given) : checkout() / ".." / "shared";
    return (root / below).lexically_normal();
}

/// Call in init(): any warning fails the test (but what the offscreen platform says of itself).
inline void failOnAnyWarning() {
    QTest::failOnWarning(QRegularExpression(QStringLiteral("^(?!This plugin does not support )")));
}

/// Sentences, one a line.
inline QString joined(const std::vector<std::string>& sentences) {
    QStringList list;
    for (const std::string& s : sentences) list << QString::fromStdString(s);
    return list.join('\n');
}

}  // namespace counterpoint::tests

/// Skips, saying so, where the shared file is missing.
#define REQUIRE_SHARED(path)                                                                                      \
    do {                                                                                                          \
        if (!std::filesystem::exists(counterpoint::tests::shared(path)))                                          \
            QSKIP(qPrintable(QStringLiteral("the shared folder has no %1: this check did not run").arg(QString::fromStdString(std::string(path))))); \
    } while (false)
