#pragma once
// How the rules of routing refuse a value: one sentence that names its key. Internal to this folder. Thread: any.

#include <charconv>
#include <string>

#include "compute/error.h"

namespace counterpoint::compute::routing {

/// The shortest decimal that reads back the same, with a dot in every locale.
inline std::string written(double x) {
    char text[32];
    return {text, std::to_chars(text, text + sizeof text, x).ptr};
}

[[noreturn]] inline void refuse(const std::string& where, std::string what, std::string expected, std::string found) {
    throw Error({.where = "routing, " + where,
                 .what = std::move(what),
                 .expected = std::move(expected),
                 .found = std::move(found)});
}

}  // namespace counterpoint::compute::routing
