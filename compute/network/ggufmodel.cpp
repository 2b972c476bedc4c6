#include "compute/network/ggufmodel.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <set>

#include "compute/freememory.h"
#include "compute/network/convert.h"
#include "compute/network/ggufrows.h"
#include "compute/pool.h"

namespace counterpoint::network {
namespace {

using compute::DType;
using compute::GgmlType;
using compute::GgmlTypeRow;
using compute::Gguf;
using compute::GgufTensor;
using compute::TensorView;

DType fileType(WeightType type) {
    return type == WeightType::Float32 ? DType::F32 : type == WeightType::BFloat16 ? DType::BF16 : DType::F16;
}

/// What a row of the architecture's table is called in a GGUF file, both without ".weight" and ".bias".
std::map<std::string, std::string> namesInFile(const TensorNames& names, std::int64_t layers) {
    std::map<std::string, std::string> all;
    const auto bare = [](std::string_view name) {
        return std::string(name.ends_with(".weight") ? name.substr(0, name.size() - 7) : name);
    };
    const auto once = [&](const char* file, std::string_view name) {
        if (!name.empty()) all[file] = bare(name);
    };
    once("token_embd", names.embedding);
    once("position_embd", names.positions);
    once("output_norm", names.norm);
    once("output", names.head);
    const bool fused = names.key.empty(), fusedGate = !names.gate.empty() && names.up.empty();
    const std::array<std::pair<const char*, std::string_view>, 13> layer = {
        {{"attn_norm", names.attentionNorm},
         {fused ? "attn_qkv" : "attn_q", names.query},
         {"attn_k", names.key},
         {"attn_v", names.value},
         {"attn_q_norm", names.queryNorm},
         {"attn_k_norm", names.keyNorm},
         {"attn_output", names.output},
         {"post_attention_norm", names.attentionPostNorm},
         {"ffn_norm", names.mlpNorm},
         {fusedGate ? "ffn_up" : "ffn_gate", names.gate},
         {"ffn_up", names.up},
         {"ffn_down", names.down},
         {"post_ffw_norm", names.mlpPostNorm}}};
    for (std::int64_t i = 0; i < layers; ++i)
        for (const auto& [file, name] : layer) {
            if (name.empty()) continue;
            std::string full = bare(name);
            full.replace(full.find("{}"), 2, std::to_string(i));
            all["blk." + std::to_string(i) + "." + file] = full;
        }
    return all;
}

/// Row r of a head of D rows, stored in pairs, in the order of halves.
std::int64_t inHalves(std::int64_t row, std::int64_t D) {
    const std::int64_t r = row % D;
    return row - r + r % 2 * (D / 2) + r / 2;
}

/// One tensor on its way into memory of its own.
struct Copying {
    const GgufTensor& from;
    WeightType to;
    std::int64_t headDim;  ///< 0: rows stay where they are
};

/// Bytes of the copy.
std::int64_t copiedBytes(const Copying& c) {
    std::int64_t n = 1;
    for (const std::int64_t d : c.from.shape) n *= d;
    return n * typeSize(c.to);
}

/// Fills `out`; returns how many finite numbers became infinite.
std::int64_t widenRows(const Copying& c, std::span<std::byte> out, int threads) {
    const GgmlTypeRow& row = compute::ggmlType(c.from.type);
    const bool turnedVector = c.from.shape.size() == 1 && c.headDim > 0;  // a bias: each number is a row
    const std::int64_t columns = turnedVector ? 1 : c.from.shape.back();
    const auto rows = static_cast<std::int64_t>(out.size()) / (columns * typeSize(c.to));
    const std::int64_t rowBytes = columns / row.block * row.bytes;
    std::atomic<std::int64_t> overflowed = 0;
    constexpr std::int64_t kTask = 1 << 17, kPiece = 4096;  // numbers; a piece is whole blocks
    const std::int64_t together = std::max<std::int64_t>(1, kTask / columns);
    compute::Pool::instance().run(threads, (rows + together - 1) / together, [&](std::int64_t task, int) {
        std::array<float, kPiece> wide;
        for (std::int64_t r = task * together; r < std::min(rows, (task + 1) * together); ++r) {
            const std::byte* in = c.from.bytes.data() + r * rowBytes;
            std::byte* to = out.data() + (c.headDim > 0 ? inHalves(r, c.headDim) : r) * columns * typeSize(c.to);
            if (row.widen == nullptr) {
                std::memcpy(to, in, static_cast<std::size_t>(rowBytes));
                continue;
            }
            for (std::int64_t at = 0; at < columns; at += kPiece) {
                const std::int64_t n = std::min(kPiece, columns - at);
                row.widen(in + at / row.block * row.bytes, n / row.block, wide.data());
                overflowed += convert(wide.data(), WeightType::Float32, n, c.to, to + at * typeSize(c.to));
            }
        }
    });
    return overflowed;
}

TensorView copied(const Gguf& gguf, const Copying& c, int threads) {
    TensorView view{.name = c.from.name, .dtype = fileType(c.to), .shape = c.from.shape, .bytes = {}, .file = {}};
    std::int64_t overflowed = 0;
    view.file = compute::MappedFile::filled(gguf.file()->path(), static_cast<std::size_t>(copiedBytes(c)),
                                            [&](std::span<std::byte> out) { overflowed = widenRows(c, out, threads); });
    if (overflowed > 0)
        gguf.fail("tensor '" + c.from.name + "' does not fit float16", "values up to 65504",
                  std::to_string(overflowed) + " larger ones", "use bfloat16 or float32");
    view.bytes = view.file->bytes();
    return view;
}

void requireMemory(const Gguf& gguf, std::int64_t needed, WeightType to) {
    const std::optional<std::int64_t> available = compute::freeMemory();
    if (!available || needed <= *available) return;
    using compute::mebibytes;
    gguf.fail(
        "there is not enough memory for its weights in " + std::string(typeName(to)), mebibytes(needed),
        mebibytes(*available) + " free",
        to == WeightType::Float32 ? "open it in bfloat16 or float16, or use a smaller model" : "use a smaller model");
}

/// "Q4_1 (210), Q8_0 (1)"
std::string blockTypes(const Gguf& gguf) {
    std::map<std::string_view, int> counts;
    for (const GgufTensor& tensor : gguf.tensors())
        if (const GgmlTypeRow& row = compute::ggmlType(tensor.type); row.widen != nullptr) ++counts[row.name];
    std::string text;
    for (const auto& [name, count] : counts)
        ((((text += text.empty() ? "" : ", ") += name) += " (") += std::to_string(count)) += ")";
    return text;
}

}  // namespace

std::optional<GgufModel> readGgufModel(const Gguf& gguf, const std::string& dtype, int threads,
                                       const std::function<void(double, std::string_view)>& progress,
                                       const std::stop_token& stop) {
    const GgufRow& row = ggufRow(gguf);
    GgufModel model{.config = readGgufConfig(gguf), .tensors = {}, .names = {}, .dtype = dtype, .notices = {}};
    const Shape& shape = model.config.shape;
    const std::string blocks = blockTypes(gguf);
    if (!blocks.empty() && dtype.empty()) model.dtype = typeName(WeightType::Float32);
    const WeightType to = weightType(model.dtype, gguf.where()).value_or(WeightType::Float32);
    if (!blocks.empty()) model.notices.push_back(blocks + " widened to " + model.dtype);

    std::vector<std::pair<std::string, Copying>> copies;
    std::int64_t needed = 0;
    const std::map<std::string, std::string> names = namesInFile(row.architecture->names, shape.layers);
    for (const auto& [inFile, name] : names) model.names.emplace(name, inFile);
    for (const GgufTensor& tensor : gguf.tensors()) {
        if (tensor.name == "rope_freqs.weight") continue;
        const std::size_t dot = tensor.name.rfind('.');
        const auto known = dot == std::string::npos ? names.end() : names.find(tensor.name.substr(0, dot));
        // A tensor that no one asks for keeps its name, for the notice that it is not used.
        const std::string name = known == names.end() ? tensor.name : known->second + tensor.name.substr(dot);
        const bool turned = row.interleaved && known != names.end() &&
                            (known->first.ends_with(".attn_q") || known->first.ends_with(".attn_k"));
        const GgmlTypeRow& type = compute::ggmlType(tensor.type);
        const WeightType plain = tensor.type == GgmlType::F16    ? WeightType::Float16
                                 : tensor.type == GgmlType::BF16 ? WeightType::BFloat16
                                                                 : WeightType::Float32;
        if (turned && tensor.shape.front() % shape.headDim != 0)
            gguf.fail("tensor '" + tensor.name + "' is not made of whole heads",
                      "a multiple of " + std::to_string(shape.headDim) + " rows", std::to_string(tensor.shape.front()));
        if (tensor.shape.size() == 1 && type.widen != nullptr)
            gguf.fail("tensor '" + tensor.name + "' is a vector in blocks, which is not supported", "F32, F16 or BF16",
                      std::string(type.name));
        if (known == names.end() && type.widen != nullptr) {
            model.tensors[name] = {tensor.name, DType::F32, tensor.shape, {}, gguf.file()};
        } else if (turned || type.widen != nullptr) {
            copies.push_back({name, {tensor, type.widen != nullptr ? to : plain, turned ? shape.headDim : 0}});
            needed += copiedBytes(copies.back().second);
        } else {
            model.tensors[name] = {tensor.name, fileType(plain), tensor.shape, tensor.bytes, gguf.file()};
        }
    }
    requireMemory(gguf, needed, to);
    std::int64_t done = 0;
    for (const auto& [name, copying] : copies) {
        if (stop.stop_requested()) return {};
        if (progress) progress(static_cast<double>(done) / static_cast<double>(needed), "widening weights");
        TensorView view = copied(gguf, copying, threads);
        model.tensors[name] = std::move(view);
        done += copiedBytes(copying);
    }
    return model;
}

}  // namespace counterpoint::network
