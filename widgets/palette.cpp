#include "widgets/palette.h"

#include <QApplication>
#include <QFontDatabase>
#include <QFontMetricsF>
#include <QPointer>
#include <algorithm>
#include <cmath>

#include "model/shownnumber.h"
#include "widgets/housestyle.h"

namespace counterpoint::widgets {
namespace {

QColor hex(unsigned rgb) { return QColor::fromRgb(static_cast<QRgb>(rgb)); }

// Okabe & Ito, "Color Universal Design" (2008), less their blue: it is the accent of the light window. The base is
// neutral.
constexpr unsigned kOrange = 0xE69F00, kGreen = 0x009E73, kPurple = 0xCC79A7, kVermillion = 0xD55E00, kSky = 0x56B4E9,
                   kYellow = 0xF0E442, kBlue = 0x0072B2;

/// The light and the dark window, colour by colour.
struct Shade {
    QColor Theme::*field;
    unsigned light, dark;
};
constexpr Shade kShades[] = {
    {&Theme::window, 0xF3F4F6, 0x16191D},   {&Theme::surface, 0xFFFFFF, 0x1D2126},
    {&Theme::raised, 0xFAFAFB, 0x272C33},   {&Theme::text, 0x1D2127, 0xE6E8EB},
    {&Theme::quiet, 0x5A626D, 0x9BA4AF},    {&Theme::line, 0xD5D9DF, 0x363C45},
    {&Theme::grid, 0xECEEF1, 0x2A2F36},     {&Theme::accent, kBlue, 0x4CA6E8},
    {&Theme::onAccent, 0xFFFFFF, 0x0B1117}, {&Theme::selection, 0xDCEBF5, 0x213B50},
    {&Theme::warning, 0x8A5A00, 0xE9B949},  {&Theme::failure, 0xB3261E, 0xFF8A80},
    {&Theme::good, 0x00704F, 0x4FC79F},     {&Theme::grey, 0xC3C8CF, 0x4E5661},
};
/// The base, then the specialists.
constexpr std::array<unsigned, 8> kLightCategories = {0x4A4F57,    kOrange, kGreen,  kPurple,
                                                      kVermillion, kSky,    kYellow, 0x8C6D31};
constexpr std::array<unsigned, 8> kDarkCategories = {0xBFC5CD,    kOrange, 0x1DB88B, kPurple,
                                                     kVermillion, kSky,    kYellow,  0xB79A5B};

Theme window(ThemeKind kind) {
    const bool dark = kind == ThemeKind::Dark;
    Theme t;
    t.kind = kind;
    for (const Shade& shade : kShades) t.*shade.field = hex(dark ? shade.dark : shade.light);
    t.quietOnTint = mixed(t.quiet, t.text, dark ? 0.4 : 0.3);
    std::ranges::transform(dark ? kDarkCategories : kLightCategories, t.categories.begin(), hex);
    return t;
}

/// The light window's colours on white, with black for what is read.
Theme paper() {
    Theme t = window(ThemeKind::Paper);
    t.window = t.surface = t.raised = hex(0xFFFFFF);
    t.text = t.categories[0] = hex(0x000000);
    t.quiet = t.line = hex(0x333333);
    t.grid = hex(0xDDDDDD);
    return t;
}

ThemeKind g_current = ThemeKind::Light;

double linear(double channel) {
    return channel <= 0.04045 ? channel / 12.92 : std::pow((channel + 0.055) / 1.055, 2.4);
}
double luminance(const QColor& c) {
    return 0.2126 * linear(c.redF()) + 0.7152 * linear(c.greenF()) + 0.0722 * linear(c.blueF());
}

// Ten even samples of the published maps; between them linear in sRGB.
constexpr std::array<unsigned, 10> kViridis = {0x440154, 0x482878, 0x3E4A89, 0x31688E, 0x26828E,
                                               0x1F9E89, 0x35B779, 0x6ECE58, 0xB5DE2B, 0xFDE725};
constexpr std::array<unsigned, 10> kCividis = {0x00224E, 0x123570, 0x3B496C, 0x575D6D, 0x707173,
                                               0x8A8678, 0xA59C74, 0xC3B369, 0xE1CC55, 0xFEE838};
// Even steps of CIELAB (D65) from a neutral to blue and to orange of one lightness, so that a step is as visible on
// either side: L* 95 to 40 on light, 22 to 75 on dark. Blue and orange are told apart in every colour blindness.
constexpr std::array<unsigned, 11> kDivergingLight = {0x0066A1, 0x3380B1, 0x6D9BC1, 0x9BB6D1, 0xC6D3E1, 0xF1F1F1,
                                                      0xE7CCC2, 0xDBA896, 0xCB846C, 0xB96143, 0xA43D1B};
constexpr std::array<unsigned, 11> kDivergingDark = {0x68C2F6, 0x61A4CC, 0x5986A3, 0x4E697C, 0x424E57, 0x353535,
                                                     0x5A4A3D, 0x7F6046, 0xA6774D, 0xCF8E55, 0xF8A75D};

/// t in [0,1] from the first to the last of a table.
QColor between(std::span<const unsigned> table, double t) {
    const double at = std::clamp(t, 0.0, 1.0) * static_cast<double>(table.size() - 1);
    const auto i = std::min(static_cast<std::size_t>(at), table.size() - 2);
    const double f = at - static_cast<double>(i);
    const QColor a = hex(table[i]), b = hex(table[i + 1]);
    const auto mix = [f](int from, int to) { return static_cast<int>(std::lround(from + f * (to - from))); };
    return {mix(a.red(), b.red()), mix(a.green(), b.green()), mix(a.blue(), b.blue())};
}

}  // namespace

const Theme& theme(ThemeKind kind) {
    static const Theme kLight = window(ThemeKind::Light), kDark = window(ThemeKind::Dark), kPaper = paper();
    return kind == ThemeKind::Light ? kLight : kind == ThemeKind::Dark ? kDark : kPaper;
}

const Theme& currentTheme() { return theme(g_current); }

void setThemeColours(QApplication& application, ThemeKind kind) {
    g_current = kind;
    static QPointer<HouseStyle> style;  // the application's own, made once
    if (style == nullptr) QApplication::setStyle(style = new HouseStyle);
    application.setPalette(paletteOf(theme(kind)));
}

void applyTheme(QApplication& application, ThemeKind kind) {
    setThemeColours(application, kind);
    application.setStyleSheet(styleSheetOf(theme(kind)));
}

QPalette paletteOf(const Theme& t) {
    QPalette p;
    p.setColor(QPalette::Window, t.window);
    p.setColor(QPalette::WindowText, t.text);
    p.setColor(QPalette::Base, t.surface);
    p.setColor(QPalette::AlternateBase, t.raised);
    p.setColor(QPalette::ToolTipBase, t.raised);
    p.setColor(QPalette::ToolTipText, t.text);
    p.setColor(QPalette::PlaceholderText, t.quiet);
    p.setColor(QPalette::Text, t.text);
    p.setColor(QPalette::Button, t.raised);
    p.setColor(QPalette::ButtonText, t.text);
    p.setColor(QPalette::BrightText, t.failure);
    p.setColor(QPalette::Light, t.surface);
    p.setColor(QPalette::Midlight, t.raised);
    p.setColor(QPalette::Mid, t.line);
    p.setColor(QPalette::Dark, t.line);
    p.setColor(QPalette::Shadow, t.line);
    p.setColor(QPalette::Highlight, t.accent);
    p.setColor(QPalette::HighlightedText, t.onAccent);
    p.setColor(QPalette::Link, t.accent);
    p.setColor(QPalette::LinkVisited, t.accent);
    for (const QPalette::ColorRole role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText})
        p.setColor(QPalette::Disabled, role, t.quiet);
    p.setColor(QPalette::Disabled, QPalette::Highlight, t.line);
    p.setColor(QPalette::Disabled, QPalette::HighlightedText, t.quiet);
    return p;
}

