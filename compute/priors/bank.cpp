// A bank as a value and as a file (R8, R10).
#include "compute/priors/bank.h"

#include <algorithm>

#include "compute/files/atomicfile.h"
#include "compute/files/mappedfile.h"
#include "compute/priors/bankparts.h"
#include "compute/priors/onebit.h"

namespace counterpoint::compute {
namespace {

constexpr std::uint64_t kMostJson = 256u << 20;

/// A length of 64 bits whose upper half is 0, then the header; JSON has no NUL.
bool hasTensors(const std::filesystem::path& file) {
    const auto mapped = MappedFile::open(file);
    const auto bytes = mapped->bytes();
    return bytes.size() > 8 &&
           std::all_of(bytes.begin() + 4, bytes.begin() + 8, [](std::byte b) { return b == std::byte{0}; });
}

}  // namespace

bool operator==(const Bank& a, const Bank& b) {
    const auto same = [](const PriorPtr& x, const PriorPtr& y) { return x == y || *x == *y; };
    return a.name == b.name && a.tokenizer == b.tokenizer && a.stake == b.stake && a.features == b.features &&
           a.level == b.level && a.unknown == b.unknown &&
           std::equal(a.priors.begin(), a.priors.end(), b.priors.begin(), b.priors.end(), same);
}

Bank readBank(const std::filesystem::path& file, std::vector<std::string>& warnings) {
    const OrderedJson json = hasTensors(file) ? jsonFromTensors(file) : readOrderedJson(file, kMostJson);
    return bankFromJson(json, file.string(), warnings);
}

void writeBank(const Bank& bank, const std::filesystem::path& file, const IdSpace& ids) {
    if (file.extension() == ".safetensors") return writePacked(pack(bank, ids), file);
    writeFile(file, jsonText(toJsonAsWritten(bank), 2) + '\n');
}

PriorPtr oneBitOf(const PriorPtr& prior, const Factor& factor) {
    if (prior->unusable || factor.tokens.empty()) return prior;
    const double alpha = oneBit(factor.delta).alpha;
    auto bit = std::make_shared<Prior>(*prior);
    const Prior none;
    bit->promote.clear();
    bit->demote.clear();
    bit->deltaPlus = none.deltaPlus;
    bit->deltaMinus = none.deltaMinus;
    bit->policy = none.policy;
    bit->delta.clear();
    for (std::size_t j = 0; j < factor.tokens.size(); ++j)
        bit->delta.emplace_back(factor.tokens[j], factor.delta[j] > 0 ? alpha : -alpha);
    return bit;
}

BankBytes bytesOf(const Bank& bank, const IdSpace& ids, bool exact) {
    if (exact) return bytesOfPacked(pack(bank, ids));
    Bank bits = bank;
    bits.level = std::max(bits.level, 1);
    for (PriorPtr& prior : bits.priors) prior = oneBitOf(prior, resolve(*prior, ids));
    return bytesOfPacked(pack(bits, ids));
}

}  // namespace counterpoint::compute
