#pragma once
// R8: how far an η that a bank or a session states may go. Beyond it the entry is refused by its key: with |Δ| up to
// kMostDelta (prior.h) and any number of priors the sum stays far from what a number holds.

namespace counterpoint::compute {

constexpr double kMostEta = 1e6;

}  // namespace counterpoint::compute
