#pragma once
// Waiting in tests: for something that comes, however busy the machine is. The bound is for what never comes; nothing
// is measured by it.

#include <QtTest>

namespace counterpoint::tests {
inline constexpr int kPatienceMs = 60'000;
}

#define WAIT_UNTIL(condition) QTRY_VERIFY_WITH_TIMEOUT(condition, ::counterpoint::tests::kPatienceMs)
#define WAIT_UNTIL2(condition, message) \
    QTRY_VERIFY2_WITH_TIMEOUT(condition, message, ::counterpoint::tests::kPatienceMs)
#define WAIT_UNTIL_EQUAL(found, expected) QTRY_COMPARE_WITH_TIMEOUT(found, expected, ::counterpoint::tests::kPatienceMs)
