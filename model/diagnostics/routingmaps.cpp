// Diagnostics of routing over positions: where each went in a layer (R12, R14), and what became of it end to end (R5).
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

#include "model/diagnostics/routingplots.h"
#include "model/shownnumber.h"

namespace counterpoint::model {
namespace {

constexpr std::array kRoutingMeasures = {
    RoutingMeasure{"chosen", "Chosen experts", "chosen (1) or not (0)"},
    RoutingMeasure{"weight", "Mixture weight", "mixture weight"},
    RoutingMeasure{"inclusion", "Inclusion probability", "inclusion probability"},
    RoutingMeasure{"difference", "Difference to independent", "inclusion, coupled minus independent"},
};

}  // namespace

std::span<const RoutingMeasure> routingMeasures() { return kRoutingMeasures; }

namespace families {
namespace {

using compute::ExpertId;
using compute::RoutingRow;

const RoutingMeasure& measureOf(const View& view) {
    const auto found = std::find_if(kRoutingMeasures.begin(), kRoutingMeasures.end(),
                                    [&](const RoutingMeasure& measure) { return measure.id == view.routingMeasure; });
    return found != kRoutingMeasures.end() ? *found : kRoutingMeasures.front();
}

/// Experts by positions of one layer, and which were chosen with what weight.
struct Decoded {
    std::size_t layer, experts, chosen;
    Heat heat;

