#include "compute/text/components.h"

#include "compute/error.h"

namespace counterpoint::compute {

std::string componentType(const Json& component, const std::string& where) {
    if (!component.is_object())
        throw Error({.where = where, .what = "a component of the tokenizer is not a JSON object"});
    return stringField(component, "type", "", where);
}

void refuseComponent(const std::string& where, const std::string& name) {
    throw Error({.where = where, .what = "this tokenizer uses " + name + ", which is not supported"});
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

}  // namespace counterpoint::compute
