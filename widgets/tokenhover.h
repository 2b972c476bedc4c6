#pragma once
// What is said of a token under the mouse: its bytes, id and position, its log-probability under every source and stage
// (R2), what the diagnostics say (R5). Rich text. Thread: any.

#include <QString>

#include "model/trace.h"

namespace counterpoint::widgets {

QString tokenHover(const model::Trace& trace, std::size_t index);

}  // namespace counterpoint::widgets
