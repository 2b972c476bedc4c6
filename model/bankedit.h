#pragma once
// Editing a bank of the rack (R8): each function gives the session with one of its banks changed. A bank is a new value
// that shares the priors which did not change; its file stays as it is until it is saved. Overrides of the session go
// with their prior: to its new name, away with the last one of a name. Errors: Error where the bank was not read, or a
// name is empty or another prior's. Thread: any (values).

#include <span>

#include "model/banks.h"

namespace counterpoint::model {

/// The bank of an entry; Error where it was not read.
const compute::Bank& bankAt(const Session& session, std::size_t bank);
/// `wanted`, or with the first number that makes it no other prior's of the bank: "prefer get 2".
std::string freePriorName(const compute::Bank& bank, const std::string& wanted);

/// Prior `index` replaced; where its name changes it must be free.
Session withPrior(Session session, std::size_t bank, std::size_t index, compute::Prior prior);
/// `prior` put before place `at`, under a free name.
Session withNewPrior(Session session, std::size_t bank, std::size_t at, compute::Prior prior);
/// `indices`: ascending, unique.
Session withoutPriors(Session session, std::size_t bank, std::span<const std::size_t> indices);
/// A copy of each behind the last of them, with what the session says of it. Linear in the bank.
Session withDuplicates(Session session, std::size_t bank, std::span<const std::size_t> indices);
/// Each one place up (−1) or down (+1), as far as there is room; `indices` are where they stand then.
Session withPriorsMoved(Session session, std::size_t bank, std::vector<std::size_t>& indices, int by);
/// The entries of a prior (places in Factor::entries, ascending) in a prior of their own behind it.
Session withSplit(Session session, std::size_t bank, std::size_t index, std::span<const std::size_t> entries);

/// The priors joined into one in the place of the first, by R10's rule for level 2 ("keep product") whatever their
/// cosine (compute::joinedPrior), with the session's η. Error where their tasks or contexts differ, one does not act,
/// or they cancel on every token.
Session withMerged(Session session, std::size_t bank, std::span<const std::size_t> indices,
                   const compute::IdSpace& ids);

/// What a session says of a prior: its override, or nothing.
compute::PriorOverride overrideOf(const BankEntry& entry, const std::string& prior);
/// Whether a prior is switched on: the override's word before its own.
bool isOn(const compute::Prior& prior, const compute::PriorOverride& override);
/// The session's η of a prior; nullopt: the derived one again.
Session withEta(Session session, std::size_t bank, std::size_t index, std::optional<double> eta);
/// The derived η for all of these (ascending), whether the session or the bank says another. Linear in the bank.
Session withDerivedEta(Session session, std::size_t bank, std::span<const std::size_t> indices);
/// Priors of a bank switched on or off in the session. Linear in the bank.
Session withSwitched(Session session, std::size_t bank, std::span<const std::size_t> indices, bool on);
/// The same for all of a bank at once.
Session withSwitches(Session session, std::size_t bank, const std::vector<bool>& on);
/// Which priors of a bank are on in the session.
std::vector<bool> switchesOf(const Session& session, std::size_t bank);

/// A feature of the bank by its name: its patterns changed, for every prior that names it, or a new one behind the
/// others. Error: no name, a pattern that is none, or a name under which the bank's file has what could not be read.
Session withFeature(Session session, std::size_t bank, compute::Feature feature);

enum class Side { Promote, Demote };
/// A token promoted or demoted by its id. What the prior said of that token before is gone, by its id or by a text that
/// became it. `became`: what the prior's entries became.
compute::Prior withToken(compute::Prior prior, Side side, compute::TokenId token, const compute::Factor& became);
/// A text at the end of a side, to become a token by the prior's policy.
compute::Prior withText(compute::Prior prior, Side side, std::string text);
/// Without the entries at these places of Factor::entries (ascending).
compute::Prior withoutEntries(compute::Prior prior, std::span<const std::size_t> entries);

}  // namespace counterpoint::model
