// Pre-tokenizers and post-processors of a tokenizer.json: how a text falls into words, and what stands around it.
#include <algorithm>

#include "compute/error.h"
#include "compute/text/bytelevel.h"
#include "compute/text/components.h"
#include "compute/text/pattern.h"

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

/// Hugging Face's SplitDelimiterBehavior: what becomes of the matches.
std::vector<std::string> pieces(const std::string& text, const Spans& matches, bool invert, Behaviour behaviour) {
    std::vector<Pattern::Span> spans;
    bool previousMatched = false;
    bool first = true;
    for (const Cut& cut : cuts(text, matches, invert)) {
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
    std::vector<std::string> words;
    for (const Pattern::Span& span : spans) words.push_back(text.substr(span.first, span.second - span.first));
    return words;
}

/// A pre-tokenizer that treats every word alike and does not ask where it stands.
template <class F>
PreTokenizer eachWord(F split) {
    return [split](std::vector<std::string> words, bool) {
        std::vector<std::string> out;
        for (std::string& word : words)
            for (std::string& piece : split(std::move(word))) out.push_back(std::move(piece));
        return out;
    };
}

PreTokenizer readByteLevel(const Json& component, const std::string& where) {
    const bool prefix = boolField(component, "add_prefix_space", true, where);
    const bool useRegex = boolField(component, "use_regex", true, where);
    const Pattern regex(fromOniguruma(kGpt2, where), where);
    return eachWord([=](std::string word) {
        if (prefix && !word.starts_with(' ')) word.insert(word.begin(), ' ');
        std::vector<std::string> words;
        if (useRegex)
            words = pieces(word, regex.matches(word), false, Behaviour::Isolated);
        else
            words.push_back(std::move(word));
        for (std::string& piece : words) piece = bytelevel::encode(piece);
        return words;
    });
}

Spans occurrences(const std::string& text, const std::string& part) {
    Spans spans;
    for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size())
        spans.emplace_back(at, at + part.size());
    return spans;
}

PreTokenizer readSplit(const Json& component, const std::string& where) {
    const std::string name = stringField(component, "behavior", "", where);
    constexpr std::string_view names[] = {"Isolated", "Removed", "MergedWithPrevious", "MergedWithNext", "Contiguous"};
    const auto* found = std::find(std::begin(names), std::end(names), name);
    if (found == std::end(names)) refuseComponent(where, "pre_tokenizer Split with behavior '" + name + "'");
    const auto behaviour = static_cast<Behaviour>(found - std::begin(names));
    const bool invert = boolField(component, "invert", false, where);
    const Json pattern = component.value("pattern", Json());
    if (pattern.is_object() && pattern.contains("String")) {
        const std::string part = stringField(pattern, "String", "", where);
        if (part.empty()) throw Error({.where = where, .what = "Split has an empty pattern"});
        return eachWord(
            [=](const std::string& word) { return pieces(word, occurrences(word, part), invert, behaviour); });
    }
    if (!pattern.is_object() || !pattern.contains("Regex"))
        throw Error({.where = where, .what = "Split has no pattern"});
    const Pattern regex(fromOniguruma(stringField(pattern, "Regex", "", where), where), where);
    return eachWord([=](const std::string& word) { return pieces(word, regex.matches(word), invert, behaviour); });
}

PreTokenizer readDigits(const Json& component, const std::string& where) {
    const bool single = boolField(component, "individual_digits", false, where);
    const Pattern digits("\\p{N}", where);
    return eachWord([=](const std::string& word) {
        return pieces(word, digits.matches(word), false, single ? Behaviour::Isolated : Behaviour::Contiguous);
    });
}

PreTokenizer readMetaspace(const Json& component, const std::string& where) {
    const std::string mark = stringField(component, "replacement", "▁", where);
    const bool old = boolField(component, "add_prefix_space", true, where);
    const std::string scheme = stringField(component, "prepend_scheme", old ? "always" : "never", where);
    const bool split = boolField(component, "split", true, where);
    if (scheme != "always" && scheme != "first" && scheme != "never")
        refuseComponent(where, "pre_tokenizer Metaspace with prepend_scheme '" + scheme + "'");
    return [=](std::vector<std::string> words, bool atStart) {
        std::vector<std::string> out;
        for (std::size_t i = 0; i < words.size(); ++i) {
            std::string word;
            for (const char c : words[i]) c == ' ' ? word += mark : word += c;
            const bool prepend = scheme == "always" || (scheme == "first" && atStart && i == 0);
            if (prepend && !word.starts_with(mark)) word = mark + word;
            if (split)
                for (std::string& piece : pieces(word, occurrences(word, mark), false, Behaviour::MergedWithNext))
                    out.push_back(std::move(piece));
            else
                out.push_back(std::move(word));
        }
        return out;
    };
}

void readTemplate(const Json& component, PostProcessor& result, const std::string& where) {
    bool beforeText = true;
    std::size_t before = 0;
    for (const Json& part : component.value("single", Json::array())) {
        if (part.is_object() && part.contains("SpecialToken") && part["SpecialToken"].is_object()) {
            result.controls.push_back(stringField(part["SpecialToken"], "id", "", where));
            before += beforeText ? 1 : 0;
        } else {
            beforeText = false;
        }
    }
    if (before > 1)
        refuseComponent(where, "post_processor TemplateProcessing with more than one token before the text");
    result.addsBos = result.addsBos || before == 1;
}

void addPostProcessor(const Json& component, PostProcessor& result, const std::string& where) {
    if (component.is_null()) return;
    const std::string type = componentType(component, where);
    if (type == "Sequence")
        for (const Json& part : component.value("processors", Json::array())) addPostProcessor(part, result, where);
    else if (type == "TemplateProcessing")
        readTemplate(component, result, where);
    else if (type != "ByteLevel")  // ByteLevel only trims offsets, which are not used here
        refuseComponent(where, "post_processor " + type);
}

}  // namespace

PreTokenizer readPreTokenizer(const Json& component, const std::string& where) {
    if (component.is_null()) return [](std::vector<std::string> words, bool) { return words; };
    const std::string type = componentType(component, where);
    if (type == "Sequence") {
        std::vector<PreTokenizer> steps;
        for (const Json& part : component.value("pretokenizers", Json::array()))
            steps.push_back(readPreTokenizer(part, where));
        return [steps](std::vector<std::string> words, bool atStart) {
            for (const PreTokenizer& step : steps) words = step(std::move(words), atStart);
            return words;
        };
    }
    if (type == "ByteLevel") return readByteLevel(component, where);
    if (type == "Split") return readSplit(component, where);
    if (type == "Digits") return readDigits(component, where);
    if (type == "Metaspace") return readMetaspace(component, where);
    refuseComponent(where, "pre_tokenizer " + type);
}

PostProcessor readPostProcessor(const Json& component, const std::string& where) {
    PostProcessor result;
    addPostProcessor(component, result, where);
    return result;
}

}  // namespace counterpoint::compute
