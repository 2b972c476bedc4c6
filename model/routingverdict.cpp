#include "model/routingverdict.h"

#include <algorithm>

#include "model/shownnumber.h"
#include "model/sourcerouting.h"

namespace counterpoint::model {

using compute::InvarianceKind;
using compute::InvarianceTest;
using compute::Position;

namespace {

std::vector<Position> testedPositions(Position positions) {
    std::vector<Position> chosen;
    for (const Position quarter : {1, 2, 3})
        if (const Position t = positions * quarter / 4; chosen.empty() || chosen.back() != t) chosen.push_back(t);
    return chosen;
}

std::string about(const InvarianceTest& row) {
    return "position " + std::to_string(row.position) +
           (row.expert >= 0 ? ", expert " + std::to_string(row.expert) : std::string());
}

std::string verdictOf(const InvariancePanel& panel, std::int64_t modelLayer) {
    const auto least = std::min_element(panel.rows.begin(), panel.rows.end(),
                                        [](const auto& a, const auto& b) { return a.pValue < b.pValue; });
    const std::string where = "in layer " + std::to_string(modelLayer) + ", " + std::to_string(panel.draws) +
                              " draws of its noise at each of " + std::to_string(panel.positions.size()) +
                              (panel.positions.size() == 1 ? " position" : " positions");
    const std::string p = "smallest corrected p = " + shownCell(least->pValue);
    if (panel.holds) return "No token's own law moved: " + where + " agree with it (" + p + ").";
    return std::string("A token's own law seems to have moved: ") + where + " disagree with it (" +
           titleOf(least->kind) + " at " + about(*least) + ", " + p +
           "); correct noise is told so under 5 seeds of 100.";
}

std::string scopeOf(const compute::SourceRouting& routing, TokenPath path) {
    std::string scope = std::string(kOneLayer) + ": redrawn noise on stored router logits.";
    if (routing.temperature != 1 || !routing.bias.empty())
        scope += std::string(" The law tested is the one that ") +
                 (routing.bias.empty()       ? "the router temperature"
                  : routing.temperature == 1 ? "switched or biased experts"
                                             : "the router temperature and switched or biased experts") +
                 " made, not the published one.";
    if (path == TokenPath::Scored) return scope + " The text was given, so each of its positions is covered.";
    if (path == TokenPath::SharedNoise)
        return scope +
               " Its tokens were drawn under noise that groups share: the path they took is not covered "
               "(law: scored only).";
    if (sharesNoise(routing))
        scope +=
            " A decode under these dials draws tokens under noise that groups share, and its path is not covered "
            "(law: scored only).";
    return scope;
}

}  // namespace

const char* titleOf(InvarianceKind kind) {
    switch (kind) {
        case InvarianceKind::Lists:
            return "ordered lists (χ²)";
        case InvarianceKind::Inclusion:
            return "inclusion of each expert";
        case InvarianceKind::Weights:
            return "mean mixture weights";
        case InvarianceKind::Gumbel:
            return "noise against Gumbel (Kolmogorov–Smirnov)";
    }
    return "";
}

std::optional<InvariancePanel> invariancePanel(const compute::EstimateQuestion& question,
                                               const compute::SourceRouting& routing, std::size_t layer, int draws,
                                               TokenPath path, const std::stop_token& stop) {
    const compute::RouterLayer& of = question.layers.at(layer);
    compute::InvarianceQuestion asked;
    asked.logits = of.logits;
    asked.experts = question.experts;
    asked.law = of.law;
    asked.coupling = routing.noise.coupling;
    asked.layer = of.layer;
    asked.seed = question.seed;
    asked.draws = draws;
    asked.positions = testedPositions(static_cast<Position>(of.logits.size() / question.experts));
    compute::Invariance found;
    if (testInvariance(asked, stop, found) != compute::Outcome::Done) return {};
    InvariancePanel panel{.layer = layer,
                          .positions = asked.positions,
                          .draws = draws,
                          .rows = found.rows,
                          .holds = holds(found),
                          .verdict = {},
                          .scope = scopeOf(routing, path)};
    panel.verdict = verdictOf(panel, of.layer);
    return panel;
}

}  // namespace counterpoint::model
