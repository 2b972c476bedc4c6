#pragma once
// Dial ids to the session's fields: the one table between DialSpec and the session. Thread: any (values).
// Errors: Error when no dial has that id or the value is outside its bounds.

#include <cstdint>
#include <string_view>

#include "model/session.h"

namespace counterpoint::widgets {

struct DialValue {
    double real = 0;            ///< reals, choices (index), switches (0, 1)
    std::uint64_t integer = 0;  ///< whole numbers, exact to 64 bits
    bool on = true;             ///< optional dials: false = off
    int choice = 0;             ///< numbers with choices: index of the kind of limit
    bool operator==(const DialValue&) const = default;
};

DialValue dialValue(const model::Session& session, std::string_view id);
void setDialValue(model::Session& session, std::string_view id, const DialValue& value);

}  // namespace counterpoint::widgets