QColor seriesColour(const Theme& t, int index) {
    if (index == -2) return t.accent;
    if (index < 0) return t.kind == ThemeKind::Paper ? QColor(0x77, 0x77, 0x77) : t.quiet;
    // After the last the specialists' colours come again; the base's stays its own.
    const auto i = static_cast<std::size_t>(index);
    const std::size_t n = t.categories.size();
    return t.categories[i < n ? i : 1 + (i - 1) % (n - 1)];
}

QColor magnitudeColour(Magnitudes scale, double t) {
    if (std::isnan(t)) return currentTheme().grey;
    return between(scale == Magnitudes::Viridis ? kViridis : kCividis, t);
}

QColor divergingColour(const Theme& theme, double t) {
    if (std::isnan(t)) return theme.grey;
    return between(theme.kind == ThemeKind::Dark ? kDivergingDark : kDivergingLight, 0.5 + 0.5 * t);
}

QColor mixed(const QColor& a, const QColor& b, double t) {
    const auto mix = [t](float x, float y) { return static_cast<float>(x + t * (y - x)); };
    return QColor::fromRgbF(mix(a.redF(), b.redF()), mix(a.greenF(), b.greenF()), mix(a.blueF(), b.blueF()));
}

double contrast(const QColor& a, const QColor& b) {
    const double x = luminance(a), y = luminance(b);
    return (std::max(x, y) + 0.05) / (std::min(x, y) + 0.05);
}

QFont numberFont(const QFont& base) {
    const QFontMetricsF metrics(base);
    for (char c = '1'; c <= '9'; ++c)
        if (std::abs(metrics.horizontalAdvance(QLatin1Char(c)) - metrics.horizontalAdvance(QLatin1Char('0'))) > 0.01) {
            QFont fixed = QFontDatabase::systemFont(QFontDatabase::FixedFont);
            fixed.setPointSizeF(base.pointSizeF());
            return fixed;
        }
    return base;
}

QString formatNumber(double value, int decimals) { return QString::fromStdString(model::shownNumber(value, decimals)); }
QString formatCell(double value) { return QString::fromStdString(model::shownCell(value)); }
QString formatExact(double value) { return QString::fromStdString(model::shownExact(value)); }

}  // namespace counterpoint::widgets
