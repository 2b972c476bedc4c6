#include "compute/network/train/modelfiles.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "compute/error.h"
#include "compute/files/atomicfile.h"
#include "compute/sources/modules.h"

namespace counterpoint::network::train {

using compute::OrderedJson;

namespace {

at::ScalarType scalarType(compute::DType dtype) {
    switch (dtype) {
        case compute::DType::F32:
            return at::kFloat;
        case compute::DType::F16:
            return at::kHalf;
        case compute::DType::BF16:
            return at::kBFloat16;
        default:
            break;
    }
    throw compute::Error({.where = "training",
                          .what = "weights are stored in a floating-point type",
                          .expected = "float32, float16 or bfloat16",
                          .found = std::string(compute::dtypeName(dtype))});
}

void writeJson(const std::filesystem::path& file, const OrderedJson& json) {
    compute::writeFile(file, json.dump(2) + "\n");
}

OrderedJson specialToken(TokenId id, const std::string& content) {
    return {{"id", id},        {"content", content},  {"single_word", false}, {"lstrip", false},
            {"rstrip", false}, {"normalized", false}, {"special", true}};
}

bool isByte(const std::string& piece) { return piece.size() == 6 && piece.starts_with("<0x") && piece.ends_with(">"); }

}  // namespace

void writeModel(Llama& model, const std::filesystem::path& directory, compute::DType storage) {
    const ModelShape& s = model.shape;
    std::filesystem::create_directories(directory);
    std::vector<at::Tensor> stored;
    std::vector<compute::TensorToWrite> tensors;
    for (const auto& [name, parameter] : model.parameters()) {
        const at::Tensor& t = stored.emplace_back(parameter->detach().to(scalarType(storage)).contiguous());
        tensors.push_back({name, storage, t.sizes().vec(), {static_cast<const std::byte*>(t.data_ptr()), t.nbytes()}});
    }
    compute::writeSafetensors(directory / "model.safetensors", tensors, {{"format", "pt"}});
    OrderedJson config = {{"architectures", {"LlamaForCausalLM"}},
                          {"model_type", "llama"},
                          {"attention_bias", false},
                          {"attention_dropout", 0.0},
                          {"bos_token_id", 1},
                          {"eos_token_id", 2},
                          {"head_dim", s.dim / s.heads},
                          {"hidden_act", "silu"},
                          {"hidden_size", s.dim},
                          {"initializer_range", 0.02},
                          {"intermediate_size", s.hidden},
                          {"max_position_embeddings", s.maxPositions},
                          {"mlp_bias", false},
                          {"num_attention_heads", s.heads},
                          {"num_hidden_layers", s.layers},
                          {"num_key_value_heads", s.keyValueHeads},
                          {"rms_norm_eps", s.normEpsilon},
                          {"rope_scaling", nullptr},
                          {"rope_theta", s.ropeTheta},
                          {"tie_word_embeddings", true},
                          {"torch_dtype", std::string(compute::dtypeName(storage))},
                          {"use_cache", true},
                          {"vocab_size", s.vocabulary}};
    if (s.experts > 0) {
        config["architectures"] = {"MixtralForCausalLM"};
        config["model_type"] = "mixtral";
        for (const char* notOfIt : {"attention_bias", "mlp_bias", "rope_scaling"}) config.erase(notOfIt);
        config["num_local_experts"] = s.experts;
        config["num_experts_per_tok"] = s.chosen;
        config["sliding_window"] = nullptr;
    }
    writeJson(directory / "config.json", config);
    writeJson(directory / "generation_config.json", {{"bos_token_id", 1}, {"eos_token_id", 2}, {"do_sample", true}});
}

Llama readModel(const std::filesystem::path& directory) {
    const auto config = compute::readOrderedJson(directory / "config.json");
    const auto integer = [&](const char* key) { return config.at(key).get<std::int64_t>(); };
    ModelShape s;
    s.vocabulary = integer("vocab_size");
    s.dim = integer("hidden_size");
    s.hidden = integer("intermediate_size");
    s.layers = integer("num_hidden_layers");
    s.heads = integer("num_attention_heads");
    s.keyValueHeads = integer("num_key_value_heads");
    s.maxPositions = integer("max_position_embeddings");
    s.ropeTheta = config.at("rope_theta").get<double>();
    s.normEpsilon = config.at("rms_norm_eps").get<double>();
    if (config.contains("num_local_experts")) {
        s.experts = integer("num_local_experts");
        s.chosen = integer("num_experts_per_tok");
    }
    Llama model = initialise(s, 0);
    const auto files = compute::Safetensors::openDirectory(directory);
    const c10::NoGradGuard noGrad;
    for (const auto& [name, parameter] : model.parameters()) {
        const auto* view = files.find(name);
        if (view == nullptr || at::IntArrayRef(view->shape) != parameter->sizes())
            throw compute::Error({.where = (directory / "model.safetensors").string(),
                                  .what = "tensor '" + name + "' is missing or has another shape than config.json says",
                                  .advice = "fine-tune from a model this trainer wrote"});
        at::Tensor stored = at::empty(view->shape, scalarType(view->dtype));
        std::memcpy(stored.data_ptr(), view->bytes.data(), view->bytes.size());
        parameter->copy_(stored);
    }
    return model;
}

OrderedJson tokenizerJson(const compute::Tokenizer& tokenizer) {
    const auto size = static_cast<TokenId>(tokenizer.size());
    std::map<std::string, TokenId, std::less<>> ids;
    OrderedJson vocabulary = OrderedJson::object();
    for (TokenId id = 0; id < size; ++id) {
        const std::string piece = tokenizer.piece(id);
        vocabulary[piece] = id;
        ids.emplace(piece, id);
    }
    OrderedJson merges = OrderedJson::array();
    for (TokenId id = 0; id < size; ++id) {
        const std::string piece = tokenizer.piece(id);
        if (tokenizer.isControl(id) || isByte(piece)) continue;
        std::vector<std::pair<std::pair<TokenId, TokenId>, std::string>> splits;
        for (std::size_t cut = 1; cut < piece.size(); ++cut) {
            const auto left = ids.find(std::string_view(piece).substr(0, cut)),
                       right = ids.find(std::string_view(piece).substr(cut));
            if (left != ids.end() && right != ids.end())
                splits.push_back({{left->second, right->second}, left->first + " " + right->first});
        }
        std::ranges::sort(splits);
        for (const auto& [pair, text] : splits) merges.push_back(text);
    }
    const auto replace = [](const char* from, const char* to) {
        return OrderedJson{{"type", "Replace"}, {"pattern", {{"String", from}}}, {"content", to}};
    };
    const OrderedJson bos = {{"SpecialToken", {{"id", "<s>"}, {"type_id", 0}}}},
                      text = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
    const OrderedJson bos2 = {{"SpecialToken", {{"id", "<s>"}, {"type_id", 1}}}},
                      text2 = {{"Sequence", {{"id", "B"}, {"type_id", 1}}}};
    OrderedJson json;
    json["version"] = "1.0";
    json["truncation"] = nullptr;
    json["padding"] = nullptr;
    json["added_tokens"] =
        OrderedJson::array({specialToken(0, "<unk>"), specialToken(1, "<s>"), specialToken(2, "</s>")});
    json["normalizer"] = {
        {"type", "Sequence"},
        {"normalizers", OrderedJson::array({{{"type", "Prepend"}, {"prepend", "▁"}}, replace(" ", "▁")})}};
    json["pre_tokenizer"] = nullptr;
    json["post_processor"] = {{"type", "TemplateProcessing"},
                              {"single", OrderedJson::array({bos, text})},
                              {"pair", OrderedJson::array({bos, text, bos2, text2})},
                              {"special_tokens", {{"<s>", {{"id", "<s>"}, {"ids", {1}}, {"tokens", {"<s>"}}}}}}};
    json["decoder"] = {
        {"type", "Sequence"},
        {"decoders", OrderedJson::array({replace("▁", " "),
                                         {{"type", "ByteFallback"}},
                                         {{"type", "Fuse"}},
                                         {{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}}})}};
    json["model"] = {{"type", "BPE"},
                     {"dropout", nullptr},
                     {"unk_token", "<unk>"},
                     {"continuing_subword_prefix", nullptr},
                     {"end_of_word_suffix", nullptr},
                     {"fuse_unk", true},
                     {"byte_fallback", true}};
    json["model"]["vocab"] = std::move(vocabulary);
    json["model"]["merges"] = std::move(merges);
    return json;
}

void writeTokenizer(const std::filesystem::path& model, const std::filesystem::path& directory,
                    std::int64_t maxPositions) {
    std::filesystem::create_directories(directory);
    compute::writeFile(directory / "tokenizer.model", compute::readFile(model));
    writeJson(directory / "tokenizer_config.json", {{"add_bos_token", true},
                                                    {"add_eos_token", false},
                                                    {"bos_token", "<s>"},
                                                    {"eos_token", "</s>"},
                                                    {"unk_token", "<unk>"},
                                                    {"clean_up_tokenization_spaces", false},
                                                    {"legacy", false},
                                                    {"model_max_length", maxPositions},
                                                    {"tokenizer_class", "LlamaTokenizer"}});
    writeJson(directory / "tokenizer.json",
              tokenizerJson(*compute::spm().open(directory / "tokenizer.model", directory)));
}

}  // namespace counterpoint::network::train
