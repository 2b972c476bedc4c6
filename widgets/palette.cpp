#include "widgets/palette.h"

#include <QApplication>
#include <QFontDatabase>
#include <QFontMetricsF>
#include <QStyle>
#include <QStyleFactory>
#include <algorithm>
#include <charconv>
#include <cmath>

namespace counterpoint::widgets {
namespace {

QColor hex(unsigned rgb) { return QColor::fromRgb(static_cast<QRgb>(rgb)); }

// Okabe & Ito, "Color Universal Design" (2008), less their blue: it is the accent of the light window. The base is
// neutral.
constexpr unsigned kOrange = 0xE69F00, kGreen = 0x009E73, kPurple = 0xCC79A7, kVermillion = 0xD55E00, kSky = 0x56B4E9,
                   kYellow = 0xF0E442, kBlue = 0x0072B2;

std::array<QColor, 8> categories(unsigned base, unsigned last) {
    return {hex(base), hex(kOrange), hex(kGreen), hex(kPurple), hex(kVermillion), hex(kSky), hex(kYellow), hex(last)};
}

Theme light() {
    Theme t;
    t.kind = ThemeKind::Light;
    t.window = hex(0xF3F4F6);
    t.surface = hex(0xFFFFFF);
    t.raised = hex(0xFAFAFB);
    t.text = hex(0x1D2127);
    t.quiet = hex(0x5A626D);
    t.line = hex(0xD5D9DF);
    t.grid = hex(0xECEEF1);
    t.accent = hex(kBlue);
    t.onAccent = hex(0xFFFFFF);
    t.selection = hex(0xDCEBF5);
    t.warning = hex(0x8A5A00);
    t.failure = hex(0xB3261E);
    t.good = hex(0x00704F);
    t.grey = hex(0xC3C8CF);
    t.categories = categories(0x4A4F57, 0x8C6D31);
    return t;
}

Theme dark() {
    Theme t;
    t.kind = ThemeKind::Dark;
    t.window = hex(0x16191D);
    t.surface = hex(0x1D2126);
    t.raised = hex(0x272C33);
    t.text = hex(0xE6E8EB);
    t.quiet = hex(0x9BA4AF);
    t.line = hex(0x363C45);
    t.grid = hex(0x2A2F36);
    t.accent = hex(0x4CA6E8);
    t.onAccent = hex(0x0B1117);
    t.selection = hex(0x213B50);
    t.warning = hex(0xE9B949);
    t.failure = hex(0xFF8A80);
    t.good = hex(0x4FC79F);
    t.grey = hex(0x4E5661);
    t.categories = categories(0xBFC5CD, 0xB79A5B);
    t.categories[2] = hex(0x1DB88B);
    return t;
}

Theme paper() {
    Theme t = light();
    t.kind = ThemeKind::Paper;
    t.window = t.surface = t.raised = hex(0xFFFFFF);
    t.text = hex(0x000000);
    t.quiet = hex(0x333333);
    t.line = hex(0x333333);
    t.grid = hex(0xDDDDDD);
    t.categories = categories(0x000000, 0x8C6D31);
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

QString toText(double value, std::chars_format format, int precision) {
    std::array<char, 400> buffer{};
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, format, precision).ptr;
    return QString::fromLatin1(buffer.data(), end - buffer.data());
}

QString properMinus(QString text) {
    text.replace(QStringLiteral("e+"), QStringLiteral("e"));
    return text.replace(QLatin1Char('-'), QChar(0x2212));
}

QString notFinite(double value) {
    if (std::isnan(value)) return QStringLiteral("–");
    return value > 0 ? QStringLiteral("∞") : QStringLiteral("−∞");
}

}  // namespace

const Theme& theme(ThemeKind kind) {
    static const Theme kLight = light(), kDark = dark(), kPaper = paper();
    return kind == ThemeKind::Light ? kLight : kind == ThemeKind::Dark ? kDark : kPaper;
}

const Theme& currentTheme() { return theme(g_current); }

void setThemeColours(QApplication& application, ThemeKind kind) {
    g_current = kind;
    if (application.style() == nullptr || application.style()->name() != QStringLiteral("fusion"))
        application.setStyle(QStyleFactory::create(QStringLiteral("Fusion")));
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
    const auto& table = scale == Magnitudes::Viridis ? kViridis : kCividis;
    const double at = std::clamp(t, 0.0, 1.0) * static_cast<double>(table.size() - 1);
    const auto i = std::min(static_cast<std::size_t>(at), table.size() - 2);
    const double f = at - static_cast<double>(i);
    const QColor a = hex(table[i]), b = hex(table[i + 1]);
    const auto mix = [f](int from, int to) { return static_cast<int>(std::lround(from + f * (to - from))); };
    return {mix(a.red(), b.red()), mix(a.green(), b.green()), mix(a.blue(), b.blue())};
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

QString formatNumber(double value, int decimals) {
    if (!std::isfinite(value)) return notFinite(value);
    const double half = 0.5 * std::pow(10.0, -decimals);
    const bool vanishes = value != 0 && std::abs(value) < half;
    if (std::abs(value) >= 1e6 || vanishes) return properMinus(toText(value, std::chars_format::scientific, 1));
    return properMinus(toText(value == 0 ? 0.0 : value, std::chars_format::fixed, decimals));
}

QString formatExact(double value) {
    if (!std::isfinite(value)) return notFinite(value);
    std::array<char, 40> buffer{};
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value == 0 ? 0.0 : value).ptr;
    return properMinus(QString::fromLatin1(buffer.data(), end - buffer.data()));
}

}  // namespace counterpoint::widgets
