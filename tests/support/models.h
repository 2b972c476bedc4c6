#pragma once
// Real language models, too large for the repository: $COUNTERPOINT_MODELS, or the folder "models" beside the checkout.
// Tests that need one skip where it is missing, and say so.

#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/support/fixture.h"

namespace counterpoint::tests {

inline std::filesystem::path models(const std::string& below = {}) {
    const char* given = std::getenv("COUNTERPOINT_MODELS");
    const std::filesystem::path root = given != nullptr ? std::filesystem::path(given) : checkout() / ".." / "models";
    return (root / below).lexically_normal();
}

}  // namespace counterpoint::tests

#define REQUIRE_MODEL(path)                                                                                       \
    do {                                                                                                          \
        if (!std::filesystem::exists(counterpoint::tests::models(path)))                                          \
            QSKIP(qPrintable(QStringLiteral("the models folder has no %1: this check did not run").arg(QString::fromStdString(std::string(path))))); \
    } while (false)
