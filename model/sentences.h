#pragma once
// Groups by sentences (R11): a group begins after each token whose text ends a sentence: with . ! or ?, and closing
// quotes or brackets behind it, or with a line end; blanks at a token's end are passed over. A token tells by itself,
// so a group's first position is known when it begins, and a text that grows keeps the groups that it had. An
// abbreviation and the point of a number that are a token's end are taken for a sentence's. Pure; thread: any.

#include <string>
#include <string_view>
#include <vector>

#include "compute/step.h"

namespace counterpoint::model {

bool endsSentence(std::string_view tokenBytes);
/// Where sentences begin in a text of tokens, 0 included: one start may stand behind its last token.
std::vector<compute::Position> sentenceStarts(const std::vector<std::string>& tokenBytes);

}  // namespace counterpoint::model
