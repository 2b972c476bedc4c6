#pragma once
// Figures as data: a diagnostic gives PlotData; widgets draws it, export writes it. Non-finite values are gaps with a mark and
// a count, never an axis range (HAZARDS A23). Thread: any (values).

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "compute/files/json.h"

namespace counterpoint::model {

constexpr const char* kFigureFormat = "counterpoint.figure/1";  ///< of a recipe

enum class SeriesKind { Line, Bars, Band, Steps, Waterfall, Points };

struct Series {
    std::string name;             ///< legend
    SeriesKind kind = SeriesKind::Line;
    int colour = 0;               ///< index into the Okabe–Ito table; -1 = grey; -2 = the accent
    std::vector<double> x, y;     ///< same length; y may hold non-finite values
    std::vector<double> low,
        high;  ///< interval per x (Band), from and to (Waterfall); of the other kinds error bars, or empty
    std::vector<bool> grey;       ///< bars: truncated tokens
    std::vector<int> pointColours;///< bars, waterfalls: a colour per x instead of `colour`; else empty
    bool secondAxis = false;
};

struct Axis {
    std::string title;            ///< with its unit: "Drift (nats)"
    bool logarithmic = false;
    std::vector<std::string> categories;  ///< non-empty: category axis, x = 0..n-1
};

/// A map of values: a row is a category, a column a position.
struct Heat {
    std::size_t rows = 0, columns = 0;
    std::vector<float> values;          ///< [rows][columns] row-major, NaN = gap
    std::vector<std::string> rowNames;  ///< [rows], or empty
    double firstX = 0;                  ///< x of column 0; each column stands one further
    double low = 0, high = 1;           ///< ends of the colours
    bool diverging = false;             ///< two colours part in the middle
    std::string unit;                   ///< what a value is, for the colours' own axis: "inclusion probability"
    std::vector<bool> marked;           ///< [rows][columns]: chosen; or empty
};

struct PlotData {
    std::string id;               ///< the diagnostic's id
    std::string title;
    Axis x, y, y2;
    std::vector<Series> series;
    std::optional<Heat> heat;     ///< drawn instead of series, over the same x
    std::string empty;            ///< why there is nothing to see; shown instead of empty axes
    std::string note;             ///< one line under the plot ("3 values are infinite")
    double cursorX = -1;          ///< < 0: none; on a category axis the selected category
    double flipX = -1;            ///< first flip; < 0: none
    bool cursorIsPosition = false;///< clicking the plot moves the shared cursor
};

/// One row per x (ascending), one column per series (three where it has intervals: value, low, high) and per row of a
/// heat map (two where cells are marked: value, 1 or 0); RFC 4180, dot decimals, shortest text that reads back to the
/// same number, "inf", "-inf", "nan"; an x a series has no value for is an empty field.
std::string toCsv(const PlotData& plot);

/// A figure recipe (SPEC.md 2): the data, the size in millimetres, the style; `counterpoint render` draws it again.
struct FigureStyle {
    double widthMm = 85, heightMm = 60, fontPt = 8, lineWidthPt = 0.8;
    std::string fontFamily = "DejaVu Sans";
    int pngDpi = 300;
    bool operator==(const FigureStyle&) const = default;
};
compute::OrderedJson toJson(const PlotData& plot, const FigureStyle& style);
/// Errors: Error naming `where`, key, what was expected and found.
void fromJson(const compute::OrderedJson& json, const std::string& where, PlotData& plot, FigureStyle& style);

}  // namespace counterpoint::model
