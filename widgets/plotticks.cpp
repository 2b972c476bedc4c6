// Where the ticks of a plot stand, as many as its axis rectangle has room for: declared in plotscene.h.
#include <algorithm>
#include <cmath>

#include "widgets/plotscene.h"

namespace counterpoint::widgets {
namespace {

constexpr double kRowName = 110;  // px

std::vector<Tick> categoryTicks(const Scene& scene, const Range& range) {
    std::vector<Tick> out;
    // Sources of one family differ at their ends, tokens where they begin.
    const bool sources = !scene.plot.series.empty() && scene.plot.series[0].kind == model::SeriesKind::Waterfall;
    const Qt::TextElideMode cut = sources ? Qt::ElideMiddle : Qt::ElideRight;
    for (std::size_t i = 0; i < scene.plot.x.categories.size(); ++i)
        if (const auto u = static_cast<double>(i); u >= range.lower && u <= range.upper)
            out.push_back({u, (scene.twoLines && i % 2 == 1 ? QStringLiteral("\n") : QString()) +
                                  scene.metrics().elidedText(scene.category(i), cut, scene.categoryRoom)});
    return out;
}

/// Every row's name where there is room for it, else of every second, fifth, tenth, … row.
std::vector<Tick> rowTicks(const Scene& scene, const Range& range, const QSize& room) {
    const model::Heat& heat = *scene.plot.heat;
    const QFontMetricsF metrics = scene.metrics();
    const double most = std::max(1.0, room.height() / (1.1 * metrics.height()));  // a layout begins with no room
    std::size_t each = 1;
    for (std::size_t power = 1; static_cast<double>(heat.rows) / static_cast<double>(each) > most; power *= 10)
        for (const std::size_t digit : {1, 2, 5})
            if (static_cast<double>(heat.rows) / static_cast<double>(each) > most) each = digit * power;
    std::vector<Tick> out;
    for (std::size_t r = 0; r < heat.rows; r += each)
        if (const auto u = static_cast<double>(r); u >= range.lower && u <= range.upper)
            out.push_back({u, r < heat.rowNames.size()
                                  ? metrics.elidedText(told(heat.rowNames[r]), Qt::ElideMiddle, scene.px(kRowName))
                                  : QString::number(r)});
    return out;
}

}  // namespace

std::vector<Tick> axisTicks(const Scene& scene, AxisKind kind, const Range& range, const QSize& room) {
    const QFontMetricsF metrics = scene.metrics();
    if (kind == AxisKind::Values && scene.plot.heat) return rowTicks(scene, range, room);
    if (kind != AxisKind::X) {
        const int count = std::clamp(static_cast<int>(room.height() / (2.4 * metrics.height())), 2, 8);
        return ticks(kind == AxisKind::Values ? scene.prepared.y : scene.prepared.y2, range, count);
    }
    if (scene.categories()) return categoryTicks(scene, range);
    const QString widest = QString::number(std::llround(range.upper));
    const double each = metrics.horizontalAdvance(widest) + 2 * metrics.height();
    const int count = std::clamp(static_cast<int>(room.width() / each), 2, 12);
    const bool positions = scene.plot.cursorIsPosition;
    return positions ? positionTicks(range, count) : ticks(scene.prepared.x, range, std::min(count, 6));
}

}  // namespace counterpoint::widgets
