// The JSON files of a model folder: the input stands as config.json beside the weights of a tiny Llama, and as
// generation_config.json and tokenizer_config.json beside a tokenizer of twenty ids.
#include "compute/network/checkpoint.h"
#include "compute/sources/stopset.h"
#include "tests/fuzz/shape.h"
#include "tests/support/toyfiles.h"

using namespace counterpoint;
using namespace counterpoint::fuzz;

namespace {

/// V 6, C 8, F 12, L 1, H 2, G 1, D 4; the head is there too.
const compute::Safetensors& weights() {
    static const compute::Safetensors all = [] {
        std::vector<tests::ToyTensor> tensors;
        const auto add = [&](const std::string& name, std::vector<std::int64_t> shape) {
            tensors.push_back(tests::randomTensor(name + ".weight", std::move(shape), tensors.size() + 1));
        };
        add("model.embed_tokens", {6, 8});
        add("lm_head", {6, 8});
        add("model.norm", {8});
        for (const char* norm : {"input_layernorm", "post_attention_layernorm"})
            add(std::string("model.layers.0.") + norm, {8});
        add("model.layers.0.self_attn.q_proj", {8, 8});
        add("model.layers.0.self_attn.k_proj", {4, 8});
        add("model.layers.0.self_attn.v_proj", {4, 8});
        add("model.layers.0.self_attn.o_proj", {8, 8});
        add("model.layers.0.mlp.gate_proj", {12, 8});
        add("model.layers.0.mlp.up_proj", {12, 8});
        add("model.layers.0.mlp.down_proj", {8, 12});
        const auto file = folder().path() / "model.safetensors";
        tests::writeTensors(file, tensors);
        return compute::Safetensors::openFile(file);
    }();
    return all;
}

void readModel() {
    const network::Config config = network::readConfig(folder().path());
    checkShape(config.shape);
    const auto loaded = network::loadCheckpoint({folder().path()}, weights().tensors(), config, "", {}, {});
    require(loaded.has_value(), "nobody cancelled");
    require(static_cast<std::int64_t>(loaded->weights.layers.size()) == config.shape.layers, "every layer is loaded");
}

void readTokens() {
    const auto tokenizer = compute::openTokenizer(folder().path());
    const auto isToken = [&](compute::TokenId id) { return tokenizer->isToken(id); };
    for (const auto& id : {tokenizer->bos(), tokenizer->eos()})
        require(!id || (isToken(*id) && tokenizer->isControl(*id)), "BOS and EOS are control tokens");
    require(!tokenizer->addsBos() || tokenizer->bos(), "who adds BOS has one");
    std::vector<std::string> notices;
    const std::vector<compute::TokenId> stops = compute::statedStopIds(folder().path(), *tokenizer, notices);
    for (const compute::TokenId id : stops) require(isToken(id), "a stop id is a token");
    for (std::size_t i = 1; i < stops.size(); ++i) require(stops[i - 1] < stops[i], "stop ids are sorted, each once");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const bool made = [] {
        folder().put("tokenizer.json", tests::tokenizerOf(tests::toyPieces(20)).dump());
        return !weights().tensors().empty();
    }();
    require(made, "the model is there");
    for (const char* name : {"config.json", "generation_config.json", "tokenizer_config.json"})
        folder().put(name, asText(data, size));
    accepts(readModel);
    accepts(readTokens);
    return 0;
}
