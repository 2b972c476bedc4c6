#pragma once
// A bank of priors and its two files (SPEC.md 2, Bank). `.bank.json` is what a person writes; `.bank.safetensors` holds
//   ids      I32 [N]     supports one after the other, each sorted
//   offsets  I64 [M+1]   where each prior's begins
//   signs    U8  [Σ⌈n/8⌉ of one-bit priors]  packed, bit j of byte j/8 (lowest first), 1 = +
//   scales   F32 [one-bit priors]            α (R9)
//   deltas   F32 [Σ n of exact priors]
// (scales and deltas F64 where float32 does not hold them) and as metadata `format`, `bank`: the JSON without what the
// tensors say and without defaults, `stored`: a letter for each prior. w: its entries stand in the JSON; l: its lists
// are the ids by sign; d: its `delta` is ids and deltas; 1: its `delta` is ids, signs and scale. Level 0 is lossless:
// JSON -> safetensors -> JSON gives the same bank, text entries included. A bank is a value with its priors shared:
// changing one copies a list of pointers. Errors: Error for a file that is no bank; what is wrong with one prior stands
// in that prior. Thread: any.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compute/priors/prior.h"

namespace counterpoint::compute {

/// R8: inside = an open without its close.
struct Feature {
    std::string name, open, close;
    bool operator==(const Feature&) const = default;
};

using PriorPtr = std::shared_ptr<const Prior>;

struct Bank {
    std::string name;
    std::optional<std::string> tokenizer;  ///< fingerprint of the tokenizer its ids belong to
    double stake = 1;                      ///< R10 level 3
    std::vector<Feature> features;
    std::vector<PriorPtr> priors;
    int level = 0;  ///< R10: 0 as written, 1 one bit, 2 merged, 3 aggregated
    /// Unknown keys, and values of known ones that could not be read: saved again while nothing else stands there.
    OrderedJson unknown = OrderedJson::object();
    /// Keys that its file has though they are at their default (a bit each, bankjson.cpp): as Prior::stated.
    std::uint32_t stated = ~std::uint32_t{0};
};
/// By value, priors too.
COUNTERPOINT_API bool operator==(const Bank& a, const Bank& b);

/// Either format, told by its content. Warnings: unknown keys, values that were brought within bounds, duplicate names.
COUNTERPOINT_API Bank readBank(const std::filesystem::path& file, std::vector<std::string>& warnings);
COUNTERPOINT_API Bank bankFromJson(const OrderedJson& json, const std::string& where,
                                   std::vector<std::string>& warnings);
COUNTERPOINT_API OrderedJson toJson(const Bank& bank);
/// Atomic. The name's end decides: .safetensors or JSON. `ids` turns texts into the ids of the tensors; a text that
/// became nothing stays as it is written.
COUNTERPOINT_API void writeBank(const Bank& bank, const std::filesystem::path& file, const IdSpace& ids = {});

/// R10 level 1 of one prior: its support as explicit ±α (R9), so that signs and one scale are all there is; lists, δ₊,
/// δ₋ and policy are gone. Equal magnitudes stay what they are, to the bit. The same prior where there is no support.
COUNTERPOINT_API PriorPtr oneBitOf(const PriorPtr& prior, const Factor& factor);

/// Bytes on disk as .bank.safetensors: of the whole file, and what each prior takes of it (its share of every tensor
/// and its metadata; what is left is the file's own).
struct BankBytes {
    std::uint64_t file = 0;
    std::vector<std::uint64_t> prior;
};
/// exact: as it stands; else every prior by oneBitOf.
COUNTERPOINT_API BankBytes bytesOf(const Bank& bank, const IdSpace& ids, bool exact);

}  // namespace counterpoint::compute
