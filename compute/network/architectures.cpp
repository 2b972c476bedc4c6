#include "compute/network/architectures.h"

#include <array>

namespace counterpoint::network {
namespace {

constexpr std::array kTable = {&kLlama, &kMistral, &kQwen2, &kQwen3,   &kSmolLm3, &kGemma2,   &kGemma3,
                               &kGpt2,  &kGptNeoX, &kPhi3,  &kMixtral, &kOlmoe,   &kQwen2Moe, &kQwen3Moe};

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
    const std::string method = config.inside(*quantised).text("quant_method", "unnamed");
    config.refuse("quantised weights are not supported", "float32, bfloat16 or float16 weights",
                  "quantization_config with method " + method, "open the unquantised model");
}

/// The weights' own types count, so these keys are read for what they promise only.
void refuseIntegers(const ConfigReader& config) {
    for (const char* key : {"torch_dtype", "dtype"}) {
        const std::string type = config.text(key, "auto");
        const auto holds = [&](const char* word) { return type.find(word) != std::string::npos; };
        if (!holds("float") && !holds("half") && !holds("double") && type != "auto")
            config.refuse("the value of '" + std::string(key) + "' is not a float type", "float32, bfloat16 or float16",
                          "'" + type + "'", "open a model with float weights");
    }
}

/// The matrices are the same whole or in parts; only the order of sums in their products is another.
void tellParts(const ConfigReader& config, std::vector<std::string>& notices) {
    const compute::Json* parts = config.find("pretraining_tp");
    if (parts != nullptr && *parts != 1 && *parts != 0)
        notices.push_back(config.where() + ": pretraining_tp " + parts->dump(-1, ' ', true) +
                          " is not followed: it changes only the order in which sums are rounded");
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
    refuseIntegers(config);
    Config read{&row, row.shape(config)};
    tellParts(config, read.notices);
    return read;
}

}  // namespace counterpoint::network
