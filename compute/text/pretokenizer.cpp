// Pre-tokenizers of a tokenizer.json: how a text falls into words.
#include <algorithm>

#include "compute/error.h"
#include "compute/text/bytelevel.h"
#include "compute/text/components.h"
#include "compute/text/unicode.h"
#include "compute/text/utf8.h"

namespace counterpoint::compute {
namespace {

/// OpenAI's expression for GPT-2, as Hugging Face's ByteLevel uses it.
constexpr std::string_view kGpt2 = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

using Spans = std::vector<Pattern::Span>;
enum class Behaviour { Isolated, Removed, MergedWithPrevious, MergedWithNext, Contiguous };

struct Cut {
    Pattern::Span span;
    bool match = false;
};

/// The whole text as matches and what lies between them; `invert` swaps the two.
std::vector<Cut> cuts(const std::string& text, const Spans& matches, bool invert) {
    std::vector<Cut> all;
    std::size_t at = 0;
    for (const Pattern::Span& span : matches) {
        if (span.first > at) all.push_back({{at, span.first}, invert});
        all.push_back({span, !invert});
        at = span.second;
    }
    if (at < text.size()) all.push_back({{at, text.size()}, invert});
    return all;
}

/// Hugging Face's SplitDelimiterBehavior: what becomes of the matches. An empty match cuts, but is no word.
void split(const Word& word, const Spans& matches, bool invert, Behaviour behaviour, std::vector<Word>& words) {
    Spans spans;
    bool previousMatched = false;
    bool first = true;
    for (const Cut& cut : cuts(word.text, matches, invert)) {
        bool joins = false;
        if (behaviour == Behaviour::MergedWithPrevious) joins = !first && cut.match && !previousMatched;
        if (behaviour == Behaviour::MergedWithNext) joins = !first && !cut.match && previousMatched;
        if (behaviour == Behaviour::Contiguous) joins = !first && cut.match == previousMatched;
        if (joins)
            spans.back().second = cut.span.second;
        else if (behaviour != Behaviour::Removed || !cut.match)
            spans.push_back(cut.span);
        previousMatched = cut.match;
        first = false;
    }
    for (const auto& [begin, end] : spans)
        if (end > begin) words.push_back({word.text.substr(begin, end - begin), word.atStart && begin == 0});
}

/// A pre-tokenizer that does to each word `step(word, out)`.
template <class F>
PreTokenizer eachWord(F step) {
    return [step](std::vector<Word> words) {
        std::vector<Word> out;
        for (Word& word : words)
            if (!word.text.empty()) step(std::move(word), out);
        return out;
    };
}

PreTokenizer splitAt(const Matcher& matcher, bool invert, Behaviour behaviour) {
    return eachWord(
        [=](const Word& word, std::vector<Word>& out) { split(word, matcher(word.text), invert, behaviour, out); });
}

/// Every character of the class is a match.
Matcher characters(bool (*belongs)(std::uint32_t)) {
    return [belongs](const std::string& text) {
        Spans spans;
        for (std::size_t at = 0; at < text.size();) {
            const utf8::Step step = utf8::next(std::string_view(text).substr(at));
            if (belongs(step.code)) spans.emplace_back(at, at + step.length);
            at += step.length;
        }
        return spans;
    };
}

PreTokenizer readByteLevel(const Json& component, const std::string& where) {
    const bool prefix = boolField(component, "add_prefix_space", true, where);
    const bool useRegex = boolField(component, "use_regex", true, where);
    const Pattern regex(fromOniguruma(kGpt2, where), where);
    return eachWord([=](Word word, std::vector<Word>& out) {
        if (prefix && !word.text.starts_with(' ')) word.text.insert(word.text.begin(), ' ');
        const std::size_t from = out.size();
        if (useRegex)
            split(word, regex.matches(word.text), false, Behaviour::Isolated, out);
        else
            out.push_back(std::move(word));
        for (std::size_t i = from; i < out.size(); ++i) out[i].text = bytelevel::encode(out[i].text);
    });
}

Behaviour behaviourOf(const Json& component, const std::string& absent, const std::string& where) {
    const std::string name = stringField(component, "behavior", absent, where);
    constexpr std::string_view names[] = {"Isolated", "Removed", "MergedWithPrevious", "MergedWithNext", "Contiguous"};
    const auto* found = std::find(std::begin(names), std::end(names), name);
    if (found == std::end(names))
        refuseComponent(where, "pre_tokenizer " + componentType(component, where) + " with behavior '" + name + "'");
    return static_cast<Behaviour>(found - std::begin(names));
}

PreTokenizer readMetaspace(const Json& component, const std::string& where) {
    const std::string mark = metaspaceMark(component, where);
    const bool old = boolField(component, "add_prefix_space", true, where);
    const std::string scheme = stringField(component, "prepend_scheme", old ? "always" : "never", where);
    const bool cut = boolField(component, "split", true, where);
    if (scheme != "always" && scheme != "first" && scheme != "never")
        refuseComponent(where, "pre_tokenizer Metaspace with prepend_scheme '" + scheme + "'");
    return eachWord([=](Word word, std::vector<Word>& out) {
        word.text = replaced(word.text, occurrences(word.text, " "), mark);
        const bool prepend = scheme == "always" || (scheme == "first" && word.atStart);
        if (prepend && !word.text.starts_with(mark)) word.text.insert(0, mark);
        if (cut)
            split(word, occurrences(word.text, mark), false, Behaviour::MergedWithNext, out);
        else
            out.push_back(std::move(word));
    });
}

PreTokenizer readFixedLength(const Json& component, const std::string& where) {
    const std::size_t length = countField(component, "length", 5, where);
    if (length == 0) throw Error({.where = where, .what = "FixedLength has the length 0"});
    return splitAt(
        [length](const std::string& text) {
            Spans spans;
            for (std::size_t at = 0, count = 0; at < text.size(); ++count) {
                const std::size_t end = at + utf8::next(std::string_view(text).substr(at)).length;
                if (count % length == 0) spans.emplace_back(at, at);
                spans.back().second = at = end;
            }
            return spans;
        },
        false, Behaviour::Isolated);
}

/// \w+|[^\w\s]+
Spans wordsAndMarks(const std::string& text) {
    enum class Kind { Space, Word, Mark };
    Spans spans;
    Kind previous = Kind::Space;
    for (std::size_t at = 0; at < text.size();) {
        const utf8::Step step = utf8::next(std::string_view(text).substr(at));
        const Kind kind = unicode::isWord(step.code)    ? Kind::Word
                          : unicode::isSpace(step.code) ? Kind::Space
                                                        : Kind::Mark;
        if (kind != Kind::Space && kind != previous) spans.emplace_back(at, at);
        at += step.length;
        if (kind != Kind::Space) spans.back().second = at;
        previous = kind;
    }
    return spans;
}

std::size_t bytesOf(const std::vector<Word>& words) {
    std::size_t bytes = 0;
    for (const Word& word : words) bytes += word.text.size();
    return bytes;
}

PreTokenizer readOne(const Json& component, const std::string& type, const std::string& where) {
    if (type == "ByteLevel") return readByteLevel(component, where);
    if (type == "Metaspace") return readMetaspace(component, where);
    if (type == "FixedLength") return readFixedLength(component, where);
    if (type == "Split")
        return splitAt(readMatcher(component, where), boolField(component, "invert", false, where),
                       behaviourOf(component, "", where));
    if (type == "Punctuation")
        return splitAt(characters(unicode::isPunctuation), false, behaviourOf(component, "Isolated", where));
    if (type == "Digits")
        return splitAt(
            characters(unicode::isNumber), false,
            boolField(component, "individual_digits", false, where) ? Behaviour::Isolated : Behaviour::Contiguous);
    if (type == "CharDelimiterSplit") {
        const std::string mark = stringField(component, "delimiter", "", where);
        if (mark.empty()) throw Error({.where = where, .what = "CharDelimiterSplit has no delimiter"});
        return splitAt([mark](const std::string& text) { return occurrences(text, mark); }, false, Behaviour::Removed);
    }
    if (type == "Whitespace") return splitAt(wordsAndMarks, true, Behaviour::Removed);
    const PreTokenizer atSpaces = splitAt(characters(unicode::isSpace), false, Behaviour::Removed);
    if (type == "WhitespaceSplit") return atSpaces;
    if (type == "BertPreTokenizer") {
        const PreTokenizer marks = splitAt(characters(unicode::isPunctuation), false, Behaviour::Isolated);
        return [=](std::vector<Word> words) { return marks(atSpaces(std::move(words))); };
    }
    refuseComponent(where, "pre_tokenizer " + type);
}

/// A Sequence in a Sequence is as if its parts stood there.
void add(const Json& component, const std::string& where, std::vector<PreTokenizer>& steps) {
    const std::string type = componentType(component, where);
    if (type != "Sequence") return steps.push_back(readOne(component, type, where));
    for (const Json& part : listField(component, "pretokenizers", where)) add(part, where, steps);
}

}  // namespace

PreTokenizer readPreTokenizer(const Json& component, const std::string& where) {
    if (component.is_null()) return eachWord([](Word word, std::vector<Word>& out) { out.push_back(std::move(word)); });
    std::vector<PreTokenizer> steps;
    add(component, where, steps);
    return [steps, where](std::vector<Word> words) {
        const std::size_t from = bytesOf(words);
        for (const PreTokenizer& step : steps) {
            words = step(std::move(words));
            requireGrowth(from, bytesOf(words), where);
        }
        return words;
    };
}

}  // namespace counterpoint::compute
