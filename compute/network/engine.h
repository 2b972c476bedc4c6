#pragma once
// Engine: one decoding state of a model, on some device. The caller (ModelSource) has checked ids, rows, space and
// positions. Cancelled or a throw: the logits are not to be used; what was read before stays usable. A layer whose
// output is not finite is named (compute::NotFinite). Thread: one owner.

#include <cstdint>
#include <span>
#include <stop_token>

#include "compute/error.h"
#include "compute/step.h"

namespace counterpoint::network {

class Router;

/// Reads ids at positions first, first+1, … and writes the logits [rows][V] after the last rows of them.
class Engine {
  public:
    virtual ~Engine() = default;
    virtual compute::Outcome forward(std::int64_t first, std::span<const compute::TokenId> ids, std::int64_t rows,
                                     std::span<float> logits, const std::stop_token& stop) = 0;
    /// Of a model with routed experts; null: it has none.
    virtual Router* router() { return nullptr; }
};

/// The Error of a layer (0-based; -1: the embedding) whose output holds a NaN or an infinity.
[[noreturn]] void throwNotFinite(std::int64_t layer, std::int64_t layers);

}  // namespace counterpoint::network
