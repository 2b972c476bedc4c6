#include "model/diagnostics/routingplots.h"

#include <algorithm>
#include <cmath>

#include "model/shownnumber.h"

namespace counterpoint::model {

std::optional<std::size_t> routedSource(const Trace& trace, const View& view) {
    const auto routed = [&](std::size_t i) {
        return i < trace.routers.size() && trace.routers[i] && !trace.routers[i]->layers.empty();
    };
    if (view.source >= 0 && routed(static_cast<std::size_t>(view.source))) return static_cast<std::size_t>(view.source);
    for (std::size_t i = 0; i < trace.routers.size(); ++i)
        if (routed(i)) return i;
    return {};
}

namespace families {
namespace {

using compute::RoutingMode;

std::string groupsOf(const compute::Grouping& groups) {
    if (groups.starts.size() > 1) return "groups of a list";
    return groups.window ? "windows of " + std::to_string(*groups.window) : "one group";
}

std::string dialsOf(const RoutingSubject& of) {
    const compute::RoutingSettings& noise = of.routing.noise;
    std::string dials = "coupled: ρ = " + shownExact(noise.coupling.rho) + ", α = " + shownExact(noise.coupling.alpha) +
                        ", " + groupsOf(noise.coupling.groups);
    if (of.routing.temperature != 1) dials += ", router temperature " + shownExact(of.routing.temperature);
    if (!of.routing.bias.empty()) dials += ", experts switched or biased";
    if (of.routing.temperature != 1 || !of.routing.bias.empty()) dials += " (changes the law)";
    if (noise.mode == RoutingMode::Coupled) return dials;
    return dials + " (the source itself is routed " +
           (noise.mode == RoutingMode::Independent ? "with independent noise)" : "without noise)");
}

}  // namespace

RoutingView routingView(const Trace& trace, const View& view, const char* xTitle, const char* yTitle) {
    RoutingView shown;
    shown.plot.x.title = xTitle;
    shown.plot.y.title = yTitle;
    std::string& empty = shown.plot.empty;
    const RoutingPicture* picture = trace.routing.get();
    if (trace.steps.empty()) {
        empty = kNothingDecoded;
    } else if (!routedSource(trace, view)) {
        empty =
            "No source of this trace has routed experts. Open a Mixture-of-Experts model, or a recording with "
            "router logits.";
    } else if (picture == nullptr) {
        empty = "No estimates yet: they are made from the stored router logits while routing is looked at.";
    } else if (!picture->problem.empty()) {
        empty = picture->problem;
    } else {
        shown.picture = picture;
        const std::size_t layers = picture->routers.layers.size();
        shown.layer = std::min(static_cast<std::size_t>(std::max(view.routingLayer, 0)), layers - 1);
    }
    return shown;
}

void RoutingView::say(const Trace& trace, int draws) {
    const RoutingSubject& of = picture->of;
    plot.note = "'" + of.source + "', layer " + std::to_string(picture->routers.layers[layer]) + ": " + kOneLayer +
                "; " + dialsOf(of);
    if (draws > 0) plot.note += "; " + std::to_string(draws) + " draws, ± one standard error";
    if (trace.routingStale) plot.note += "; of earlier dials or text: new estimates are on their way";
}

void push(Series& series, double x, const compute::Estimate& estimate) {
    const double se = std::isfinite(estimate.se) ? estimate.se : 0;
    series.x.push_back(x);
    series.y.push_back(estimate.mean);
    series.low.push_back(estimate.mean - se);
    series.high.push_back(estimate.mean + se);
}

void push(Series& series, double x, double y) {
    series.x.push_back(x);
    series.y.push_back(y);
}

Series named(const char* name, SeriesKind kind, int colour) {
    Series series;
    series.name = name;
    series.kind = kind;
    series.colour = colour;
    return series;
}

}  // namespace families
}  // namespace counterpoint::model
