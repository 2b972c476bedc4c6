#pragma once
// Recipe: everything of the rack and dials that turns source rows into a drawn token (R1-R3). An immutable value; the
// decode lane takes one at the start of a step. Source: arXiv 2605.28304 (product rule), SPEC.md R1.
// Shapes: source indices 0..M-1, 0 = base. Units: nats. Thread: any (value).

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compute/step.h"

namespace counterpoint::compute {

enum class Rule { Product, Mixture };
enum class EosPolicy { Sum, Mean, Max, Base, Active };
enum class PlausibilityKind { Relative, TopP };

struct Plausibility {
    PlausibilityKind kind = PlausibilityKind::Relative;
    double value = 0.1;
    bool operator==(const Plausibility&) const = default;
};

/// Half-open [from, to) in positions of the shared sequence.
struct Interval {
    Position from = 0, to = 0;
    bool operator==(const Interval&) const = default;
};

/// R1 c_i(t,v): absent optional = everything.
struct Mask {
    std::optional<std::vector<TokenId>> tokens;  ///< sorted, unique
    std::optional<std::vector<Interval>> positions;
    bool operator==(const Mask&) const = default;
};

constexpr int kReferenceNone = -1;

/// One specialist of the rack. source = index of its row; reference = index of another row, or kReferenceNone (log p_r
/// = 0).
struct SpecialistTerm {
    std::string name;
    int source = 1;
    int reference = 0;
    bool enabled = true;
    double weight = 1.0;
    Mask mask;
    bool operator==(const SpecialistTerm&) const = default;
};

/// A prior that matches at this step: log φ(v) = delta for its tokens, else 0 (R8). tokens unique; a view of a PriorSet.
struct PriorTerm {
    std::string_view name;
    double eta = 0;
    std::span<const TokenId> tokens;
    std::span<const double> delta;
    std::size_t bank = 0;  ///< which one of the rack; within it a name is one prior's
};

struct Recipe {
    std::uint64_t revision = 0;
    Rule rule = Rule::Product;
    std::vector<std::string> sourceNames;     ///< [M]; [0] is the base
    std::vector<SpecialistTerm> specialists;  ///< rack order
    EosPolicy eosPolicy = EosPolicy::Sum;
    std::vector<TokenId> stopIds;  ///< sorted
    double floor = 30;
    std::optional<Plausibility> plausibility;
    bool commonShift = false;
    std::optional<double> klBudget;
    double activeEpsilon = 0.1;
    double temperature = 1.0;
    std::int64_t topK = 0;
    double topP = 1.0;
    double minP = 0.0;
    std::uint64_t seed = 7;
    std::uint32_t stream = 0;
};

}  // namespace counterpoint::compute
