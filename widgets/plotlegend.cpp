// The legend of a plot: declared in plotscene.h.
#include <algorithm>
#include <cmath>

#include "widgets/plotscene.h"

namespace counterpoint::widgets {
namespace {

using model::Series;
using model::SeriesKind;

constexpr double kSwatch = 14, kAfterSwatch = 5, kSquare = 8;

struct Entry {
    double x, y;
    const Series* series;  ///< nullptr: a note
    QString text;
};

std::vector<Entry> arrange(const Scene& scene, double width) {
    std::vector<Entry> out;
    const QFontMetricsF metrics = scene.metrics();
    double x = 0, y = 0;
    const auto place = [&](const Series* series, const QString& text) {
        const bool square =
            series != nullptr && (series->kind == SeriesKind::Bars || series->kind == SeriesKind::Waterfall);
        const double swatch = series == nullptr ? 0 : scene.px((square ? kSquare : kSwatch) + kAfterSwatch);
        const double own = metrics.horizontalAdvance(text) + swatch;
        if (x > 0 && x + own > width) {
            x = 0;
            y += metrics.height() + scene.px(2);
        }
        out.push_back({x, y, series, metrics.elidedText(text, Qt::ElideRight, std::max(scene.px(20), width - swatch))});
        x += own + scene.px(14);
    };
    // A band belongs to the line of its colour, and one series with no rival needs no legend.
    const auto& all = scene.plot.series;
    const auto isBand = [](const Series& s) { return s.kind == SeriesKind::Band; };
    if (scene.look.legend && std::ssize(all) - std::count_if(all.begin(), all.end(), isBand) > 1)
        for (const Series& s : all)
            if (!isBand(s)) place(&s, QString::fromStdString(s.name));
    if (!scene.look.paper && !scene.plot.note.empty()) place(nullptr, QString::fromStdString(scene.plot.note));
    if (!scene.prepared.gapNote.isEmpty()) place(nullptr, scene.prepared.gapNote);
    return out;
}

/// Paints it; returns how far the name stands from its left.
double paintSwatch(QPainter& painter, const Scene& scene, const QPointF& at, const Series& s) {
    const QColor colour = seriesColour(scene.theme(), s.colour);
    const double middle = at.y() + scene.metrics().height() / 2;
    if (s.kind == SeriesKind::Bars || s.kind == SeriesKind::Waterfall) {
        const double side = scene.px(kSquare);
        painter.fillRect(QRectF(at.x(), middle - side / 2, side, side), colour);
        return side + scene.px(kAfterSwatch);
    }
    painter.setPen(scene.pen(colour, scene.look.lineWidth, s.colour == -1 ? Qt::DashLine : Qt::SolidLine));
    painter.drawLine(QPointF(at.x(), middle), QPointF(at.x() + scene.px(kSwatch), middle));
    return scene.px(kSwatch + kAfterSwatch);
}

}  // namespace

double legendHeight(const Scene& scene, double width) {
    const std::vector<Entry> entries = arrange(scene, width);
    return entries.empty() ? 0 : entries.back().y + scene.metrics().height() + scene.px(4);
}

void paintLegend(QPainter& painter, const Scene& scene, const QRectF& room) {
    painter.setFont(scene.look.font);
    for (const Entry& e : arrange(scene, room.width())) {
        const QPointF at = room.topLeft() + QPointF(e.x, e.y);
        const double offset = e.series == nullptr ? 0 : paintSwatch(painter, scene, at, *e.series);
        painter.setPen(e.series != nullptr ? scene.theme().text : scene.theme().quiet);
        painter.drawText(at + QPointF(offset, scene.metrics().ascent()), e.text);
    }
}

}  // namespace counterpoint::widgets
