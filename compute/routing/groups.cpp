#include "compute/routing/groups.h"

#include <algorithm>
#include <set>
#include <string>
#include <tuple>

#include "compute/routing/refusal.h"

namespace counterpoint::compute {
namespace {

using routing::refuse;
using routing::written;

void checkWindow(Position window) {
    if (window < 1) refuse("\"window\"", "a window holds at least one position", "1 or more", std::to_string(window));
}

void checkStarts(const std::vector<Position>& starts) {
    for (std::size_t i = 0; i < starts.size(); ++i)
        if (starts[i] < 0 || (i > 0 && starts[i] <= starts[i - 1]))
            refuse("\"groups\"", "the starts of groups must ascend",
                   i == 0 ? "0 or more" : "more than " + std::to_string(starts[i - 1]), std::to_string(starts[i]));
}

void checkDial(const char* key, double value) {
    if (!(value >= 0.0 && value <= 1.0))
        refuse('"' + std::string(key) + '"', "the value is outside its bounds", "0 to 1", written(value));
}

/// The pair of a group, as its number and as the two groups.
struct Paired {
    std::size_t number;
    GroupPair groups;
};
std::optional<Paired> pairOf(const Coupling& coupling, GroupIndex group) {
    if (!coupling.pairs) {
        const GroupIndex first = group - group % 2;
        return Paired{static_cast<std::size_t>(first / 2), {first, first + 1}};
    }
    const auto at = std::find_if(coupling.pairs->begin(), coupling.pairs->end(),
                                 [&](const GroupPair& pair) { return pair[0] == group || pair[1] == group; });
    if (at == coupling.pairs->end()) return {};
    return Paired{static_cast<std::size_t>(at - coupling.pairs->begin()), *at};
}

Position firstOf(const Grouping& grouping, GroupIndex group) noexcept {
    const auto last = static_cast<GroupIndex>(grouping.starts.size()) - 1;
    return group <= last ? grouping.starts[static_cast<std::size_t>(group)]
                         : grouping.starts.back() + (group - last) * grouping.window.value();
}

double ofIts(const std::vector<double>& own, std::size_t index, double common) noexcept {
    return index < own.size() ? own[index] : common;
}

Placement placementOf(const Coupling& coupling, GroupAt at, const std::optional<Paired>& pair) {
    Placement placed{.group = at.group, .first = at.first};
    placed.rho = ofIts(coupling.rhoOfGroup, static_cast<std::size_t>(at.group), coupling.rho);
    if (pair && pair->groups[1] == at.group) {
        placed.partnerFirst = firstOf(coupling.groups, pair->groups[0]);
        placed.alpha = ofIts(coupling.alphaOfPair, pair->number, coupling.alpha);
    }
    return placed;
}

}  // namespace

Grouping windowsOf(Position window) {
    checkWindow(window);
    return {.starts = {0}, .window = window};
}

Grouping groupsFrom(std::vector<Position> starts) {
    checkStarts(starts);
    if (starts.empty() || starts.front() != 0) starts.insert(starts.begin(), 0);
    return {.starts = std::move(starts), .window = {}};
}

Grouping withWindow(const Grouping& grouping, Position from, Position window) {
    checkWindow(window);
    Grouping changed{.starts = grouping.starts, .window = window};
    const auto ahead = std::lower_bound(changed.starts.begin(), changed.starts.end(), from);
    if (ahead != changed.starts.end()) {
        changed.starts.erase(ahead + 1, changed.starts.end());
    } else if (!grouping.window) {
        changed.starts.push_back(from);
    } else {
        while (changed.starts.back() < from) changed.starts.push_back(changed.starts.back() + *grouping.window);
    }
    return changed;
}

GroupAt groupAt(const Grouping& grouping, Position position) noexcept {
    const auto after = std::upper_bound(grouping.starts.begin(), grouping.starts.end(), position);
    const GroupIndex listed = after - grouping.starts.begin() - 1;
    if (after != grouping.starts.end() || !grouping.window)
        return {listed, grouping.starts[static_cast<std::size_t>(listed)]};
    const Position whole = (position - grouping.starts.back()) / *grouping.window;
    return {listed + whole, grouping.starts.back() + whole * *grouping.window};
}

void check(const Coupling& coupling) {
    if (coupling.groups.starts.empty() || coupling.groups.starts.front() != 0)
        refuse("\"groups\"", "the first group must begin with the text", "0",
               coupling.groups.starts.empty() ? "none" : std::to_string(coupling.groups.starts.front()));
    checkStarts(coupling.groups.starts);
    if (coupling.groups.window) checkWindow(*coupling.groups.window);
    checkDial("rho", coupling.rho);
    checkDial("alpha", coupling.alpha);
    for (const double rho : coupling.rhoOfGroup) checkDial("rho", rho);
    for (const double alpha : coupling.alphaOfPair) checkDial("alpha", alpha);
    if (!coupling.pairs) return;
    std::set<GroupIndex> seen;
    for (const GroupPair& pair : *coupling.pairs) {
        const std::string both = '[' + std::to_string(pair[0]) + ", " + std::to_string(pair[1]) + ']';
        if (pair[0] < 0 || pair[0] >= pair[1])
            refuse("\"pairs\"", "a pair is two groups, the earlier one first", "[g, h] with 0 <= g < h", both);
        for (const GroupIndex group : pair)
            if (!seen.insert(group).second)
                refuse("\"pairs\"", "a group stands in two pairs", "each group once at most",
                       "group " + std::to_string(group) + " again in " + both);
    }
}

Coupling independentOf(Coupling coupling) {
    coupling.rho = 0;
    coupling.rhoOfGroup.clear();
    return coupling;
}

Coupling flatOf(Coupling coupling) {
    coupling.alpha = 0;
    coupling.alphaOfPair.clear();
    return coupling;
}

std::optional<Position> differFrom(const Coupling& a, const Coupling& b) {
    if (a == b) return {};
    const auto dials = [](const Coupling& c) {
        return std::tie(c.pairs, c.rho, c.alpha, c.rhoOfGroup, c.alphaOfPair, c.groups.window);
    };
    if (dials(a) != dials(b) || a.groups.window) return 0;
    const std::vector<Position>&one = a.groups.starts, &other = b.groups.starts;
    const auto [i, j] = std::mismatch(one.begin(), one.end(), other.begin(), other.end());
    if (i == one.end()) return *j;
    return j == other.end() ? *i : std::min(*i, *j);
}

Placement placementAt(const Coupling& coupling, Position position) {
    const GroupAt at = groupAt(coupling.groups, position);
    return placementOf(coupling, at, pairOf(coupling, at.group));
}

Layout layoutOf(const Coupling& coupling, Position positions) {
    check(coupling);
    Layout layout;
    if (positions > 0) {
        const GroupIndex last = groupAt(coupling.groups, positions - 1).group;
        std::vector<std::optional<Paired>> pairs(static_cast<std::size_t>(last) + 1);
        if (!coupling.pairs)
            for (GroupIndex group = 0; group <= last; ++group)
                pairs[static_cast<std::size_t>(group)] = pairOf(coupling, group);
        for (std::size_t i = 0; coupling.pairs && i < coupling.pairs->size(); ++i)
            for (const GroupIndex group : (*coupling.pairs)[i])
                if (group <= last) pairs[static_cast<std::size_t>(group)] = Paired{i, (*coupling.pairs)[i]};
        for (GroupIndex group = 0; group <= last; ++group) {
            const Position first = firstOf(coupling.groups, group);
            const std::optional<Paired>& pair = pairs[static_cast<std::size_t>(group)];
            layout.bounds.push_back(first);
            layout.placements.push_back(placementOf(coupling, {group, first}, pair));
            layout.pairedWithNext.push_back(pair && pair->groups == GroupPair{group, group + 1});
        }
    }
    layout.bounds.push_back(positions);
    return layout;
}

}  // namespace counterpoint::compute
