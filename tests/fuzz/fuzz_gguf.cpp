// A GGUF file: its table, its metadata, its tokenizer, its configuration, its weights widened and loaded.
#include <algorithm>
#include <cstring>

#include "compute/network/ggufmodel.h"
#include "compute/text/gguftokenizer.h"
#include "tests/fuzz/shape.h"
#include "tests/fuzz/texts.h"

using namespace counterpoint;
using namespace counterpoint::fuzz;
using compute::Gguf;

namespace {

/// Every tensor inside the file, as large as its shape says, in order and none over another.
void checkTable(const Gguf& gguf) {
    const std::span<const std::byte> all = gguf.file()->bytes();
    const std::byte* end = all.data();
    for (const compute::GgufTensor& tensor : gguf.tensors()) {
        require(gguf.find(tensor.name) == &tensor, "a tensor is found under its name", tensor.name);
        require(tensor.bytes.data() >= end && tensor.bytes.data() + tensor.bytes.size() <= all.data() + all.size(),
                "a tensor lies inside the file, behind the one before", tensor.name);
        end = tensor.bytes.data() + tensor.bytes.size();
        std::int64_t n = 1;
        for (const std::int64_t size : tensor.shape) n *= size;
        const compute::GgmlTypeRow& row = compute::ggmlType(tensor.type);
        require(static_cast<std::int64_t>(tensor.bytes.size()) == n / row.block * row.bytes,
                "a tensor is as large as its shape", tensor.name);
    }
}

/// Keys of every kind, asked for as every kind.
void checkMetadata(const Gguf& gguf) {
    for (const char* key :
         {"general.architecture", "general.alignment", "tokenizer.ggml.tokens", "tokenizer.ggml.scores",
          "tokenizer.ggml.add_bos_token", "llama.rope.freq_base", "absent"}) {
        unsigned sum = 0;
        accepts([&] { sum += gguf.text(key).value_or("").size(); });
        accepts([&] { sum += gguf.integer(key).value_or(0) != 0; });
        accepts([&] { sum += gguf.number(key).value_or(0) != 0; });
        accepts([&] { sum += gguf.flag(key).value_or(false); });
        accepts([&] {
            for (const std::string_view text : gguf.texts(key)) sum += text.empty() ? 0 : text.back();
        });
        accepts([&] { sum += gguf.numbers(key).size(); });
        require(gguf.has(key) || sum == 0, "an absent key has no value", key);
    }
}

void checkTokenizer(const Gguf& gguf) {
    const auto tokenizer = compute::openGgufTokenizer(gguf);
    checkVocabulary(*tokenizer);
    const auto unknown = gguf.integer("tokenizer.ggml.unknown_token_id");
    checkTexts(*tokenizer,
               {.lossless = false,
                .unknown = unknown ? std::optional(static_cast<compute::TokenId>(*unknown)) : std::nullopt});
    std::vector<std::string> notices;
    for (const compute::TokenId id : compute::ggufStopIds(gguf, *tokenizer, notices))
        require(id >= 0 && id < tokenizer->size(), "a stop id is an id");
}

void checkModel(const Gguf& gguf, const std::string& dtype) {
    const auto model = network::readGgufModel(gguf, dtype, 1, {}, {});
    require(model.has_value(), "nobody cancelled");
    checkShape(model->config.shape);
    for (const auto& [name, view] : model->tensors) {
        const std::span<const std::byte> all = view.file->bytes();
        require(view.bytes.empty() || (view.bytes.data() >= all.data() &&
                                       view.bytes.data() + view.bytes.size() <= all.data() + all.size()),
                "a view lies inside its memory", name);
    }
    const auto loaded = network::loadCheckpoint({gguf.where()}, model->tensors, model->config, model->dtype, {}, {});
    require(loaded.has_value() && loaded->weights.embedding.data != nullptr, "a loaded model has its embedding");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::filesystem::path file = folder().put("x.gguf", asText(data, size));
    accepts([&] {
        const std::shared_ptr<const Gguf> gguf = Gguf::open(file);
        checkTable(*gguf);
        checkMetadata(*gguf);
        accepts([&] { checkTokenizer(*gguf); });
        for (const char* dtype : {"", "bfloat16", "float16"}) accepts([&] { checkModel(*gguf, dtype); });
    });
    return 0;
}
