// The legend of a plot: declared in plotscene.h.
#include <algorithm>
#include <cmath>

#include "widgets/plotscene.h"
#include "widgets/shortname.h"

namespace counterpoint::widgets {
namespace {

using model::Series;
using model::SeriesKind;

constexpr double kSwatch = 14, kAfterSwatch = 5, kSquare = 8, kBetween = 14;

struct Entry {
    double x, y;
    const Series* series;  ///< nullptr: a note
    QString text;
};

constexpr double kNarrowestName = 44, kWidestName = 260;

bool isBand(const Series& s) { return s.kind == SeriesKind::Band; }
/// Named by this program and not by a person: short, and never shortened.
bool isOurs(const Series& s) { return s.colour < 0; }
double swatchOf(const Scene& scene, const Series& s) {
    const bool square = s.kind == SeriesKind::Bars || s.kind == SeriesKind::Waterfall;
    return scene.px((square ? kSquare : kSwatch) + kAfterSwatch);
}

/// How long names may be: on a screen as long as lets them stand in one line, where they are not too short for it then.
double roomOfNames(const Scene& scene, double width) {
    const QFontMetricsF metrics = scene.metrics();
    const double most = std::min(scene.px(kWidestName), width);
    if (scene.look.paper) return most;
    double fixed = 0;
    std::vector<double> names;
    for (const Series& s : scene.plot.series) {
        if (isBand(s)) continue;
        const double name = std::min(most, metrics.horizontalAdvance(told(s.name)));
        fixed += swatchOf(scene, s) + scene.px(kBetween) + (isOurs(s) ? name : 0);
        if (!isOurs(s)) names.push_back(name);
    }
    const auto all = [&](double room) {
        double sum = fixed - scene.px(kBetween);
        for (const double name : names) sum += std::min(name, room);
        return sum;
    };
    for (double room = most; room >= scene.px(kNarrowestName); room -= scene.px(4))
        if (all(room) <= width) return room;
    return most;
}

std::vector<Entry> arrange(const Scene& scene, double width) {
    std::vector<Entry> out;
    const QFontMetricsF metrics = scene.metrics();
    const double room = roomOfNames(scene, width);
    double x = 0, y = 0;
    const auto place = [&](const Series* series, const QString& whole) {
        const double swatch = series == nullptr ? 0 : swatchOf(scene, *series);
        const QString text =
            metrics.elidedText(whole, series == nullptr ? Qt::ElideRight : Qt::ElideMiddle,
                               series == nullptr || isOurs(*series) ? width : std::min(room, width - swatch));
        const double own = metrics.horizontalAdvance(text) + swatch;
        if (x > 0 && x + own > width) {
            x = 0;
            y += metrics.height() + scene.px(2);
        }
        out.push_back({x, y, series, text});
        x += own + scene.px(kBetween);
    };
    // A band belongs to the line of its colour, and one series with no rival needs no legend.
    const auto& all = scene.plot.series;
    if (scene.look.legend && std::ssize(all) - std::count_if(all.begin(), all.end(), isBand) > 1)
        for (const Series& s : all)
            if (!isBand(s)) place(&s, told(s.name));
    if (!scene.look.paper && !scene.plot.note.empty()) place(nullptr, told(scene.plot.note));
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
    if (s.kind == SeriesKind::Points) {
        const double side = scene.px(kSquare);
        painter.setPen(Qt::NoPen);
        painter.setBrush(colour);
        painter.drawEllipse(QRectF(at.x(), middle - side / 2, side, side));
        painter.setBrush(Qt::NoBrush);
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
