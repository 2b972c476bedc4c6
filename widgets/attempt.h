#pragma once
// attempt: the one function that turns a throw into a notice (HAZARDS A6). Every action, drop and timer of the window
// runs through it; nothing thrown reaches Qt's event loop. Returns whether `work` ended without a throw. `about`: the
// operation; its next outcome, good or bad, takes the place of the last one's notice.
// Thread: the window thread.

#include <functional>
#include <string>

#include "model/document.h"

namespace counterpoint::widgets {

bool attempt(model::Document& document, const std::function<void()>& work, const std::string& about = {});

}  // namespace counterpoint::widgets
