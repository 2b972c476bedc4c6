// Diagnostics over positions: one line (or band) per quantity of R5.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "model/diagnostics/families.h"

namespace counterpoint::model::families {
namespace {

using compute::Diagnostics;
using compute::Step;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

PlotData positions(const Trace& trace, const View& view, const char* yTitle) {
    PlotData plot;
    plot.x.title = "Position";
    plot.y.title = yTitle;
    plot.y.logarithmic = view.logScale;
    plot.cursorIsPosition = true;
    if (trace.steps.empty()) {
        plot.empty = kNothingDecoded;
        return plot;
    }
    plot.cursorX = static_cast<double>(view.cursor);
    if (trace.flip) plot.flipX = static_cast<double>(*trace.flip);
    return plot;
}

template <class Value>
Series line(const Trace& trace, std::string name, int colour, Value value) {
    Series s;
    s.name = std::move(name);
    s.colour = colour;
    s.x.reserve(trace.steps.size());
    s.y.reserve(trace.steps.size());
    for (const StepPtr& step : trace.steps) {
        s.x.push_back(static_cast<double>(step->position));
        s.y.push_back(value(*step));
    }
    return s;
}

auto field(double Diagnostics::*member) {
    return [member](const Step& step) { return step.diagnostics.*member; };
}

auto entry(std::vector<double> Diagnostics::*member, std::size_t source) {
    return [member, source](const Step& step) {
        const std::vector<double>& values = step.diagnostics.*member;
        return source < values.size() ? values[source] : kNone;
    };
}

}  // namespace

PlotData drift(const Trace& trace, const View& view) {
    PlotData plot = positions(trace, view, "Drift (nats)");
    plot.y2.title = "Sum (nats)";
    if (!plot.empty.empty()) return plot;
    plot.series.push_back(line(trace, "drift", -2, field(&Diagnostics::drift)));
    Series sum = plot.series.front();
    sum.name = "running sum";
    sum.colour = -1;
    sum.secondAxis = true;
    std::partial_sum(sum.y.begin(), sum.y.end(), sum.y.begin());
    plot.series.push_back(std::move(sum));
    return plot;
}

PlotData driftStages(const Trace& trace, const View& view) {
    PlotData plot = positions(trace, view, "Drift (nats)");
    if (!plot.empty.empty()) return plot;
    plot.series.push_back(line(trace, "stage priors, τ = 1", 1, field(&Diagnostics::driftComposed)));
    plot.series.push_back(line(trace, "stage temperature", -2, field(&Diagnostics::drift)));
    plot.series.push_back(line(trace, "after truncation", 2, field(&Diagnostics::driftDrawn)));
    return plot;
}

PlotData divergences(const Trace& trace, const View& view) {
    PlotData plot = positions(trace, view, "Divergence (nats)");
    plot.y2.title = "Total variation";
    if (!plot.empty.empty()) return plot;
    plot.series.push_back(line(trace, "KL from base", 1, field(&Diagnostics::klFromBase)));
    plot.series.push_back(line(trace, "Jensen–Shannon", 2, field(&Diagnostics::js)));
    Series tv = line(trace, "total variation", 3, field(&Diagnostics::tv));
    tv.secondAxis = true;
    plot.series.push_back(std::move(tv));
    return plot;
}

PlotData entropy(const Trace& trace, const View& view) {
    PlotData plot = positions(trace, view, "Entropy (nats)");
    if (!plot.empty.empty()) return plot;
    plot.series.push_back(line(trace, "entropy", -2, field(&Diagnostics::entropy)));
    plot.series.push_back(line(trace, "surprise of the token", -1, [](const Step& step) {
        return step.token == compute::kNoToken ? kNone : -static_cast<double>(step.logProb);
    }));
    return plot;
}

PlotData activity(const Trace& trace, const View& view) {
    PlotData plot = positions(trace, view, "Activity (nats)");
    if (!plot.empty.empty()) return plot;
    if (trace.sources.size() < 2) {
        plot.empty = "The rack has no specialist. Add one to see where it is active.";
        return plot;
    }
    const double epsilon = trace.session.decoding.activeEpsilon;
    for (std::size_t i = 1; i < trace.sources.size(); ++i) {
        const int colour = static_cast<int>(i);
        Series band = line(trace, trace.sources[i] + " active", colour, [&](const Step& step) {
            const double a = entry(&Diagnostics::activity, i)(step);
            return a > epsilon ? a : kNone;
        });
        band.kind = SeriesKind::Band;
        // The band says where: only positions above ε have one, so what is not active is no gap of the data.
        Series kept = band;
        kept.x.clear();
        kept.y.clear();
        for (std::size_t k = 0; k < band.x.size(); ++k)
            if (!std::isnan(band.y[k])) {
                kept.x.push_back(band.x[k]);
                kept.y.push_back(band.y[k]);
                kept.low.push_back(epsilon);
                kept.high.push_back(band.y[k]);
            }
        plot.series.push_back(std::move(kept));
        Series track = line(trace, trace.sources[i], colour, entry(&Diagnostics::activity, i));
        track.kind = SeriesKind::Steps;
        plot.series.push_back(std::move(track));
    }
    Series threshold = line(trace, "ε", -1, [epsilon](const Step&) { return epsilon; });
    threshold.kind = SeriesKind::Steps;
    plot.series.push_back(std::move(threshold));
    return plot;
}

PlotData interference(const Trace& trace, const View& view) {
    PlotData plot = positions(trace, view, "Interference (nats)");
    if (!plot.empty.empty()) return plot;
    if (trace.sources.size() < 3) {
        plot.empty = "Interference is between specialists. Add a second one to see it.";
        return plot;
    }
    if (trace.session.rule == compute::Rule::Mixture) {
        plot.empty = "Interference is defined for the rule product only; this trace was composed as a mixture.";
        return plot;
    }
    plot.series.push_back(line(trace, "interference", -2, field(&Diagnostics::interference)));
    return plot;
}

PlotData endOfText(const Trace& trace, const View& view) {
    PlotData plot = positions(trace, view, "P(end of text)");
    if (!plot.empty.empty()) return plot;
    for (std::size_t i = 0; i < trace.sources.size(); ++i)
        plot.series.push_back(line(trace, trace.sources[i], static_cast<int>(i), entry(&Diagnostics::eos, i)));
    plot.series.push_back(line(trace, "composed", -2, field(&Diagnostics::eosComposed)));
    return plot;
}

}  // namespace counterpoint::model::families
