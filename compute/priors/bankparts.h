#pragma once
// What the files of compute/priors share about bank files. Internal to compute. Thread: any.

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "compute/priors/bank.h"

namespace counterpoint::compute {

constexpr const char* kBankFormat = "counterpoint.bank/1";

/// Unknown keys of many objects: how often, and where first.
class UnknownKeys {
  public:
    void note(const OrderedJson& unknown, const std::string& where, const std::string& prefix = {});
    /// One sentence a key.
    void tell(const std::string& file, std::vector<std::string>& warnings) const;

  private:
    struct Seen {
        std::string key, where;
        std::size_t times = 1;
    };
    std::vector<Seen> m_seen;
    std::map<std::string, std::size_t, std::less<>> m_index;
};

/// Appended to an object where it has no such key itself.
void addUnknown(OrderedJson& json, const OrderedJson& unknown);

/// `index` from 0; a prior without a name is called by its place. Never throws an Error: see Prior::problems.
Prior priorFromJson(const OrderedJson& json, std::size_t index, UnknownKeys& unknown);
/// Which keys at their default are written: all, none, or those that the file had.
enum class Keys { All, NoDefaults, AsWritten };
/// An unusable one as it was written. `index`: where it is written, from 0; as it was written, a name that is only its
/// place is none.
OrderedJson priorToJson(const Prior& prior, std::size_t index, Keys keys);
/// The bank around its priors.
OrderedJson bankToJson(const Bank& bank, OrderedJson priors);
/// What a person's file becomes: what was not edited stands there as it was.
OrderedJson toJsonAsWritten(const Bank& bank);

/// The metadata of a .bank.safetensors with what its tensors say put back: a bank's JSON.
OrderedJson jsonFromTensors(const std::filesystem::path& file);

/// A .bank.safetensors in memory.
struct PackedBank {
    std::vector<TokenId> ids;
    std::vector<std::int64_t> offsets;
    std::vector<std::uint8_t> signs;
    std::vector<double> scales, deltas;
    std::map<std::string, std::string> metadata;
    std::vector<std::uint64_t> metadataBytes;  ///< of each prior, as they stand in the file
    std::string stored;                        ///< a letter for each prior
};
PackedBank pack(const Bank& bank, const IdSpace& ids);
void writePacked(const PackedBank& packed, const std::filesystem::path& file);
BankBytes bytesOfPacked(const PackedBank& packed);

}  // namespace counterpoint::compute
