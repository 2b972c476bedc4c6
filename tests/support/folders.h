#pragma once
// The checkout and the folder it was built in. Functions and not macros: a test is then the same text in every
// checkout, and ccache knows it again.

#include <filesystem>

namespace counterpoint::tests {

std::filesystem::path checkout();
std::filesystem::path buildFolder();

}  // namespace counterpoint::tests
