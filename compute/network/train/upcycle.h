#pragma once
// A Mixtral model from a trained Llama (sparse upcycling, arXiv 2212.05055): all but the feed-forward parts is taken as
// it is, every expert is a part of the dense one, the routers are new.
//   expert e of a layer: w of the dense layer's H hidden channels, drawn without replacement for each expert and layer;
//   D_e = D on them · H/w
// so that a mixture says in expectation what the dense layer said; with w = H it says exactly that. Deterministic in
// the seed. Thread: one owner.

#include "compute/network/train/llama.h"

namespace counterpoint::network::train {

/// dense has no experts; 1 <= chosen <= experts, 1 <= width <= its hidden size.
Llama upcycled(const Llama& dense, std::int64_t experts, std::int64_t chosen, std::int64_t width, std::uint64_t seed);

}  // namespace counterpoint::network::train
