#pragma once
// Session: the document a person saves (SPEC.md 2, "counterpoint.session/1"). A plain value; undo is a list of session values.
// Unknown keys are kept in `unknown` of the object they stood in, and warned about. Thread: any (value).
// Errors: Error naming file, key, what was expected and found.

#include "compute/composition/recipe.h"
#include "compute/files/json.h"
#include "compute/priors/bank.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace counterpoint::model {

using compute::OrderedJson;

enum class Mode { Generate, Score };
enum class AddBos { Auto, True, False };

struct SourceEntry {
    std::string name = "base";
    std::string path;             ///< as written in the file; see Session::resolve
    bool enabled = true;          ///< specialists
    double weight = 1.0;          ///< specialists
    std::string reference = "base";  ///< a source's name, "base" or "none"
    double temperature = 1.0;
    std::string prefix;
    compute::Mask mask;
    std::string sourceInFile;     ///< "source": which source of a recording
    std::string tokenizer;        ///< TorchScript, recordings: a tokenizer directory
    std::string sha256;
    OrderedJson routing;  ///< null = deterministic; see sourceRouting()
    OrderedJson unknown = OrderedJson::object();
    bool operator==(const SourceEntry&) const = default;
};

/// A bank's weight, in size: with η and Δ at their bounds a sum of priors is still a number.
constexpr double kMostBankWeight = 1e6;
constexpr const char* kBankWeightExpected = "a number from -1000000 to 1000000";

struct BankEntry {
    std::string bank;
    bool enabled = true;
    double weight = 1.0;
    OrderedJson overrides = OrderedJson::object();   ///< see readOverrides
    OrderedJson unknown = OrderedJson::object();
    std::shared_ptr<const compute::Bank> content = nullptr;   ///< what acts; null: not read yet. Not in JSON
    bool operator==(const BankEntry&) const = default;
};

struct Decoding {
    double temperature = 0.7;
    std::int64_t topK = 0;
    double topP = 1.0, minP = 0.0;
    std::uint64_t seed = 7;
    std::uint32_t stream = 0;
    std::int64_t maxNewTokens = 128;
    compute::EosPolicy eosPolicy = compute::EosPolicy::Sum;
    std::optional<std::vector<compute::TokenId>> stopIds;  ///< null: the union the models state
    AddBos addBos = AddBos::Auto;
    bool scorePrompt = true;
    std::optional<compute::Plausibility> plausibility;
    double floor = 30;
    bool commonShift = false;
    std::optional<double> klBudget;
    double activeEpsilon = 0.1;
    OrderedJson unknown = OrderedJson::object();
    bool operator==(const Decoding&) const = default;
};

struct Session {
    std::string prompt = "Once upon a time";
    std::optional<std::vector<compute::TokenId>> promptIds;
    Mode mode = Mode::Generate;
    compute::Rule rule = compute::Rule::Product;
    SourceEntry base;
    std::vector<SourceEntry> specialists;
    std::vector<BankEntry> priors;
    Decoding decoding;
    OrderedJson view;             ///< the window's own: perspective, plot settings; null when absent
    OrderedJson unknown = OrderedJson::object();
    std::filesystem::path file;   ///< where it was read from or saved to; relative paths are relative to its folder. Not in JSON
    bool operator==(const Session&) const = default;

    std::filesystem::path resolve(const std::string& path) const;
    /// [0] the base, then specialists in rack order.
    std::vector<std::string> sourceNames() const;
    std::size_t sourceCount() const { return 1 + specialists.size(); }
    const SourceEntry& source(std::size_t i) const { return i == 0 ? base : specialists[i - 1]; }
    SourceEntry& source(std::size_t i) { return i == 0 ? base : specialists[i - 1]; }
    /// Whether source i must be fed: base, enabled with w ≠ 0, or a reference of one that is.
    bool uses(std::size_t i) const;
    /// What tells the open sources of a session apart: the resolved path, and with a recording which of its sources.
    std::string sourceKey(std::size_t i) const;
    /// Index of an entry's reference, kReferenceNone for "none"; Error when it is not in the rack.
    int referenceIndex(const SourceEntry& entry) const;
};

/// Warnings (unknown keys) are appended to `warnings`. Checks every bound of dial.h, duplicate and reserved names ("composed"), references.
Session readSession(const std::filesystem::path& file, std::vector<std::string>& warnings);
Session sessionFromJson(const OrderedJson& json, const std::filesystem::path& file, std::vector<std::string>& warnings);
OrderedJson toJson(const Session& session);
/// Error where a source has no name, a reserved one or another's, or is its own reference.
void requireGoodNames(const Session& session, const std::string& where);
/// Atomic. Paths are rewritten relative to the new file's folder where they were relative.
void writeSession(const Session& session, const std::filesystem::path& file);
/// The same session as it stands when saved as `file`: relative paths are made relative to its folder.
Session rebased(const Session& session, const std::filesystem::path& file);
/// The session's dials on the rack of a stored trace (`sources`, [0] = base): entries in the trace's order, by name; what the
/// session no longer has is switched off. nullopt: the session uses a source the trace has no rows of.
std::optional<Session> alignedTo(const Session& session, const std::vector<std::string>& sources);

/// The decoding block with what only a new decode reads set aside.
Decoding storedDials(Decoding decoding);

/// The recipe R1-R3 use; stopIds from the session or `statedStopIds`. revision is the caller's.
compute::Recipe toRecipe(const Session& session, const std::vector<compute::TokenId>& statedStopIds, std::uint64_t revision);

}  // namespace counterpoint::model
