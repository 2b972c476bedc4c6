#pragma once
// What a session says of a source's routing (SPEC.md 2, R11, R12) as the source takes it. Keys and their defaults:
//   mode "deterministic" | "independent" | "coupled"; rho 0.5, alpha 0.5; window 8; groups null (windows), "sentences"
//   or a list of first positions, from 0; pairs null ((0,1), (2,3), …) or a list of pairs of groups; temperature 1;
//   seed 7; capacity 1; draws 256; experts {"2": {"off": [3], "bias": {"1": -1.5}}}, by layer of the model
// Errors: Error naming key, what was expected and found. Thread: any (values).

#include <string>
#include <vector>

#include "compute/routing/route.h"
#include "compute/sources/source.h"
#include "model/session.h"

namespace counterpoint::model {

/// Null: as published. `warnings`: of keys that nobody knows. Biases reach as far as experts are named, and groups by
/// sentences are one group, until fitted() and bySentences() have their say.
compute::SourceRouting sourceRouting(const OrderedJson& json, const std::string& where,
                                     std::vector<std::string>* warnings = nullptr);
/// The same for the routers of a source: biases [E] of each layer named. Errors: a layer that is not routed, an expert
/// that is not there, fewer than K left.
compute::SourceRouting fitted(compute::SourceRouting routing, const compute::RouterInfo& routers,
                              const std::string& where);
/// Whether a group begins after each token that ends a sentence (sentences.h).
bool bySentences(const OrderedJson& routing);
/// c of the overflow and D of estimates; nothing in a decode asks for them.
double routingCapacity(const OrderedJson& routing);
int routingDraws(const OrderedJson& routing);

/// Whether positions share noise: those of a group, or groups that are paired.
bool sharesNoise(const compute::SourceRouting& routing);
/// summary.json's "law": "changed" where a used source's routed experts are switched off or biased, or noise meets a
/// router temperature that is not 1; else "scored only" where one generates under noise that its groups share, since a
/// token that was drawn there depends on the noise of those after it (R12); else "exact".
std::string lawOf(const Session& session);

}  // namespace counterpoint::model
