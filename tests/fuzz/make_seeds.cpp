// Writes the seeds of tests/fuzz/seeds: small files of every kind and row that the readers take, and the small inputs
// of HAZARDS.md that concern them. Seeds that a fuzzer found ("found-…") are not made here.
//   make_seeds FOLDER
#include <bit>
#include <cstdio>
#include <functional>

#include "tests/support/bankfiles.h"
#include "tests/support/gguftokens.h"
#include "tests/support/toyrecording.h"

using namespace counterpoint::compute;
using namespace counterpoint::tests;
namespace fs = std::filesystem;

namespace {

fs::path root;

void put(const std::string& name, std::string_view bytes) {
    fs::create_directories((root / name).parent_path());
    writeFile(root / name, bytes);
}

std::string length(std::uint64_t n) { return {reinterpret_cast<const char*>(&n), sizeof n}; }

/// A file with this header and so many bytes behind it.
std::string headed(const std::string& header, std::size_t bytes) {
    return length(header.size()) + header + std::string(bytes, '\1');
}

ToyTensor halves(const std::string& name, DType dtype, std::vector<std::int64_t> shape,
                 const std::vector<std::uint16_t>& bits) {
    ToyTensor tensor{name, dtype, std::move(shape), std::vector<std::byte>(2 * bits.size())};
    std::memcpy(tensor.bytes.data(), bits.data(), tensor.bytes.size());
    return tensor;
}

std::uint16_t bfloat(float value) { return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16); }

void safetensors() {
    const auto file = [](const char* name, const std::vector<ToyTensor>& tensors) {
        fs::create_directories(root / "safetensors");
        writeTensors(root / "safetensors" / name, tensors);
    };
    const ToyTensor embedding = randomTensor("model.embed_tokens.weight", {3, 4}, 1),
                    head = randomTensor("lm_head.weight", {3, 4}, 2);
    file("a9-embedding-only", {embedding});
    file("a9-head-only", {head});
    file("a9-both", {embedding, head});
    file("types", {floatTensor("scalar", {}, {1}),
                   floatTensor("empty", {0, 5}, {}),
                   {"wide", DType::F64, {1}, std::vector<std::byte>(8)},
                   idTensor("ids", {1, -1}),
                   {"i32", DType::I32, {1}, std::vector<std::byte>(4)},
                   {"i16", DType::I16, {1}, std::vector<std::byte>(2)},
                   {"i8", DType::I8, {1}, std::vector<std::byte>(1)},
                   {"u8", DType::U8, {3}, std::vector<std::byte>(3)},
                   {"flag", DType::Bool, {1}, std::vector<std::byte>(1)}});
    file("a26-half", {halves("f16", DType::F16, {3}, {0x7BFF, 0x7C00, 0x7E00}),
                      halves("bf16", DType::BF16, {2}, {bfloat(70000), bfloat(10)})});
    const auto one = [](const std::string& shape, const std::string& offsets) {
        return R"({"a":{"dtype":"F32","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
    };
    put("safetensors/a10-cut", headed(one("[2]", "[0,8]"), 4));
    put("safetensors/a10-long", headed(one("[2]", "[0,8]"), 12));
    put("safetensors/a10-product", headed(one("[4294967296,4294967296]", "[0,0]"), 0));
    put("safetensors/a10-reversed", headed(one("[1]", "[8,4]"), 8));
    put("safetensors/a10-negative", headed(one("[-1]", "[0,4]"), 4));
    put("safetensors/a10-overlap",
        headed(
            R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}})",
            8));
    put("safetensors/a10-header-2-63", length(std::uint64_t{1} << 63) + "{}");
    put("safetensors/a10-header-all", length(~std::uint64_t{0}) + "{}");
    put("safetensors/a10-lfs-pointer", "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 7\n");
    put("safetensors/a27-huge", headed(one("[4611686018427387903]", "[0,18446744073709551612]"), 8));
    put("safetensors/unpadded", headed(one("[2]", "[0,8]") + "   ", 8));
    put("safetensors/metadata", headed(R"({"__metadata__":{"format":"pt","a\u0001\n":"b."}})", 0));
    put("safetensors/nested", headed("{\"a\":" + std::string(300, '[') + "}", 0));
    put("safetensors/zip", "PK\x03\x04 and so on");
}

void tokenizers() {
    put("tokenizer/toy", tokenizerOf(toyPieces(8)).dump());
    put("tokenizer/byte-fallback", tokenizerOf(toyPieces(262)).dump());
}

