// Post-processors of a tokenizer.json: what stands around a text.
#include <limits>

#include "compute/error.h"
#include "compute/text/components.h"

namespace counterpoint::compute {
namespace {

using Mark = Surroundings::Mark;

bool isId(const Json& value) {
    return value.is_number_unsigned() && value.get<std::uint64_t>() <= std::numeric_limits<TokenId>::max();
}

/// The ids a template's special token stands for; by its name where the template does not say.
std::vector<Mark> marksOf(const std::string& name, const Json& specialTokens, const std::string& where) {
    const auto entry = specialTokens.find(name);
    if (entry == specialTokens.end()) return {{.name = name, .id = std::nullopt}};
    const Json &ids = listField(*entry, "ids", where), &names = listField(*entry, "tokens", where);
    std::vector<Mark> marks;
    for (std::size_t i = 0; i < ids.size() && i < names.size(); ++i) {
        if (!isId(ids[i]) || !names[i].is_string())
            throw Error({.where = where, .what = "the post_processor's special token '" + name + "' has no id"});
        marks.push_back({.name = names[i].get<std::string>(), .id = ids[i].get<TokenId>()});
    }
    return marks;
}

void addTemplate(const Json& component, Surroundings& result, const std::string& where) {
    const Json specialTokens = component.value("special_tokens", Json::object());
    bool beforeText = true;
    for (const Json& part : listField(component, "single", where)) {
        if (part.is_object() && part.contains("Sequence")) {
            if (!beforeText) refuseComponent(where, "post_processor TemplateProcessing with the text twice");
            beforeText = false;
            continue;
        }
        if (!part.is_object() || !part.contains("SpecialToken"))
            throw Error({.where = where, .what = "a part of the post_processor's template is neither token nor text"});
        const std::string name = stringField(part["SpecialToken"], "id", "", where);
        std::vector<Mark>& side = beforeText ? result.before : result.after;
        for (Mark& mark : marksOf(name, specialTokens, where)) side.push_back(std::move(mark));
    }
}

Mark pairField(const Json& component, const char* key, const std::string& where) {
    const Json& pair = listField(component, key, where);
    if (pair.size() != 2 || !pair[0].is_string() || !isId(pair[1]))
        throw Error({.where = where, .what = std::string(key) + " is not a token and its id"});
    return {.name = pair[0].get<std::string>(), .id = pair[1].get<TokenId>()};
}

void add(const Json& component, Surroundings& result, const std::string& where) {
    if (component.is_null()) return;
    const std::string type = componentType(component, where);
    if (type == "Sequence") {
        for (const Json& part : listField(component, "processors", where)) add(part, result, where);
    } else if (type != "ByteLevel" && !(result.before.empty() && result.after.empty())) {
        // The package would take what the first one put around the text for texts of a pair.
        refuseComponent(where, "post_processor " + type + " after another");
    } else if (type == "TemplateProcessing") {
        addTemplate(component, result, where);
    } else if (type == "BertProcessing" || type == "RobertaProcessing") {
        result.before.push_back(pairField(component, "cls", where));
        result.after.push_back(pairField(component, "sep", where));
    } else if (type != "ByteLevel") {  // ByteLevel only trims offsets, which are not used here
        refuseComponent(where, "post_processor " + type);
    }
}

}  // namespace

Surroundings readPostProcessor(const Json& component, const std::string& where) {
    Surroundings result;
    add(component, result, where);
    return result;
}

}  // namespace counterpoint::compute
