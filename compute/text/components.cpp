#include "compute/text/components.h"

#include "compute/error.h"

namespace counterpoint::compute {

std::string componentType(const Json& component, const std::string& where) {
    if (!component.is_object())
        throw Error({.where = where, .what = "a component of the tokenizer is not a JSON object"});
    return stringField(component, "type", "", where);
}

void refuseComponent(const std::string& where, const std::string& name) {
    throw Error({.where = where,
                 .what = "this tokenizer uses " + name + ", which is not supported",
                 .advice = "use the model through a recording of its logits, which needs no tokenizer"});
}

bool boolField(const Json& component, const char* key, bool absent, const std::string& where) {
    const auto it = component.find(key);
    if (it == component.end() || it->is_null()) return absent;
    if (!it->is_boolean()) throw Error({.where = where, .what = std::string(key) + " is neither true nor false"});
    return it->get<bool>();
}

std::string stringField(const Json& component, const char* key, const std::string& absent, const std::string& where) {
    const auto it = component.find(key);
    if (it == component.end() || it->is_null()) return absent;
    if (!it->is_string()) throw Error({.where = where, .what = std::string(key) + " is not a text"});
    return it->get<std::string>();
}

std::size_t countField(const Json& component, const char* key, std::size_t absent, const std::string& where) {
    const auto it = component.find(key);
    if (it == component.end() || it->is_null()) return absent;
    if (!it->is_number_unsigned()) throw Error({.where = where, .what = std::string(key) + " is not a whole number"});
    return it->get<std::size_t>();
}

const Json& listField(const Json& component, const char* key, const std::string& where) {
    const auto it = component.find(key);
    if (it == component.end() || !it->is_array())
        throw Error({.where = where, .what = std::string(key) + " is not a list"});
    return *it;
}

std::string metaspaceMark(const Json& component, const std::string& where) {
    std::string mark = stringField(component, "replacement", "▁", where);
    if (mark.empty()) throw Error({.where = where, .what = "Metaspace has an empty replacement"});
    return mark;
}

void requireGrowth(std::size_t from, std::size_t to, const std::string& where) {
    constexpr std::size_t kFactor = 32, kAlways = 65'536;
    if (to > kAlways + kFactor * from)
        throw Error({.where = where,
                     .what = "the tokenizer makes " + std::to_string(from) + " bytes of text " + std::to_string(to) +
                             " bytes long",
                     .expected = "at most " + std::to_string(kFactor) + " times as many"});
}

std::vector<Pattern::Span> occurrences(std::string_view text, std::string_view part) {
    std::vector<Pattern::Span> spans;
    for (std::size_t at = 0; (at = text.find(part, at)) != std::string_view::npos; at += part.size())
        spans.emplace_back(at, at + part.size());
    return spans;
}

Matcher readMatcher(const Json& component, const std::string& where) {
    const std::string type = stringField(component, "type", "", where);
    const Json pattern = component.value("pattern", Json());
    if (pattern.is_object() && pattern.contains("String")) {
        const std::string part = stringField(pattern, "String", "", where);
        if (part.empty()) throw Error({.where = where, .what = type + " has an empty pattern"});
        return [part](const std::string& text) { return occurrences(text, part); };
    }
    if (!pattern.is_object() || !pattern.contains("Regex"))
        throw Error({.where = where, .what = type + " has no pattern"});
    const Pattern regex(fromOniguruma(stringField(pattern, "Regex", "", where), where), where);
    return [regex](const std::string& text) { return regex.matches(text); };
}

std::string replaced(const std::string& text, const std::vector<Pattern::Span>& spans, std::string_view content) {
    requireGrowth(text.size(), text.size() + spans.size() * content.size(), {});
    std::string out;
    std::size_t at = 0;
    for (const auto& [begin, end] : spans) {
        out.append(text, at, begin - at).append(content);
        at = end;
    }
    return out.append(text, at);
}

}  // namespace counterpoint::compute