/// Llama's keys with these sizes: V 6, C 32, F 32, L 1, H 2, G 1, D 16.
void writeSizes(GgufWriter& to, const std::string& name = "llama") {
    to.text("general.architecture", name);
    for (const auto& [key, value] : {std::pair("block_count", 1),
                                     {"context_length", 64},
                                     {"embedding_length", 32},
                                     {"feed_forward_length", 32},
                                     {"attention.head_count", 2},
                                     {"attention.head_count_kv", 1},
                                     {"attention.key_length", 16},
                                     {"attention.value_length", 16},
                                     {"rope.dimension_count", 16}})
        to.whole(name + "." + key, static_cast<std::uint32_t>(value));
    to.number(name + ".attention.layer_norm_rms_epsilon", 1e-5F);
    to.number(name + ".rope.freq_base", 10000);
}

/// Every tensor of that model, matrices in blocks of `type`, `bytes` each of 32 numbers.
void writeWeights(GgufWriter& to, std::uint32_t type, std::size_t bytes) {
    const auto matrix = [&](const std::string& name, std::uint64_t rows) {
        to.tensor(name + ".weight", type, {rows, 32}, std::string(rows * bytes, '\x11'));
    };
    const auto vector = [&](const std::string& name) {
        to.tensor(name + ".weight", {32}, std::vector<float>(32, 1.0F));
    };
    matrix("token_embd", 6);
    matrix("blk.0.attn_q", 32);
    matrix("blk.0.attn_k", 16);
    matrix("blk.0.attn_v", 16);
    matrix("blk.0.attn_output", 32);
    matrix("blk.0.ffn_gate", 32);
    matrix("blk.0.ffn_up", 32);
    matrix("blk.0.ffn_down", 32);
    vector("blk.0.attn_norm");
    vector("blk.0.ffn_norm");
    vector("output_norm");
}

GgufTokens scoredTokens() {
    GgufTokens tokens;
    tokens.add("<unk>", GgufTokens::kUnknown);
    tokens.add("<s>", GgufTokens::kControl);
    tokens.add("<0x0A>", GgufTokens::kByte);
    tokens.add("▁", GgufTokens::kNormal, -1);
    tokens.add("a", GgufTokens::kNormal, -2);
    tokens.add("▁a", GgufTokens::kNormal, -3);
    return tokens;
}

GgufTokens levelTokens(const char* split) {
    GgufTokens tokens;
    tokens.model = "gpt2";
    tokens.pre = split;
    for (const char* piece : {"a", "b", "ab", "Ġ"}) tokens.add(piece);
    tokens.add("<|endoftext|>", GgufTokens::kControl);
    tokens.add("user text", GgufTokens::kUserDefined);
    tokens.add("[PAD6]", GgufTokens::kUnused);
    tokens.merges = {"a b"};
    return tokens;
}

