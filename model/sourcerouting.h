#pragma once
// What a session says of a source's routing (SPEC.md 2, R11, R12) as the source takes it. Keys and their defaults:
//   mode "deterministic" | "independent" | "coupled"; rho 0.5, alpha 0.5; window 8; groups null (windows) or a list of
//   first positions, from 0; pairs null ((0,1), (2,3), …) or a list of pairs of groups; temperature 1; seed 7; capacity
//   1
// Errors: Error naming key, what was expected and found. Thread: any (values).

#include <string>
#include <vector>

#include "compute/routing/route.h"
#include "model/session.h"

namespace counterpoint::model {

/// Null: as published. `warnings`: of keys that nobody knows.
compute::SourceRouting sourceRouting(const OrderedJson& json, const std::string& where,
                                     std::vector<std::string>* warnings = nullptr);

/// summary.json's "law": "scored only" where a used source generates under noise that its groups share, since a token
/// that was drawn there depends on the noise of those after it (R12); "changed" where noise meets a router temperature
/// that is not 1; else "exact".
std::string lawOf(const Session& session);

}  // namespace counterpoint::model
