#include "widgets/plotheat.h"

#include <QLinearGradient>
#include <QPaintEngine>
#include <algorithm>
#include <cmath>
#include <limits>

namespace counterpoint::widgets {
namespace {

using model::Heat;

constexpr double kBarWidth = 9, kBarGap = 8, kLeastCell = 7, kReach = 2;  // px

/// Half-open.
struct Span {
    std::size_t from = 0, to = 0;
    bool operator==(const Span&) const = default;
};

/// Cells in the pixel [a, b) of an axis whose cell i owns [i, i + 1): those whose middle lies in it, else the one
/// there.
Span cellsIn(double a, double b, std::size_t count) {
    const auto inside = [count](double i) {
        return static_cast<std::size_t>(std::clamp(i, 0.0, static_cast<double>(count)));
    };
    const Span middles{inside(std::ceil(a - 0.5)), inside(std::ceil(b - 0.5))};
    if (middles.to > middles.from) return middles;
    const std::size_t there = std::min(inside(std::floor((a + b) / 2)), count - 1);
    return {there, there + 1};
}

float valueOf(const Heat& heat, Span rows, Span columns) {
    if (rows.to - rows.from == 1 && columns.to - columns.from == 1)
        return heat.values[rows.from * heat.columns + columns.from];
    double sum = 0;
    int count = 0;
    for (std::size_t r = rows.from; r < rows.to; ++r)
        for (std::size_t c = columns.from; c < columns.to; ++c)
            if (const float v = heat.values[r * heat.columns + c]; std::isfinite(v)) {
                sum += static_cast<double>(v);
                ++count;
            }
    return count > 0 ? static_cast<float>(sum / count) : std::numeric_limits<float>::quiet_NaN();
}

/// Of an axis in the coordinate of its cells: cell i owns [i, i + 1).
struct Way {
    double zero = 0, each = 1;  ///< where cell 0 begins, how long a cell is; of the device
    double at(double i) const { return zero + each * i; }
};
Way columnsOf(const Scene& scene, const Frame& frame) {
    const double first = scene.plot.heat->firstX - 0.5;
    return {frame.x(first), frame.x(first + 1) - frame.x(first)};
}
Way rowsOf(const Frame& frame) { return {frame.y(-0.5), frame.y(0.5) - frame.y(-0.5)}; }

/// Each pixel of `room`; the way is that of the pixels.
QImage pixels(const Heat& heat, const HeatColours& colours, const QRect& room, Way x, Way y) {
    QImage image(room.size(), QImage::Format_RGB32);
    std::vector<Span> columns;
    for (int p = 0; p < room.width(); ++p) {
        const double left = room.left() + p;
        columns.push_back(cellsIn((left - x.zero) / x.each, (left + 1 - x.zero) / x.each, heat.columns));
    }
    Span before{1, 0};
    for (int p = 0; p < room.height(); ++p) {
        const double top = room.top() + p;
        const Span rows = cellsIn((top - y.zero) / y.each, (top + 1 - y.zero) / y.each, heat.rows);
        auto* line = reinterpret_cast<QRgb*>(image.scanLine(p));
        if (rows == before)
            std::copy_n(reinterpret_cast<const QRgb*>(image.constScanLine(p - 1)), columns.size(), line);
        else
            for (const Span& c : columns) *line++ = colours.at(valueOf(heat, rows, c));
        before = rows;
    }
    return image;
}

/// Runs of one colour, each reaching under what is painted after it: between two edges that share a pixel no paper
/// shows through.
void paintRectangles(QPainter& painter, const Scene& scene, const Heat& heat, const HeatColours& colours,
                     const QRectF& area, Way x, Way y) {
    const double reach = scene.px(kReach);
    for (std::size_t r = 0; r < heat.rows; ++r)
        for (std::size_t c = 0, next = 0; c < heat.columns; c = next) {
            const QRgb colour = colours.at(heat.values[r * heat.columns + c]);
            for (next = c + 1; next < heat.columns; ++next)
                if (colours.at(heat.values[r * heat.columns + next]) != colour) break;
            const QRectF cell(
                QPointF(x.at(static_cast<double>(c)), y.at(static_cast<double>(r))),
                QPointF(x.at(static_cast<double>(next)) + reach, y.at(static_cast<double>(r + 1)) + reach));
            painter.fillRect(cell & area, QColor(colour));
        }
}

/// One pixel a cell, then as many as make a dot of 1/600 inch: programs that smooth a picture blur no more than that.
QImage cells(const Scene& scene, const Heat& heat, const HeatColours& colours, const QRectF& area) {
    const double dot = scene.px(72.0 / 600);
    const auto times = [dot](double length, std::size_t count) {
        return static_cast<std::size_t>(std::clamp(std::round(length / dot / static_cast<double>(count)), 1.0, 40.0));
    };
    const std::size_t across = times(area.width(), heat.columns), down = times(area.height(), heat.rows);
    QImage image(static_cast<int>(heat.columns * across), static_cast<int>(heat.rows * down), QImage::Format_RGB32);
    for (std::size_t p = 0; p < heat.rows * down; ++p) {
        auto* line = reinterpret_cast<QRgb*>(image.scanLine(static_cast<int>(p)));
        for (std::size_t c = 0; c < heat.columns; ++c)
            line = std::fill_n(line, across, colours.at(heat.values[p / down * heat.columns + c]));
    }
    return image;
}

void paintMarked(QPainter& painter, const Scene& scene, const Heat& heat, const HeatColours& colours,
                 const QRectF& area, Way x, Way y) {
    if (heat.marked.empty() || std::min(x.each, y.each) < scene.px(kLeastCell)) return;
    const double inset = scene.px(scene.look.paper ? 0.75 : 1);
    const Span columns{static_cast<std::size_t>(std::max(0.0, std::floor((area.left() - x.zero) / x.each))),
                       static_cast<std::size_t>(std::clamp(std::ceil((area.right() - x.zero) / x.each), 0.0,
                                                           static_cast<double>(heat.columns)))};
    painter.setBrush(Qt::NoBrush);
    for (std::size_t r = 0; r < heat.rows; ++r)
        for (std::size_t c = columns.from; c < columns.to; ++c) {
            if (!heat.marked[r * heat.columns + c]) continue;
            const QColor ground(colours.at(heat.values[r * heat.columns + c]));
            const QColor ink = contrast(ground, Qt::white) > contrast(ground, Qt::black) ? Qt::white : Qt::black;
            painter.setPen(scene.pen(ink, scene.look.paper ? 0.5 : 1));
            QRectF cell(QPointF(x.at(static_cast<double>(c)), y.at(static_cast<double>(r))),
                        QPointF(x.at(static_cast<double>(c + 1)), y.at(static_cast<double>(r + 1))));
            if (!scene.look.paper)  // its pixels, and one less: where a pen of one lies
                cell = QRectF(QPointF(std::round(cell.left()), std::round(cell.top())),
                              QPointF(std::round(cell.right()) - 1, std::round(cell.bottom()) - 1));
            painter.drawRect(cell.adjusted(inset, inset, -inset, -inset));
        }
}

QString fourDigits(float value) {
    constexpr int kDigits = 4;
    return formatExact(QString::number(static_cast<double>(value), 'g', kDigits).toDouble());
}

}  // namespace

HeatColours::HeatColours(const Heat& heat, const Theme& theme) : m_low(heat.low), m_high(heat.high) {
    if (!(m_high > m_low)) m_high = m_low + 1;
    const double most = std::max(std::abs(m_low), std::abs(m_high));
    for (std::size_t i = 0; i < m_steps.size(); ++i) {
        const double t = static_cast<double>(i) / static_cast<double>(m_steps.size() - 1);
        m_steps[i] = heat.diverging ? divergingColour(theme, (m_low + t * (m_high - m_low)) / most).rgb()
                                    : magnitudeColour(Magnitudes::Viridis, t).rgb();
    }
    m_gap = theme.grey.rgb();
}

QRgb HeatColours::at(float value) const {
    if (!std::isfinite(value)) return m_gap;
    const double t = (static_cast<double>(value) - m_low) / (m_high - m_low);
    const auto last = static_cast<double>(m_steps.size() - 1);
    return m_steps[static_cast<std::size_t>(std::lround(std::clamp(t, 0.0, 1.0) * last))];
}

void HeatPicture::paint(QPainter& painter, const Scene& scene, const Frame& frame) {
    const Heat& heat = *scene.plot.heat;
    if (heat.rows == 0 || heat.columns == 0) return;
    const HeatColours colours(heat, scene.theme());
    const Way x = columnsOf(scene, frame), y = rowsOf(frame);
    if (painter.paintEngine()->type() == QPaintEngine::Raster) {
        const QTransform device = painter.deviceTransform();
        const QRectF mapped = device.mapRect(frame.area);
        const QRect room(
            QPoint(static_cast<int>(std::lround(mapped.left())), static_cast<int>(std::lround(mapped.top()))),
            QPoint(static_cast<int>(std::lround(mapped.right())) - 1,
                   static_cast<int>(std::lround(mapped.bottom())) - 1));
        if (room.isEmpty()) return;
        const Way across{device.map(QPointF(x.zero, 0)).x(), x.each * device.m11()},
            down{device.map(QPointF(0, y.zero)).y(), y.each * device.m22()};
        if (m_image.isNull() || m_room != room || m_span != std::array{across.zero, across.each}) {
            m_image = pixels(heat, colours, room, across, down);
            m_room = room;
            m_span = {across.zero, across.each};
            ++m_made;
        }
        painter.drawImage(device.inverted().mapRect(QRectF(room)), m_image);
    } else if (heat.rows * heat.columns < kMostRectangles) {
        paintRectangles(painter, scene, heat, colours, frame.area, x, y);
    } else {
        painter.setRenderHint(QPainter::LosslessImageRendering);
        painter.drawImage(frame.area, cells(scene, heat, colours, frame.area));
    }
    paintMarked(painter, scene, heat, colours, frame.area, x, y);
}

double barRoom(const Scene& scene) { return scene.plot.heat ? scene.px(kBarGap + kBarWidth) : 0; }

void paintColourBar(QPainter& painter, const Scene& scene, const Frame& frame) {
    const HeatColours colours(*scene.plot.heat, scene.theme());
    const QRectF bar(frame.area.right() + scene.px(kBarGap), frame.area.top(), scene.px(kBarWidth),
                     frame.area.height());
    QLinearGradient gradient(bar.bottomLeft(), bar.topLeft());
    constexpr int kStops = 64;
    for (int i = 0; i <= kStops; ++i) {
        const double t = static_cast<double>(i) / kStops;
        const double value = colours.low() + t * (colours.high() - colours.low());
        gradient.setColorAt(t, QColor(colours.at(static_cast<float>(value))));
    }
    painter.fillRect(bar, gradient);
}

void paintColumn(QPainter& painter, const Scene& scene, const Frame& frame, double x, const QColor& colour) {
    const double left = std::max(frame.x(x - 0.5), frame.area.left()),
                 right = std::min(frame.x(x + 0.5), frame.area.right());
    if (right < frame.area.left() || left > frame.area.right()) return;
    const auto lines = [&](const QPen& pen) {
        painter.setPen(pen);
        const auto line = [&](double at) {
            painter.drawLine(QPointF(at, frame.area.top()), QPointF(at, frame.area.bottom()));
        };
        if (right - left < scene.px(4)) return line((left + right) / 2);
        line(left);
        line(right);
    };
    lines(scene.pen(scene.theme().surface, 3));
    lines(scene.pen(colour, 1));
}

QString cellText(const model::PlotData& plot, double x, double row) {
    const Heat& heat = *plot.heat;
    const double column = std::round(x - heat.firstX), line = std::round(row);
    if (!(column >= 0 && column < static_cast<double>(heat.columns) && line >= 0 &&
          line < static_cast<double>(heat.rows)))
        return {};
    const auto r = static_cast<std::size_t>(line), cell = r * heat.columns + static_cast<std::size_t>(column);
    const float value = heat.values[cell];
    const QString name = r < heat.rowNames.size() ? told(heat.rowNames[r]) : QString::number(r);
    QStringList lines{QStringLiteral("%1 %2 · %3 %4")
                          .arg(QString::fromStdString(plot.x.title), formatExact(heat.firstX + column),
                               QString::fromStdString(plot.y.title).toLower(), name)};
    lines << told(heat.unit) + QStringLiteral(": ") +
                 (std::isnan(value) ? QStringLiteral("no value") : fourDigits(value));
    if (cell < heat.marked.size() && heat.marked[cell]) lines << QStringLiteral("chosen");
    return lines.join(QLatin1Char('\n'));
}

}  // namespace counterpoint::widgets
