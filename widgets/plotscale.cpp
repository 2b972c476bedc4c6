#include "widgets/plotscale.h"

#include <QStringList>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "widgets/palette.h"

namespace counterpoint::widgets {
namespace {

using model::PlotData;
using model::Series;
using model::SeriesKind;

constexpr double kGap = std::numeric_limits<double>::quiet_NaN();

bool isBars(SeriesKind kind) { return kind == SeriesKind::Bars || kind == SeriesKind::Waterfall; }

/// Smallest and largest of what has been added; empty until then.
struct Extent {
    double lower = std::numeric_limits<double>::infinity(), upper = -std::numeric_limits<double>::infinity();
    void add(double v) {
        lower = std::min(lower, v);
        upper = std::max(upper, v);
    }
    bool empty() const { return lower > upper; }
};

void addValues(Extent& extent, const std::vector<double>& values, bool logarithmic) {
    for (const double v : values)
        if (std::isfinite(v) && (!logarithmic || v > 0)) extent.add(v);
}

Scale valueScale(Extent extent, bool logarithmic, bool fromZero) {
    Scale scale;
    scale.logarithmic = logarithmic;
    if (extent.empty()) {
        scale.range = logarithmic ? Range{-1, 0} : Range{0, 1};
        return scale;
    }
    if (fromZero && !logarithmic) extent.add(0);
    if (!logarithmic) {
        const double largest = std::max(std::abs(extent.lower), std::abs(extent.upper));
        if (largest > 1e100 || (largest > 0 && largest < 1e-100))
            scale.unit = largest > 1 ? std::pow(10.0, std::floor(std::log10(largest))) : largest;
    }
    double lower = scale.toU(extent.lower), upper = scale.toU(extent.upper);
    const double magnitude = std::max(std::abs(lower), std::abs(upper));
    // One value, or values that differ only in the last bits: a range a painter can divide.
    if (upper - lower <= magnitude * 1e-9) {
        const double half = logarithmic ? 0.5 : magnitude > 0 ? magnitude * 0.5 : 0.5;
        if (fromZero && !logarithmic && magnitude == 0) {
            scale.range = {0, 1};
            return scale;
        }
        lower -= half;
        upper += half;
    }
    const double pad = (upper - lower) * 0.06;
    const bool lowerIsZero = !logarithmic && extent.lower == 0, upperIsZero = !logarithmic && extent.upper == 0;
    scale.range = {lowerIsZero ? 0 : lower - pad, upperIsZero ? 0 : upper + pad};
    return scale;
}

QString decade(int exponent) {
    static const QString kSuper = QStringLiteral("⁰¹²³⁴⁵⁶⁷⁸⁹");
    QString text = QStringLiteral("10");
    if (exponent < 0) text += QChar(0x207B);
    for (const QChar c : QString::number(std::abs(exponent))) text += kSuper.at(c.digitValue());
    return text;
}

QString logLabel(int exponent, int digit) {
    if (exponent >= -3 && exponent <= 3) return formatNumber(digit * std::pow(10.0, exponent), std::max(0, -exponent));
    return digit == 1 ? decade(exponent) : QStringLiteral("%1·%2").arg(digit).arg(decade(exponent));
}

/// Three digits: "1e300", "0.0021", "2.5e−6".
QString shortTick(double value) { return formatExact(QString::number(value, 'g', 3).toDouble()); }

std::vector<Tick> logTicks(const Range& visible, int count) {
    std::vector<Tick> out;
    const int first = static_cast<int>(std::floor(visible.lower)), last = static_cast<int>(std::ceil(visible.upper));
    const int stride =
        std::max(1, static_cast<int>(std::ceil((last - first + 1) / static_cast<double>(std::max(2, count)))));
    const double decades = visible.size();
    const std::array<int, 3> digits = {1, 2, 5};
    const std::size_t per = decades < 2.5 ? 3 : 1;
    for (int e = first; e <= last; ++e) {
        if (((e % stride) + stride) % stride != 0) continue;
        for (std::size_t k = 0; k < per; ++k) {
            const double u = e + std::log10(digits[k]);
            if (u >= visible.lower && u <= visible.upper) out.push_back({u, logLabel(e, digits[k])});
        }
    }
    return out;
}

double niceStep(double size, int count) {
    const double rough = size / std::max(1, count);
    const double power = std::pow(10.0, std::floor(std::log10(rough)));
    const double m = rough / power;
    return power * (m < 1.5 ? 1 : m < 3.0 ? 2 : m < 7.0 ? 5 : 10);
}

QString gapWords(std::size_t n, const char* one, const char* many) {
    return QString::number(n) + QLatin1Char(' ') + QString::fromUtf8(n == 1 ? one : many);
}

QString gapNote(const std::vector<Gap>& gaps) {
    std::array<std::size_t, 4> n{};
    for (const Gap& gap : gaps) ++n[static_cast<std::size_t>(gap.kind)];
    QStringList parts;
    if (n[0] > 0) parts << gapWords(n[0], "value is infinite", "values are infinite");
    if (n[1] > 0) parts << gapWords(n[1], "value is −∞", "values are −∞");
    if (n[2] > 0) parts << gapWords(n[2], "value is not a number", "values are not numbers");
    if (n[3] > 0)
        parts << gapWords(n[3], "value is not positive and has no place on a log axis",
                          "values are not positive and have no place on a log axis");
    return parts.join(QStringLiteral("; "));
}

GapKind kindOf(double value) {
    if (std::isnan(value)) return GapKind::NotANumber;
    if (std::isinf(value)) return value > 0 ? GapKind::PlusInfinity : GapKind::MinusInfinity;
    return GapKind::NotPositive;
}

Prepared prepareHeat(const PlotData& plot) {
    const model::Heat& heat = *plot.heat;
    Prepared p;
    p.x.range = {heat.firstX - 0.5, heat.firstX - 0.5 + static_cast<double>(std::max<std::size_t>(heat.columns, 1))};
    p.y.range = {-0.5, static_cast<double>(std::max<std::size_t>(heat.rows, 1)) - 0.5};
    p.y2.range = {heat.low, heat.high > heat.low ? heat.high : heat.low + 1};
    p.hasSecond = true;
    const auto infinite = std::count_if(heat.values.begin(), heat.values.end(), [](float v) { return std::isinf(v); });
    if (infinite > 0)
        p.gapNote = gapWords(static_cast<std::size_t>(infinite), "value is infinite", "values are infinite");
    return p;
}

}  // namespace

bool Scale::drawable(double value) const { return std::isfinite(value) && (!logarithmic || value > 0); }
double Scale::toU(double value) const {
    if (!drawable(value)) return kGap;
    return logarithmic ? std::log10(value) : value / unit;
}
double Scale::toValue(double u) const { return logarithmic ? std::pow(10.0, u) : u * unit; }

std::vector<Tick> ticks(const Scale& scale, const Range& visible, int count) {
    if (!(visible.size() > 0) || !std::isfinite(visible.size())) return {};
    if (scale.logarithmic && visible.size() > 0.7) return logTicks(visible, count);
    if (scale.logarithmic) {  // less than a decade: label what the ends say
        std::vector<Tick> out;
        const int n = std::clamp(count, 2, 5);
        for (int k = 0; k <= n; ++k) {
            const double u = visible.lower + visible.size() * k / n;
            out.push_back({u, shortTick(scale.toValue(u))});
        }
        return out;
    }
    double step = niceStep(visible.size(), count);
    const auto inside = [&visible](double s) {
        return std::floor(visible.upper / s + 1e-9) - std::ceil(visible.lower / s - 1e-9) + 1;
    };
    for (int finer = count; inside(step) < 2 && finer < 4 * count; ++finer) step = niceStep(visible.size(), finer);
    if (!(step > 0) || !std::isfinite(step)) return {};
    const int decimals = std::clamp(-static_cast<int>(std::floor(std::log10(step) + 1e-9)), 0, 12);
    const double largest = std::max(std::abs(visible.lower), std::abs(visible.upper)) * scale.unit;
    const bool scientific = largest >= 1e5 || step * scale.unit < 1e-4;
    std::vector<Tick> out;
    const double first = std::ceil(visible.lower / step - 1e-9);
    for (int k = 0; k < 1000; ++k) {
        const double u = (first + k) * step;
        if (u > visible.upper + step * 1e-9) break;
        const double value = std::abs(u) < step * 1e-6 ? 0 : u;
        out.push_back({u, scientific ? shortTick(value * scale.unit) : formatNumber(value, decimals)});
    }
    return out;
}

std::vector<Tick> positionTicks(const Range& visible, int count) {
    if (!(visible.size() > 0) || !std::isfinite(visible.size())) return {};
    const double step = std::max(1.0, niceStep(visible.size(), count));
    std::vector<Tick> out;
    const double first = std::ceil(visible.lower / step - 1e-9);
    for (int k = 0; k < 1000; ++k) {
        const double u = (first + k) * step;
        if (u > visible.upper + 1e-9) break;
        out.push_back({u, QString::number(static_cast<qlonglong>(std::llround(u)))});
    }
    return out;
}

bool hasDrawing(const PlotData& plot) {
    if (!plot.heat) return !plot.series.empty();
    const std::size_t cells = plot.heat->rows * plot.heat->columns;
    return cells > 0 && plot.heat->values.size() == cells;
}

Prepared prepare(const PlotData& plot, bool logarithmic) {
    if (plot.heat) return prepareHeat(plot);
    Prepared p;
    Extent x, y, y2;
    bool bars = false, zero = false, zero2 = false;
    for (const Series& s : plot.series) {
        const bool log = logarithmic && s.kind != SeriesKind::Waterfall;
        Extent& extent = s.secondAxis ? y2 : y;
        addValues(x, s.x, false);
        if (s.kind != SeriesKind::Waterfall) addValues(extent, s.y, s.secondAxis ? false : log);
        addValues(extent, s.low, s.secondAxis ? false : log);
        addValues(extent, s.high, s.secondAxis ? false : log);
        p.hasSecond = p.hasSecond || s.secondAxis;
        bars = bars || isBars(s.kind);
        (s.secondAxis ? zero2 : zero) = true;
    }
    const bool points = std::any_of(plot.series.begin(), plot.series.end(),
                                    [](const Series& s) { return s.kind == SeriesKind::Points; });
    // A waterfall is a sum: it has no logarithm.
    const bool waterfall = std::any_of(plot.series.begin(), plot.series.end(),
                                       [](const Series& s) { return s.kind == SeriesKind::Waterfall; });
    p.y = valueScale(y, logarithmic && !waterfall, zero);
    if (points) {  // one on the edge is whole
        const double pad = 0.04 * p.y.range.size();
        p.y.range = {p.y.range.lower - pad, p.y.range.upper + pad};
    }
    p.y2 = valueScale(y2, false, zero2);
    if (!plot.x.categories.empty()) {
        p.x.range = {-0.5, static_cast<double>(plot.x.categories.size()) - 0.5};
    } else if (!x.empty()) {
        const double span = x.upper - x.lower;
        const double pad = bars                    ? 0.5
                           : plot.cursorIsPosition ? std::max(0.5, span * 0.01)
                           : span > 0              ? span * 0.04
                                                   : std::max(0.5, std::abs(x.lower) * 0.5);
        p.x.range = {x.lower - pad, x.upper + pad};
    }
    for (std::size_t k = 0; k < plot.series.size(); ++k) {
        const Series& s = plot.series[k];
        const Scale& scale = s.secondAxis ? p.y2 : p.y;
        Prepared::Values values;
        const auto toU = [&scale](const std::vector<double>& from, std::vector<double>& to) {
            to.reserve(from.size());
            for (const double v : from) to.push_back(scale.toU(v));
        };
        toU(s.y, values.u);
        toU(s.low, values.low);
        toU(s.high, values.high);
        // On a log axis a bar of 0 is an empty bar, said by its label; a line of 0 has no place and is marked.
        for (std::size_t i = 0; i < s.y.size() && i < s.x.size(); ++i)
            if (std::isnan(values.u[i]) && s.kind != SeriesKind::Band) p.gaps.push_back({s.x[i], kindOf(s.y[i]), k});
        const auto gap = [&values](std::size_t i) { return i >= values.u.size() || std::isnan(values.u[i]); };
        for (std::size_t i = 0; i < values.u.size(); ++i)
            if (!gap(i) && (i == 0 || gap(i - 1)) && gap(i + 1)) values.alone.push_back(i);
        p.series.push_back(std::move(values));
    }
    p.gapNote = gapNote(p.gaps);
    return p;
}

}  // namespace counterpoint::widgets
