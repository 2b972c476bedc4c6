#pragma once
// The looks of the house in one place: colours of the light and the dark window and of paper, spacing, numbers for
// eyes. One accent colour; categories after Okabe & Ito (colour-blind safe), magnitudes viridis or cividis. Text on its
// background has a contrast of at least 4.5 : 1 (WCAG 2.1 AA; measured in tst_plotpalette). Thread: the window thread
// (currentTheme); the tables are immutable.

#include <QColor>
#include <QFont>
#include <QPalette>
#include <QString>
#include <array>
#include <span>

class QApplication;

namespace counterpoint::widgets {

enum class ThemeKind { Light, Dark, Paper };

struct Theme {
    ThemeKind kind = ThemeKind::Light;
    QColor window;   ///< behind docks
    QColor surface;  ///< plots, lists, editors
    QColor raised;   ///< buttons, headers
    QColor text;
    QColor quiet;      ///< secondary text: units, axis numbers, hints
    QColor quietOnTint;  ///< the same where a fifth of any colour of a measure lies behind it
    QColor line;       ///< borders
    QColor grid;       ///< grid lines of plots
    QColor accent;     ///< the one accent: cursor, selection, the composed distribution
    QColor onAccent;   ///< text on the accent
    QColor selection;  ///< quiet tint of the accent behind selected rows
    QColor warning, failure, good;
    QColor grey;                       ///< truncated, switched off
    std::array<QColor, 8> categories;  ///< [0] the base, then specialists in rack order
};

const Theme& theme(ThemeKind kind);
const Theme& currentTheme();
/// Fusion style, palette and style sheet of the whole application; every widget gets its change event at once.
void applyTheme(QApplication& application, ThemeKind kind);
/// The same without the sheet: what widgets read while they are made. A window is made faster before there is a sheet:
/// with one in force every widget is styled anew each time one of its ancestors gets a parent.
void setThemeColours(QApplication& application, ThemeKind kind);
QPalette paletteOf(const Theme& theme);
QString styleSheetOf(const Theme& theme);

/// Series colours: >= 0 category (by rack order, repeats after the last), -1 grey, -2 the accent.
QColor seriesColour(const Theme& theme, int index);

enum class Magnitudes { Viridis, Cividis };
/// t in [0,1], clamped; not a number gives the theme's grey.
QColor magnitudeColour(Magnitudes scale, double t);
/// t in [-1,1], clamped; 0 is neutral: light on light and on paper, dark in the dark window. Not a number: as above.
QColor divergingColour(const Theme& theme, double t);

/// A share t of b in a.
QColor mixed(const QColor& a, const QColor& b, double t);
/// Relative contrast of two opaque colours, 1..21 (WCAG 2.1).
double contrast(const QColor& a, const QColor& b);

namespace spacing {
constexpr int hair = 2, tight = 4, normal = 8, wide = 12, page = 16;
constexpr int row = 24;  ///< height of one-line controls
constexpr int radius = 4;
}  // namespace spacing

/// The application's font with figures of one width (a fixed face when the application's has none).
QFont numberFont(const QFont& base);
/// `decimals` digits after the point, "∞", "−∞", "–" for not a number, a real minus sign, never "−0.00".
/// Above 1e6 and (when it would show only zeros) below the last digit: "1.2e−7".
QString formatNumber(double value, int decimals = 3);
/// As narrow as four digits and a point, for cells: "0.1234", "12.35", "148.4", "4e−5".
QString formatCell(double value);
/// All digits that matter, for read-outs: shortest text that gives the same double.
QString formatExact(double value);

}  // namespace counterpoint::widgets
