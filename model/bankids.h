#pragma once
// Ids on their way into a bank (R8; SPEC.md 2, Bank: `tokenizer`). An id is a token of one tokenizer only, so a bank
// that states one takes ids of no other, and one that states none states it with the first ids that it gets, unless it
// has an id already that this tokenizer has not. Errors: Error naming the bank. Thread: any (values).

#include "compute/text/tokenizer.h"
#include "model/bankedit.h"

namespace counterpoint::model {

/// What of a prior is an id: entries, `delta`, its context's, and texts under "exact id". Ascending, unique.
std::vector<compute::TokenId> idsIn(const compute::Prior& prior);
/// Whether `after` has an id that `before` has not.
bool bringsIds(const compute::Prior& before, const compute::Prior& after);
/// Whether every id of the bank is one of this tokenizer. One whose priors could not all be read: nobody knows, so no.
bool hasIdsOf(const compute::Bank& bank, const compute::Tokenizer& tokenizer);

/// The session with a bank that ids of `tokenizer` may go into; null (ids without one): as it was. Error where the bank
/// was not read or was made for another tokenizer.
Session withIdsOf(Session session, std::size_t bank, const compute::Tokenizer* tokenizer);

}  // namespace counterpoint::model
