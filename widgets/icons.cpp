#include "widgets/icons.h"

#include <QIconEngine>
#include <QPainter>
#include <QPainterPath>

#include "widgets/palette.h"

namespace counterpoint::widgets {
namespace {

constexpr double kStroke = 1.5;

void arrowBack(QPainter& p) {
    QPainterPath path(QPointF(3, 6));
    path.lineTo(10, 6);
    path.cubicTo(14, 6, 14, 12.5, 10, 12.5);
    path.lineTo(6, 12.5);
    p.drawPath(path);
    p.drawPolyline(QPolygonF({{6, 3}, {3, 6}, {6, 9}}));
}

/// In a square of 16 × 16.
void draw(QPainter& p, Glyph glyph) {
    const auto line = [&](std::initializer_list<QPointF> points) { p.drawPolyline(QPolygonF(QList<QPointF>(points))); };
    const auto dot = [&](double x, double y, double r) {
        p.save();
        p.setBrush(p.pen().color());
        p.setPen(Qt::NoPen);
        p.drawEllipse(QPointF(x, y), r, r);
        p.restore();
    };
    switch (glyph) {
        case Glyph::Open:
            line({{2, 12.5}, {2, 3.5}, {6, 3.5}, {7.5, 5.5}, {13, 5.5}, {13, 7.5}});
            line({{2, 12.5}, {4.5, 7.5}, {14.5, 7.5}, {12.5, 12.5}, {2, 12.5}});
            break;
        case Glyph::Save:
            line({{8, 2}, {8, 9.5}});
            line({{5, 6.5}, {8, 9.5}, {11, 6.5}});
            line({{2.5, 10}, {2.5, 13.5}, {13.5, 13.5}, {13.5, 10}});
            break;
        case Glyph::Play:
            line({{4.5, 2.5}, {12.5, 8}, {4.5, 13.5}, {4.5, 2.5}});
            break;
        case Glyph::Step:
            line({{3.5, 3}, {10, 8}, {3.5, 13}, {3.5, 3}});
            line({{12.5, 3}, {12.5, 13}});
            break;
        case Glyph::Pause:
            line({{5.5, 3}, {5.5, 13}});
            line({{10.5, 3}, {10.5, 13}});
            break;
        case Glyph::Stop:
            p.drawRoundedRect(QRectF(3.5, 3.5, 9, 9), 1, 1);
            break;
        case Glyph::Undo:
            arrowBack(p);
            break;
        case Glyph::Redo:
            p.translate(16, 0);
            p.scale(-1, 1);
            arrowBack(p);
            break;
        case Glyph::Palette:
            p.drawEllipse(QPointF(7, 7), 4.5, 4.5);
            line({{10.5, 10.5}, {14, 14}});
            break;
        case Glyph::Export:
            line({{8, 10}, {8, 2.5}});
            line({{5, 5.5}, {8, 2.5}, {11, 5.5}});
            line({{4.5, 7.5}, {2.5, 7.5}, {2.5, 13.5}, {13.5, 13.5}, {13.5, 7.5}, {11.5, 7.5}});
            break;
        case Glyph::Theme: {
            p.drawEllipse(QPointF(8, 8), 5.5, 5.5);
            QPainterPath half(QPointF(8, 2.5));
            half.arcTo(QRectF(2.5, 2.5, 11, 11), 90, 180);
            p.fillPath(half, p.pen().color());
            break;
        }
        case Glyph::Reset: {
            QPainterPath path;
            path.arcMoveTo(QRectF(3, 3, 10, 10), 130);
            path.arcTo(QRectF(3, 3, 10, 10), 130, -290);
            p.drawPath(path);
            line({{4.6, 1.6}, {4.6, 4.4}, {7.6, 4.4}});
            break;
        }
        case Glyph::More:
            for (double x : {3.5, 8.0, 12.5}) dot(x, 8, 1.2);
            break;
        case Glyph::Grip:
            for (double y : {4.0, 8.0, 12.0})
                for (double x : {6.0, 10.0}) dot(x, y, 1.0);
            break;
        case Glyph::Plus:
            line({{8, 3}, {8, 13}});
            line({{3, 8}, {13, 8}});
            break;
        case Glyph::Close:
            line({{4, 4}, {12, 12}});
            line({{12, 4}, {4, 12}});
            break;
        case Glyph::Copy:
            p.drawRoundedRect(QRectF(5.5, 5.5, 8, 8), 1, 1);
            line({{3.5, 10.5}, {2.5, 10.5}, {2.5, 2.5}, {10.5, 2.5}, {10.5, 3.5}});
            break;
        case Glyph::Float:
            p.drawRoundedRect(QRectF(2.5, 6.5, 7, 7), 1, 1);
            line({{6, 4}, {6, 2.5}, {13.5, 2.5}, {13.5, 10}, {12, 10}});
            break;
        case Glyph::Chevron:
            line({{4, 6}, {8, 10}, {12, 6}});
            break;
        case Glyph::Compress:
            line({{2.5, 8}, {13.5, 8}});
            line({{5.5, 3}, {8, 5.5}, {10.5, 3}});
            line({{5.5, 13}, {8, 10.5}, {10.5, 13}});
            break;
    }
}

class LineIconEngine final : public QIconEngine {
  public:
    explicit LineIconEngine(Glyph glyph) : m_glyph(glyph) {}
    void paint(QPainter* painter, const QRect& rect, QIcon::Mode mode, QIcon::State) override {
        const Theme& theme = currentTheme();
        const QColor colour = mode == QIcon::Disabled ? theme.grey : theme.text;
        painter->save();
        painter->setRenderHint(QPainter::Antialiasing);
        painter->translate(rect.topLeft());
        painter->scale(rect.width() / 16.0, rect.height() / 16.0);
        painter->setPen(QPen(colour, kStroke, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
        painter->setBrush(Qt::NoBrush);
        draw(*painter, m_glyph);
        painter->restore();
    }
    QPixmap pixmap(const QSize& size, QIcon::Mode mode, QIcon::State state) override {
        if (size.isEmpty()) return {};  // a button that has no room yet
        QPixmap pixmap(size);
        pixmap.fill(Qt::transparent);
        QPainter painter(&pixmap);
        paint(&painter, QRect(QPoint(), size), mode, state);
        return pixmap;
    }
    QIconEngine* clone() const override { return new LineIconEngine(m_glyph); }

  private:
    Glyph m_glyph;
};

}  // namespace

QIcon lineIcon(Glyph glyph) { return QIcon(new LineIconEngine(glyph)); }

QIcon applicationIcon() {
    QIcon icon;
    for (const int size : {16, 32, 64, 128, 256}) {
        QPixmap pixmap(size, size);
        pixmap.fill(Qt::transparent);
        QPainter p(&pixmap);
        p.setRenderHint(QPainter::Antialiasing);
        p.scale(size / 64.0, size / 64.0);
        p.setPen(Qt::NoPen);
        p.setBrush(theme(ThemeKind::Light).accent);
        p.drawRoundedRect(QRectF(2, 2, 60, 60), 14, 14);
        p.setBrush(Qt::NoBrush);
        const auto voice = [&](double up, const QColor& colour) {
            QPainterPath path(QPointF(12, 32));
            path.cubicTo(22, 32 - up, 26, 32 - up, 32, 32);
            path.cubicTo(38, 32 + up, 42, 32 + up, 52, 32);
            p.setPen(QPen(colour, 5, Qt::SolidLine, Qt::RoundCap));
            p.drawPath(path);
        };
        voice(-20, theme(ThemeKind::Light).categories[1]);
        voice(20, Qt::white);
        icon.addPixmap(pixmap);
    }
    return icon;
}

}  // namespace counterpoint::widgets
