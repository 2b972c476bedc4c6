#pragma once
// Where the files the program ships lie: `resources` beside the folder of its modules, wherever it is started from.
// Thread: any.

#include <filesystem>

namespace counterpoint::app {

std::filesystem::path resourceFolder();
/// resources/demo/demo.session.json; opened when nothing else is.
std::filesystem::path demoSession();

}  // namespace counterpoint::app
