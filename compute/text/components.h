#pragma once
// The parts of a tokenizer.json before and after its model, each done exactly or refused by its name (HAZARDS A14):
//   normalizer     Sequence, Prepend, Replace, NFC, NFD, NFKC, NFKD
//   pre_tokenizer  Sequence, ByteLevel, Split, Digits, Metaspace
//   decoder        Sequence, ByteLevel, Metaspace, Replace, ByteFallback, Fuse, Strip (one at the front)
//   post_processor Sequence, ByteLevel, TemplateProcessing (read for BOS)
// Thread: the functions made here are pure. Errors: Error naming the file and the component.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compute/files/json.h"

namespace counterpoint::compute {

/// Text to text.
using Normalizer = std::function<std::string(std::string)>;
/// Refines a list of words; `atStart`: the first word begins the text.
using PreTokenizer = std::function<std::vector<std::string>(std::vector<std::string> words, bool atStart)>;

struct Decoder {
    std::function<std::string(const std::string& piece)> bytes;  ///< of one piece
    bool byteLevel = false;
    bool dropsLeadingSpace = false;
};

struct PostProcessor {
    bool addsBos = false;
    std::vector<std::string> controls;  ///< tokens the template puts around a text; the first is BOS where addsBos
};

Normalizer readNormalizer(const Json& component, const std::string& where);
PreTokenizer readPreTokenizer(const Json& component, const std::string& where);
Decoder readDecoder(const Json& component, const std::string& where);
PostProcessor readPostProcessor(const Json& component, const std::string& where);

/// Helpers of all four: a component's "type", and a field of the stated kind (absent: the default; another kind:
/// Error).
std::string componentType(const Json& component, const std::string& where);
[[noreturn]] void refuseComponent(const std::string& where, const std::string& name);
bool boolField(const Json& component, const char* key, bool absent, const std::string& where);
std::string stringField(const Json& component, const char* key, const std::string& absent, const std::string& where);

}  // namespace counterpoint::compute
