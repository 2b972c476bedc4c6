#pragma once
// What the diagnostics of routing share: why there is nothing to see, and the note that says what a plot speaks of.
// Internal to this folder. Thread: the trace owner's.

#include "model/diagnostics/families.h"
#include "model/routingpicture.h"

namespace counterpoint::model::families {

constexpr int kCoupledColour = -2, kIndependentColour = 2, kFlatColour = 3, kPlainColour = -1;

/// A layer of the trace's picture, and the plot it goes to. Where there is none, plot.empty says why.
struct RoutingView {
    PlotData plot;
    const RoutingPicture* picture = nullptr;
    std::size_t layer = 0;  ///< among the routed ones
    bool nothing() const { return !plot.empty.empty(); }
    /// "layer 2: one layer, given its inputs; coupled …": also whether the picture is of what is shown now.
    void say(const Trace& trace, int draws);
};
RoutingView routingView(const Trace& trace, const View& view, const char* xTitle, const char* yTitle);
/// What a plot says while a part of the picture is not there yet.
constexpr const char* kOnItsWay = "These estimates are on their way.";

/// y ± its standard error; one that has none (of a single draw) has no bar.
void push(Series& series, double x, const compute::Estimate& estimate);
/// y that is exact.
void push(Series& series, double x, double y);
Series named(const char* name, SeriesKind kind, int colour);

}  // namespace counterpoint::model::families
