#pragma once
// Parts of banks: the sides of a prior that a split takes apart, some priors as a bank of their own, and priors of
// another bank brought into one (R8). Ids go only where they mean the same tokens (bankids.h); a feature that a context
// names goes with its prior. Errors: Error naming the bank. Thread: any (values).

#include "model/bankids.h"

namespace counterpoint::model {

/// The entries that demote (places in Factor::entries, ascending): those of the list, and a `delta` below 0.
std::vector<std::size_t> demotedEntries(const compute::Prior& prior);
/// Whether it has entries of both sides, so that the demoted ones can be split off.
bool hasBothSides(const compute::Prior& prior);

/// The priors at `indices` (ascending) as they stand in a bank, as a bank called `name` of the same tokenizer and
/// stake, with the features that they name.
compute::Bank bankOfPriors(const compute::Bank& bank, std::span<const std::size_t> indices, std::string name);

struct Import {
    Session session;
    std::size_t first = 0, count = 0;  ///< where the imported priors stand
    std::size_t ofIds = 0;             ///< left behind: their ids are another tokenizer's, or nobody knows whose
    std::size_t unusable = 0;          ///< left behind: they could not be read
};
/// The priors of `from` at the end of bank `bank`, as they stand there; a name, or a feature's name, that is taken gets
/// a number. Ids come along where both banks are of one tokenizer; of a bank that states none where they may be ids of
/// `tokenizer`, the one in use (null: none is). `where`: of `from`, for sentences. Error where nothing is left to
/// import.
Import withImported(Session session, std::size_t bank, const compute::Bank& from, const compute::Tokenizer* tokenizer,
                    const std::string& where);

/// "; 2 were left behind, since …"; empty: all of them came.
std::string leftBehind(const Import& import);
/// "1 prior", "2 priors".
std::string countOf(std::size_t count, const std::string& what);

}  // namespace counterpoint::model
