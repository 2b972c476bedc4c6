#include "widgets/plotscene.h"

#include <algorithm>
#include <cmath>

#include "widgets/plotheat.h"

namespace counterpoint::widgets {

using model::Series;
using model::SeriesKind;

namespace {

constexpr double kGroupWidth = 0.8, kWaterfallWidth = 0.6;  // of a category's slot

void paintFlipWords(QPainter& painter, const Scene& scene, const Frame& frame) {
    const double x = frame.x(scene.plot.flipX - 0.5), pad = scene.px(6);
    const QFontMetricsF metrics = scene.metrics();
    painter.setFont(scene.look.font);
    painter.setPen(scene.theme().quiet);
    const auto word = [&](const QString& text, double left) {
        if (left < frame.area.left() || left + metrics.horizontalAdvance(text) > frame.area.right()) return;
        painter.drawText(QPointF(left, frame.area.top() - scene.px(3) - metrics.descent()), text);
    };
    const QString exact = QStringLiteral("exact");
    word(exact, x - pad - metrics.horizontalAdvance(exact));
    word(QStringLiteral("teacher-forced"), x + pad);
}

void paintGap(QPainter& painter, const Scene& scene, const Frame& frame, const Gap& gap) {
    const double x = frame.x(gap.x), r = scene.px(3.5);
    if (x < frame.area.left() - 0.5 || x > frame.area.right() + 0.5) return;
    const QColor colour = seriesColour(scene.theme(), scene.plot.series[gap.series].colour);
    painter.setPen(Qt::NoPen);
    painter.setBrush(colour);
    const double top = frame.area.top() + scene.px(1), bottom = frame.area.bottom() - scene.px(1);
    switch (gap.kind) {
        case GapKind::PlusInfinity:
            painter.drawPolygon(QPolygonF({{x, top}, {x - r, top + 2 * r}, {x + r, top + 2 * r}}));
            break;
        case GapKind::MinusInfinity:
        case GapKind::NotPositive:
            painter.drawPolygon(QPolygonF({{x, bottom}, {x - r, bottom - 2 * r}, {x + r, bottom - 2 * r}}));
            break;
        case GapKind::NotANumber:
            painter.setPen(scene.pen(colour, 1.25));
            painter.drawLine(QPointF(x - r, bottom - 2 * r), QPointF(x + r, bottom));
            painter.drawLine(QPointF(x - r, bottom), QPointF(x + r, bottom - 2 * r));
            break;
    }
    painter.setBrush(Qt::NoBrush);
}

/// From low to high of value i, at a place of the device; where low has no place on the axis, from its end.
void paintWhisker(QPainter& painter, const Scene& scene, const Frame& frame, double x, const Prepared::Values& v,
                  std::size_t i, const QColor& colour) {
    if (i >= v.high.size() || std::isnan(v.high[i]) || x < frame.area.left() || x > frame.area.right()) return;
    const auto inside = [&frame](double y) { return std::clamp(y, frame.area.top(), frame.area.bottom()); };
    const double top = inside(frame.y(v.high[i])), half = scene.px(2.5);
    const double bottom = std::isnan(v.low[i]) ? frame.area.bottom() : inside(frame.y(v.low[i]));
    painter.setPen(scene.pen(colour, scene.look.paper ? 0.6 : 1));
    painter.drawLine(QPointF(x, bottom), QPointF(x, top));
    for (const double end : {bottom, top}) painter.drawLine(QPointF(x - half, end), QPointF(x + half, end));
}

}  // namespace

QString fittingTitle(const QString& title, double room, const QFontMetricsF& metrics) {
    if (metrics.horizontalAdvance(title) <= room) return title;
    const auto open = title.lastIndexOf(QLatin1Char('(')), close = title.lastIndexOf(QLatin1Char(')'));
    const QString unit = open >= 0 && close > open ? title.mid(open + 1, close - open - 1) : QString();
    return metrics.horizontalAdvance(unit) <= room ? unit : QString();
}

int Scene::whole(double n) const { return static_cast<int>(std::lround(n * look.px)); }

QPen Scene::pen(const QColor& colour, double width, Qt::PenStyle style) const {
    return {colour, std::max(width, 0.25) * look.px, style, Qt::FlatCap, Qt::MiterJoin};
}

QColor Scene::barColour(const Series& s, std::size_t i) const {
    const QColor c = seriesColour(theme(), i < s.pointColours.size() ? s.pointColours[i] : s.colour);
    if (i >= s.grey.size() || !s.grey[i]) return c;
    return s.colour == -2 ? theme().grey : mixed(theme().grey, c, 0.15);
}

void paintBars(QPainter& painter, const Scene& scene, const Frame& frame, std::size_t series, std::size_t index,
               std::size_t count, const Range& y) {
    const Series& s = scene.plot.series[series];
    const Prepared::Values& v = scene.prepared.series[series];
    const bool waterfall = s.kind == SeriesKind::Waterfall;
    const double group = waterfall ? kWaterfallWidth : kGroupWidth;
    const double width = group / static_cast<double>(count);
    const double base = std::clamp(0.0, y.lower, y.upper);
    const bool logarithmic = !waterfall && scene.prepared.y.logarithmic;
    QPointF previousEnd;
    bool hasPrevious = false;
    for (std::size_t i = 0; i < v.u.size(); ++i) {
        double from = waterfall ? v.low[i] : logarithmic ? y.lower : base, to = waterfall ? v.high[i] : v.u[i];
        if (std::isnan(from) || std::isnan(to)) continue;
        from = std::clamp(from, y.lower, y.upper);
        to = std::clamp(to, y.lower, y.upper);
        const double x0 = s.x[i] - group / 2 + width * static_cast<double>(index);
        double left = frame.x(x0), right = frame.x(x0 + width);
        const double a = frame.y(from), b = frame.y(to);
        if (!scene.look.paper) {
            left = std::round(left);
            right = std::round(right);
        }
        if (count > 1 && right - left > scene.px(4)) right -= scene.px(1);
        if (hasPrevious) {
            painter.setPen(scene.pen(scene.theme().quiet, 0.75, Qt::DotLine));
            // The total stands on zero: what leads to it ends where it ends.
            painter.drawLine(previousEnd, QPointF(left, previousEnd.y()));
        }
        // A value of 0 or next to it stays visible as a line of one pixel.
        const double top = std::min(a, b), height = std::max(std::abs(a - b), scene.px(to == from ? 1 : 0.5));
        painter.fillRect(QRectF(left, top, std::max(right - left, scene.px(1)), height), scene.barColour(s, i));
        if (!waterfall && i < s.low.size())
            paintWhisker(painter, scene, frame, (left + right) / 2, v, i, scene.theme().text);
        previousEnd = {right, b};
        hasPrevious = waterfall;
    }
}

void paintErrors(QPainter& painter, const Scene& scene, const Frame& frame) {
    for (std::size_t k = 0; k < scene.plot.series.size() && !scene.plot.heat; ++k) {
        const Series& s = scene.plot.series[k];
        if (s.kind != SeriesKind::Line && s.kind != SeriesKind::Steps && s.kind != SeriesKind::Points) continue;
        if (s.secondAxis) continue;  // the frame is that of the first
        for (std::size_t i = 0; i < s.x.size() && i < s.low.size(); ++i)
            paintWhisker(painter, scene, frame, frame.x(s.x[i]), scene.prepared.series[k], i,
                         seriesColour(scene.theme(), s.colour));
    }
}

void paintSelection(QPainter& painter, const Scene& scene, const Frame& frame) {
    if (scene.look.paper || !scene.categories() || scene.cursorX < 0) return;
    const double left = std::round(frame.x(scene.cursorX - 0.5)), right = std::round(frame.x(scene.cursorX + 0.5));
    painter.fillRect(QRectF(left, frame.area.top(), right - left, frame.area.height()), scene.theme().selection);
}

void paintMarkers(QPainter& painter, const Scene& scene, const Frame& frame) {
    const Theme& t = scene.theme();
    const auto line = [&](double value, const QPen& pen) {
        const double x = frame.x(value);
        if (x < frame.area.left() || x > frame.area.right()) return;
        painter.setPen(pen);
        painter.drawLine(QPointF(x, frame.area.top()), QPointF(x, frame.area.bottom()));
    };
    if (!scene.categories() && !scene.look.paper) {
        // Among bars a whole line would be read as one of them.
        const bool bars =
            std::ranges::any_of(scene.plot.series, [](const Series& s) { return s.kind == SeriesKind::Bars; });
        const auto mark = [&](double x, const QColor& colour, Qt::PenStyle style) {
            if (scene.plot.heat) return paintColumn(painter, scene, frame, x, colour);
            line(x, scene.pen(colour, 1, style));
        };
        if (scene.hoverX) mark(*scene.hoverX, t.line, Qt::SolidLine);
        if (scene.cursorX >= 0) mark(scene.cursorX, t.accent, bars ? Qt::DotLine : Qt::SolidLine);
    }
    if (scene.plot.flipX < 0) return;
    line(scene.plot.flipX - 0.5, scene.pen(t.quiet, 1, Qt::DashLine));
    paintFlipWords(painter, scene, frame);
}

void paintGaps(QPainter& painter, const Scene& scene, const Frame& frame) {
    for (const Gap& gap : scene.prepared.gaps) paintGap(painter, scene, frame, gap);
}

}  // namespace counterpoint::widgets
