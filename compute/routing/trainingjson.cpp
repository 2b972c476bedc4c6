// The state of a controller's training <-> JSON.
#include <cmath>
#include <limits>

#include "compute/files/jsonreader.h"
#include "compute/routing/training.h"

namespace counterpoint::compute {
namespace {

using Three = std::array<double, 3>;

Three threeOf(JsonReader& reader, const char* key, bool negative) {
    const char* expected = negative ? "three finite numbers" : "three finite numbers from 0";
    const auto list = reader.take(key);
    if (!list) throw reader.missing(key, expected);
    if (!list->is_array() || list->size() != 3) reader.fail(key, expected, *list);
    Three three{};
    for (std::size_t i = 0; i < three.size(); ++i) {
        const OrderedJson& value = (*list)[i];
        if (value.is_number()) three[i] = value.get<double>();
        if (!value.is_number() || !std::isfinite(three[i]) || (!negative && three[i] < 0))
            reader.fail(key, expected, *list);
    }
    return three;
}

OrderedJson listOf(const Three& three) { return {number(three[0]), number(three[1]), number(three[2])}; }

}  // namespace

OrderedJson toJson(const Training& training) {
    OrderedJson json = {{"controller", toJson(training.controller)},
                        {"steps", training.steps},
                        {"first", listOf(training.first)},
                        {"second", listOf(training.second)}};
    for (const auto& [key, value] : training.unknown.items()) json[key] = value;
    return json;
}

Training trainingFromJson(const OrderedJson& json, const std::string& where, std::vector<std::string>& warnings) {
    JsonReader reader(json, where);
    Training training;
    const auto controller = reader.take("controller");
    if (!controller) throw reader.missing("controller", "a controller");
    training.controller = controllerFromJson(*controller, reader.at("controller"), warnings);
    reader.integer("steps", training.steps, std::numeric_limits<std::uint32_t>::max());
    training.first = threeOf(reader, "first", true);
    training.second = threeOf(reader, "second", false);
    training.unknown = reader.unknown(warnings);
    return training;
}

}  // namespace counterpoint::compute