void ggufs() {
    const auto file = [](const std::string& name, const GgufWriter& w) { put("gguf/" + name, w.bytes()); };
    const auto model = [&](const std::string& name, std::uint32_t type, std::size_t bytes,
                           const std::function<void(GgufWriter&)>& more = {}) {
        GgufWriter w;
        writeSizes(w);
        scoredTokens().write(w);
        w.whole("tokenizer.ggml.bos_token_id", 1);
        w.whole("tokenizer.ggml.unknown_token_id", 0);
        if (more) more(w);
        writeWeights(w, type, bytes);
        file(name, w);
    };
    model("model-q4-0", 2, 18);
    model("model-q8-0", 8, 34);
    model("rope-factors", 2, 18,
          [](GgufWriter& w) { w.tensor("rope_freqs.weight", {8}, std::vector<float>(8, 2.0F)); });
    model("yarn", 2, 18, [](GgufWriter& w) {
        w.text("llama.rope.scaling.type", "yarn");
        w.number("llama.rope.scaling.factor", 4);
        w.whole("llama.rope.scaling.original_context_length", 16);
    });
    GgufWriter scored;
    scoredTokens().write(scored);
    scored.flag("tokenizer.ggml.add_space_prefix", false);
    scored.flag("tokenizer.ggml.add_bos_token", true);
    scored.whole("tokenizer.ggml.eos_token_id", 1);
    file("scored-tokenizer", scored);
    for (const char* split : {"gpt-2", "llama-bpe", "qwen2", "tekken", "smollm", "unknown-split"}) {
        GgufWriter w;
        levelTokens(split).write(w);
        w.whole("tokenizer.ggml.eot_token_id", 4);
        file(std::string("level-") + split, w);
    }
    for (const char* name : {"gemma2", "gemma3", "qwen2", "qwen3"}) {
        GgufWriter w;
        writeSizes(w, name);
        w.whole(std::string(name) + ".attention.sliding_window", 8);
        w.tensor("token_embd.weight", 0, {1, 32}, std::string(128, '\0'));
        file(std::string("sizes-") + name, w);
    }
    GgufWriter kinds;
    for (std::uint32_t type = 0; type < 8; ++type)
        kinds.entry("kind" + std::to_string(type), type) += std::string(type < 2 || type == 7 ? 1
                                                                        : type < 4            ? 2
                                                                                              : 4,
                                                                        '\1');
    kinds.entry("u64", 10) += std::string(8, '\xFF');
    kinds.entry("f64", 12) += GgufWriter::raw(1e300);
    kinds.whole("general.alignment", 64);
    kinds.alignment = 64;
    for (const std::uint32_t type : {12u, 13u, 14u})
        kinds.tensor("k" + std::to_string(type), type, {1, 256},
                     std::string(type == 12   ? 144
                                 : type == 13 ? 176
                                              : 210,
                                 '\3'));
    file("kinds", kinds);
    const auto broken = [&](const std::string& name, const std::function<void(GgufWriter&)>& change) {
        GgufWriter w;
        change(w);
        file(name, w);
    };
    broken("a10-outside", [](GgufWriter& w) { w.tensorAt("a", 0, {8}, 4096); });
    broken("a10-product", [](GgufWriter& w) { w.tensorAt("a", 0, {4294967296, 4294967296}, 0); });
    broken("a10-overlap", [](GgufWriter& w) {
        w.tensor("a", {16}, std::vector<float>(16));
        w.tensorAt("b", 0, {8}, 32);
    });
    broken("a10-twice", [](GgufWriter& w) {
        w.tensor("a", {8}, std::vector<float>(8));
        w.tensor("a", {8}, std::vector<float>(8));
    });
    broken("a26-largest-half", [](GgufWriter& w) { w.tensor("a", 1, {2}, "\xFF\x7B\x00\x7C"); });
    broken("a27-list", [](GgufWriter& w) {
        w.entry("tokenizer.ggml.tokens", 9) += GgufWriter::raw(std::uint32_t{8}) + GgufWriter::raw(~std::uint64_t{0});
    });
    put("gguf/a27-counts", "GGUF" + GgufWriter::raw(std::uint32_t{3}) + length(~std::uint64_t{0}) +
                               length(std::uint64_t{1} << 60) + std::string(64, '\0'));
    put("gguf/a10-lfs-pointer", "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 7\n");
    put("gguf/big-endian", std::string("GGUF\0\0\0\3", 8) + std::string(16, '\0'));
    put("gguf/ggjt", "tjgg and so on");
    broken("key-not-utf8", [](GgufWriter& w) { w.entry("a\xFF\n", 99); });
}

void recordings() {
    fs::create_directories(root / "recording");
    const auto file = [](const std::string& name, ToyRecording recording,
                         const std::function<void(ToyRecording&)>& change = {}) {
        if (change) change(recording);
        recording.write(root / "recording" / name);
    };
    const auto routed = [](ToyRecording& r) {
        r.metadata["router_layers"] = "0,2";
        r.metadata["experts_per_token"] = "1";
        r.metadata["norm_topk_prob"] = "false";
    };
    file("two", {{1, 2, 3}, 5, {"base", "math"}});
    file("one-token", {{0}, 1, {"base"}});
    // HAZARDS A26: 10.00 and 10.03 are one number in bfloat16; all equal.
    file("a26-router", {{1, 2}, 4, {"base"}}, [&](ToyRecording& r) {
        routed(r);
        r.tensors.push_back(halves(
            "router_logits.base", DType::BF16, {2, 2, 2},
            {bfloat(10), bfloat(10.03F), bfloat(1), bfloat(1), bfloat(0), bfloat(0), bfloat(10), bfloat(10.03F)}));
    });
    file("a26-half", {{1, 2}, 4, {"base"}}, [](ToyRecording& r) {
        r.tensor("logits.base") =
            halves("logits.base", DType::F16, {2, 4}, {0x3C00, 0xFC00, 0x7BFF, 1, 0x8000, 0x4900, 0x7C00, 0x7E00});
    });
    file("wide", {{1}, 2, {"base"}}, [](ToyRecording& r) {
        ToyTensor& t = r.tensor("logits.base");
        t.dtype = DType::F64;
        const double values[] = {1e300, -1};
        t.bytes.resize(sizeof values);
        std::memcpy(t.bytes.data(), values, sizeof values);
    });
    const auto broken = [&](const std::string& name, const std::function<void(ToyRecording&)>& change) {
        file(name, {{1, 2, 3}, 2, {"base"}}, change);
    };
    broken("a10-short-logits", [](ToyRecording& r) {
        r.tensor("logits.base") = randomTensor("logits.base", {2, 2}, 1);
    });
    broken("negative-id", [](ToyRecording& r) { r.tensors.front() = idTensor("tokens", {1, -1, 3}); });
    broken("large-id", [](ToyRecording& r) { r.tensors.front() = idTensor("tokens", {1, std::int64_t{1} << 40, 3}); });
    broken("no-tokens", [](ToyRecording& r) { r.tensors.front() = idTensor("tokens", {}); });
    broken("no-base", [](ToyRecording& r) { r.metadata["base"] = "other"; });
    broken("later-version", [](ToyRecording& r) { r.metadata["format"] = "counterpoint.recording/2"; });
    broken("tokenizer-elsewhere", [](ToyRecording& r) { r.metadata["tokenizer"] = "nowhere"; });
    broken("router-without-experts", [&](ToyRecording& r) {
        routed(r);
        r.tensors.push_back(floatTensor("router_logits.base", {2, 3, 0}, {}));
    });
    broken("router-layers", [&](ToyRecording& r) {
        routed(r);
        r.metadata["router_layers"] = "0,-1,";
        r.tensors.push_back(randomTensor("router_logits.base", {2, 3, 1}, 1));
    });
}