    void add(std::size_t t, const RoutingRow& row, bool weights) {
        for (std::size_t k = 0; k < chosen; ++k) {
            const auto e = static_cast<std::size_t>(row.experts[layer * chosen + k]);
            heat.marked[e * heat.columns + t] = true;
            heat.values[e * heat.columns + t] = weights ? row.weights[layer * chosen + k] : 1.0F;
        }
    }
    /// π̂, or π̂ − π.
    void estimate(const compute::LayerEstimates& coupled, const compute::IndependentForm* independent) {
        const std::size_t positions = std::min(heat.columns, coupled.inclusion.size() / experts);
        float most = 0;
        std::fill(heat.values.begin(), heat.values.end(), std::numeric_limits<float>::quiet_NaN());
        for (std::size_t t = 0; t < positions; ++t)
            for (std::size_t e = 0; e < experts; ++e) {
                const std::size_t at = t * experts + e;
                float value = coupled.inclusion[at];
                if (independent != nullptr) value -= static_cast<float>(independent->inclusion[at]);
                heat.values[e * heat.columns + t] = value;
                most = std::max(most, std::abs(value));
            }
        if (independent == nullptr) return;
        heat.diverging = true;
        heat.high = std::max(static_cast<double>(most), 1e-3);
        heat.low = -heat.high;
    }
};

Decoded decodedOf(const Trace& trace, std::size_t source, std::size_t layer, bool weights) {
    const compute::RouterInfo& routers = *trace.routers[source];
    Decoded map{layer, static_cast<std::size_t>(routers.experts), static_cast<std::size_t>(routers.chosen), {}};
    map.heat.rows = map.experts;
    map.heat.columns = trace.store ? static_cast<std::size_t>(routedPositions(*trace.store, source)) : 0;
    map.heat.values.resize(map.heat.rows * map.heat.columns);
    map.heat.marked.resize(map.heat.rows * map.heat.columns);
    for (std::size_t e = 0; e < map.experts; ++e) map.heat.rowNames.push_back(std::to_string(e));
    for (std::size_t t = 0; t < map.heat.columns; ++t)
        map.add(t, *trace.store->routing(static_cast<compute::Position>(t) + 1, source), weights);
    return map;
}

/// Two sources of the trace that are one model with routed experts, the routed one that is looked at among them where
/// it can be.
std::optional<std::array<std::size_t, 2>> twins(const Trace& trace, const View& view) {
    std::optional<std::array<std::size_t, 2>> found;
    for (std::size_t b = 1; b < trace.routers.size(); ++b)
        for (std::size_t a = 0; a < b; ++a) {
            if (!trace.routers[a] || !trace.routers[b]) continue;
            if (trace.decodedWith.sourceKey(a) != trace.decodedWith.sourceKey(b)) continue;
            const bool looked = routedSource(trace, view) == a || routedSource(trace, view) == b;
            if (!found || looked) found = {a, b};
            if (looked) return found;
        }
    return found;
}

/// Share of the layers whose sets differ.
double changed(const RoutingRow& a, const RoutingRow& b, std::size_t layers, std::size_t chosen) {
    std::size_t differ = 0;
    for (std::size_t l = 0; l < layers; ++l) {
        const auto setOf = [&](const RoutingRow& row) {
            const auto from = row.experts.begin() + static_cast<std::ptrdiff_t>(l * chosen);
            return std::set<ExpertId>(from, from + static_cast<std::ptrdiff_t>(chosen));
        };
        differ += setOf(a) != setOf(b);
    }
    return static_cast<double>(differ) / static_cast<double>(layers);
}

}  // namespace

PlotData routingHeat(const Trace& trace, const View& view) {
    const RoutingMeasure& measure = measureOf(view);
    const bool estimated = measure.id == "inclusion" || measure.id == "difference";
    RoutingView shown = routingView(trace, view, "Input position", "Expert");
    PlotData& plot = shown.plot;
    plot.cursorIsPosition = true;
    const auto source = routedSource(trace, view);
    if (trace.steps.empty() || !source || (shown.nothing() && estimated)) return plot;
    const compute::RouterInfo& routers = *trace.routers[*source];
    const std::size_t layer =
        std::min(static_cast<std::size_t>(std::max(view.routingLayer, 0)), routers.layers.size() - 1);
    Decoded map = decodedOf(trace, *source, layer, measure.id == "weight");
    plot.empty.clear();
    if (map.heat.columns == 0) {
        plot.empty =
            "The router logits of this trace's first position are not stored. Decode again with the source "
            "switched on and the prompt scored.";
        return plot;
    }
    map.heat.unit = measure.unit;
    plot.note = "'" + trace.sources[*source] + "', layer " + std::to_string(routers.layers[layer]) +
                ": marked is where the decode went, end to end (a recording: by its router logits, without noise)";
    if (estimated) {
        const RoutingPicture& picture = *shown.picture;
        const bool difference = measure.id == "difference";
        if (!picture.coupled || (difference && !picture.closed)) {
            plot.empty = kOnItsWay;
            return plot;
        }
        map.estimate(picture.coupled->layers[shown.layer], difference ? &(*picture.closed)[shown.layer] : nullptr);
        shown.say(trace, 0);
        plot.note += "; " + std::to_string(picture.coupled->draws) + " draws, standard error at most " +
                     shownCell(0.5 / std::sqrt(picture.coupled->draws)) + "; marked is where the decode went";
    }
    plot.heat = std::move(map.heat);
    plot.cursorX = static_cast<double>(view.cursor);
    return plot;
}

PlotData routingEnds(const Trace& trace, const View& view) {
    PlotData plot;
    plot.x.title = "Position";
    plot.y.title = "Share of layers";
    plot.cursorIsPosition = true;
    if (trace.steps.empty()) {
        plot.empty = kNothingDecoded;
        return plot;
    }
    const auto pair = twins(trace, view);
    if (!pair || !trace.store) {
        plot.empty =
            "End to end two decodes are compared: the rack needs one model with routed experts twice. Add it "
            "again as a specialist with other routing, and generate.";
        return plot;
    }
    const auto [a, b] = *pair;
    const compute::RouterInfo& routers = *trace.routers[a];
    Series sets = named("expert sets that differ", SeriesKind::Line, kCoupledColour);
    Series drift = named("drift", SeriesKind::Line, kPlainColour);
    Series apart = named("", SeriesKind::Line, static_cast<int>(b));
    apart.name = "KL(" + trace.sources[b] + "‖" + trace.sources[a] + ")";
    drift.secondAxis = apart.secondAxis = true;
    double sum = 0;
    std::size_t routed = 0;
    for (const StepPtr& step : trace.steps) {
        const auto x = static_cast<double>(step->position);
        const auto one = trace.store->routing(step->position, a), other = trace.store->routing(step->position, b);
        const bool both = one != nullptr && other != nullptr;
        push(sets, x,
             both ? changed(*one, *other, routers.layers.size(), static_cast<std::size_t>(routers.chosen))
                  : std::numeric_limits<double>::quiet_NaN());
        if (both) sum += sets.y.back();
        routed += both ? 1 : 0;
        push(drift, x, step->diagnostics.drift);
        if (b < step->diagnostics.activity.size()) push(apart, x, step->diagnostics.activity[b]);
    }
    plot.series = {std::move(sets), std::move(drift)};
    // R5's activity is against a source's own reference.
    const Session& session = trace.session;
    const bool against = b < session.sourceCount() && session.source(b).reference != "none" &&
                         session.referenceIndex(session.source(b)) == static_cast<int>(a);
    if (against && apart.x.size() == plot.series[0].x.size()) plot.series.push_back(std::move(apart));
    plot.y2.title = "Drift (nats)";
    plot.cursorX = static_cast<double>(view.cursor);
    if (trace.flip) plot.flipX = static_cast<double>(*trace.flip);
    plot.note = "'" + trace.sources[a] + "' and '" + trace.sources[b] + "' " + kEndToEnd +
                ", on the same text: sets of input position p − 1";
    if (routed > 0) plot.note += "; mean " + shownCell(sum / static_cast<double>(routed)) + " of the layers";
    return plot;
}

}  // namespace families
}  // namespace counterpoint::model
