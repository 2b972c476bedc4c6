#pragma once
// A token for the strip: runs of text, quiet marks for spaces, line ends and tabs, names for control tokens, and bytes
// of a character that is not whole shown as bytes (HAZARDS A28). Thread: any (values).

#include <QString>
#include <string>
#include <vector>

#include "model/trace.h"

namespace counterpoint::widgets {

struct TokenRun {
    enum class Kind { Text, Mark, Control, Bytes } kind = Kind::Text;
    QString text;
    bool operator==(const TokenRun&) const = default;
};
struct TokenText {
    std::vector<TokenRun> runs;
    bool breaksLine = false;  ///< ends in a line end: what follows begins a new line
    bool operator==(const TokenText&) const = default;
};

/// `bytes` as they stand in the text.
TokenText tokenText(const std::string& bytes);
/// Token `index` of a trace: control tokens by name, ids where there is no tokenizer.
TokenText tokenText(const model::Trace& trace, std::size_t index);

}  // namespace counterpoint::widgets
