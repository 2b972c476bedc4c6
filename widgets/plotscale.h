#pragma once
// From values to an axis: what can be drawn, what becomes a gap with a mark, the range and the ticks (HAZARDS A23).
// Every axis runs in its own drawing coordinate u: log10(value) on a logarithmic axis, value/unit on a linear one,
// where unit is 1 but for magnitudes no painter can hold (1e-300, 1e300). So 1e-300..1e300 is an ordinary range and a
// log axis has no zero. Ranges come from finite (on a log axis: positive) values only; no such value: 0..1 (log:
// 0.1..1). Of a heat map x runs over columns, y over rows, the second y over the values, of which those that are not
// finite are counted, but for gaps (not a number). Pure; thread: any.

#include <QString>
#include <vector>

#include "model/figure.h"

namespace counterpoint::widgets {

struct Range {
    double lower = 0, upper = 1;
    double size() const { return upper - lower; }
    bool operator==(const Range&) const = default;
};

struct Scale {
    bool logarithmic = false;
    double unit = 1;
    Range range;                        ///< in u, padded
    bool drawable(double value) const;  ///< has a place on this axis
    double toU(double value) const;     ///< NaN for what is not drawable
    double toValue(double u) const;
};

struct Tick {
    double u = 0;
    QString label;
};
/// About `count` ticks at 1, 2, 5 · 10^n (log: whole decades, with 2 and 5 between when few), labels of equal digits.
std::vector<Tick> ticks(const Scale& scale, const Range& visible, int count);
/// Whole positions only.
std::vector<Tick> positionTicks(const Range& visible, int count);

enum class GapKind { PlusInfinity, MinusInfinity, NotANumber, NotPositive };
struct Gap {
    double x = 0;
    GapKind kind = GapKind::NotANumber;
    std::size_t series = 0;
};

/// A PlotData ready to draw: per series u (NaN = gap), points that stand alone between gaps, and what became a gap.
struct Prepared {
    Scale x, y, y2;
    bool hasSecond = false;
    struct Values {
        std::vector<double> u, low, high;  ///< [n] of the series, in u of its axis
        std::vector<std::size_t> alone;    ///< indices a line would not show
    };
    std::vector<Values> series;
    std::vector<Gap> gaps;
    QString gapNote;  ///< "2 values are infinite"; empty: none
};
Prepared prepare(const model::PlotData& plot, bool logarithmic);
/// Whether there is anything to draw: a series, or a heat map with a value for every cell.
bool hasDrawing(const model::PlotData& plot);

}  // namespace counterpoint::widgets
