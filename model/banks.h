#pragma once
// The banks of a session's rack: reading them, and what of them acts in a trace (R8). A bank is a value that sessions share;
// editing one gives an entry another value, so that undo, decodes and what-ifs carry it like every dial.
// Errors: Error only where said. Thread: any (values).

#include "compute/priors/priorset.h"
#include "model/session.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace counterpoint::model {

using BankPtr = std::shared_ptr<const compute::Bank>;
using PriorSetPtr = std::shared_ptr<const compute::PriorSet>;

/// A bank's file as it was read.
struct BankFile {
    std::string path;                   ///< resolved
    BankPtr bank;                       ///< null: `problem` says why
    std::string problem;
    std::vector<std::string> warnings;
};
/// Never throws an Error.
BankFile readBankFile(const std::string& path);

/// Gives every entry without content what `find` knows of its resolved path.
void fillBanks(Session& session, const std::function<BankPtr(const std::string& path)>& find);
/// Error naming an enabled bank that is not there.
void requireBanks(const Session& session, const std::function<std::string(const std::string& path)>& why);
/// Error naming key and value where a session's override is none; `warnings`: of keys that nobody knows.
compute::PriorOverrides readOverrides(const OrderedJson& overrides, const std::string& where,
                                      std::vector<std::string>* warnings = nullptr);
/// `overrides` with one of them changed; unknown keys stay, an override that says nothing goes.
OrderedJson withOverride(const OrderedJson& overrides, const std::string& prior, const compute::PriorOverride& value);

/// What of the session's banks acts with this tokenizer; a bank without content has no priors.
PriorSetPtr priorSetOf(const Session& session, const compute::Tokenizer* tokenizer, std::int64_t vocabulary,
                       const compute::PriorSet* before = nullptr);
/// One sentence for each bank that has something to tell: entries that do not act, priors that cannot be used.
std::vector<std::string> bankNotices(const Session& session, const compute::PriorSet& set);

/// The terms at a position, with room that is used again; they point into set.
struct PriorsAt {
    std::vector<std::size_t> matching, bounded;   ///< members of the set
    std::vector<compute::PriorTerm> terms;
    void look(const compute::PriorSet* set, const compute::ContextText& text, compute::Position position);
};

}  // namespace counterpoint::model
