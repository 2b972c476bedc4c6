#include "compute/network/architectures.h"

#include <array>

#include "compute/network/configreader.h"

namespace counterpoint::network {
namespace {

constexpr std::array kTable = {&kLlama,  &kMistral, &kQwen2, &kQwen3,   &kSmolLm3,
                               &kGemma2, &kGemma3,  &kGpt2,  &kGptNeoX, &kPhi3};

std::string supportedNames() {
    std::string names;
    for (const Architecture* a : kTable) names += (names.empty() ? "" : ", ") + std::string(a->name);
    return names;
}

/// The architecture's name as the file states it, or "" when it states none.
std::string statedName(const ConfigReader& config) {
    const compute::Json* list = config.find("architectures");
    if (list == nullptr) return {};
    if (!list->is_array() || list->empty() || !list->front().is_string())
        config.refuse("'architectures' is not a list of names", "for example [\"LlamaForCausalLM\"]",
                      list->type_name());
    return list->front().get<std::string>();
}

const Architecture& find(const ConfigReader& config) {
    const std::string name = statedName(config), type = config.text("model_type", {});
    for (const Architecture* a : kTable) {
        const bool sameName = name.empty() || name == a->name, sameType = type.empty() || type == a->modelType;
        if (sameName && sameType && !(name.empty() && type.empty())) return *a;
    }
    if (name.empty() && type.empty())
        config.refuse("it names no architecture", "'architectures' or 'model_type'", "neither");
    config.refuse("this architecture is not supported", supportedNames(),
                  name.empty() ? type : name + (type.empty() ? "" : " of model_type " + type),
                  "open a model of one of these architectures");
}

void refuseQuantised(const ConfigReader& config) {
    const compute::Json* quantised = config.find("quantization_config");
    if (quantised == nullptr) return;
    const std::string method = ConfigReader(*quantised, config.where()).text("quant_method", "unnamed");
    config.refuse("quantised weights are not supported", "float32, bfloat16 or float16 weights",
                  "quantization_config with method " + method, "open the unquantised model");
}

}  // namespace

std::span<const Architecture* const> architectures() { return kTable; }

Config readConfig(const std::filesystem::path& directory) {
    const std::filesystem::path file = directory / "config.json";
    const compute::Json json = compute::readJson(file, 16u << 20);
    const ConfigReader config(json, file.string());
    if (!json.is_object()) config.refuse("it is not a model's configuration", "a JSON object", json.type_name());
    const Architecture& row = find(config);
    refuseQuantised(config);
    return {&row, row.shape(json, file.string())};
}

}  // namespace counterpoint::network
