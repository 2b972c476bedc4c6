// Diagnostics of one layer's estimates (R13, R14): each with its standard errors, beside what independent noise and no
// noise give.
#include <algorithm>
#include <array>
#include <cmath>

#include "model/diagnostics/routingplots.h"
#include "model/shownnumber.h"

namespace counterpoint::model::families {
namespace {

using compute::Estimate;
using compute::MetricEstimates;

Series curve(const char* name, int colour, const std::vector<RoutingCurvePoint>& points, std::size_t layer,
             Estimate MetricEstimates::*metric) {
    Series series = named(name, SeriesKind::Line, colour);
    for (const RoutingCurvePoint& point : points) push(series, point.at, point.layers[layer].*metric);
    return series;
}

/// A point at each of the dials' places; both of one value.
Series present(const char* name, int colour, const RoutingSubject& of, const Estimate& estimate) {
    Series series = named(name, SeriesKind::Points, colour);
    const auto [first, last] = std::minmax(of.routing.noise.coupling.rho, of.routing.noise.coupling.alpha);
    push(series, first, estimate);
    if (last > first) push(series, last, estimate);
    return series;
}

/// Positions of the picture in the groups of its dials.
compute::Layout layoutOf(const RoutingPicture& picture) {
    return compute::layoutOf(picture.of.routing.noise.coupling, picture.of.positions);
}

/// Σ_e (1 − Π_{t∈g} (1 − π_te))
double independentDistinct(const compute::IndependentForm& form, std::size_t experts, compute::Position from,
                           compute::Position to) {
    double distinct = 0;
    for (std::size_t e = 0; e < experts; ++e) {
        double none = 1;
        for (compute::Position t = from; t < to; ++t)
            none *= 1.0 - form.inclusion[static_cast<std::size_t>(t) * experts + e];
        distinct += 1.0 - none;
    }
    return distinct;
}

double plainDistinct(const compute::DeterministicRouting& routing, std::size_t experts, std::size_t chosen,
                     compute::Position from, compute::Position to) {
    std::vector<char> seen(experts);
    for (auto i = static_cast<std::size_t>(from) * chosen; i < static_cast<std::size_t>(to) * chosen; ++i)
        seen[static_cast<std::size_t>(routing.chosen[i])] = 1;
    return static_cast<double>(std::count(seen.begin(), seen.end(), 1));
}

/// The view of a diagnostic that needs the estimates under the dials.
RoutingView estimatesView(const Trace& trace, const View& view, const char* xTitle, const char* yTitle) {
    RoutingView shown = routingView(trace, view, xTitle, yTitle);
    if (!shown.nothing() && !shown.picture->coupled) shown.plot.empty = kOnItsWay;
    return shown;
}

void addCategory(PlotData& plot, std::string name) { plot.x.categories.push_back(std::move(name)); }

}  // namespace

PlotData routingCoherence(const Trace& trace, const View& view) {
    RoutingView shown = estimatesView(trace, view, "ρ or α", "Jaccard");
    PlotData& plot = shown.plot;
    if (shown.nothing()) return plot;
    const RoutingPicture& picture = *shown.picture;
    const MetricEstimates& now = picture.coupled->layers[shown.layer].metrics;
    const auto add = [&](Series series) {
        if (!series.x.empty()) plot.series.push_back(std::move(series));
    };
    add(curve("coherence over ρ", 1, picture.againstRho, shown.layer, &MetricEstimates::coherence));
    add(curve("boundary over ρ", 2, picture.againstRho, shown.layer, &MetricEstimates::boundary));
    add(curve("coherence over α", 3, picture.againstAlpha, shown.layer, &MetricEstimates::coherence));
    add(curve("boundary over α", 4, picture.againstAlpha, shown.layer, &MetricEstimates::boundary));
    add(present("coherence now", kCoupledColour, picture.of, now.coherence));
    add(present("boundary now", kCoupledColour, picture.of, now.boundary));
    shown.say(trace, picture.coupled->draws);
    plot.note += "; without noise " + shownCell((*picture.deterministic)[shown.layer].metrics.coherence) + " and " +
                 shownCell((*picture.deterministic)[shown.layer].metrics.boundary);
    return plot;
}

PlotData routingDistinct(const Trace& trace, const View& view) {
    RoutingView shown = estimatesView(trace, view, "Group", "Distinct experts");
    PlotData& plot = shown.plot;
    if (shown.nothing()) return plot;
    const RoutingPicture& picture = *shown.picture;
    const compute::Layout layout = layoutOf(picture);
    const auto experts = static_cast<std::size_t>(picture.routers.experts);
    const auto chosen = static_cast<std::size_t>(picture.routers.chosen);
    const compute::LayerEstimates& coupled = picture.coupled->layers[shown.layer];
    Series with = named("coupled", SeriesKind::Points, kCoupledColour);
    Series independent = named("independent", SeriesKind::Steps, kIndependentColour);
    Series plain = named("deterministic", SeriesKind::Steps, kPlainColour);
    for (std::size_t g = 0; g < layout.placements.size(); ++g) {
        const auto x = static_cast<double>(g);
        const compute::Position from = layout.bounds[g], to = layout.bounds[g + 1];
        push(with, x, coupled.distinctOfGroup[g]);
        if (picture.closed)
            push(independent, x, independentDistinct((*picture.closed)[shown.layer], experts, from, to));
        push(plain, x, plainDistinct((*picture.deterministic)[shown.layer], experts, chosen, from, to));
        if (view.cursor >= from && view.cursor < to) plot.cursorX = x;
    }
    plot.series = {std::move(plain), std::move(with)};
    if (picture.closed) plot.series.insert(plot.series.begin() + 1, std::move(independent));
    shown.say(trace, picture.coupled->draws);
    plot.note += "; mean of a group " + shownCell(coupled.metrics.distinct.mean) + " ± " +
                 shownCell(coupled.metrics.distinct.se);
    return plot;
}

PlotData routingLoad(const Trace& trace, const View& view) {
    RoutingView shown = estimatesView(trace, view, "Expert", "Selections");
    PlotData& plot = shown.plot;
    if (shown.nothing()) return plot;
    const RoutingPicture& picture = *shown.picture;
    const auto experts = static_cast<std::size_t>(picture.routers.experts);
    const compute::LayerEstimates& coupled = picture.coupled->layers[shown.layer];
    const auto capacity = compute::capacityOf(picture.of.capacity, picture.of.positions, experts,
                                              static_cast<int>(picture.routers.chosen));
    Series with = named("coupled", SeriesKind::Bars, kCoupledColour);
    Series independent = named("independent", SeriesKind::Bars, kIndependentColour);
    Series plain = named("deterministic", SeriesKind::Bars, kPlainColour);
    Series room = named("capacity", SeriesKind::Steps, kPlainColour);
    for (std::size_t e = 0; e < experts; ++e) {
        const auto x = static_cast<double>(e);
        addCategory(plot, std::to_string(e));
        push(with, x, coupled.load[e]);
        if (picture.closed) push(independent, x, (*picture.closed)[shown.layer].load[e]);
        push(plain, x, static_cast<double>((*picture.deterministic)[shown.layer].load[e]));
        push(room, x, static_cast<double>(capacity));
    }
    plot.series = {std::move(with)};
    if (picture.closed) plot.series.push_back(std::move(independent));
    plot.series.push_back(std::move(plain));
    plot.series.push_back(std::move(room));
    shown.say(trace, picture.coupled->draws);
    plot.note += "; " + std::to_string(picture.of.positions) + " positions, room for " + std::to_string(capacity) +
                 " each at c = " + shownExact(picture.of.capacity);
    return plot;
}

PlotData routingVariance(const Trace& trace, const View& view) {
    RoutingView shown = estimatesView(trace, view, "Noise", "Variance of the load");
    PlotData& plot = shown.plot;
    if (shown.nothing()) return plot;
    const RoutingPicture& picture = *shown.picture;
    Series bars = named("Σ_e Var N_e", SeriesKind::Bars, kCoupledColour);
    const auto add = [&](const char* name, int colour, const Estimate& estimate) {
        push(bars, static_cast<double>(bars.x.size()), estimate);
        bars.pointColours.push_back(colour);
        addCategory(plot, name);
    };
    add("deterministic", kPlainColour, {0, 0});
    if (picture.closed) add("independent", kIndependentColour, {(*picture.closed)[shown.layer].loadVariance, 0});
    if (picture.flat) add("flat", kFlatColour, picture.flat->layers[shown.layer].metrics.loadVariance);
    add("coupled", kCoupledColour, picture.coupled->layers[shown.layer].metrics.loadVariance);
    plot.series.push_back(std::move(bars));
    shown.say(trace, picture.coupled->draws);
    plot.note += "; without noise nothing varies: 0; independent in closed form, without error";
    return plot;
}

PlotData routingOverflow(const Trace& trace, const View& view) {
    RoutingView shown = estimatesView(trace, view, "Capacity factor c", "Selections beyond capacity");
    PlotData& plot = shown.plot;
    if (shown.nothing()) return plot;
    const RoutingPicture& picture = *shown.picture;
    const compute::LayerEstimates& coupled = picture.coupled->layers[shown.layer];
    const compute::DeterministicRouting& routing = (*picture.deterministic)[shown.layer];
    Series with = named("coupled", SeriesKind::Line, kCoupledColour);
    Series independent = named("independent", SeriesKind::Line, kIndependentColour);
    Series plain = named("deterministic", SeriesKind::Line, kPlainColour);
    Series now = named("now", SeriesKind::Points, kCoupledColour);
    for (std::size_t i = 0; i < picture.capacityFactors.size(); ++i) {
        const double c = picture.capacityFactors[i];
        const auto room =
            compute::capacityOf(c, picture.of.positions, routing.load.size(), static_cast<int>(picture.routers.chosen));
        std::int64_t over = 0;
        for (const std::int32_t n : routing.load) over += std::max<std::int64_t>(0, n - room);
        push(with, c, coupled.overflowAt[i]);
        if (picture.independent) push(independent, c, picture.independent->layers[shown.layer].overflowAt[i]);
        push(plain, c, static_cast<double>(over));
    }
    push(now, picture.of.capacity, coupled.metrics.overflow);
    plot.series = {std::move(with)};
    if (picture.independent) plot.series.push_back(std::move(independent));
    plot.series.push_back(std::move(plain));
    plot.series.push_back(std::move(now));
    shown.say(trace, picture.coupled->draws);
    return plot;
}

}  // namespace counterpoint::model::families
