#pragma once
// Scene: what all parts of one drawing share (look, figure, scales, cursor), and the painting of everything that is
// neither an axis nor a line: bars, waterfalls, bands behind them, gap marks, cursor and flip. Qt Gui alone, so that
// plotcanvas.cpp is left with QCustomPlot's axes. All lengths are multiples of Look::px. Thread: the window thread.

#include <QFont>
#include <QFontMetricsF>
#include <QPainter>
#include <QPen>
#include <QSize>
#include <functional>
#include <optional>
#include <vector>

#include "widgets/palette.h"
#include "widgets/plotscale.h"
#include "widgets/shortname.h"

namespace counterpoint::widgets {

struct Look {
    const Theme* theme = nullptr;
    QFont font;              ///< of axis titles; numbers are as large
    double px = 1;           ///< one design pixel (a point on paper) in the device's units
    double lineWidth = 1.6;  ///< in px
    bool legend = true;
    bool paper = false;  ///< no cursor, no note, no hover
};

struct Scene {
    Look look;
    model::PlotData plot;
    Prepared prepared;
    double cursorX = -1;
    std::optional<double> hoverX;
    double categoryRoom = 0;  ///< length a category's name may take before it is elided
    bool twoLines = false;    ///< of the categories' names: every other one stands lower

    const Theme& theme() const { return *look.theme; }
    QFontMetricsF metrics() const { return QFontMetricsF(look.font); }
    double px(double n) const { return n * look.px; }
    int whole(double n) const;
    /// Never a hairline: at least a quarter of a design pixel (HAZARDS A30).
    QPen pen(const QColor& colour, double width, Qt::PenStyle style = Qt::SolidLine) const;
    bool categories() const { return !plot.x.categories.empty(); }
    QColor barColour(const model::Series& s, std::size_t i) const;
    QString category(std::size_t i) const { return told(plot.x.categories[i]); }
};

/// The axis rectangle and the way from coordinates to the device.
struct Frame {
    QRectF area;
    std::function<double(double)> x, y;
};

enum class AxisKind { Values, SecondValues, X };
/// Of the visible range; as many as an axis rectangle of this size has room for.
std::vector<Tick> axisTicks(const Scene& scene, AxisKind kind, const Range& range, const QSize& room);

/// `title` where it fits into `room`, else what stands in its brackets (the unit), else nothing.
QString fittingTitle(const QString& title, double room, const QFontMetricsF& metrics);

/// Series `series` as bars or waterfall, member `index` of `count` in a group; y: the visible range of its axis.
void paintBars(QPainter& painter, const Scene& scene, const Frame& frame, std::size_t series, std::size_t index,
               std::size_t count, const Range& y);
/// The selected category, behind the bars.
void paintSelection(QPainter& painter, const Scene& scene, const Frame& frame);
/// Hover line, cursor and flip with its two words above the axis rectangle.
void paintMarkers(QPainter& painter, const Scene& scene, const Frame& frame);
/// Of lines, steps and points with intervals: a whisker a value. Bars draw their own.
void paintErrors(QPainter& painter, const Scene& scene, const Frame& frame);
/// A mark for each value that has no place on its axis.
void paintGaps(QPainter& painter, const Scene& scene, const Frame& frame);

/// The legend, rows of swatch and name from the left, then the note; one line each when they fit.
double legendHeight(const Scene& scene, double width);
void paintLegend(QPainter& painter, const Scene& scene, const QRectF& room);

}  // namespace counterpoint::widgets
