#pragma once
// Hand-made figures for the tests of what is drawn.

#include "model/figure.h"

#include <cmath>

namespace counterpoint::tests {

inline model::Series series(std::string name, model::SeriesKind kind, int colour, std::vector<double> y, double x0 = 0) {
    model::Series s;
    s.name = std::move(name);
    s.kind = kind;
    s.colour = colour;
    for (std::size_t i = 0; i < y.size(); ++i) s.x.push_back(x0 + static_cast<double>(i));
    s.y = std::move(y);
    return s;
}

/// One line over positions.
inline model::PlotData linePlot(std::vector<double> y) {
    model::PlotData plot;
    plot.id = "drift";
    plot.title = "Drift";
    plot.x.title = "Position";
    plot.y.title = "Drift (nats)";
    plot.cursorIsPosition = true;
    plot.series = {series("drift", model::SeriesKind::Line, -2, std::move(y))};
    return plot;
}

/// A track with its running sum, activity bands, a cursor and a flip: all kinds over positions.
inline model::PlotData tracePlot(int n) {
    model::PlotData plot = linePlot({});
    std::vector<double> drift, sum;
    double total = 0;
    for (int i = 0; i < n; ++i) {
        drift.push_back(0.4 + 0.35 * std::sin(i * 0.37) + 0.2 * std::cos(i * 1.7));
        total += drift.back();
        sum.push_back(total);
    }
    plot.series = {series("drift", model::SeriesKind::Line, -2, drift)};
    plot.series.push_back(series("running sum", model::SeriesKind::Line, -1, sum));
    plot.series.back().secondAxis = true;
    plot.y2.title = "Sum (nats)";
    plot.cursorX = n / 3;
    plot.flipX = n / 2;
    return plot;
}

inline model::PlotData activityPlot(int n) {
    model::PlotData plot = linePlot({});
    plot.id = "activity";
    plot.y.title = "Activity (nats)";
    plot.series.clear();
    for (int s = 1; s <= 2; ++s) {
        std::vector<double> a;
        for (int i = 0; i < n; ++i) a.push_back(std::max(0.01, 0.5 * std::sin(i * 0.2 + s * 2.0) + 0.15));
        model::Series track = series(s == 1 ? "dialogue" : "animals", model::SeriesKind::Steps, s, a), band = track;
        band.kind = model::SeriesKind::Band;
        band.x.clear();
        band.y.clear();
        for (int i = 0; i < n; ++i)
            if (a[static_cast<std::size_t>(i)] > 0.1) {
                band.x.push_back(i);
                band.y.push_back(a[static_cast<std::size_t>(i)]);
                band.low.push_back(0.1);
                band.high.push_back(a[static_cast<std::size_t>(i)]);
            }
        plot.series.push_back(band);
        plot.series.push_back(track);
    }
    plot.series.push_back(series("ε", model::SeriesKind::Steps, -1, std::vector<double>(static_cast<std::size_t>(n), 0.1)));
    plot.cursorX = 12;
    return plot;
}

/// Four groups of bars over tokens and a tail; tokens from the seventh on are truncated.
inline model::PlotData barsPlot() {
    model::PlotData plot;
    plot.id = "distribution";
    plot.title = "Distribution";
    plot.x.categories = {"␣the", "␣a", "␣she", "␣dog", "␣said", ",", ".", "␣and", "↵", "</s>", "␣grandmother", "<0xE2>",
                         "others"};
    plot.y.title = "Probability";
    const char* names[] = {"base", "dialogue", "animals", "composed"};
    for (int s = 0; s < 4; ++s) {
        std::vector<double> y;
        for (int i = 0; i < 13; ++i) y.push_back(0.3 / (1 + i) * (1 + 0.5 * std::sin(i * 2.0 + s)));
        plot.series.push_back(series(names[s], model::SeriesKind::Bars, s == 3 ? -2 : s, y));
        for (int i = 0; i < 13; ++i) plot.series.back().grey.push_back(i >= 6 && i < 12);
    }
    plot.cursorX = 3;
    plot.note = "Position 12: drawn ␣dog, p = 0.113; 6 tokens kept";
    return plot;
}

inline model::PlotData waterfallPlot() {
    model::PlotData plot;
    plot.id = "ledger";
    plot.title = "Ledger";
    plot.x.categories = {"base", "dialogue", "animals", "shared shift", "normaliser", "total"};
    plot.y.title = "Share of log p (nats)";
    model::Series s = series("log p(␣dog)", model::SeriesKind::Waterfall, -2, {-3.2, 0.4, 1.7, -0.3, -0.8, -2.2});
    double running = 0;
    for (std::size_t i = 0; i < s.y.size(); ++i) {
        if (i + 1 == s.y.size()) running = 0;
        s.low.push_back(running);
        running += s.y[i];
        s.high.push_back(running);
    }
    s.pointColours = {0, 1, 2, -1, -1, -2};
    plot.series = {s};
    plot.note = "␣dog at position 12: log p = −2.200 nats";
    return plot;
}

/// Experts over positions from 1 on: a value that tells row and column, two of the rows chosen in each column.
inline model::PlotData heatPlot(std::size_t rows, std::size_t columns, bool diverging = false) {
    model::PlotData plot = linePlot({});
    plot.id = "routing_map";
    plot.title = "Routed experts";
    plot.y.title = "Expert";
    plot.series.clear();
    model::Heat heat;
    heat.rows = rows;
    heat.columns = columns;
    heat.firstX = 1;
    heat.low = diverging ? -0.5 : 0;
    heat.diverging = diverging;
    heat.unit = "inclusion probability";
    for (std::size_t r = 0; r < rows; ++r) {
        heat.rowNames.push_back(std::to_string(r));
        for (std::size_t c = 0; c < columns; ++c) {
            heat.values.push_back(
                static_cast<float>(0.5 + 0.5 * std::sin(static_cast<double>(r) * 0.7 + static_cast<double>(c) * 0.11)));
            heat.marked.push_back((r + c / 3) % rows < 2);
        }
    }
    plot.heat = heat;
    plot.cursorX = 3;
    return plot;
}

}  // namespace counterpoint::tests
