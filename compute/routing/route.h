#pragma once
// R12: where one position goes in one layer, in the three modes. deterministic: no noise, the model as published;
// independent: R11's noise with ρ = 0; coupled: R11's noise. A source has settings of its own, so that a base under
// coupled noise can stand beside the base without it. Draw 0 of the noise is the decode. Scope, to be said wherever it
// is shown: the law of a token is kept per layer given its inputs, for scored text and for redrawn noise. In generation
// with ρ > 0 and W > 1 a token already drawn depends on its group's ζ: that path is not covered. Shapes: logits [E]. No
// allocation once the memory has its size. Errors: those of topk.h. Thread: any, one memory each.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "compute/export.h"
#include "compute/routing/copula.h"
#include "compute/routing/topk.h"

namespace counterpoint::compute {

enum class RoutingMode { Deterministic, Independent, Coupled };

struct RoutingSettings {
    RoutingMode mode = RoutingMode::Deterministic;
    Coupling coupling;
    std::uint64_t seed = 7;
    bool operator==(const RoutingSettings&) const = default;
};

/// How a source routes. As it stands: as published.
struct SourceRouting {
    RoutingSettings noise;
    double temperature = 1;                            ///< T_r of every layer; changes the law
    std::map<std::int64_t, std::vector<double>> bias;  ///< of a layer of the model: [E]; −∞: off; changes the law
    /// The source's own positions from prefixFirst on that are no positions of the shared sequence: they are routed
    /// without noise, and those behind have the noise of their shared positions.
    Position prefixFirst = 0, prefixLength = 0;
    bool operator==(const SourceRouting&) const = default;
};
/// First position of the source's own that the two may route differently; none: they are the same (groups.h).
COUNTERPOINT_API std::optional<Position> differFrom(const SourceRouting& a, const SourceRouting& b);
/// Nothing in it departs from the model as published.
COUNTERPOINT_API bool asPublished(const SourceRouting& routing);

struct Routed {
    std::vector<ExpertId> experts;  ///< [K] in order
    std::vector<double> weights;    ///< [K]
};

/// Of one layer of one source.
struct RouteMemory {
    GroupMemory group;
    std::vector<double> gamma, biased, scores;
};

/// The law on given noise; γ empty: none.
COUNTERPOINT_API void route(const RouterLaw& law, std::span<const float> logits, std::span<const double> gamma,
                            const RouterPlace& place, RouteMemory& memory, Routed& routed);
/// The decode. The settings' coupling has passed check().
COUNTERPOINT_API void routePosition(const RoutingSettings& settings, const RouterLaw& law,
                                    std::span<const float> logits, const RouterPlace& place, RouteMemory& memory,
                                    Routed& routed);

}  // namespace counterpoint::compute
