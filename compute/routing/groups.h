#pragma once
// R11: input positions in groups, groups in pairs, and what each group's noise is made with.
//   group: half-open [first, end); groups follow one another from position 0 on. Windows of W positions; or the starts
//   of a list (of sentences, say), which may grow while a text does; or a list and windows behind it
//   pair (g, h), g < h: only the second looks back. Pairs are disjoint; a group in none stands alone
// Nothing asks for what comes later: a group's first position, its pair and its dials are known when it begins.
// Errors: a window under 1, starts that do not ascend from 0 or later, ρ or α outside [0,1], pairs that are not
// ascending and disjoint. A window longer than the text is one group. Thread: any (values).

#include <array>
#include <optional>
#include <vector>

#include "compute/export.h"
#include "compute/step.h"

namespace counterpoint::compute {

using GroupIndex = std::int64_t;

struct Grouping {
    std::vector<Position> starts = {0};  ///< ascending, from 0
    std::optional<Position> window = 8;  ///< of the groups from the last start on; none: the last group goes on
    bool operator==(const Grouping&) const = default;
};
COUNTERPOINT_API Grouping windowsOf(Position window);
/// The starts of the groups; the first begins at 0 whether or not it is among them.
COUNTERPOINT_API Grouping groupsFrom(std::vector<Position> starts);
/// Windows of W from the next boundary at or after `from` on; from `from` itself where a list has none left.
COUNTERPOINT_API Grouping withWindow(const Grouping& grouping, Position from, Position window);

struct GroupAt {
    GroupIndex group = 0;
    Position first = 0;
};
COUNTERPOINT_API GroupAt groupAt(const Grouping& grouping, Position position) noexcept;

using GroupPair = std::array<GroupIndex, 2>;

/// The dials of one layer's noise. A value of its own for a group or a pair goes before the common one.
struct Coupling {
    Grouping groups;
    std::optional<std::vector<GroupPair>> pairs;  ///< none: (0,1), (2,3), …
    double rho = 0.5;                             ///< ρ in [0,1]
    double alpha = 0.5;                           ///< α in [0,1]
    std::vector<double> rhoOfGroup;               ///< of groups 0, 1, …
    std::vector<double> alphaOfPair;              ///< of pairs 0, 1, … in the order of the list
    bool operator==(const Coupling&) const = default;
};
/// Throws Error where a value is outside its bounds.
COUNTERPOINT_API void check(const Coupling& coupling);
/// The same groups with ρ = 0, and with α = 0.
COUNTERPOINT_API Coupling independentOf(Coupling coupling);
COUNTERPOINT_API Coupling flatOf(Coupling coupling);

/// First position from which the two may place noise differently; none: they are the same. Where the list of groups
/// alone differs, as it does of a text that grows, it is the first start that only one has; else 0.
COUNTERPOINT_API std::optional<Position> differFrom(const Coupling& a, const Coupling& b);

/// What the noise of one group is made with.
struct Placement {
    GroupIndex group = 0;
    Position first = 0;
    Position partnerFirst = -1;  ///< first position of the group it looks back to; −1: it looks back to none
    double rho = 0, alpha = 0;
    bool operator==(const Placement&) const = default;
};
COUNTERPOINT_API Placement placementAt(const Coupling& coupling, Position position);

/// The groups of T positions.
struct Layout {
    std::vector<Placement> placements;  ///< [G]
    std::vector<Position> bounds;       ///< [G + 1] first positions, then T
    std::vector<char> pairedWithNext;   ///< [G] is (g, g + 1) a pair?
};
COUNTERPOINT_API Layout layoutOf(const Coupling& coupling, Position positions);

}  // namespace counterpoint::compute
