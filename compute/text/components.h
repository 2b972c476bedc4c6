#pragma once
// The parts of a tokenizer.json before and after its model, each done as Hugging Face's `tokenizers` does it, or
// refused by its name (HAZARDS A14):
//   normalizer     Sequence, Prepend, Replace, NFC, NFD, NFKC, NFKD, Lowercase, Strip, StripAccents, Precompiled,
//                  ByteLevel
//   pre_tokenizer  Sequence, ByteLevel, Split, Digits, Metaspace, Punctuation, Whitespace, WhitespaceSplit,
//                  CharDelimiterSplit, BertPreTokenizer, FixedLength
//   post_processor Sequence, ByteLevel, TemplateProcessing, BertProcessing, RobertaProcessing; no second one that puts
//                  tokens around the text
//   decoder        Sequence, ByteLevel, Metaspace, Replace, ByteFallback, Strip, WordPiece; after Fuse only one Strip
//   of
//                  a space at the start; none: the pieces with a space between
// Thread: the functions made here are pure. Errors: Error naming the file and the component.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compute/files/json.h"
#include "compute/step.h"
#include "compute/text/pattern.h"

namespace counterpoint::compute {

/// A stretch of the text on its way to the model. atStart: its first character stands for the first of the text that
/// was given (Metaspace's "first" asks; what a normalizer or a split takes away in front ends it).
struct Word {
    std::string text;
    bool atStart = false;
};

using Normalizer = std::function<void(Word&)>;
/// Splits and rewrites words; none of the result is empty.
using PreTokenizer = std::function<std::vector<Word>(std::vector<Word>)>;

struct Decoder {
    std::function<std::string(const std::string& piece)> bytes;  ///< of one piece
    std::function<std::string(const std::string& piece)> first;  ///< of the piece that begins a text
    bool byteLevel = false;
    bool dropsLeadingSpace = false;  ///< first() is bytes() without its space, but for odd pieces
};

/// The tokens a template puts around a text.
struct Surroundings {
    struct Mark {
        std::string name;
        std::optional<TokenId> id;  ///< where the file says it
    };
    std::vector<Mark> before, after;
};

Normalizer readNormalizer(const Json& component, const std::string& where);
PreTokenizer readPreTokenizer(const Json& component, const std::string& where);
Decoder readDecoder(const Json& component, const std::string& where);
Surroundings readPostProcessor(const Json& component, const std::string& where);

/// Helpers of all four: a component's "type"; a field of the stated kind (absent: the default; another kind: Error);
/// the list of a Sequence.
std::string componentType(const Json& component, const std::string& where);
[[noreturn]] void refuseComponent(const std::string& where, const std::string& name);
bool boolField(const Json& component, const char* key, bool absent, const std::string& where);
std::string stringField(const Json& component, const char* key, const std::string& absent, const std::string& where);
std::size_t countField(const Json& component, const char* key, std::size_t absent, const std::string& where);
const Json& listField(const Json& component, const char* key, const std::string& where);
/// Metaspace's "replacement", "▁" where absent; never empty.
std::string metaspaceMark(const Json& component, const std::string& where);
/// The "pattern" of Replace and Split, {String} or {Regex}: all its matches in a text.
using Matcher = std::function<std::vector<Pattern::Span>(const std::string& text)>;
Matcher readMatcher(const Json& component, const std::string& where);
/// Replace, which is a normalizer and a decoder.
Normalizer readReplace(const Json& component, const std::string& where);
/// Error where a text grows beyond all use: replacements of replacements double it with every step.
void requireGrowth(std::size_t from, std::size_t to, const std::string& where);
/// The texts of the spans' places; `text` itself where there are none.
std::string replaced(const std::string& text, const std::vector<Pattern::Span>& spans, std::string_view content);
std::vector<Pattern::Span> occurrences(std::string_view text, std::string_view part);

}  // namespace counterpoint::compute
