#pragma once
// attempt: the one function that turns a throw into a notice (HAZARDS A6). Every action, drop and timer of the window
// runs through it; nothing thrown reaches Qt's event loop. Returns whether `work` ended without a throw.
// Thread: the window thread.

#include <functional>

#include "model/document.h"

namespace counterpoint::widgets {

bool attempt(model::Document& document, const std::function<void()>& work);

}  // namespace counterpoint::widgets
