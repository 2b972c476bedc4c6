// Normalizers of a tokenizer.json: text to text before anything is cut.
#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/uniset.h>

#include "compute/error.h"
#include "compute/text/bytelevel.h"
#include "compute/text/components.h"
#include "compute/text/precompiled.h"
#include "compute/text/unicode.h"
#include "compute/text/utf8.h"

namespace counterpoint::compute {
namespace {

const icu::Normalizer2* plainForm(const std::string& form, UErrorCode& status) {
    if (form == "NFC") return icu::Normalizer2::getNFCInstance(status);
    if (form == "NFD") return icu::Normalizer2::getNFDInstance(status);
    if (form == "NFKC") return icu::Normalizer2::getNFKCInstance(status);
    return icu::Normalizer2::getNFKDInstance(status);
}

/// The form over the characters of Unicode 11, whose tables the `tokenizers` package normalizes with: vocabularies were
/// made with them.
Normalizer readUnicodeForm(const std::string& form, const std::string& where) {
    UErrorCode status = U_ZERO_ERROR;
    static const icu::UnicodeSet characters(u"[:age=11.0:]", status);
    const icu::Normalizer2* plain = plainForm(form, status);
    if (U_FAILURE(status)) throw Error({.where = where, .what = "ICU has no data for " + form});
    const auto normalizer = std::make_shared<const icu::FilteredNormalizer2>(*plain, characters);
    return [normalizer, where](Word& word) {
        UErrorCode failed = U_ZERO_ERROR;
        std::string out;
        icu::StringByteSink<std::string> sink(&out, static_cast<std::int32_t>(word.text.size()));
        normalizer->normalizeUTF8(0, word.text, sink, nullptr, failed);
        if (U_FAILURE(failed)) throw Error({.where = where, .what = "ICU cannot normalize this text"});
        word.text = std::move(out);
    };
}

/// Each character on its own, so that the end of a word makes no final sigma.
void lowercase(Word& word) {
    std::string out;
    for (std::string_view rest = word.text; !rest.empty();) {
        const utf8::Step step = utf8::next(rest);
        constexpr std::uint32_t capitalIWithDot = 0x130;
        if (step.code == capitalIWithDot)
            out += "i\u0307";
        else
            utf8::append(out, static_cast<std::uint32_t>(u_tolower(static_cast<UChar32>(step.code))));
        rest.remove_prefix(step.length);
    }
    word.text = std::move(out);
}

void stripAccents(Word& word) {
    std::string out;
    for (std::string_view rest = word.text; !rest.empty();) {
        const utf8::Step step = utf8::next(rest);
        const bool mark = unicode::isMark(step.code);
        if (!mark) out += rest.substr(0, step.length);
        if (mark && rest.size() == word.text.size()) word.atStart = false;
        rest.remove_prefix(step.length);
    }
    word.text = std::move(out);
}

Normalizer readStrip(const Json& component, const std::string& where) {
    const bool left = boolField(component, "strip_left", true, where);
    const bool right = boolField(component, "strip_right", true, where);
    return [left, right](Word& word) {
        if (right) word.text.resize(unicode::trimmedLeft(word.text, 0, word.text.size()));
        const std::size_t begin = left ? unicode::trimmedRight(word.text, 0) : 0;
        if (begin > 0) word.atStart = false;
        word.text.erase(0, begin);
    };
}

}  // namespace

Normalizer readReplace(const Json& component, const std::string& where) {
    const Matcher matcher = readMatcher(component, where);
    const std::string content = stringField(component, "content", "", where);
    return [matcher, content](Word& word) {
        const std::vector<Pattern::Span> spans = matcher(word.text);
        if (spans.empty()) return;
        // What stands for several characters stands for the last of them, as the package counts.
        const auto [begin, end] = spans.front();
        if (begin == 0 && end > 0 && (content.empty() || end > utf8::next(word.text).length)) word.atStart = false;
        word.text = replaced(word.text, spans, content);
    };
}

namespace {

Normalizer readOne(const Json& component, const std::string& type, const std::string& where) {
    if (type == "Prepend") {
        const std::string prefix = stringField(component, "prepend", "", where);
        return [prefix](Word& word) {
            if (!word.text.empty()) word.text.insert(0, prefix);
        };
    }
    if (type == "NFC" || type == "NFD" || type == "NFKC" || type == "NFKD") return readUnicodeForm(type, where);
    if (type == "Replace") return readReplace(component, where);
    if (type == "Strip") return readStrip(component, where);
    if (type == "Lowercase") return lowercase;
    if (type == "StripAccents") return stripAccents;
    if (type == "ByteLevel") return [](Word& word) { word.text = bytelevel::encode(word.text); };
    if (type == "Precompiled") {
        const auto map =
            std::make_shared<const Precompiled>(stringField(component, "precompiled_charsmap", "", where), where);
        return [map](Word& word) { word.text = map->apply(word.text); };
    }
    refuseComponent(where, "normalizer " + type);
}

/// A Sequence in a Sequence is as if its parts stood there.
void add(const Json& component, const std::string& where, std::vector<Normalizer>& steps) {
    if (component.is_null()) return;
    const std::string type = componentType(component, where);
    if (type != "Sequence") return steps.push_back(readOne(component, type, where));
    for (const Json& part : listField(component, "normalizers", where)) add(part, where, steps);
}

}  // namespace

Normalizer readNormalizer(const Json& component, const std::string& where) {
    std::vector<Normalizer> steps;
    add(component, where, steps);
    return [steps, where](Word& word) {
        const std::size_t from = word.text.size();
        for (const Normalizer& step : steps) {
            step(word);
            requireGrowth(from, word.text.size(), where);
        }
    };
}

}  // namespace counterpoint::compute
