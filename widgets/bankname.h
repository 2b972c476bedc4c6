#pragma once
// How a file of priors is named: what ends like one is opened as a bank, and a bank is saved under such a name.

#include <filesystem>

namespace counterpoint::widgets {

/// Whether a file is a bank by its name; the name a bank is saved as: with the ending of one.
bool isBank(const std::filesystem::path& file);
std::filesystem::path bankPath(const std::filesystem::path& file);

/// `completed`: what the name that a person gave became with the ending it needs. The dialog asked about the name
/// alone: a file that stands under the completed one is not written over. Throws Error.
void requireFree(const std::filesystem::path& given, const std::filesystem::path& completed);

}  // namespace counterpoint::widgets
