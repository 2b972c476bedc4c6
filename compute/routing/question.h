#pragma once
// What estimates, closed form and controller ask of a question's router logits before they route by them. Internal to
// this folder. Thread: any.

#include <span>
#include <vector>

#include "compute/routing/estimates.h"

namespace counterpoint::compute::routing {

/// ℓ'/T_r [T][E] of a layer. Errors: those of topk.h.
std::vector<double> scaledLogits(const RouterLaw& law, std::span<const float> logits, std::size_t experts,
                                 std::uint32_t layer);
/// T. Errors: no layer, no experts, layers of unequal shape.
Position positionsOf(const EstimateQuestion& question);

}  // namespace counterpoint::compute::routing