void banks() {
    fs::create_directories(root / "bankfile");
    const auto path = [](const std::string& name) { return root / "bankfile" / (name + ".safetensors"); };
    const auto file = [&](const std::string& name, const Bank& bank,
                          const std::function<void(BankTensors&)>& change = {}) {
        writeBank(bank, path(name));
        BankTensors tensors(path(name));
        if (change) change(tensors);
        tensors.write(root / "bankfile" / name);
        fs::remove(path(name));
    };
    Bank whole = banked({listed("lists", {2}, {3}, 0.5), exact("exact", {{1, 0.25}, {7, 2}, {9, -0.125}}),
                         exact("bits", {{0, 1}, {1, -1}, {2, -1}, {3, 1}, {4, 1}, {5, 1}, {6, -1}, {7, -1}, {8, 1}}),
                         named("text", "a")});
    file("level-zero", whole);
    whole.level = 1;
    file("level-one", whole);
    file("wide", banked({exact("p", {{1, 0.1}, {2, -0.1}})}));
    file("empty", banked({}));
    file("offset-far", whole, [](BankTensors& t) { t.at<std::int64_t>("offsets", 1) = std::int64_t{1} << 62; });
    file("offsets-back", whole, [](BankTensors& t) { t.at<std::int64_t>("offsets", 2) = 1; });
    file("offsets-both-ends", whole, [](BankTensors& t) {
        t.at<std::int64_t>("offsets", 0) = -1;
        t.at<std::int64_t>("offsets", 4) = 1;
    });
    file("negative-id", whole, [](BankTensors& t) { t.at<TokenId>("ids", 0) = -1; });
    file("ids-twice", whole, [](BankTensors& t) { t.at<TokenId>("ids", 3) = 1; });
    file("not-finite", banked({exact("p", {{1, 1}, {2, 2}})}), [](BankTensors& t) {
        t.at<std::uint32_t>("deltas", 0) = 0x7FC00000u;
        t.at<std::uint32_t>("deltas", 1) = 0xFF800000u;
    });
    file("letters", whole, [](BankTensors& t) { t.metadata["stored"] = "dlw2"; });
    file("fewer-letters", whole, [](BankTensors& t) { t.metadata["stored"] = "ld1"; });
    file("more-signs", whole, [](BankTensors& t) { t.resize("signs", 9); });
    file("no-deltas", whole, [](BankTensors& t) { t.remove("deltas"); });
    file("bank-cut", whole, [](BankTensors& t) { t.metadata["bank"].resize(40); });
    file("priors-null", whole, [](BankTensors& t) {
        t.metadata["bank"] = R"({"format":"counterpoint.bank/1","priors":[null,1,[],{"damaged":""}]})";
    });
    put("bankfile/header-all", length(~std::uint64_t{0} >> 32) + "{}");
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) return std::fputs("make_seeds FOLDER\n", stderr), 2;
    root = argv[1];
    for (const auto& make : {safetensors, tokenizers, ggufs, recordings, banks}) make();
    return 0;
}
