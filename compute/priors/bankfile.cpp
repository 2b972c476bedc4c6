// A bank -> .bank.safetensors: what tensors say better than text goes to tensors.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "compute/files/safetensorsbytes.h"
#include "compute/priors/bankparts.h"

namespace counterpoint::compute {
namespace {

constexpr std::size_t kBits = 8;

std::string dumped(const OrderedJson& json) { return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace); }

/// Bytes of a text inside a JSON string.
std::uint64_t escaped(const std::string& text) { return dumped(text).size() - 2; }

bool hasTexts(const Prior& prior) {
    const auto text = [](const PriorEntry& entry) { return entry.id == kNoToken; };
    return std::any_of(prior.promote.begin(), prior.promote.end(), text) ||
           std::any_of(prior.demote.begin(), prior.demote.end(), text);
}

/// Whether the ids of a side, ascending as the tensors have them, are the list as it was written.
bool isList(const std::vector<PriorEntry>& list, const Factor& factor, bool promoted) {
    std::vector<PriorEntry> ids;
    for (std::size_t i = 0; i < factor.tokens.size(); ++i)
        if ((factor.delta[i] > 0) == promoted) ids.push_back({.text = {}, .id = factor.tokens[i]});
    return ids == list;
}

bool isDelta(const Prior& prior, const Factor& factor) {
    return std::equal(prior.delta.begin(), prior.delta.end(), factor.tokens.begin(), factor.tokens.end(),
                      [](const auto& entry, TokenId id) { return entry.first == id; });
}

/// What the tensors can say alone.
char letterOf(const Prior& prior, const Factor& factor, int level) {
    if (prior.unusable || factor.tokens.empty()) return 'w';
    const bool lists = !prior.promote.empty() || !prior.demote.empty();
    if (lists && prior.delta.empty() && !hasTexts(prior) && isList(prior.promote, factor, true) &&
        isList(prior.demote, factor, false))
        return 'l';
    if (lists || !isDelta(prior, factor)) return 'w';
    const double alpha = std::abs(factor.delta.front());
    const bool oneBit = level > 0 && std::all_of(factor.delta.begin(), factor.delta.end(),
                                                 [&](double delta) { return std::abs(delta) == alpha; });
    return oneBit ? '1' : 'd';
}

/// The support as it stands in the file: of ids alone, whatever the vocabulary.
Factor factorOf(const Prior& prior, const IdSpace& ids) { return resolve(prior, hasTexts(prior) ? ids : IdSpace{}); }

void packOneBit(const Factor& factor, PackedBank& to) {
    to.scales.push_back(std::abs(factor.delta.front()));
    std::uint8_t byte = 0;
    for (std::size_t j = 0; j < factor.delta.size(); ++j) {
        if (factor.delta[j] > 0) byte = static_cast<std::uint8_t>(byte | 1u << j % kBits);
        if (j % kBits < kBits - 1 && j + 1 < factor.delta.size()) continue;
        to.signs.push_back(byte);
        byte = 0;
    }
}

bool fitsFloat(const std::vector<double>& values) {
    return std::all_of(values.begin(), values.end(),
                       [](double value) { return static_cast<double>(static_cast<float>(value)) == value; });
}

template <class T>
std::span<const std::byte> bytesOfVector(const std::vector<T>& values) {
    return std::as_bytes(std::span(values));
}

/// Tensors on the packed numbers; `narrow` holds those that are written as float32.
std::vector<TensorToWrite> tensorsOf(const PackedBank& packed, std::vector<std::vector<float>>& narrow) {
    const auto shape = [](std::size_t n) { return std::vector{static_cast<std::int64_t>(n)}; };
    std::vector<TensorToWrite> tensors = {
        {"ids", DType::I32, shape(packed.ids.size()), bytesOfVector(packed.ids)},
        {"offsets", DType::I64, shape(packed.offsets.size()), bytesOfVector(packed.offsets)},
        {"signs", DType::U8, shape(packed.signs.size()), bytesOfVector(packed.signs)}};
    narrow.reserve(2);
    for (const auto& [name, values] : {std::pair("scales", &packed.scales), std::pair("deltas", &packed.deltas)}) {
        if (fitsFloat(*values)) {
            const std::vector<float>& floats = narrow.emplace_back(values->begin(), values->end());
            tensors.push_back({name, DType::F32, shape(floats.size()), bytesOfVector(floats)});
        } else {
            tensors.push_back({name, DType::F64, shape(values->size()), bytesOfVector(*values)});
        }
    }
    return tensors;
}

}  // namespace

PackedBank pack(const Bank& bank, const IdSpace& ids) {
    PackedBank packed;
    packed.offsets = {0};
    OrderedJson priors = OrderedJson::array();
    for (const PriorPtr& prior : bank.priors) {
        const Factor factor = factorOf(*prior, ids);
        const char letter = letterOf(*prior, factor, bank.level);
        packed.stored += letter;
        // What stands whole in the metadata, texts with it, has nothing in the tensors.
        if (letter != 'w') packed.ids.insert(packed.ids.end(), factor.tokens.begin(), factor.tokens.end());
        packed.offsets.push_back(static_cast<std::int64_t>(packed.ids.size()));
        if (letter == '1')
            packOneBit(factor, packed);
        else if (letter != 'w')
            packed.deltas.insert(packed.deltas.end(), factor.delta.begin(), factor.delta.end());
        OrderedJson json = priorToJson(*prior, priors.size(), Keys::NoDefaults);
        if (letter == 'l')
            for (const char* key : {"promote", "demote"}) json.erase(key);
        if (letter == 'd' || letter == '1') json.erase("delta");
        packed.metadataBytes.push_back(escaped(dumped(json)));
        priors.push_back(std::move(json));
    }
    packed.metadata = {
        {"format", kBankFormat}, {"bank", dumped(bankToJson(bank, std::move(priors)))}, {"stored", packed.stored}};
    return packed;
}

void writePacked(const PackedBank& packed, const std::filesystem::path& file) {
    std::vector<std::vector<float>> narrow;
    writeSafetensors(file, tensorsOf(packed, narrow), packed.metadata);
}

BankBytes bytesOfPacked(const PackedBank& packed) {
    std::vector<std::vector<float>> narrow;
    BankBytes bytes;
    bytes.file = safetensorsBytes(tensorsOf(packed, narrow), packed.metadata);
    const std::uint64_t perScale = fitsFloat(packed.scales) ? sizeof(float) : sizeof(double);
    const std::uint64_t perDelta = fitsFloat(packed.deltas) ? sizeof(float) : sizeof(double);
    for (std::size_t k = 0; k < packed.stored.size(); ++k) {
        const auto n = static_cast<std::uint64_t>(packed.offsets[k + 1] - packed.offsets[k]);
        const bool oneBit = packed.stored[k] == '1';
        const std::uint64_t separators = 2;  // its letter, and the comma behind it
        bytes.prior.push_back(packed.metadataBytes[k] + separators + sizeof(std::int64_t) + n * sizeof(TokenId) +
                              (oneBit ? (n + kBits - 1) / kBits + perScale : n * perDelta));
    }
    return bytes;
}

}  // namespace counterpoint::compute
