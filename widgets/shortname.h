#pragma once
// A name is a person's own and may be as long as a page: where it stands among other words it has at most so many
// letters, the ends of it around "…", because names of one family differ there. Pure; thread: any.

#include <QString>
#include <string>

namespace counterpoint::widgets {

constexpr int kNameLetters = 40;    ///< in menus, lists, hovers' tables
constexpr int kHoverLetters = 300;  ///< where the whole name is told

/// UTF-8 of the other rooms as the window has it.
inline QString words(const std::string& text) { return QString::fromStdString(text); }
/// The same for a name or another text of a file that stands in a sentence or a heading: one line, nothing that turns
/// the words around it (compute::printable). Not for what a person edits or copies.
QString told(const std::string& text);
/// A std::string is told; a QString is taken as it is, because lines may have been put into it.
QString shortened(const QString& name, int letters = kNameLetters);
QString shortened(const std::string& name, int letters = kNameLetters);
/// The same text for a label that breaks its lines: a word longer than a line may be broken too. Not for text that a
/// person copies: the places are marked by zero-width spaces.
QString breakable(const QString& text);

}  // namespace counterpoint::widgets
