#pragma once
// The command table: one row and one function a command; --help, the dispatch and the tests follow from the rows.
// A function returns the exit code (SPEC.md 3): 0 done, 3 replay diverged; 1 (an error) and 2 (wrong usage) come as
// exceptions. Thread: main.

#include "app/arguments.h"

namespace counterpoint::app {

struct Command {
    std::string_view name;   ///< empty: the window
    std::string_view words;  ///< "SESSION", for the help
    std::size_t minimumWords, maximumWords;
    std::span<const Option> options;
    std::string_view help;
    int (*run)(const Arguments& arguments);
};

std::span<const Command> commands();
/// The whole text of --help.
std::string helpText();
/// Finds the row and runs it. `given`: the arguments without the program's name.
int dispatch(std::span<const std::string> given);

}  // namespace counterpoint::app
